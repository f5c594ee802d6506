package namedtype

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// find is the type that a statement changes.
func (c *Changes) find(name statement.Name) (*catalog.UserType, error) {
	if t := c.View.LookupType(name.Database, name.Schema, name.Name); t != nil {
		return t, nil
	}
	e := sqlerror.New("42704", "type %q does not exist", name.String())
	e.At = name.At
	return nil, e
}

// alter is ALTER TYPE … ADD VALUE and RENAME VALUE: no row is looked at, since codes stay (EN1).
func (c *Changes) alter(ctx context.Context, head *statement.AlterType) error {
	t, err := c.find(head.Name)
	if err == nil && t.Domain != nil {
		err = sqlerror.New("42809", "%s is not an enum", head.Name.String())
	}
	if err != nil {
		return err
	}
	if err := checkLabels([]string{head.Label}); err != nil {
		return err
	}
	at := func(text string) int {
		return slices.IndexFunc(t.Labels, func(l enumeration.Label) bool { return l.Text == text })
	}
	next := Clone(t)
	if head.IsRenaming {
		i := at(head.Renamed)
		switch {
		case i < 0:
			return sqlerror.New("22023", "%q is not an existing enum label", head.Renamed)
		case at(head.Label) >= 0:
			return sqlerror.New("42710", "enum label %q already exists", head.Label)
		}
		next.Labels[i].Text = head.Label
		if err := c.renameLabel(ctx, t, head.Renamed, head.Label); err != nil {
			return err
		}
		return c.put(t.Name, next)
	}
	if at(head.Label) >= 0 {
		if head.IfNotExists {
			c.Notice(fmt.Sprintf("enum label %q already exists, skipping", head.Label), "")
			return nil
		}
		return sqlerror.New("42710", "enum label %q already exists", head.Label)
	}
	if len(t.Labels) == enumeration.LabelsMost {
		return tooMany(len(t.Labels) + 1)
	}
	place := len(t.Labels)
	if head.HasBefore {
		place = at(head.Before)
	} else if head.HasAfter {
		place = at(head.After)
	}
	switch {
	case place < 0:
		return sqlerror.New("22023", "%q is not an existing enum label", head.Before+head.After)
	case head.HasAfter:
		place++
	}
	id, err := c.Tx.NewIdentity(ctx)
	if err != nil {
		return err
	}
	// No label ever goes, so that their number is a code that none has had.
	label := enumeration.Label{Text: head.Label, Code: uint8(len(t.Labels)), ID: id}
	next.Labels = slices.Insert(next.Labels, place, label)
	order(next.Labels, place)
	return c.put(t.Name, next)
}

// order gives a label one between its neighbours', as PostgreSQL does, or all of them new ones where there is none.
func order(labels []enumeration.Label, at int) {
	switch l := &labels[at]; {
	case len(labels) == 1:
		l.Order = 1
	case at == 0:
		l.Order = labels[1].Order - 1
	case at == len(labels)-1:
		l.Order = labels[at-1].Order + 1
	default:
		l.Order = (labels[at-1].Order + labels[at+1].Order) / 2
	}
	for i := 1; i < len(labels); i++ {
		if !(labels[i].Order > labels[i-1].Order) {
			for j := range labels {
				labels[j].Order = float32(j + 1)
			}
			return
		}
	}
}

func (c *Changes) rename(ctx context.Context, object statement.Object, name statement.Name,
	to catalog.TableName) error {
	t, err := c.find(name)
	if err == nil && t.Domain == nil && object == statement.Domain {
		err = sqlerror.New("42809", "%s is not a domain", t.Name.Name)
	}
	if err != nil {
		return err
	}
	next := Clone(t)
	if to.Name != "" {
		next.Name.Name = to.Name
	} else if next.Name, err = c.View.QualifyType(statement.Name{Schema: to.Schema, Name: t.Name.Name}); err != nil {
		return err
	}
	if next.Name == t.Name && to.Schema != "" {
		return nil
	}
	taken, err := Taken(ctx, c.Tx.Contents(), c.Conn, next.Name)
	if err != nil {
		return err
	}
	if taken {
		return sqlerror.New("42710", "type %q already exists", next.Name.Name)
	}
	if t.Domain != nil {
		return PutDomain(c.Tx, t.Name, next)
	}
	return c.put(t.Name, next)
}

func (c *Changes) comment(head *statement.Comment) error {
	t, err := c.find(head.Name)
	if err == nil && head.Object == statement.Domain && t.Domain == nil {
		err = sqlerror.New("42809", "%q is not a domain", head.Name.Name)
	}
	if err != nil {
		return err
	}
	next := Clone(t)
	if head.Constraint == "" {
		next.Comment = head.Text
		return c.Tx.RedefineType(t.Name, next)
	}
	list, err := constraint.Of(t.Domain)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(k constraint.Constraint) bool { return k.Name == head.Constraint })
	if at < 0 {
		return sqlerror.New("42704", "constraint %q for domain %s does not exist", head.Constraint, t.Name.Name)
	}
	list[at].Comment = head.Text
	if next.Domain, err = constraint.Mark(t.Domain, list); err != nil {
		return err
	}
	return c.Tx.RedefineType(t.Name, next)
}

// Clone is a type with the same state, to be given another one.
func Clone(t *catalog.UserType) *catalog.UserType {
	return &catalog.UserType{
		ID: t.ID, Name: t.Name, Labels: slices.Clone(t.Labels), Domain: t.Domain, Comment: t.Comment,
		CreatedAt: t.CreatedAt,
	}
}

// tables are those that may have to do with a type.
func (c *Changes) tables(t *catalog.UserType) []*catalog.TableVersion {
	return c.Tx.Contents().Mentioning(mention.Mention{Kind: mention.Type, Number: uint64(t.ID)})
}

// put gives a type its next state, and all columns that have it.
func (c *Changes) put(from catalog.TableName, next *catalog.UserType) error {
	if err := c.Tx.RedefineType(from, next); err != nil {
		return err
	}
	for _, v := range c.tables(next) {
		columns := v.Table().Columns
		fields, changed := columns.Fields(), false
		for i, f := range fields {
			if t := enumeration.Of(f); t != nil && t.Number() == uint64(next.ID) {
				fields[i].Type, changed = next.Of(), true
			}
		}
		if !changed {
			continue
		}
		meta := columns.Metadata()
		if err := c.Tx.Redeclare(v.Table().Name, arrow.NewSchema(fields, &meta)); err != nil {
			return err
		}
	}
	return nil
}

// renameLabel writes a label's new text where views, defaults and constraints have the old one (NT1).
func (c *Changes) renameLabel(ctx context.Context, t *catalog.UserType, from, to string) error {
	call := enumeration.NameOf(uint64(t.ID))
	for _, view := range materialized.Queries(c.Tx.Contents()) {
		if !enumeration.Calls(view.SQL, call) {
			continue
		}
		with := func(view *catalog.View) (string, error) { return relabelled(view.SQL, call, from, to), nil }
		if err := materialized.Rewrite(c.Tx, view, relabelled(view.SQL, call, from, to), with); err != nil {
			return err
		}
	}
	for _, v := range c.tables(t) {
		columns, changed, err := relabelledColumns(v.Table().Columns, call, from, to)
		if err != nil {
			return err
		}
		if !changed {
			continue
		}
		if err := c.Tx.Redeclare(v.Table().Name, columns); err != nil {
			return err
		}
	}
	return nil
}

// relabelledColumns are a table's with the texts of defaults, generated columns and constraints rewritten.
func relabelledColumns(columns *arrow.Schema, call, from, to string) (*arrow.Schema, bool, error) {
	fields, changed := columns.Fields(), false
	for i, f := range fields {
		keys, values := f.Metadata.Keys(), slices.Clone(f.Metadata.Values())
		for j, text := range values {
			if enumeration.Calls(text, call) {
				values[j], changed = relabelled(text, call, from, to), true
			}
		}
		fields[i].Metadata = arrow.NewMetadata(keys, values)
	}
	meta := columns.Metadata()
	next := arrow.NewSchema(fields, &meta)
	constraints, err := constraint.Of(columns)
	if err != nil {
		return columns, false, err
	}
	renamed := slices.Clone(constraints)
	for i := range renamed {
		if enumeration.Calls(renamed[i].Expression, call) {
			renamed[i].Expression, changed = relabelled(renamed[i].Expression, call, from, to), true
		}
	}
	if !changed {
		return columns, false, nil
	}
	next, err = constraint.Mark(next, renamed)
	return next, true, err
}

// relabelled is a text, and what it calls, in which a label of a type has another text: each that has the type's call
// behind it.
func relabelled(text, call, from, to string) string {
	edit := func(text string) (string, error) { return relabelledIn(text, call, from, to), nil }
	out, err := calling.Edited(text, edit)
	if err != nil {
		return text
	}
	return out
}

func relabelledIn(text, call, from, to string) string {
	edited := edit.New(text)
	var last [3]lex.Token // a label and two colons
	for token := range lex.Client.Tokens(text) {
		if token.Kind == lex.Word && token.Text == call && last[2].Is(":") && last[1].Is(":") {
			if value, ok := last[0].Value(); ok && value == from && last[0].Kind == lex.String {
				edited.Replace(last[0].Start, last[0].End(), lex.QuoteString(to))
			}
		}
		last[0], last[1], last[2] = last[1], last[2], token
	}
	out, _ := edited.Text()
	return out
}
