package distribute

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
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
	for _, f := range b.query.From {
		a.equalIn(b.equal, f)
	}
	for _, n := range conjuncts(b.stmt.WhereClause, nil) {
		if c, d, ok := a.equality(n); ok && c.Item.In == b.query.Query && d.Item.In == b.query.Query {
			b.equal.unite(c, d)
		}
	}
}

// equalIn adds what the inner joins of an entry of FROM make equal in every row that it gives.
func (a *analysis) equalIn(e equalities, f *bind.From) {
	if f.Join == nil {
		return
	}
	kind := f.Join.Jointype
	if kind == pg.JoinType_JOIN_INNER || kind == pg.JoinType_JOIN_LEFT {
		a.equalIn(e, f.Left)
	}
	if kind == pg.JoinType_JOIN_INNER || kind == pg.JoinType_JOIN_RIGHT {
		a.equalIn(e, f.Right)
	}
	if kind == pg.JoinType_JOIN_INNER {
		for _, pair := range a.pairs(f) {
			e.unite(pair[0], pair[1])
		}
	}
}

// pairs are the columns that a join's ON and USING compare for equality.
func (a *analysis) pairs(f *bind.From) (list [][2]column) {
	for _, n := range conjuncts(f.Join.Quals, nil) {
		if c, d, ok := a.equality(n); ok {
			list = append(list, [2]column{c, d})
		}
	}
	for _, u := range f.Using {
		if a.sameType(u[0], u[1]) {
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
	left, right := a.ref(e.Lexpr), a.ref(e.Rexpr)
	if left == nil || right == nil {
		return c, d, false
	}
	return left.column, right.column, a.sameType(left.column, right.column)
}

// sameType: the columns are of one type whose equal values are the same bytes.
func (a *analysis) sameType(c, d column) bool {
	x, y := a.columnClass(c).name, a.columnClass(d).name
	return x == y && hashable(x)
}
