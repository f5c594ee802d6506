package distribute

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
)

// from binds an entry of a FROM clause. Items are added as they come, so that a later one sees the earlier ones, as
// LATERAL asks and DuckDB does without being asked.
func (a *analysis) from(b *block, n *pg.Node) *tree {
	switch e := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		return a.table(b, e.RangeVar)
	case *pg.Node_RangeSubselect:
		return a.derived(b, e.RangeSubselect)
	case *pg.Node_JoinExpr:
		return a.join(b, e.JoinExpr)
	}
	a.refuse("a FROM clause with something else than tables, queries and joins")
	return nil
}

func (a *analysis) table(b *block, v *pg.RangeVar) *tree {
	it := &item{block: b, alias: v.GetAlias().GetAliasname()}
	switch o := a.byStart[int(v.Location)]; {
	case o != nil:
		if o.scan.Prefix != "" || !v.Inh {
			a.refuse("TABLE and ONLY")
		}
		it.occurrence, it.schema, o.item = o, o.scan.Relation.Schema, it
		for i, c := range o.scan.Relation.Columns {
			it.columns = append(it.columns, field{name: c.Name, class: classOf(&c), column: column{it, i}})
		}
		if it.alias == "" {
			it.alias = o.scan.Relation.Name
		}
	default:
		c := b.query.visible.find(v)
		if c == nil {
			a.refuse("%s is not one of the tables that are known to lie somewhere", v.Relname)
			return nil
		}
		a.ctes[int(v.Location)] = c
		it.cte, it.query = c, c.query
		it.columns = c.fields(it)
		if it.alias == "" {
			it.alias = v.Relname
		}
	}
	return a.add(b, it, v.Alias)
}

// find gives the CTE that an unqualified name means.
func (s *scope) find(v *pg.RangeVar) *cte {
	for ; s != nil; s = s.outer {
		if v.Schemaname == "" && v.Catalogname == "" && lex.Same(s.cte.name, v.Relname) {
			return s.cte
		}
	}
	return nil
}

func (c *cte) fields(it *item) []field {
	return renamed(published(c.query, it), c.names)
}

// published are a query's outputs as columns of an item.
func published(q *query, it *item) []field {
	fields := make([]field, len(q.outputs))
	for i, f := range q.outputs {
		fields[i] = field{name: f.name, doubled: f.doubled, class: f.class, column: column{it, i}}
	}
	return fields
}

func renamed(fields []field, names []string) []field {
	for i, n := range names {
		if i < len(fields) {
			fields[i].name, fields[i].doubled = n, false
		}
	}
	if len(names) > 0 {
		markDoubled(fields)
	}
	return fields
}

// add makes a leaf of an item.
func (a *analysis) add(b *block, it *item, alias *pg.Alias) *tree {
	if len(it.alias) >= maxTreeName || bind.IsDialectJoin(it.alias) {
		a.refuse("the alias %s, which the two parsers read differently", it.alias)
	}
	if list := names(alias.GetColnames()); len(list) > 0 {
		it.renamed = true
		it.columns = renamed(it.columns, list)
		if len(list) > len(it.columns) {
			a.refuse("more column names than columns for %s", it.alias)
		}
	}
	b.items = append(b.items, it)
	return &tree{item: it}
}

// maxTreeName: PostgreSQL's parser cuts identifiers to this many bytes, DuckDB does not.
const maxTreeName = 63

func (a *analysis) derived(b *block, s *pg.RangeSubselect) *tree {
	if s.Alias == nil {
		a.refuse("a query in FROM without a name")
		return nil
	}
	it := &item{block: b, alias: s.Alias.Aliasname, query: a.nested(s.Subquery.GetSelectStmt(), place{block: b, clause: inFrom})}
	it.columns = published(it.query, it)
	return a.add(b, it, s.Alias)
}

// nested binds a query in parentheses.
func (a *analysis) nested(s *pg.SelectStmt, at place) *query {
	if s == nil {
		a.refuse("a query that is no SELECT")
		return &query{}
	}
	if len(s.ValuesLists) > 0 {
		return a.query(s, nil, at, at.block.query.visible)
	}
	text, err := a.text.Nested(s)
	if err != nil {
		a.refuse("%v", err)
		return &query{stmt: s}
	}
	q := a.query(s, text, at, at.block.query.visible)
	q.in = at.block.query
	return q
}

func (a *analysis) join(b *block, j *pg.JoinExpr) *tree {
	if j.IsNatural || j.Alias != nil || j.JoinUsingAlias != nil {
		a.refuse("NATURAL JOIN, or a join with a name")
		return nil
	}
	switch j.Jointype {
	case pg.JoinType_JOIN_INNER, pg.JoinType_JOIN_LEFT, pg.JoinType_JOIN_RIGHT, pg.JoinType_JOIN_FULL:
	default:
		a.refuse("an unusual kind of join")
		return nil
	}
	t := &tree{kind: j.Jointype}
	if t.left = a.from(b, j.Larg); t.left == nil {
		return nil
	}
	if t.right = a.from(b, j.Rarg); t.right == nil {
		return nil
	}
	for _, n := range j.UsingClause {
		a.using(b, t, n.GetString_().GetSval())
	}
	t.on = conjuncts(j.Quals, nil)
	for _, n := range t.on {
		a.expr(place{block: b, clause: inOn, among: t.leaves(nil)}, n)
	}
	return t
}

// using merges a column of both sides. The left one shows; a join that can fill the left side is left to others.
func (a *analysis) using(b *block, t *tree, name string) {
	left, right := findIn(t.left.leaves(nil), "", name), findIn(t.right.leaves(nil), "", name)
	if len(left) != 1 || len(right) != 1 || t.kind == pg.JoinType_JOIN_RIGHT || t.kind == pg.JoinType_JOIN_FULL {
		a.refuse("USING (%s)", name)
		return
	}
	b.merged = true
	b.mergers = append(b.mergers, []column{left[0], right[0]})
	t.using = append(t.using, [2]column{left[0], right[0]})
}
