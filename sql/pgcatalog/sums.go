package pgcatalog

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// Object IDs of the types that are read here (pg_type.dat).
const (
	bigintType   = 20
	smallintType = 21
	integerType  = 23
)

// summing tells what whole numbers an expression gives, as far as the text and the catalog say it. DuckDB's sum of
// whole numbers is a HUGEINT whatever they are, which clients take for a numeric: they get a bigint where PostgreSQL
// gives one. Of fewer than 2^32 rows it cannot be too great for one.
type summing struct{ bound *bind.Statement }

// isBigint tells whether an expression is a sum of numbers that are narrower than a bigint, or such a sum or a number.
func (s summing) isBigint(n *pg.Node) bool {
	if c := n.GetCoalesceExpr(); c != nil {
		return slices.ContainsFunc(c.Args, s.isBigint) &&
			!slices.ContainsFunc(c.Args, func(n *pg.Node) bool { return !s.isBigint(n) && !s.isNarrow(n) })
	}
	call := n.GetFuncCall()
	if call == nil || len(call.Args) != 1 || call.AggWithinGroup {
		return false
	}
	schema, name := functionName(call)
	return name == "sum" && (schema == "" || schema == pgCatalog) && s.isNarrow(call.Args[0])
}

// isNarrow tells whether an expression is a smallint or an integer.
func (s summing) isNarrow(n *pg.Node) bool {
	switch x := n.GetNode().(type) {
	case *pg.Node_AConst:
		return x.AConst.GetIval() != nil || x.AConst.Isnull
	case *pg.Node_ColumnRef:
		ref := s.bound.Ref(x.ColumnRef)
		base := ref.Column.Base()
		if !ref.Certain || base.Item == nil {
			return false
		}
		kind := base.Item.Table.Of.(*Relation).Columns[base.Index].Type
		return kind == smallintType || kind == integerType
	case *pg.Node_TypeCast:
		_, name := typeName(x.TypeCast.TypeName)
		return len(x.TypeCast.TypeName.GetArrayBounds()) == 0 && (name == "int2" || name == "int4")
	case *pg.Node_CoalesceExpr:
		return s.allNarrow(x.CoalesceExpr.Args)
	case *pg.Node_AExpr:
		if x.AExpr.Kind != pg.A_Expr_Kind_AEXPR_OP || len(x.AExpr.Name) != 1 {
			return false
		}
		op := lastText(x.AExpr.Name)
		return (op == "+" || op == "-" || op == "*" || op == "%") &&
			(x.AExpr.Lexpr == nil || s.isNarrow(x.AExpr.Lexpr)) && s.isNarrow(x.AExpr.Rexpr)
	case *pg.Node_CaseExpr:
		for _, when := range x.CaseExpr.Args {
			if !s.isNarrow(when.GetCaseWhen().GetResult()) {
				return false
			}
		}
		return x.CaseExpr.Defresult == nil || s.isNarrow(x.CaseExpr.Defresult)
	}
	return false
}

func (s summing) allNarrow(list []*pg.Node) bool {
	return !slices.ContainsFunc(list, func(n *pg.Node) bool { return !s.isNarrow(n) })
}
