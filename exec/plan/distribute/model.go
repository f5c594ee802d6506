package distribute

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/outline"
)

// query is a SELECT, a set operation or a VALUES list, wherever it stands.
type query struct {
	stmt    *pg.SelectStmt
	text    *outline.Query // nil for VALUES
	at      place          // where it stands; its block is nil for the statement itself
	ctes    []*cte         // of its own WITH clause
	visible *scope         // the CTEs that it can name
	block   *block         // of a SELECT
	arms    []*query       // of a set operation
	outputs []field
	outer   []*reference // what it names of blocks around it
	in      *query       // the query that it is a part of, arms and CTEs included
	link    *pg.SubLink  // of a sub-query in an expression
}

// scope is a chain of CTEs, the innermost first.
type scope struct {
	cte   *cte
	outer *scope
}

type cte struct {
	name  string
	text  outline.CTE
	query *query
	names []string // of its columns, where given
}

// field is a column that an item or a query offers.
type field struct {
	name    string // empty: DuckDB made one up
	doubled bool   // another one has the same name
	class   class
	column  column // of the block, if the field is nothing but it
}

// column is a column of an entry of a FROM clause.
type column struct {
	item  *item
	index int
}

// block is one SELECT: FROM, WHERE, GROUP BY, select list.
type block struct {
	query      *query
	stmt       *pg.SelectStmt
	text       *outline.Select
	outer      *block
	items      []*item
	from       []*tree
	merged     bool       // by USING
	mergers    [][]column // columns that USING made one, the one that shows first
	targets    []target
	calls      []*call // of aggregate functions
	windows    []*pg.FuncCall
	groupings  []*pg.GroupingFunc
	subqueries []*subquery
	refs       []*reference // to its items, in its sub-queries too
	aliasUses  []aliasUse
	equal      equalities // columns that are equal in every row that the block makes
}

// target is an entry of the select list; a star has several fields.
type target struct {
	node   *pg.Node
	text   outline.Target
	star   []column
	isStar bool
}

type call struct {
	node *pg.FuncCall
	name string
	text outline.Call
	ok   bool // text was found
}

// clause is where in a block an expression stands.
type clause uint8

const (
	inTargets clause = iota
	inFrom
	inOn
	inWhere
	inGroup
	inHaving
	inWindow
	inOrder
	inLimit
)

// before says that the clause is worked out row by row, before groups are made.
func (c clause) before() bool { return c == inFrom || c == inOn || c == inWhere }

// subquery is a query inside of an expression.
type subquery struct {
	query  *query
	link   *pg.SubLink
	clause clause
	filter bool // the whole expression is a conjunct of WHERE: only rows for which it is true stay
	inCall bool // inside an argument or FILTER of an aggregate
}

// reference is a name of a column in an expression.
type reference struct {
	node   *pg.ColumnRef
	span   plan.Span
	last   string // the name as the text has it
	column column
	block  *block // of the column
	clause clause // where in that block it stands, perhaps in a sub-query
	inCall bool   // inside an aggregate of that block
}

// aliasUse is a name that means an entry of the select list.
type aliasUse struct {
	clause clause
	target int
	whole  bool // nothing but the name is a member of GROUP BY or ORDER BY
	inCall bool // inside an aggregate
}

// item is an entry of a FROM clause.
type item struct {
	block      *block
	alias      string
	schema     string
	columns    []field
	renamed    bool
	occurrence *occurrence // a base table
	query      *query      // a derived table, or a CTE's
	cte        *cte
}

// occurrence is one mention of a base table.
type occurrence struct {
	scan   *plan.Scan
	layout *Layout
	index  int
	item   *item
}

// tree is a FROM clause's join tree: a leaf or a join.
type tree struct {
	item        *item
	kind        pg.JoinType
	left, right *tree
	on          []*pg.Node // conjuncts
	using       [][2]column
}

func (t *tree) leaves(list []*item) []*item {
	if t.item != nil {
		return append(list, t.item)
	}
	return t.right.leaves(t.left.leaves(list))
}

// each visits the query and all queries in it, those of its WITH clause included (not CTEs of queries around it),
// but none that is to be skipped, and nothing in that.
func (q *query) each(skip func(*query) bool, visit func(*query)) {
	if skip(q) {
		return
	}
	visit(q)
	for _, c := range q.ctes {
		c.query.each(skip, visit)
	}
	q.inner(func(inner *query) { inner.each(skip, visit) })
}

// inner visits the arms, derived tables and sub-queries of a query.
func (q *query) inner(visit func(*query)) {
	for _, arm := range q.arms {
		visit(arm)
	}
	if q.block == nil {
		return
	}
	for _, it := range q.block.items {
		if it.query != nil && it.cte == nil {
			visit(it.query)
		}
	}
	for _, s := range q.block.subqueries {
		visit(s.query)
	}
}

// names collects the CTEs that a query needs, those that they need first.
func (q *query) names(list []*cte) []*cte {
	for _, arm := range q.arms {
		list = arm.names(list)
	}
	if q.block == nil {
		return list
	}
	for _, it := range q.block.items {
		switch {
		case it.cte != nil:
			list = it.cte.add(list)
		case it.query != nil:
			list = it.query.names(list)
		}
	}
	for _, s := range q.block.subqueries {
		list = s.query.names(list)
	}
	return list
}

func (c *cte) add(list []*cte) []*cte {
	for _, have := range list {
		if have == c {
			return list
		}
	}
	return append(c.query.names(list), c)
}
