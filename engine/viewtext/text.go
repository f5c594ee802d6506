package viewtext

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Columns are those of a view whose query gives schema, under the names that it has for them.
func Columns(schema *arrow.Schema, names []string) (*arrow.Schema, error) {
	fields := schema.Fields()
	if len(names) > len(fields) {
		return nil, sqlerror.New("42601", "CREATE VIEW specifies more column names than columns")
	}
	for i, n := range names {
		fields[i].Name = n
	}
	return arrow.NewSchema(fields, nil), nil
}

// TemporaryView is the statement that makes a temporary view for DuckDB, whose names are bound, and what became of
// the user's text.
func (w *Writer) TemporaryView(ctx context.Context, head *statement.CreateView,
	text string) (string, edit.List, error) {
	bound, err := w.Bind(ctx, head.Query)
	if err != nil {
		return "", nil, err
	}
	words := "CREATE "
	if head.OrReplace {
		words += "OR REPLACE "
	}
	words += "TEMP VIEW "
	if head.IfNotExists {
		words += "IF NOT EXISTS "
	}
	words += duckdb.QuoteIdentifier(head.Name.Name)
	if len(head.Columns) > 0 {
		names := make([]string, len(head.Columns))
		for i, c := range head.Columns {
			names[i] = duckdb.QuoteIdentifier(c)
		}
		words += "(" + strings.Join(names, ", ") + ")"
	}
	words += " AS "
	at := strings.LastIndex(text, head.Query) // it comes last
	return words + bound.Text, append(edit.List{{Start: 0, End: at, Length: len(words)}}, bound.Edits.Shift(at)...), nil
}

// WithName is a view's query that reads a table under its new name.
func (w *Writer) WithName(ctx context.Context, view *catalog.View, from, to catalog.TableName) (string, error) {
	mentions, err := w.Mentions(ctx, view.SQL)
	if err != nil {
		return "", err
	}
	text := view.SQL
	for _, m := range slices.Backward(mentions.Relations) { // what stands before keeps its place
		if !isMentionOf(m, view, from) {
			continue
		}
		start, end, ok := dialect.LastNameSpan(text, m)
		if !ok {
			return "", sqlerror.New("0A000", "the name %q cannot be distinguished from its surroundings", m.Name)
		}
		name := dialect.PlainIdentifier(to.Name)
		if to.Schema != from.Schema {
			start, name = m.Offset, dialect.PlainIdentifier(to.Schema)+"."+name
		}
		aliased := text[:start] + name + " AS " + dialect.PlainIdentifier(m.Name) + text[end:]
		if _, err := w.Mentions(ctx, aliased); err == nil {
			text = aliased
		} else { // it has an alias, or cannot have one
			text = text[:start] + name + text[end:]
		}
	}
	return text, nil
}

// isMentionOf reports whether a name in a view's query means the table. Views of former catalogs have names without
// schemas.
func isMentionOf(m duckdb.Mention, w *catalog.View, table catalog.TableName) bool {
	schema := m.Schema
	if schema == "" && m.Catalog == "" {
		schema = w.Name.Schema
	}
	return strings.EqualFold(m.Name, table.Name) && strings.EqualFold(schema, table.Schema) && (m.Catalog == "" || strings.EqualFold(m.Catalog, duckdb.CatalogName))
}

// OwnView is a view that the session has for itself.
type OwnView struct {
	Name  catalog.TableName // in snapshot.TemporarySchema
	Reads []catalog.TableName
	Text  string // as DuckDB has it
}

// OwnViews are those of the session, with what they read.
func (w *Writer) OwnViews(ctx context.Context) ([]OwnView, error) {
	if !w.Temporary {
		return nil, nil
	}
	made, err := w.Conn.Texts(ctx, "SELECT sql FROM system.main.duckdb_views() WHERE temporary AND NOT internal")
	if err != nil {
		return nil, err
	}
	var views []OwnView
	for _, sql := range made {
		parsed, err := statement.Parse(sql)
		if err != nil {
			continue
		}
		head, ok := parsed.Head.(*statement.CreateView)
		if !ok {
			continue
		}
		name := catalog.TableName{Schema: snapshot.TemporarySchema, Name: head.Name.Name}
		view := OwnView{Name: name, Text: head.Query}
		mentions, err := w.Mentions(ctx, head.Query)
		if dialect.IsParsers(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, m := range mentions.Relations {
			if name, ok := w.View.Named(m, ""); ok {
				view.Reads = append(view.Reads, name)
			} else if snapshot.IsTemporary(m) {
				view.Reads = append(view.Reads, catalog.TableName{Schema: snapshot.TemporarySchema, Name: m.Name})
			}
		}
		views = append(views, view)
	}
	return views, nil
}

// ReadBy are the tables and views that a view reads, also those that its functions make nothing of. What DuckDB cannot
// parse any more reads nothing.
func (w *Writer) ReadBy(ctx context.Context, view *catalog.View) ([]catalog.TableName, error) {
	mentions, err := w.Mentions(ctx, materialized.Calls(view))
	if err != nil {
		return nil, dialect.UnlessParsers(err)
	}
	var reads []catalog.TableName
	for _, m := range mentions.Relations {
		if name, ok := w.View.Named(m, view.Name.Schema); ok {
			reads = append(reads, name)
		}
	}
	return reads, nil
}
