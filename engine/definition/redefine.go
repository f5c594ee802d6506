package definition

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/namedtype"
	"github.com/csmsql/csmsql/sql/statement"
)

// Redefined are columns of a table that have another expression in the place of one which calls functions.
func (r *Reader) Redefined(columns *arrow.Schema, of function.Expression, text string) (*arrow.Schema, error) {
	fields, meta := columns.Fields(), columns.Metadata()
	if of.Kind == function.Check {
		list, err := constraint.Of(columns)
		if err != nil {
			return nil, err
		}
		k := &list[of.At]
		if k.Expression, err = r.labels(columns, text); err != nil {
			return nil, err
		}
		if err := r.Checks.Expression(columns, *k, r.TypesOf()); err != nil {
			return nil, err
		}
		return constraint.Mark(columns, list)
	}
	f := fields[of.At]
	var err error
	if of.Kind == function.Default {
		name, failed := columntype.SQL(f)
		if failed != nil {
			return nil, failed
		}
		f, err = r.WithDefault(f, statement.Column{Name: f.Name, Default: text}, name)
	} else if text, err = r.labels(columns, text); err == nil {
		f = cast.WithGenerated(f, text)
		err = r.computable(columns, text, f)
	}
	fields[of.At] = f
	return arrow.NewSchema(fields, &meta), err
}

// PutDomain gives a domain other columns.
func (r *Reader) PutDomain(tx *catalog.Transaction, domain *catalog.UserType, columns *arrow.Schema) error {
	next := namedtype.Clone(domain)
	next.Domain = columns
	if err := function.Hold(tx, columns); err != nil {
		return err
	}
	return namedtype.PutDomain(tx, domain.Name, next)
}

// TypeName is the name of a column's type.
func (r *Reader) TypeName(column arrow.Field) (string, error) { return columntype.SQL(column) }

// labels is an expression, with its calls, that says of which types its labels are.
func (r *Reader) labels(columns *arrow.Schema, expression string) (string, error) {
	calls, computes := calling.Split(expression)
	labelled, err := r.types().Labelled(columns, computes)
	return calls.Before(labelled), err
}
