package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// domain is the domain that the type of a column is, nil: none. One of its values in arrays, say, is an error.
func (r *Reader) domain(c statement.Column) (*catalog.UserType, error) {
	for _, t := range r.View.Contents.Types() {
		name := enumeration.NameOf(uint64(t.ID))
		if t.Domain == nil || !enumeration.Calls(c.Type, name) {
			continue
		}
		if strings.EqualFold(strings.TrimSpace(c.Type), name) {
			return t, nil
		}
		return nil, ColumnError(c, sqlerror.New("0A000", "a type made of domain %q is not supported", t.Name.Name).
			WithHint("Write the domain's own type."))
	}
	return nil, nil
}

// domainColumn is a column of a domain.
func (r *Reader) domainColumn(c statement.Column, t *catalog.UserType) (arrow.Field, error) {
	f := t.Domain.Field(0)
	value, _ := f.Metadata.GetValue(cast.DefaultKey)
	f.Name, f.Nullable = c.Name, !c.NotNull
	f = constraint.InDomain(f, uint64(t.ID), value)
	if c.Collated && !isText(f.Type) {
		return f, sqlerror.New("42804", "column %q: collations are not supported by type %s", c.Name, t.Name.Name)
	}
	f = cast.WithGenerated(identified(f, c.Identity), c.Generated)
	if c.Default == "" {
		return f, nil
	}
	name, err := columntype.SQL(f)
	if err != nil {
		return f, err
	}
	return r.WithDefault(f, c, name)
}

// Domain is the column of a domain that a statement makes, with all that is declared of it.
func (r *Reader) Domain(name catalog.TableName, head *statement.CreateTable) (*arrow.Schema, error) {
	c := head.Columns[0]
	if of, err := r.domain(c); of != nil || err != nil {
		if err == nil {
			err = sqlerror.New("0A000", "a domain over domain %q is not supported", of.Name.Name).
				WithHint("Write that one's type and checks.")
		}
		return nil, err
	}
	notNull := c.NotNull
	c.NotNull = false
	f, err := r.Column(c)
	if err != nil {
		return nil, ofDomain(err, c.Name)
	}
	if _, list := f.Type.(arrow.ListLikeType); list || enumeration.Any(f.Type) {
		return nil, sqlerror.New("0A000", "a domain over type %s is not supported", c.Type).
			WithHint("Numbers, texts, dates and the like can be a domain's type.")
	}
	schema := arrow.NewSchema([]arrow.Field{f}, nil)
	var list []constraint.Constraint
	for _, w := range head.Constraints {
		k, err := r.DomainCheck(name, schema, list, w)
		if err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	f.Nullable = !notNull
	f.Metadata = mark.Without(f.Metadata, cast.IdentityKey)
	return DomainOf(f, list)
}

// DomainCheck is a check that a domain gets, whose column schema has, beside those of a list.
func (r *Reader) DomainCheck(name catalog.TableName, schema *arrow.Schema, list []constraint.Constraint,
	w statement.Constraint) (constraint.Constraint, error) {
	taken := func(name string) bool {
		return slices.ContainsFunc(list, func(o constraint.Constraint) bool { return o.Name == name })
	}
	if taken(w.Name) {
		return constraint.Constraint{},
			sqlerror.New("42710", "constraint %q for domain %q already exists", w.Name, name.Name)
	}
	k, err := r.constraint(name, schema, nil, w)
	if e, ok := err.(*sqlerror.Error); ok && e.At == 0 {
		e.At = w.At
	}
	k.Columns = nil // its name is d_check, whatever it reads
	return k.NamedBeside(name.Name, taken), err
}

// DomainDefault is the column of a domain with another default; empty: with none.
func (r *Reader) DomainDefault(f arrow.Field, expression string) (arrow.Field, error) {
	if expression == "" {
		return WithoutDefault(f), nil
	}
	name, err := columntype.SQL(f)
	if err != nil {
		return f, err
	}
	f, err = r.WithDefault(f, statement.Column{Name: f.Name, Default: expression}, name)
	return f, ofDomain(err, f.Name)
}

// ofDomain is an error about the column of a domain as one about the domain.
func ofDomain(err error, column string) error {
	if e, ok := err.(*sqlerror.Error); ok {
		e.Message = strings.TrimPrefix(e.Message, fmt.Sprintf("column %q: ", column))
	}
	return err
}

// DomainOf is a domain of a column and a list of checks, or an error of what no domain can have.
func DomainOf(f arrow.Field, list []constraint.Constraint) (*arrow.Schema, error) {
	written, _ := f.Metadata.GetValue(cast.DefaultKey)
	if calls, _ := calling.Split(written); calls != nil { // it would not follow in the columns of the domain
		return nil, sqlerror.New("0A000", "a default of a domain that calls functions is not supported").
			WithHint("Say it of the columns.")
	}
	value, _ := cast.Default(f)
	if len(sequence.Calls(value)) > 0 {
		return nil, sqlerror.New("0A000", "a default of a domain that takes values of a sequence is not supported").
			WithHint("Say it of the columns.")
	}
	for _, text := range append([]string{value}, expressions(list)...) {
		if strings.Contains(text, enumeration.NamePrefix) {
			return nil, sqlerror.New("0A000", "a domain whose default or checks name a user-defined type is not supported").
				WithHint("Compare texts.")
		}
	}
	return constraint.Mark(arrow.NewSchema([]arrow.Field{f}, nil), list)
}

func expressions(list []constraint.Constraint) (texts []string) {
	for _, k := range list {
		texts = append(texts, k.Expression)
	}
	return texts
}
