package viewtext

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Renaming is a table that gets another name: a view goes on to show its rows, as in PostgreSQL. Ours are texts, so the
// new name is written into them, with the old one as its alias, because the rest of the text may say it:
//
//	SELECT t.a FROM public.t  ── ALTER TABLE t RENAME TO u ──►  SELECT t.a FROM public.u AS t
//
// Texts that a new name cannot be written into keep the table from getting one.
type Renaming struct {
	From, To catalog.TableName
	Asked    Asked
}

var errOtherColumns = errors.New("the view would have other columns")

// fits returns what is wrong with a view's query, if anything is.
func fits(v *catalog.View, ask func(text string) (*arrow.Schema, error)) error {
	schema, err := ask(v.SQL)
	if err == nil && v.Columns != nil && schema.NumFields() != v.Columns.NumFields() {
		return errOtherColumns
	}
	return err
}

// Follow writes a table's new name into the views that read it. tx has renamed the table, and w sees what was before.
func (w *Writer) Follow(ctx context.Context, tx *catalog.Transaction, r Renaming) error {
	for _, v := range materialized.Queries(w.View.Contents) {
		if !strings.Contains(strings.ToLower(materialized.Calls(v)), strings.ToLower(r.From.Name)) || fits(v, r.Asked.Before) != nil {
			continue // a view that cannot be asked has nothing to keep
		}
		with := func(v *catalog.View) (string, error) { return w.WithName(ctx, v, r.From, r.To) }
		followed := *v
		var err error
		if followed.SQL, err = with(v); err == nil && followed.SQL == v.SQL && calling.Of(v.Columns) == nil {
			continue
		}
		if err == nil {
			err = fits(&followed, r.Asked.After)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			e := sqlerror.New("2BP01", "table %s cannot be renamed: the query of %s %s reads it in a way that does "+
				"not bear another name", r.From, materialized.Kind(w.View.Contents, v), v.Name).
				WithHint("Drop the view, rename the table, and recreate the view.")
			e.Cause = err
			return e
		}
		if err := materialized.Rewrite(tx, v, followed.SQL, with); err != nil {
			return err
		}
	}
	return nil
}
