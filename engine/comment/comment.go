package comment

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/engine/function"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// key of the metadata of a schema, and of a field.
const key = "csm.comment"

// Of is the comment of a table or view that has these columns.
func Of(columns *arrow.Schema) string {
	text, _ := columns.Metadata().GetValue(key)
	return text
}

// OfField is that of a column.
func OfField(f arrow.Field) string {
	text, _ := f.Metadata.GetValue(key)
	return text
}

// Kept is a field that has the comment of another one, which it is put in the place of.
func Kept(f, was arrow.Field) arrow.Field {
	f.Metadata = mark.WithAny(f.Metadata, key, OfField(was))
	return f
}

// Put is COMMENT ON.
func Put(tx *catalog.Transaction, v *snapshot.View, head *statement.Comment) error {
	if head.Object == statement.Schema {
		if err := snapshot.OwnDatabase(head.Name.Schema, head.Name.String()); err != nil {
			return err
		}
		if !v.Contents.HasSchema(head.Name.Name) {
			return sqlerror.New("3F000", "schema %q does not exist", head.Name.Name)
		}
		return tx.CommentSchema(head.Name.Name, head.Text)
	}
	if head.Object == statement.Function || head.Object == statement.Macro {
		return function.Comment(tx, v, head)
	}
	if head.Object == statement.Index {
		return ofIndex(tx, v, head)
	}
	version := v.Lookup(head.Name.Database, head.Name.Schema, head.Name.Name)
	view := v.LookupView(head.Name.Database, head.Name.Schema, head.Name.Name)
	stored := version != nil && materialized.Is(version.Table())
	if err := fits(head, version != nil, stored, view); err != nil {
		return err
	}
	if version == nil {
		return ofView(tx, view, head)
	}
	table := version.Table()
	columns, err := commented(table.Columns, table.Name.Name, head)
	if err != nil {
		return err
	}
	return tx.Redeclare(table.Name, columns)
}

// ofIndex is COMMENT ON INDEX, of an index or of a key's.
func ofIndex(tx *catalog.Transaction, v *snapshot.View, head *statement.Comment) error {
	place, err := constraint.Resolve(v.Contents, v.Path, head.Name.Schema, head.Name.Name)
	if err == nil && place == nil {
		err = sqlerror.New("42P01", "relation %q does not exist", head.Name.String())
	}
	if e, ok := err.(*sqlerror.Error); ok {
		e.At = head.Name.At
	}
	if err != nil {
		return err
	}
	if k := &place.List[place.At]; k.IsIndex() {
		k.Comment = head.Text
	} else {
		k.IndexComment = head.Text
	}
	columns, err := constraint.Mark(place.Table.Table().Columns, place.List)
	if err != nil {
		return err
	}
	return tx.Redeclare(place.Table.Table().Name, columns)
}

// fits is an error unless what is there is what the statement says.
func fits(head *statement.Comment, table, stored bool, view *catalog.View) error {
	_, counts := sequence.Of(view)
	words := map[statement.Object]string{
		statement.Table: "a table", statement.View: "a view", statement.Sequence: "a sequence",
		statement.MaterializedView: "a materialized view",
	}
	var is bool
	switch {
	case !table && view == nil:
		e := sqlerror.New("42P01", "relation %q does not exist", head.Name.String())
		if v := head.Name; v.Schema == "" && v.Database == "" {
			e.At = v.At
		}
		return e
	case head.Column != "" || head.Constraint != "":
		is = !counts
	case head.Object == statement.Table:
		is = table && !stored
	case head.Object == statement.MaterializedView:
		is = stored
	case head.Object == statement.View:
		is = view != nil && !counts
	default:
		is = counts
	}
	if !is {
		return sqlerror.New("42809", "%q is not %s", head.Name.Name, words[head.Object])
	}
	return nil
}

// commented are the columns of a table or view with a comment on it, on one of them, or on a constraint.
func commented(columns *arrow.Schema, relation string, head *statement.Comment) (*arrow.Schema, error) {
	meta, fields := columns.Metadata(), columns.Fields()
	switch {
	case head.Constraint != "":
		list, err := constraint.Of(columns)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].Name == head.Constraint && !list[i].IsIndex() && list[i].Domain == 0 {
				list[i].Comment = head.Text
				return constraint.Mark(columns, list)
			}
		}
		return nil, sqlerror.New("42704", "constraint %q for table %q does not exist", head.Constraint, relation)
	case head.Column == "":
		meta = mark.WithAny(meta, key, head.Text)
		return arrow.NewSchema(fields, &meta), nil
	}
	for i, f := range fields {
		if strings.EqualFold(f.Name, head.Column) {
			fields[i].Metadata = mark.WithAny(f.Metadata, key, head.Text)
			return arrow.NewSchema(fields, &meta), nil
		}
	}
	return nil, sqlerror.New("42703", "column %q of relation %q does not exist", head.Column, relation)
}

func ofView(tx *catalog.Transaction, view *catalog.View, head *statement.Comment) error {
	if head.Constraint != "" {
		return sqlerror.New("42704", "constraint %q for table %q does not exist", head.Constraint, view.Name.Name)
	}
	if view.Columns == nil {
		return sqlerror.New("0A000", "view %q of an older catalog can have no comment", view.Name.Name).
			WithHint("Recreate the view.")
	}
	columns, err := commented(view.Columns, view.Name.Name, head)
	if err != nil {
		return err
	}
	next := *view
	next.Columns = columns
	return tx.Redefine(view.Name, &next)
}
