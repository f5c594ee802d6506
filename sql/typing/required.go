package typing

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// Where PostgreSQL takes one type alone, DuckDB casts: a number is true, a boolean is 1.
//
//	WHERE i           argument of WHERE must be type boolean, not type integer
//	n::boolean        cannot cast type numeric to boolean
//	sum(b)            function sum(boolean) does not exist

// condition is something that is true or false, and where it stands.
type condition struct {
	of   string
	node *pg.Node
}

// conditionsOf are those of a part of a text.
func conditionsOf(part any) (list []condition) {
	switch x := part.(type) {
	case *pg.SelectStmt:
		return []condition{{"WHERE", x.WhereClause}, {"HAVING", x.HavingClause}}
	case *pg.UpdateStmt:
		return []condition{{"WHERE", x.WhereClause}}
	case *pg.DeleteStmt:
		return []condition{{"WHERE", x.WhereClause}}
	case *pg.JoinExpr:
		return []condition{{"JOIN/ON", x.Quals}}
	case *pg.FuncCall:
		return []condition{{"FILTER", x.AggFilter}}
	case *pg.BooleanTest:
		return []condition{{booleanTests[x.Booltesttype], x.Arg}}
	case *pg.BoolExpr:
		for _, argument := range x.Args {
			list = append(list, condition{boolOperators[x.Boolop], argument})
		}
	case *pg.CaseExpr:
		for _, when := range x.Args {
			if x.Arg == nil {
				list = append(list, condition{"CASE/WHEN", when.GetCaseWhen().GetExpr()})
			}
		}
	}
	return list
}

var booleanTests = map[pg.BoolTestType]string{
	pg.BoolTestType_IS_TRUE: "IS TRUE", pg.BoolTestType_IS_NOT_TRUE: "IS NOT TRUE",
	pg.BoolTestType_IS_FALSE: "IS FALSE", pg.BoolTestType_IS_NOT_FALSE: "IS NOT FALSE",
	pg.BoolTestType_IS_UNKNOWN: "IS UNKNOWN", pg.BoolTestType_IS_NOT_UNKNOWN: "IS NOT UNKNOWN",
}

var boolOperators = map[pg.BoolExprType]string{
	pg.BoolExprType_AND_EXPR: "AND", pg.BoolExprType_OR_EXPR: "OR", pg.BoolExprType_NOT_EXPR: "NOT",
}

// mayBeNoCondition reports whether types may say that what stands for a condition is none.
func mayBeNoCondition(part any) bool {
	for _, c := range conditionsOf(part) {
		if isColumn(c.node) || c.node.GetAConst().GetIval() != nil || c.node.GetAConst().GetFval() != nil {
			return true
		}
	}
	return false
}

// conditions refuses those of a part of a text that are no booleans.
func (w *translation) conditions(part any) error {
	for _, c := range conditionsOf(part) {
		if c.node == nil {
			continue
		}
		if t := w.comparedType(c.node); kinds[t] != 0 && t != booleanType {
			e := sqlerror.New("42804", "argument of %s must be type boolean, not type %s", c.of, typeText(t))
			e.At = w.placeOf(c.node)
			return e
		}
	}
	return nil
}

// placeOf is where a constant, a column or a call stands; 0: it is something else.
func (w *translation) placeOf(x *pg.Node) int {
	switch e := x.GetNode().(type) {
	case *pg.Node_AConst:
		return edit.Position(w.sql, int(e.AConst.Location))
	case *pg.Node_ColumnRef:
		return edit.Position(w.sql, int(e.ColumnRef.Location))
	case *pg.Node_FuncCall:
		return edit.Position(w.sql, int(e.FuncCall.Location))
	}
	return 0
}

// castable refuses casts that PostgreSQL does not have. Of a string there are all, and of a boolean and an integer
// those from one to the other.
func (w *translation) castable(c *pg.TypeCast) error {
	if c.Arg.GetParamRef() != nil || len(c.TypeName.GetArrayBounds()) > 0 {
		return nil
	}
	_, name := tree.TypeName(c.TypeName)
	from, to := w.of(c.Arg), namedTypes[name]
	a, b := kinds[from], kinds[to]
	switch {
	case a == 0 || b == 0 || a == b || a == kindText || b == kindText,
		from == booleanType && to == integerType, from == integerType && to == booleanType:
		return nil
	}
	e := sqlerror.New("42846", "cannot cast type %s to %s", typeText(from), typeText(to))
	e.At = edit.Position(w.sql, int(max(c.Location, 0)))
	return e
}

// mayNotCast reports whether types may say that there is no such cast, and DuckDB has it.
func mayNotCast(c *pg.TypeCast) bool {
	_, name := tree.TypeName(c.TypeName)
	to := kinds[namedTypes[name]]
	return (to == kindBoolean || to == kindNumber) && isColumn(c.Arg)
}

// aggregable refuses aggregates of types that PostgreSQL does not aggregate so.
func (w *translation) aggregable(f *pg.FuncCall, name string) error {
	switch name {
	case "sum", "avg", "min", "max":
	default:
		return nil
	}
	t := w.of(f.Args[0])
	switch k := kinds[t]; {
	case k == kindBoolean, k == kindBytes, k == kindUUID, k == kindTime && (name == "sum" || name == "avg"):
		e := sqlerror.New("42883", "function %s(%s) does not exist", name, typeText(t)).
			WithHint("No function matches the given name and argument types. You might need to add explicit type casts.")
		e.At = edit.Position(w.sql, int(f.Location))
		return e
	}
	return nil
}
