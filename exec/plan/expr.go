package plan

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// expr walks an expression. If its value would be an ENUM because a dictionary column was shown as one, it returns that
// column's slot and the caller decides whether that is harmless; every other use inside has been judged already (P2).
func (a *analyzer) expr(q *bind.Query, n *pg.Node) *slot {
	switch e := n.GetNode().(type) {
	case nil, *pg.Node_AConst, *pg.Node_ParamRef:
		return nil
	case *pg.Node_ColumnRef:
		return a.column(q, e.ColumnRef)
	case *pg.Node_AExpr:
		a.operation(q, e.AExpr)
	case *pg.Node_BoolExpr:
		a.all(q, e.BoolExpr.Args)
	case *pg.Node_NullTest:
		a.expr(q, e.NullTest.Arg)
	case *pg.Node_FuncCall:
		return a.function(q, e.FuncCall)
	case *pg.Node_CaseExpr:
		a.caseOf(q, e.CaseExpr)
	case *pg.Node_SubLink:
		a.subLink(q, e.SubLink)
	case *pg.Node_TypeCast:
		a.value(q, e.TypeCast.Arg)
	case *pg.Node_CoalesceExpr:
		a.all(q, e.CoalesceExpr.Args)
	case *pg.Node_List:
		a.all(q, e.List.Items)
	case *pg.Node_SelectStmt:
		a.nested(e.SelectStmt)
	case *pg.Node_RangeVar, *pg.Node_String_, *pg.Node_Integer, *pg.Node_TypeName:
		return nil
	default:
		a.reflect(q, n.ProtoReflect()) // unwraps the oneof: its message is reached as a field
		return nil
	}
	return nil
}

func (a *analyzer) all(q *bind.Query, list []*pg.Node) {
	for _, n := range list {
		a.value(q, n)
	}
}

// operation judges operators: a comparison with string literals or parameters is harmless, because DuckDB compares
// an ENUM with those as text.
func (a *analyzer) operation(q *bind.Query, e *pg.A_Expr) {
	if e.Lexpr == nil && operator(e) == "#" {
		a.disqualifyUpwards(q) // #1 is a column by position to DuckDB
		a.opaque()
	}
	if harmlessOperator(e) && comparable(e.Lexpr, e.Rexpr) {
		a.expr(q, e.Lexpr)
		a.expr(q, e.Rexpr)
		return
	}
	a.value(q, e.Lexpr)
	a.value(q, e.Rexpr)
}

// harmlessOperator: the operator's answer for an ENUM and for its text is the same.
func harmlessOperator(e *pg.A_Expr) bool {
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		switch operator(e) {
		case "=", "<>", "<", ">", "<=", ">=":
			return true
		}
	case pg.A_Expr_Kind_AEXPR_IN, pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN,
		pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		return true
	}
	return false
}

// comparable: one side is a column, the other only literals and parameters. That a min(x) or a column of a sub-select
// may stand for the column is expr's to say.
func comparable(left, right *pg.Node) bool {
	return textLiterals(right) && !textLiterals(left) || textLiterals(left) && !textLiterals(right)
}

func textLiterals(n *pg.Node) bool {
	switch e := n.GetNode().(type) {
	case *pg.Node_AConst:
		return e.AConst.Isnull || e.AConst.GetSval() != nil
	case *pg.Node_ParamRef:
		return true
	case *pg.Node_List:
		for _, member := range e.List.Items {
			if !textLiterals(member) {
				return false
			}
		}
		return true
	}
	return false
}

func (a *analyzer) disqualifyUpwards(q *bind.Query) {
	for ; q != nil; q = q.Around {
		a.disqualifyAll(q.Items)
	}
}

func (a *analyzer) opaque() {
	if a.track != nil {
		a.track.opaque = true
	}
}

// function: count only looks whether there is a value; min and max hand the ENUM on; nothing else is trusted with one.
func (a *analyzer) function(q *bind.Query, c *pg.FuncCall) *slot {
	name := ""
	if len(c.Funcname) > 0 {
		name = c.Funcname[len(c.Funcname)-1].GetString_().GetSval()
	}
	a.value(q, c.AggFilter)
	for _, n := range c.AggOrder {
		a.value(q, n.GetSortBy().GetNode())
	}
	a.window(q, c.Over)
	switch {
	case name == "count" && len(c.Args) == 1:
		a.expr(q, c.Args[0])
		return nil
	case (name == "min" || name == "max") && len(c.Args) == 1 && c.Over == nil && len(c.AggOrder) == 0:
		return a.expr(q, c.Args[0])
	case name == "columns": // COLUMNS('pattern') names columns in a string
		a.disqualifyUpwards(q)
		a.opaque()
	}
	a.all(q, c.Args)
	return nil
}

// caseOf: CASE x WHEN 'a' compares x as = does; results are unified with each other, so they show their type.
func (a *analyzer) caseOf(q *bind.Query, c *pg.CaseExpr) {
	literal := c.Arg != nil
	for _, n := range c.Args {
		literal = literal && textLiterals(n.GetCaseWhen().GetExpr())
	}
	if literal {
		a.expr(q, c.Arg)
	} else {
		a.value(q, c.Arg)
	}
	for _, n := range c.Args {
		a.value(q, n.GetCaseWhen().GetExpr())
		a.value(q, n.GetCaseWhen().GetResult())
	}
	a.value(q, c.Defresult)
}

// subLink: EXISTS ignores what the sub-query puts out; every other kind compares it or passes it on.
func (a *analyzer) subLink(q *bind.Query, s *pg.SubLink) {
	outer := a.track
	a.track = nil
	outputs := a.query(a.bound.Query(s.Subselect.GetSelectStmt()))
	a.track = outer
	a.opaque()
	if s.SubLinkType != pg.SubLinkType_EXISTS_SUBLINK {
		disqualifyOutputs(outputs)
	}
	a.value(q, s.Testexpr)
}
