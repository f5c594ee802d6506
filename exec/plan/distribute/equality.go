package distribute

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

// equalities are classes of columns that have the same value in every row that matters. Only columns of one type
// are in it: equality across types is not transitive.
type equalities map[column]column // union-find: to a parent

func (e equalities) root(c column) column {
	for {
		parent, ok := e[c]
		if !ok || parent == c {
			return c
		}
		c = parent
	}
}

func (e equalities) unite(c, d column) {
	if c, d = e.root(c), e.root(d); c != d {
		e[c] = d
	}
}

func (e equalities) same(c, d column) bool { return c == d || e.root(c) == e.root(d) }

// equalities finds the columns that are equal in every row that the block makes: by WHERE, by USING, and by ON of
// joins that no outer join above fills with NULLs.
func (a *analysis) equalities(b *block) {
	for _, t := range b.from {
		a.equalIn(b.equal, t)
	}
	for _, n := range conjuncts(b.stmt.WhereClause, nil) {
		if c, d, ok := a.equality(n); ok && c.item.block == b && d.item.block == b {
			b.equal.unite(c, d)
		}
	}
}

// equalIn adds what the inner joins of a tree make equal in every row that the tree gives.
func (a *analysis) equalIn(e equalities, t *tree) {
	if t.item != nil {
		return
	}
	if t.kind == pg.JoinType_JOIN_INNER || t.kind == pg.JoinType_JOIN_LEFT {
		a.equalIn(e, t.left)
	}
	if t.kind == pg.JoinType_JOIN_INNER || t.kind == pg.JoinType_JOIN_RIGHT {
		a.equalIn(e, t.right)
	}
	if t.kind == pg.JoinType_JOIN_INNER {
		for _, pair := range a.pairs(t) {
			e.unite(pair[0], pair[1])
		}
	}
}

// pairs are the columns that a join's ON and USING compare for equality.
func (a *analysis) pairs(t *tree) (list [][2]column) {
	for _, n := range t.on {
		if c, d, ok := a.equality(n); ok {
			list = append(list, [2]column{c, d})
		}
	}
	for _, u := range t.using {
		if sameType(u[0], u[1]) {
			list = append(list, u)
		}
	}
	return list
}

// equality reads column = column, of one type.
func (a *analysis) equality(n *pg.Node) (c, d column, ok bool) {
	e := n.GetAExpr()
	if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || operator(e) != "=" {
		return c, d, false
	}
	left, right := a.refs[e.Lexpr.GetColumnRef()], a.refs[e.Rexpr.GetColumnRef()]
	if e.Lexpr.GetColumnRef() == nil || e.Rexpr.GetColumnRef() == nil || left == nil || right == nil {
		return c, d, false
	}
	return left.column, right.column, sameType(left.column, right.column)
}

// sameType: the columns are of one type whose equal values are the same bytes.
func sameType(c, d column) bool {
	x, y := c.item.columns[c.index].class.name, d.item.columns[d.index].class.name
	return x == y && hashable(x)
}
