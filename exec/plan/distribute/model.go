package distribute

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/outline"
	"github.com/csmsql/csmsql/sql/bind"
)

// query is a SELECT, a set operation or a VALUES list, wherever it stands.
type query struct {
	*bind.Query
	text    *outline.Query // nil for VALUES
	at      place          // where it stands; its block is nil for the statement itself
	ctes    []*cte         // of its own WITH clause
	cte     *cte           // whose query it is
	block   *block         // of a SELECT
	arms    []*query       // of a set operation
	classes []class        // of its outputs
	outer   []*reference   // what it names of blocks around it
	in      *query         // the query that it is a part of, arms and CTEs included
	link    *pg.SubLink    // of a sub-query in an expression
}

type cte struct {
	*bind.CTE
	text  outline.CTE
	query *query
}

// column is a column of an entry of a FROM clause.
type column = bind.Column

// block is one SELECT: FROM, WHERE, GROUP BY, select list.
type block struct {
	query      *query
	stmt       *pg.SelectStmt
	text       *outline.Select
	outer      *block
	using      [][2]column // columns that USING made one
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

// place is where an expression stands.
type place struct {
	block  *block
	clause clause
	among  []*bind.Item // of ON: what it may name; nil: everything
	inCall bool         // inside an aggregate
	filter bool         // the expression is a conjunct of WHERE
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

// before reports whether the clause is worked out row by row, before groups are made.
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

// occurrence is one mention of a base table.
type occurrence struct {
	scan   *plan.Scan
	layout *Layout
	index  int
	item   *bind.Item
	block  *block
	types  []class // of its columns, as far as they were asked for
}

// each visits the query and all queries in it, those of its WITH clause included (not CTEs of queries around it),
// but none that is to be skipped, and nothing in that.
func (a *analysis) each(q *query, skip func(*query) bool, visit func(*query)) {
	if skip(q) {
		return
	}
	visit(q)
	for _, c := range q.ctes {
		a.each(c.query, skip, visit)
	}
	a.inner(q, func(inner *query) { a.each(inner, skip, visit) })
}

// inner visits the arms, derived tables and sub-queries of a query.
func (a *analysis) inner(q *query, visit func(*query)) {
	for _, arm := range q.arms {
		visit(arm)
	}
	if q.block == nil {
		return
	}
	for _, it := range q.Items {
		if it.Query != nil && it.CTE == nil {
			visit(a.of(it))
		}
	}
	for _, s := range q.block.subqueries {
		visit(s.query)
	}
}

// ctesOf collects the CTEs that a query needs, those that they need first.
func (a *analysis) ctesOf(q *query, list []*cte) []*cte {
	for _, arm := range q.arms {
		list = a.ctesOf(arm, list)
	}
	if q.block == nil {
		return list
	}
	for _, it := range q.Items {
		switch inner := a.of(it); {
		case it.CTE != nil:
			list = a.addCTE(inner.cte, list)
		case inner != nil:
			list = a.ctesOf(inner, list)
		}
	}
	for _, s := range q.block.subqueries {
		list = a.ctesOf(s.query, list)
	}
	return list
}

func (a *analysis) addCTE(c *cte, list []*cte) []*cte {
	for _, have := range list {
		if have == c {
			return list
		}
	}
	return append(a.ctesOf(c.query, list), c)
}
