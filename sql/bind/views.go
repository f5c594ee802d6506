package bind

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// View is a view: its query, whose relations have schemas, and what its columns are called.
type View struct {
	Text    string
	Tree    *pg.ParseResult // of Text, the caller's own; nil: there is none
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
	// Reproducible reports whether nothing in a view's query depends on where and when it is read.
	Reproducible func(*pg.ParseResult) bool
}

const (
	deepest   = 8         // views in views
	inlineMax = 128 << 10 // bytes of a text with the queries of views in it
)

// Inline gives the text with the queries of views in it, its tree, and how it was made; nil: there are none to write.
func (in *Inliner) Inline(sql string, parsed *pg.ParseResult) (string, *pg.ParseResult, edit.List) {
	return in.inline(sql, parsed, 0)
}

func (in *Inliner) inline(sql string, parsed *pg.ParseResult, depth int) (string, *pg.ParseResult, edit.List) {
	s, err := Bind(sql, parsed, in.Catalog)
	if err != nil || depth > deepest || s.namesSchemas() {
		return sql, parsed, nil
	}
	items := slices.DeleteFunc(slices.Clone(s.Items), func(it *Item) bool { return !it.replaceable(sql) })
	slices.SortFunc(items, func(a, b *Item) int { return a.Name.Start - b.Name.Start })
	edited := edit.New(sql)
	queries := map[int]*pg.RangeSubselect{} // in the places of names, by their offsets
	for _, it := range items {
		if text, query := in.query(it.Name.Parts, depth); query != nil {
			if !it.Aliased {
				text += " AS " + lex.Quote(it.Alias)
				query.Alias = &pg.Alias{Aliasname: it.Alias}
			}
			edited.Replace(it.Name.Start, it.Name.End, text)
			queries[it.Name.Start] = query
		}
	}
	text, made := edited.Text()
	if made == nil || len(text) > inlineMax {
		return sql, parsed, nil
	}
	inlined := tree.Moved(parsed, made)
	for at, query := range queries {
		at = made.Forward(at)
		tree.Move(query.ProtoReflect(), func(offset int) int { return offset + at })
		put(inlined, at, query)
	}
	tree.Check(inlined, text)
	return text, inlined, made
}

// put makes the name at an offset a query, which has the alias that the name had.
func put(parsed *pg.ParseResult, at int, query *pg.RangeSubselect) {
	for m := range tree.All(parsed.ProtoReflect()) {
		n, _ := m.Interface().(*pg.Node)
		if name := n.GetRangeVar(); name != nil && int(name.Location) == at {
			query.Alias = cmp.Or(query.Alias, name.Alias)
			n.Node = &pg.Node_RangeSubselect{RangeSubselect: query}
			return
		}
	}
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
	if len(it.Alias) >= MaxTreeName { // its tree has less of it
		return false
	}
	word, _ := wordBefore(sql, it.Name.Start)
	return !strings.EqualFold(word, "table") && !strings.EqualFold(word, "only")
}

// query is a view's query in parentheses, and its node with places in that; nil: it is not written.
func (in *Inliner) query(name []string, depth int) (string, *pg.RangeSubselect) {
	var parts [3]string
	copy(parts[len(parts)-len(name):], name)
	v := in.View(parts[0], parts[1], parts[2])
	if v == nil || v.Tree == nil || len(v.Text) > inlineMax || !in.Reproducible(v.Tree) {
		return "", nil
	}
	text, parsed, _ := in.inline(v.Text, v.Tree, depth+1)
	s, err := Bind(text, parsed, in.Catalog)
	if err != nil || !s.closed(parsed) || len(s.Top[0].Outputs) != len(v.Columns) {
		return "", nil
	}
	query, before := parsed.Stmts[0].Stmt, "("
	text = strings.TrimRight(text, "; \t\r\n") + "\n)" // a comment may end it
	if !slices.EqualFunc(s.Top[0].Outputs, v.Columns, func(o Output, name string) bool { return o.Name == name }) {
		list, names := make([]string, len(v.Columns)), make([]*pg.Node, len(v.Columns))
		for i, c := range v.Columns {
			if len(c) >= MaxTreeName {
				return "", nil
			}
			list[i], names[i] = lex.Quote(c), pg.MakeStrNode(c)
		}
		before = "(SELECT * FROM ("
		text += " AS csm_view(" + strings.Join(list, ", ") + "))"
		from := &pg.RangeSubselect{Subquery: query, Alias: &pg.Alias{Aliasname: "csm_view", Colnames: names}}
		query = allOf(from)
	}
	tree.Move(parsed.Stmts[0].Stmt.ProtoReflect(), func(offset int) int { return offset + len(before) })
	return before + text, &pg.RangeSubselect{Subquery: query}
}

// allOf is the query (SELECT * FROM from).
func allOf(from *pg.RangeSubselect) *pg.Node {
	const at = int32(len("(SELECT "))
	star := pg.MakeColumnRefNode([]*pg.Node{pg.MakeAStarNode()}, at)
	return &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{
		TargetList:  []*pg.Node{pg.MakeResTargetNodeWithVal(star, at)},
		FromClause:  []*pg.Node{{Node: &pg.Node_RangeSubselect{RangeSubselect: from}}},
		LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT,
		Op:          pg.SetOperation_SETOP_NONE,
	}}}
}

// closed reports whether a text is one query that means the same wherever it stands.
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
