package bind

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// View is a view: the text of its query, whose relations have schemas, and what its columns are called.
type View struct {
	Text    string
	Columns []string
}

// Inliner writes the queries of views in the places of their names:
//
//	SELECT k FROM v WHERE k = 5  ──►  SELECT k FROM (SELECT a AS k FROM main.t) AS "v" WHERE k = 5
//
// It does so where that certainly means the same (bind.N7): the view's query reads base tables and other such views by
// qualified names, every name in it has a meaning in it, so that none can mean something around it, and it puts out as
// many columns as the view has.
type Inliner struct {
	Catalog Catalog
	// View is the view that a name means; nil: none, or one that stays as it is.
	View func(catalog, schema, name string) *View
	// Reproducible tells whether nothing in a view's query depends on where and when it is read.
	Reproducible func(*pg.ParseResult) bool
}

const (
	deepest   = 8         // views in views
	inlineMax = 128 << 10 // bytes of a text with the queries of views in it
)

// Inline gives the text with the queries of views in it, and how it was made; nil: there are none to write.
func (in *Inliner) Inline(sql string, parsed *pg.ParseResult) (string, edit.List) {
	return in.inline(sql, parsed, 0)
}

func (in *Inliner) inline(sql string, parsed *pg.ParseResult, depth int) (string, edit.List) {
	s, err := Bind(sql, parsed, in.Catalog)
	if err != nil || depth > deepest || s.namesSchemas() {
		return sql, nil
	}
	items := slices.DeleteFunc(slices.Clone(s.Items), func(it *Item) bool { return !it.replaceable(sql) })
	slices.SortFunc(items, func(a, b *Item) int { return a.Name.Start - b.Name.Start })
	edited := edit.New(sql)
	for _, it := range items {
		if query, ok := in.query(it.Name.Parts, depth); ok {
			if !it.Aliased {
				query += " AS " + lex.Quote(it.Alias)
			}
			edited.Replace(it.Name.Start, it.Name.End, query)
		}
	}
	text, made := edited.Text()
	if len(text) > inlineMax {
		return sql, nil
	}
	return text, made
}

// namesSchemas: main.v.c has no meaning once v is an alias.
func (s *Statement) namesSchemas() bool {
	for ref := range s.at {
		if len(ref.Fields) > 2 {
			return true
		}
	}
	return false
}

// replaceable: a name that nothing is known of, in a FROM clause where a query may stand.
func (it *Item) replaceable(sql string) bool {
	if len(it.Name.Parts) == 0 || it.Table != nil || it.CTE != nil || it.In.Stmt == nil || it.In.Dialect || it.Sampled {
		return false
	}
	word, _ := wordBefore(sql, it.Name.Start)
	return !strings.EqualFold(word, "table") && !strings.EqualFold(word, "only")
}

// query is a view's query in parentheses.
func (in *Inliner) query(name []string, depth int) (string, bool) {
	var parts [3]string
	copy(parts[len(parts)-len(name):], name)
	v := in.View(parts[0], parts[1], parts[2])
	if v == nil || v.Text == "" || len(v.Text) > inlineMax {
		return "", false
	}
	parsed, err := tree.Parse(v.Text)
	if err != nil || !in.Reproducible(parsed) {
		return "", false
	}
	text, made := in.inline(v.Text, parsed, depth+1)
	if made != nil {
		if parsed, err = tree.Parse(text); err != nil {
			return "", false
		}
	}
	s, err := Bind(text, parsed, in.Catalog)
	if err != nil || !s.closed(parsed) || len(s.Top[0].Outputs) != len(v.Columns) {
		return "", false
	}
	text = strings.TrimRight(text, "; \t\r\n") + "\n" // a comment may end it
	for i, o := range s.Top[0].Outputs {
		if o.Name != v.Columns[i] {
			list := make([]string, len(v.Columns))
			for i, c := range v.Columns {
				list[i] = lex.Quote(c)
			}
			return "(SELECT * FROM (" + text + ") AS csm_view(" + strings.Join(list, ", ") + "))", true
		}
	}
	return "(" + text + ")", true
}

// closed tells whether a text is one query that means the same wherever it stands.
func (s *Statement) closed(parsed *pg.ParseResult) bool {
	isQuery := len(parsed.Stmts) == 1 && s.Query(parsed.Stmts[0].Stmt.GetSelectStmt()) != nil
	if !isQuery || len(s.Top) != 1 || s.Top[0].Stored {
		return false
	}
	for _, q := range s.Queries {
		if q.Stmt == nil || q.Open || q.Dialect || len(q.Stmt.LockingClause) > 0 {
			return false
		}
	}
	for _, it := range s.Items {
		known := it.Query != nil || it.CTE != nil || it.Sources != nil
		if it.Table == nil && !known || it.Table != nil && len(it.Name.Parts) < 2 {
			return false
		}
	}
	for _, r := range s.refs {
		if !r.Certain && len(r.May) == 0 {
			return false
		}
	}
	for m := range tree.All(parsed.ProtoReflect()) {
		if _, is := m.Interface().(*pg.ParamRef); is {
			return false
		}
	}
	return true
}
