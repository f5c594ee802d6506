package viewtext

import (
	"cmp"
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Asked plans a view's query, and gives its columns, before and after a statement has done what it does.
type Asked struct {
	Before, After func(text string) (*arrow.Schema, error)
}

// Keep has views that read one that gets another query go on to show what they showed, as in PostgreSQL, where a star
// means the columns of then: those are written into their texts. replaced is what the view was, tx has replaced it, and
// w sees what was before.
func (w *Writer) Keep(ctx context.Context, tx *catalog.Transaction, replaced *catalog.View, asked Asked) error {
	if replaced.Columns == nil {
		return nil // a catalog of before says nothing of them
	}
	var had []Item
	for _, f := range replaced.Columns.Fields() {
		had = append(had, Item{Name: f.Name, As: f.Name})
	}
	shown := map[*catalog.View]*arrow.Schema{}
	var left []*catalog.View
	for _, v := range w.readersOf(replaced) {
		if schema, err := asked.Before(v.SQL); err == nil { // one that cannot be asked has nothing to keep
			shown[v], left = schema, append(left, v)
		}
	}
	for len(left) > 0 { // what a view reads comes before it
		var later []*catalog.View
		var problem error
		for _, v := range left {
			kept, err := w.keep(ctx, tx, v, replaced.Name, had, shown[v], asked)
			switch {
			case err != nil && ctx.Err() != nil:
				return ctx.Err()
			case !kept:
				later, problem = append(later, v), cmp.Or(problem, err)
			case err != nil:
				return err
			}
		}
		if len(later) == len(left) {
			e := sqlerror.New("2BP01", "view %s cannot be replaced so: %s %s, which reads it, would show something "+
				"else", replaced.Name, materialized.Kind(w.View.Contents, later[0]), later[0].Name).
				WithHint("Keep its columns as they are, and add others behind them, or drop that view before.")
			e.Cause = problem
			return e
		}
		left = later
	}
	return nil
}

// readersOf are the views that may read one, themselves or by others that do.
func (w *Writer) readersOf(view *catalog.View) (readers []*catalog.View) {
	reached := []string{strings.ToLower(view.Name.Name)}
	found := map[*catalog.View]bool{}
	views := materialized.Queries(w.View.Contents)
	for i := 0; i < len(reached); i++ {
		for _, v := range views {
			if v.Name != view.Name && !found[v] && strings.Contains(strings.ToLower(materialized.Calls(v)), reached[i]) {
				found[v] = true
				readers, reached = append(readers, v), append(reached, strings.ToLower(v.Name.Name))
			}
		}
	}
	return readers
}

// keep has a view show what it showed, and reports whether it does; the error says why not, or what went wrong after.
func (w *Writer) keep(ctx context.Context, tx *catalog.Transaction, v *catalog.View, replaced catalog.TableName,
	had []Item, shown *arrow.Schema, asked Asked) (kept bool, err error) {
	with := func(v *catalog.View) (string, error) { return w.WithColumns(ctx, v, replaced, had) }
	text := v.SQL
	shows, err := asked.After(text)
	if (err != nil || !Same(shows, shown)) && strings.Contains(strings.ToLower(text), strings.ToLower(replaced.Name)) {
		if text, err = with(v); err == nil {
			shows, err = asked.After(text)
		}
	}
	if err != nil || !Same(shows, shown) {
		return false, err
	}
	if text == v.SQL {
		return true, nil
	}
	return true, materialized.Rewrite(tx, v, text, with)
}
