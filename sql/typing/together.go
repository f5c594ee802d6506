package typing

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/tree"
)

// group are expressions of which all have one type.
type group struct {
	nodes []*pg.Node
	at    int32 // where the operator stands
	what  string
	op    string // of a comparison
}

// together are the expressions that a part of a text brings to one type: the sides of a comparison, or what CASE gives.
func together(x *pg.Node) []group {
	switch e := x.GetNode().(type) {
	case *pg.Node_AExpr:
		return comparisons(e.AExpr)
	case *pg.Node_CaseExpr:
		c := e.CaseExpr
		groups := []group{{nodes: results(c), at: c.Location, what: "CASE"}}
		for _, when := range c.Args {
			if c.Arg != nil {
				groups = append(groups, group{nodes: []*pg.Node{c.Arg, when.GetCaseWhen().GetExpr()}, at: c.Location, op: "="})
			}
		}
		return groups
	case *pg.Node_CoalesceExpr:
		return []group{{nodes: e.CoalesceExpr.Args, at: e.CoalesceExpr.Location, what: "COALESCE"}}
	case *pg.Node_MinMaxExpr:
		what := "GREATEST"
		if e.MinMaxExpr.Op == pg.MinMaxOp_IS_LEAST {
			what = "LEAST"
		}
		return []group{{nodes: e.MinMaxExpr.Args, at: e.MinMaxExpr.Location, what: what}}
	case *pg.Node_AArrayExpr:
		return []group{{nodes: e.AArrayExpr.Elements, at: e.AArrayExpr.Location, what: "ARRAY"}}
	}
	return nil
}

// orders are the operators that compare.
var orders = []string{"=", "<>", "!=", "<", "<=", ">", ">="}

func comparisons(e *pg.A_Expr) (groups []group) {
	if len(e.Name) != 1 {
		return nil
	}
	op, list := tree.LastText(e.Name), e.Rexpr.GetList().GetItems()
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP, pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		if e.Lexpr != nil && slices.Contains(orders, op) {
			return compared(nil, []*pg.Node{e.Lexpr, e.Rexpr}, e.Location, op)
		}
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		return compared(nil, []*pg.Node{e.Lexpr, e.Rexpr}, e.Location, op)
	case pg.A_Expr_Kind_AEXPR_IN:
		return compared(nil, append([]*pg.Node{e.Lexpr}, list...), e.Location, op)
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		if elements := e.Rexpr.GetAArrayExpr().GetElements(); elements != nil {
			return []group{{nodes: append([]*pg.Node{e.Lexpr}, elements...), at: e.Location, op: op}}
		}
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN, pg.A_Expr_Kind_AEXPR_BETWEEN_SYM,
		pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		for _, bound := range list {
			groups = append(groups, group{nodes: []*pg.Node{e.Lexpr, bound}, at: e.Location, op: ">="})
		}
	}
	return groups
}

// compared appends what is compared with each other, which may be rows: their columns, one by one.
func compared(groups []group, list []*pg.Node, at int32, op string) []group {
	columns := len(list[0].GetRowExpr().GetArgs())
	for _, x := range list {
		if columns == 0 || len(x.GetRowExpr().GetArgs()) != columns {
			return append(groups, group{nodes: list, at: at, op: op})
		}
	}
	for i := range columns {
		column := make([]*pg.Node, len(list))
		for n, x := range list {
			column[n] = x.GetRowExpr().Args[i]
		}
		groups = compared(groups, column, at, op)
	}
	return groups
}
