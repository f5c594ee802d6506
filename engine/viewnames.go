package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/names"
	"github.com/csmsql/csmsql/engine/systemtable"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A view's names mean what they meant when it was made, as in PostgreSQL, whatever search_path is set later, whatever is made in the view's
// own schema and whatever temporary table somebody has. DuckDB, which expands views, looks for each name anew: among the temporary objects of
// whoever asks, then in the view's schema, then along the search path. So a schema is written before every name that has none, where DuckDB's
// own parser says that a relation's name stands, and the rest of the text stays as the user wrote it.
//
// Views of catalogs that were written before this rule keep their text, and mean what DuckDB makes of it.

// boundQuery is a view's query whose names have schemas.
type boundQuery struct {
	text  string
	edits edit.List // from the user's
	// temporary is a temporary object that it reads: a view that does is temporary too.
	temporary string
	// reads are the tables and views that it names.
	reads []catalog.TableName
}

// bindNames writes schemas before the names of a query that can be planned in v.
func (s *Session) bindNames(ctx context.Context, v *visible, query string) (*boundQuery, error) {
	if err := dialect.RefusePivot(query); err != nil {
		return nil, err
	}
	s.yield()
	mentions, err := s.mentions(ctx, query)
	if err != nil {
		return nil, dialect.FromDuckDB(err, query, query, nil)
	}
	bound := &boundQuery{}
	if bound.temporary, err = s.bindFunctions(ctx, mentions.Functions); err != nil {
		return nil, err
	}
	edited := edit.New(query)
	expected := make([]duckdb.Mention, len(mentions.Relations))
	for i, m := range mentions.Relations {
		expected[i] = m
		schema := s.schemaOf(v, m)
		if schema == temporarySchema || isTemporaryMention(m) {
			bound.temporary = m.Name
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
			return nil, sqlerror.New("0A000", "the view's query names %q in a way that cannot be told from its surroundings", m.Name).WithHint("Write the schema before the name.")
		}
	}
	bound.text, bound.edits = edited.Text()
	return bound, s.checkBound(ctx, v, bound, expected)
}

// mentions are what a query names, in places of the given text.
func (s *Session) mentions(ctx context.Context, query string) (*duckdb.Mentions, error) {
	return s.conn.Mentions(ctx, dialect.Operators(query))
}

// temporarySchema is where DuckDB has temporary objects.
const temporarySchema = "temp.main"

// schemaOf is the schema to write before a name, as SQL; "" when it needs none: it has one, or it is none of the catalog's.
func (s *Session) schemaOf(v *visible, m duckdb.Mention) string {
	database := m.Schema != "" && m.Catalog == "" && strings.EqualFold(m.Schema, duckdb.CatalogName) && !v.contents.HasSchema(m.Schema) // csmsql.t
	if (m.Schema != "" || m.Catalog != "") && !database {
		return ""
	}
	if !database && v.own.has(m.Name) {
		return temporarySchema
	}
	for _, schema := range s.settings.searchPath {
		if version := v.find(schema, m.Name); version != nil {
			return dialect.PlainIdentifier(version.Table().Name.Schema)
		}
		if view := v.view(schema, m.Name); view != nil {
			return dialect.PlainIdentifier(view.Name.Schema)
		}
		if systemtable.Has(m.Name) && strings.EqualFold(schema, names.SystemSchema) {
			return names.SystemSchema
		}
	}
	return ""
}

func isTemporaryMention(m duckdb.Mention) bool {
	return strings.EqualFold(m.Catalog, "temp") || m.Catalog == "" && strings.EqualFold(m.Schema, "temp")
}

// bindFunctions refuses functions whose meaning cannot be kept, and finds one that is temporary.
func (s *Session) bindFunctions(ctx context.Context, functions []duckdb.Mention) (temporary string, err error) {
	var names []string
	for _, f := range functions {
		if strings.EqualFold(f.Name, "query_table") {
			return "", sqlerror.New("0A000", "a view cannot call query_table: which table it reads would depend on who asks the view").WithHint("Name the table itself.")
		}
		names = append(names, strings.ToLower(f.Name))
	}
	if !s.temporary || len(names) == 0 {
		return "", nil
	}
	macros, err := s.conn.Texts(ctx, "SELECT function_name FROM system.main.duckdb_functions() WHERE database_name = 'temp'")
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

// checkBound compares what the bound query names with what it should: a text that DuckDB reads otherwise than it was meant is an error, not
// another table's rows.
func (s *Session) checkBound(ctx context.Context, v *visible, bound *boundQuery, expected []duckdb.Mention) error {
	got, err := s.mentions(ctx, bound.text)
	if err != nil {
		return dialect.FromDuckDB(err, bound.text, bound.text, nil)
	}
	same := len(got.Relations) == len(expected)
	for i := 0; same && i < len(expected); i++ {
		same = got.Relations[i].Name == expected[i].Name && s.schemaOf(v, got.Relations[i]) == ""
	}
	for _, m := range got.Relations {
		if name, ok := v.named(m, ""); ok {
			bound.reads = append(bound.reads, name)
		}
	}
	if !same {
		return sqlerror.New("0A000", "the relations of the view's query cannot be told").WithHint("Write their schemas before their names.")
	}
	return nil
}

// view looks a view up as find does a table.
func (v *visible) view(schema, name string) *catalog.View {
	v.reads.Note(schema, name)
	if w, ok := v.contents.View(catalog.TableName{Schema: schema, Name: name}); ok {
		return w
	}
	if _, ok := names.SchemaNamed(v.contents, schema); !ok {
		return nil
	}
	for _, w := range v.contents.Views() {
		if strings.EqualFold(w.Name.Name, name) && strings.EqualFold(w.Name.Schema, schema) {
			return w
		}
	}
	return nil
}

func (v *visible) hasView(schema, name string) bool { return v.view(schema, name) != nil }
