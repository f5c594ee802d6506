package pgcatalog

import (
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/tree"
)

// NoName is what PostgreSQL calls a column that nothing gives a name.
const NoName = "?column?"

// ColumnNames are the names that PostgreSQL gives to the result columns of the first statement, "" where a star stands
// or DuckDB's name is the same; of one that makes a table or a view of a query, to that one's. It is nil if the
// statement has no rows of a SELECT, and no RETURNING.
func ColumnNames(parsed *pg.ParseResult) []string {
	if parsed == nil || len(parsed.Stmts) == 0 {
		return nil
	}
	statement := parsed.Stmts[0].GetStmt()
	if view := statement.GetViewStmt(); view != nil {
		statement = view.Query
	} else if table := statement.GetCreateTableAsStmt(); table != nil {
		statement = table.Query
	}
	s := statement.GetSelectStmt()
	for s.GetLarg() != nil {
		s = s.Larg
	}
	names := []string(nil)
	for _, list := range [][]*pg.Node{statement.GetInsertStmt().GetReturningList(),
		statement.GetUpdateStmt().GetReturningList(), statement.GetDeleteStmt().GetReturningList()} {
		for _, n := range list {
			names = append(names, TargetName(n.GetResTarget()))
		}
	}
	if rows := s.GetValuesLists(); len(rows) > 0 {
		for i := range rows[0].GetList().GetItems() {
			names = append(names, "column"+strconv.Itoa(i+1))
		}
	}
	for _, n := range s.GetTargetList() {
		names = append(names, TargetName(n.GetResTarget()))
	}
	return names
}

// ColumnTypes are the type OIDs that PostgreSQL gives to result columns of a catalog query where DuckDB's type is
// wider: oid, regproc, xid, name and "char"; 0 for all others. It is nil if the text does not determine the columns, or
// if this is no catalog query.
func ColumnTypes(parsed *pg.ParseResult) []uint32 {
	m, err := data()
	if err != nil || !IsCatalogQuery(parsed) || len(parsed.Stmts) == 0 {
		return nil
	}
	s := parsed.Stmts[0].GetStmt().GetSelectStmt()
	if s == nil || s.Op != pg.SetOperation_SETOP_NONE {
		return nil
	}
	types := make([]uint32, len(s.TargetList))
	for i, n := range s.TargetList {
		value := n.GetResTarget().GetVal()
		if tree.IsStar(value) {
			return nil
		}
		if c := value.GetColumnRef(); c != nil {
			types[i] = m.types[tree.LastText(c.Fields)]
		} else if c := value.GetTypeCast(); c != nil && len(c.TypeName.GetArrayBounds()) == 0 {
			_, name := tree.TypeName(c.TypeName)
			types[i] = narrowTypes[name]
		}
	}
	return types
}

// ColumnName is what PostgreSQL calls a column of a query that has no other name; empty: it has none.
func ColumnName(t *pg.ResTarget) string {
	name, _ := expressionName(t.GetVal())
	return name
}

// TargetName is what PostgreSQL calls a column of a query, "" if it is a star.
func TargetName(t *pg.ResTarget) string {
	if t.GetName() != "" {
		return t.Name
	}
	if tree.IsStar(t.GetVal()) {
		return ""
	}
	if name, _ := expressionName(t.GetVal()); name != "" {
		return name
	}
	return NoName
}

// nameTargets writes down the names that PostgreSQL would choose: DuckDB would choose others.
func nameTargets(s *pg.SelectStmt) {
	for _, n := range s.TargetList {
		t := n.GetResTarget()
		if t == nil || t.Name != "" {
			continue
		}
		if c := t.Val.GetColumnRef(); c != nil && !rowColumns[tree.LastText(c.Fields)] {
			continue // DuckDB's name is the same
		}
		if name := TargetName(t); name != "" {
			t.Name = name
		}
	}
}

// expressionName is PostgreSQL's choice of a name and how good it is: 2 for one that was written, 1 for a fallback that
// a better one below replaces (parse_target.c, FigureColname).
func expressionName(n *pg.Node) (name string, strength int) {
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return fieldName(x.ColumnRef.Fields)
	case *pg.Node_AIndirection:
		if name, strength := fieldName(x.AIndirection.Indirection); strength > 0 {
			return name, strength
		}
		return expressionName(x.AIndirection.Arg)
	case *pg.Node_FuncCall:
		return callName(x.FuncCall)
	case *pg.Node_AExpr:
		if x.AExpr.Kind == pg.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", 2
		}
	case *pg.Node_TypeCast:
		if name, strength := expressionName(x.TypeCast.Arg); strength > 1 {
			return name, strength
		}
		_, name := tree.TypeName(x.TypeCast.TypeName)
		if name == "bitstring" { // what B'101' is written as, which has no name
			return "", 0
		}
		return name, 1
	case *pg.Node_CollateClause:
		return expressionName(x.CollateClause.Arg)
	case *pg.Node_GroupingFunc:
		return "grouping", 2
	case *pg.Node_SubLink:
		return sublinkName(x.SubLink)
	case *pg.Node_CaseExpr:
		if name, strength := expressionName(x.CaseExpr.Defresult); strength > 1 {
			return name, strength
		}
		return "case", 1
	case *pg.Node_AArrayExpr:
		return "array", 2
	case *pg.Node_RowExpr:
		return "row", 2
	case *pg.Node_CoalesceExpr:
		return "coalesce", 2
	case *pg.Node_MinMaxExpr:
		if x.MinMaxExpr.Op == pg.MinMaxOp_IS_LEAST {
			return "least", 2
		}
		return "greatest", 2
	case *pg.Node_SqlvalueFunction:
		if name, ok := valueFunctionNames[x.SqlvalueFunction.Op]; ok {
			return name, 2
		}
		return valueFunctions[x.SqlvalueFunction.Op], 2
	}
	return "", 0
}

// TranslatedPrefix begins the names of functions that package dialect writes: for those of PostgreSQL's that give rows,
// which go on with the function's name and are lists, and for operators.
const TranslatedPrefix = "csm_"

// castNames are those of them that casts become.
var castNames = map[string]bool{"text": true, "numeric": true, "whole": true, "wholes": true, "truth": true, "flat": true,
	"varchar": true, "bpchar": true, "timestamp": true, "timestamptz": true, "time": true, "interval": true, "bit": true,
	"varbit": true}

// callName is what a call names its column.
func callName(call *pg.FuncCall) (name string, strength int) {
	name = tree.LastText(call.Funcname)
	if name == "unnest" && len(call.Args) == 1 {
		rows := tree.LastText(call.Args[0].GetFuncCall().GetFuncname())
		if users, ok := strings.CutPrefix(rows, TranslatedPrefix); ok {
			return users, 2
		}
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, FirstPrefix), OncePrefix) // of twins
	users, ours := strings.CutPrefix(name, TranslatedPrefix)
	users, _, _ = strings.Cut(users, "__") // of one function's several meanings
	switch {
	case !ours:
	case users == "divide" || users == "operator":
		return "", 0
	case castNames[users] && len(call.Args) > 0:
		if arg, strength := expressionName(call.Args[0]); strength > 1 {
			return arg, strength
		}
		return users, 1
	default:
		return users, 2
	}
	return name, 2
}

// valueFunctionNames are those of the words that are no session functions.
var valueFunctionNames = map[pg.SQLValueFunctionOp]string{
	pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE:        "current_date",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME:        "current_time",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME_N:      "current_time",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP:   "current_timestamp",
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N: "current_timestamp",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIME:           "localtime",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIME_N:         "localtime",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP:      "localtimestamp",
	pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:    "localtimestamp",
}

// fieldName is the last field that is a name and no subscript.
func fieldName(fields []*pg.Node) (string, int) {
	for i := len(fields) - 1; i >= 0; i-- {
		if s := fields[i].GetString_(); s != nil {
			return s.Sval, 2
		}
	}
	return "", 0
}

func sublinkName(s *pg.SubLink) (string, int) {
	switch s.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK:
		return "exists", 2
	case pg.SubLinkType_ARRAY_SUBLINK:
		return "array", 2
	case pg.SubLinkType_EXPR_SUBLINK:
		inner := s.Subselect.GetSelectStmt()
		for inner.GetLarg() != nil {
			inner = inner.Larg
		}
		if list := inner.GetTargetList(); len(list) > 0 {
			if t := list[0].GetResTarget(); t.GetName() != "" {
				return t.Name, 2
			} else if t != nil {
				return expressionName(t.Val)
			}
		}
	}
	return "", 0
}
