package viewtext

import (
	"context"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/systemtable"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/past"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A view's names mean what they meant when it was made, as in PostgreSQL, whatever search_path is set later, whatever
// is made in the view's own schema and whatever temporary tables a session has. DuckDB, which expands views, looks each
// name up again: among the session's temporary objects, then in the view's schema, then along the search path. So a
// schema is written before every name that has none, where DuckDB's own parser says that a relation's name stands, and
// the rest of the text stays as the user wrote it.
//
// Views of catalogs that were written before this rule keep their text, and mean what DuckDB makes of it.

// Bound is a view's query whose names have schemas.
type Bound struct {
	Text  string
	Edits edit.List // from the user's
	// Temporary is a temporary object that it reads: a view that does is temporary too.
	Temporary string
	// Reads are the tables and views that it names.
	Reads []catalog.TableName
}

// Writer reads and writes the queries of views for one statement.
type Writer struct {
	Conn *duckdb.Connection // on which nothing streams
	View *snapshot.View
	// Temporary: the session may have temporary objects.
	Temporary bool
}

// Bind writes schemas before the names of a query that can be planned in the writer's view.
func (w *Writer) Bind(ctx context.Context, query string) (*Bound, error) {
	if err := dialect.RefusePivot(query); err != nil {
		return nil, err
	}
	mentions, err := w.Mentions(ctx, query)
	if err != nil {
		return nil, dialect.FromDuckDB(err, query, query, nil)
	}
	bound := &Bound{}
	if bound.Temporary, err = w.bindFunctions(ctx, mentions.Functions); err != nil {
		return nil, err
	}
	edited := edit.New(query)
	expected := make([]duckdb.Mention, len(mentions.Relations))
	for i, m := range mentions.Relations {
		expected[i] = m
		if name, ok := w.View.Named(m, ""); ok && m.Schema == past.Schema { // the schema is in the name
			if start, end, spans := dialect.NameSpan(query, m); spans && name.Name != m.Name &&
				edited.Replace(start, end, duckdb.QuoteIdentifier(name.Name)) {
				expected[i].Name = name.Name
			}
			continue
		}
		schema := w.schemaOf(m)
		if schema == snapshot.TemporarySchema || snapshot.IsTemporary(m) {
			bound.Temporary = m.Name
		}
		if schema == "" {
			continue
		}
		start, end, ok := dialect.NameSpan(query, m)
		if ok {
			name := query[start:end]
			if name[0] == '\'' { // DuckDB takes a string for a table's name, but not behind a schema
				name = duckdb.QuoteIdentifier(m.Name)
			}
			ok = edited.Replace(start, end, schema+"."+name)
		}
		if !ok {
			return nil, sqlerror.New("0A000", "the view's query names %q in a way that cannot be distinguished from its surroundings", m.Name).WithHint("Write the schema before the name.")
		}
	}
	bound.Text, bound.Edits = edited.Text()
	return bound, w.checkBound(ctx, bound, expected)
}

// Mentions are what a query names, in places of the given text.
func (w *Writer) Mentions(ctx context.Context, query string) (*duckdb.Mentions, error) {
	return w.Conn.Mentions(ctx, dialect.Operators(query))
}

// schemaOf is the schema to write before a name, as SQL; "" when it needs none: it has one, or it is none of the
// catalog's.
func (w *Writer) schemaOf(m duckdb.Mention) string {
	database := m.Schema != "" && m.Catalog == "" && strings.EqualFold(m.Schema, duckdb.CatalogName) &&
		!w.View.Contents.HasSchema(m.Schema) // csmsql.t
	if (m.Schema != "" || m.Catalog != "") && !database {
		return ""
	}
	if !database && w.View.Own.Has(m.Name) {
		return snapshot.TemporarySchema
	}
	for _, schema := range w.View.Path {
		if version := w.View.Find(schema, m.Name); version != nil {
			return dialect.PlainIdentifier(version.Table().Name.Schema)
		}
		if view := w.View.FindView(schema, m.Name); view != nil {
			return dialect.PlainIdentifier(view.Name.Schema)
		}
		if systemtable.Has(m.Name) && strings.EqualFold(schema, names.SystemSchema) {
			return names.SystemSchema
		}
	}
	return ""
}

// bindFunctions refuses functions whose meaning cannot be kept, and finds one that is temporary.
func (w *Writer) bindFunctions(ctx context.Context, functions []duckdb.Mention) (temporary string, err error) {
	var names []string
	for _, f := range functions {
		if strings.EqualFold(f.Name, "query_table") {
			return "", sqlerror.New("0A000", "a view cannot call query_table: which table it reads would depend on who asks the view").
				WithHint("Name the table itself.")
		}
		names = append(names, strings.ToLower(f.Name))
	}
	if !w.Temporary || len(names) == 0 {
		return "", nil
	}
	macros, err := w.Conn.Texts(ctx, "SELECT function_name FROM system.main.duckdb_functions() WHERE database_name = 'temp'")
	if err != nil {
		return "", err
	}
	for _, m := range macros {
		if slices.Contains(names, strings.ToLower(m)) {
			return m, nil
		}
	}
	return "", nil
}

// checkBound compares what the bound query names with what it should: a text that DuckDB reads otherwise than it was
// meant is an error, not another table's rows.
func (w *Writer) checkBound(ctx context.Context, bound *Bound, expected []duckdb.Mention) error {
	got, err := w.Mentions(ctx, bound.Text)
	if err != nil {
		return dialect.FromDuckDB(err, bound.Text, bound.Text, nil)
	}
	same := len(got.Relations) == len(expected)
	for i := 0; same && i < len(expected); i++ {
		same = got.Relations[i].Name == expected[i].Name && w.schemaOf(got.Relations[i]) == ""
	}
	for _, m := range got.Relations {
		if name, ok := w.View.Named(m, ""); ok {
			bound.Reads = append(bound.Reads, name)
		}
	}
	if !same {
		return sqlerror.New("0A000", "the relations of the view's query cannot be determined").
			WithHint("Write their schemas before their names.")
	}
	return nil
}
