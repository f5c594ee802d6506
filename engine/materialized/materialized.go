package materialized

import (
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/mention"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/internal/mark"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

const (
	// queryKey is of the metadata of a table's schema: the query of a materialized view.
	queryKey = hugetable.QueryKey
	// emptyKey is of the same: the view has not been populated.
	emptyKey = "csm.unpopulated"
)

// Definition is what the record of a table says of a materialized view.
type Definition struct {
	Query     string // which is bound (MV2)
	Populated bool
}

// Mark are a table's columns with what they say of it as a materialized view.
func Mark(columns *arrow.Schema, d Definition) *arrow.Schema {
	empty := "true"
	if d.Populated {
		empty = ""
	}
	meta := mark.WithAny(mark.With(columns.Metadata(), queryKey, d.Query), emptyKey, empty)
	return arrow.NewSchema(columns.Fields(), &meta)
}

// Of is what a table's record says of it; is: it is a materialized view.
func Of(table catalog.Table) (d Definition, is bool) {
	meta := table.Columns.Metadata()
	d.Query, is = meta.GetValue(queryKey)
	d.Populated = meta.FindKey(emptyKey) < 0
	return d, is
}

// Is reports whether a table is a materialized view.
func Is(table catalog.Table) bool { return table.Columns.Metadata().FindKey(queryKey) >= 0 }

// Unpopulated is the error of reading a materialized view that is not populated (MV1); nil of all other tables.
func Unpopulated(table catalog.Table) error {
	if table.Columns.Metadata().FindKey(emptyKey) < 0 {
		return nil
	}
	return sqlerror.New("55000", "materialized view %q has not been populated", table.Name.Name).
		WithHint("Use the REFRESH MATERIALIZED VIEW command.")
}

// Refuse is the error of changing the rows of a materialized view; nil of other tables.
func Refuse(table catalog.Table) error {
	if !Is(table) {
		return nil
	}
	return sqlerror.New("42809", "cannot change materialized view %q", table.Name.Name)
}

// Queries are the views, and the materialized ones as if they were views.
func Queries(contents *catalog.Contents) []*catalog.View {
	views := contents.Views()
	for _, version := range contents.Mentioning(mention.Mention{Kind: mention.Query}) {
		table := version.Table()
		if d, is := Of(table); is {
			views = append(views, &catalog.View{
				ID: table.ID, Name: table.Name, SQL: d.Query, Columns: table.Columns, CreatedAt: table.CreatedAt,
			})
		}
	}
	return views
}

// Rewrite gives one of Queries another text, which means the same: the one that with makes of its own. What else is kept
// of the query follows.
func Rewrite(tx *catalog.Transaction, view *catalog.View, text string,
	with func(view *catalog.View) (string, error)) error {
	next := *view
	next.SQL = text
	if r := calling.Of(view.Columns); r != nil {
		if r.Text == "" {
			return sqlerror.New("XX001", "the calls of the query of %s cannot be read", view.Name)
		}
		called := *view
		called.SQL = r.Text
		var err error
		if r.Text, err = with(&called); err != nil {
			return err
		}
		if next.Columns, err = calling.Mark(view.Columns, r); err != nil {
			return err
		}
	}
	return Replace(tx, &next)
}

// Replace puts another state of one of Queries in its place.
func Replace(tx *catalog.Transaction, next *catalog.View) error {
	version, ok := tx.Contents().Table(next.Name)
	if !ok {
		return tx.Redefine(next.Name, next)
	}
	table := version.Table()
	columns, err := calling.Mark(table.Columns, calling.Of(next.Columns))
	if err != nil {
		return err
	}
	d, _ := Of(table)
	d.Query = next.SQL
	return tx.Redeclare(next.Name, Mark(columns, d))
}

// Calls is the text of one of Queries with the calls of functions that it has.
func Calls(view *catalog.View) string {
	if r := calling.Of(view.Columns); r != nil {
		return cmp.Or(r.Text, view.SQL)
	}
	return view.SQL
}

// Kind says what one of Queries of contents is.
func Kind(contents *catalog.Contents, view *catalog.View) string {
	if _, table := contents.Table(view.Name); table {
		return "materialized view"
	}
	return "view"
}
