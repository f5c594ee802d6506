package pgcatalog

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/tree"
)

// PostgreSQL's int2vector and oidvector are lists here. They differ from lists in two ways that clients rely on: their
// subscripts begin with 0, and their text is 1 2.

// isVector: the expression is a column of such a type.
func (w *rewriter) isVector(n *pg.Node) bool {
	return w.model.vectors[tree.LastText(n.GetColumnRef().GetFields())]
}

// vectorText is a vector's text.
func (w *rewriter) vectorText(n *pg.Node) *pg.Node {
	return w.model.call("pg_quiet", "array_to_string", n, pg.MakeAConstStrNode(" ", -1))
}

// showVectors has the results of a query show vectors as text.
func (w *rewriter) showVectors(s *pg.SelectStmt) {
	if s == nil || s.Op != pg.SetOperation_SETOP_NONE {
		return
	}
	for _, n := range s.TargetList {
		t := n.GetResTarget()
		if t == nil || !w.isVector(t.Val) {
			continue
		}
		if t.Name == "" {
			t.Name = tree.LastText(t.Val.GetColumnRef().Fields)
		}
		t.Val = w.vectorText(t.Val)
	}
}

// subscript counts from 1 what counts from 0 in a vector.
func (w *rewriter) subscript(i *pg.A_Indirection) {
	if !w.isVector(i.Arg) || len(i.Indirection) != 1 {
		return
	}
	at := i.Indirection[0].GetAIndices()
	if at == nil || at.IsSlice {
		return
	}
	next := pg.MakeAConstIntNode(1, -1)
	at.Uidx = pg.MakeAExprNode(pg.A_Expr_Kind_AEXPR_OP, []*pg.Node{pg.MakeStrNode("+")}, at.Uidx, next, -1)
}

// vectorCall rewrites a call of what is another function of a vector.
func (w *rewriter) vectorCall(f *pg.FuncCall, name string) bool {
	if len(f.Args) == 0 || !w.isVector(f.Args[0]) {
		return false
	}
	schema := "pg_quiet"
	switch name {
	case TranslatedPrefix + "text":
		name = "array_to_string"
		f.Args = append(f.Args, pg.MakeAConstStrNode(" ", -1))
	case TranslatedPrefix + "generate_subscripts":
		schema, name = "pg_compat", "vector_subscripts"
	default:
		return false
	}
	f.Funcname = []*pg.Node{pg.MakeStrNode(w.model.databaseOf(schema, name)), pg.MakeStrNode(schema), pg.MakeStrNode(name)}
	return true
}
