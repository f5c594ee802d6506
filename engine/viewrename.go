package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A view goes on to show the rows of its table when that gets another name, as in PostgreSQL. Ours are texts, so the new name is written into
// them, with the old one as its alias, because the rest of the text may say it:
//
//	SELECT t.a FROM public.t  ── ALTER TABLE t RENAME TO u ──►  SELECT t.a FROM public.u AS t
//
// Texts that a new name cannot be written into keep the table from getting one.

// followName writes a table's new name into the views that read it. tx has renamed the table, and before is what was visible then.
func (s *Session) followName(ctx context.Context, tx *catalog.Transaction, before *visible, from, to catalog.TableName) error {
	for _, w := range before.contents.Views() {
		if !strings.Contains(strings.ToLower(w.SQL), strings.ToLower(from.Name)) || s.planned(ctx, before, w) != nil {
			continue // a view that cannot be asked has nothing to keep
		}
		followed := *w
		var err error
		if followed.SQL, err = s.withName(ctx, w, from, to); err == nil && followed.SQL == w.SQL {
			continue
		}
		if err == nil {
			after := s.seeing(tx.Contents(), before.lease.Hold(), before.own)
			err = s.planned(ctx, after, &followed)
			after.release()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			e := sqlerror.New("2BP01", "table %s cannot be renamed: the query of view %s reads it in a way that does not bear another name", from, w.Name).
				WithHint("Drop the view, rename the table, and make the view anew.")
			e.Cause = err
			return e
		}
		if err := tx.DropView(w.Name); err != nil {
			return err
		}
		if _, err := tx.CreateView(ctx, w.Name, followed.SQL, w.Columns); err != nil {
			return err
		}
	}
	return nil
}

var errOtherColumns = errors.New("engine: the view would have other columns")

// planned tells what is wrong with a view's query in v, if anything is.
func (s *Session) planned(ctx context.Context, v *visible, w *catalog.View) error {
	plan, err := s.planQuery(ctx, w.SQL, dialect.TreeOf(w.SQL), v)
	if err != nil {
		return err
	}
	defer plan.close()
	if w.Columns != nil && plan.schema.NumFields() != w.Columns.NumFields() {
		return errOtherColumns
	}
	return nil
}

// withName is a view's query that reads a table under its new name.
func (s *Session) withName(ctx context.Context, w *catalog.View, from, to catalog.TableName) (string, error) {
	s.yield()
	mentions, err := s.mentions(ctx, w.SQL)
	if err != nil {
		return "", err
	}
	text := w.SQL
	for _, m := range slices.Backward(mentions.Relations) { // what stands before keeps its place
		if !isMentionOf(m, w, from) {
			continue
		}
		start, end, ok := dialect.LastNameSpan(text, m)
		if !ok {
			return "", sqlerror.New("0A000", "the name %q cannot be told from its surroundings", m.Name)
		}
		name := dialect.PlainIdentifier(to.Name)
		aliased := text[:start] + name + " AS " + dialect.PlainIdentifier(m.Name) + text[end:]
		if _, err := s.mentions(ctx, aliased); err == nil {
			text = aliased
		} else { // it has an alias, or cannot have one
			text = text[:start] + name + text[end:]
		}
	}
	return text, nil
}

// isMentionOf tells whether a name in a view's query means the table. Views of former catalogs have names without schemas.
func isMentionOf(m duckdb.Mention, w *catalog.View, table catalog.TableName) bool {
	schema := m.Schema
	if schema == "" && m.Catalog == "" {
		schema = w.Name.Schema
	}
	return strings.EqualFold(m.Name, table.Name) && strings.EqualFold(schema, table.Schema) && (m.Catalog == "" || strings.EqualFold(m.Catalog, duckdb.CatalogName))
}
