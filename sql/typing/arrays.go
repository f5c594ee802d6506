package typing

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

// joined are the sides of ||: of arrays and elements, or of a text and what is shown as text. DuckDB's || joins arrays
// alone, and of NULL and another one it is NULL.
//
//	list || ARRAY[2]    list `|| ARRAY[2]
//	ARRAY[1] || i       ARRAY[1] `|+ i
//	i || ARRAY[1]       i `+| ARRAY[1]
//	ARRAY[1] || NULL    ARRAY[1] || ARRAY[]
//	ARRAY[1] || '{2}'   ARRAY[1] `|| '[2]'::integer[]
func (w *translation) joined(e *pg.A_Expr) {
	a, b := e.Lexpr, e.Rexpr
	left, right := w.isArray(a), w.isArray(b)
	right = right || left && w.arrayLiteral(b, w.of(a))
	left = left || right && w.arrayLiteral(a, w.of(b))
	switch {
	case left && right:
		if a.GetAArrayExpr() == nil || b.GetAArrayExpr() == nil {
			w.operator(e, "`||")
		}
	case left && b.GetAConst().GetIsnull():
		w.without(b.GetAConst())
	case right && a.GetAConst().GetIsnull():
		w.without(a.GetAConst())
	case left && (w.isElement(b) || w.isText(b)):
		w.operator(e, "`|+")
	case right && (w.isElement(a) || w.isText(a)):
		w.operator(e, "`+|")
	case w.of(a) == byteaType && b.GetAConst().GetSval() != nil:
		w.cast(b, "bytea")
	case w.of(b) == byteaType && a.GetAConst().GetSval() != nil:
		w.cast(a, "bytea")
	case !left && !right:
		w.text(a, false)
		w.text(b, false)
	}
}

// arrayLiteral writes a string beside an array as one of the array's type, whose elements are known; false: it is none.
func (w *translation) arrayLiteral(x *pg.Node, array uint32) bool {
	element := elementNames[array]
	if x.GetAConst().GetSval() == nil || element == "" {
		return false
	}
	t := lex.Client.Next(w.sql, int(x.GetAConst().Location))
	value, err := literal.Named(element, true).Translate(x.GetAConst().GetSval().Sval)
	if err != nil || !strings.HasPrefix(value, "[") {
		return false
	}
	w.edits = append(w.edits, change{t.Start, t.End(), lex.QuoteString(value) + "::" + element + "[]", len(w.edits)})
	return true
}

// elementNames are the types of the elements of arrays that a string may be, as DuckDB has them.
var elementNames = map[uint32]string{
	1000: "boolean", 1001: "bytea", 1005: "smallint", 1007: "integer", 1009: "text", 1015: "text", 1016: "bigint",
	1021: "real", 1022: "double precision", 1115: "timestamp", 1182: "date", 1185: "timestamptz", 1187: "interval",
}

// contained are the sides of @> and <@: no array has a NULL among its elements there.
func (w *translation) contained(e *pg.A_Expr) {
	w.numbers([]*pg.Node{e.Lexpr, e.Rexpr}, false)
	if tree.LastText(e.Name) != "&&" && (w.isArray(e.Lexpr) || w.isArray(e.Rexpr)) {
		w.operator(e, "`"+tree.LastText(e.Name))
	}
}

func isContainment(e *pg.A_Expr) bool {
	return e.Kind == pg.A_Expr_Kind_AEXPR_OP && len(e.Name) == 1 && e.Lexpr != nil &&
		slices.Contains([]string{"@>", "<@", "&&"}, tree.LastText(e.Name))
}

// operator writes another one in an operator's place.
func (w *translation) operator(e *pg.A_Expr, by string) {
	at, name := int(e.Location), tree.LastText(e.Name)
	if at >= 0 && at < len(w.sql) && strings.HasPrefix(w.sql[at:], name) {
		w.edits = append(w.edits, change{at, at + len(name), by, len(w.edits)})
	}
}

// without writes NULL as an array without elements.
func (w *translation) without(c *pg.A_Const) {
	if t := lex.Client.Next(w.sql, int(c.Location)); t.Is("null") {
		w.edits = append(w.edits, change{t.Start, t.End(), "ARRAY[]", len(w.edits)})
	}
}

// isElement reports whether PostgreSQL certainly does not take an expression for an array.
func (w *translation) isElement(x *pg.Node) bool {
	t := w.of(x)
	if c := x.GetAConst(); c != nil {
		return c.GetSval() == nil
	}
	return t != 0 && t != unknownType
}

func isConcatenation(e *pg.A_Expr) bool {
	return e.Kind == pg.A_Expr_Kind_AEXPR_OP && len(e.Name) == 1 && tree.LastText(e.Name) == "||" && e.Lexpr != nil
}

// subscript keeps DuckDB from counting a subscript below 1 from the end of an array.
func (w *translation) subscript(i *pg.A_Indices) {
	for x, macro := range map[*pg.Node]string{i.Lidx: "subscript__from(", i.Uidx: "subscript__to("} {
		if !i.IsSlice {
			macro = "subscript("
		}
		switch w.of(x) {
		case smallType, integerType, bigintType:
			if x.GetColumnRef() != nil {
				w.wrap(x, pgcatalog.TranslatedPrefix+macro, ")")
			}
		}
	}
}

// isArray reports whether an expression certainly is an array.
func (w *translation) isArray(x *pg.Node) bool {
	switch e := x.GetNode().(type) {
	case *pg.Node_AArrayExpr:
		return true
	case *pg.Node_TypeCast:
		return len(e.TypeCast.TypeName.GetArrayBounds()) > 0
	case *pg.Node_AExpr:
		return isConcatenation(e.AExpr) && (w.isArray(e.AExpr.Lexpr) || w.isArray(e.AExpr.Rexpr))
	case *pg.Node_FuncCall:
		return tree.LastText(e.FuncCall.Funcname) == "array_agg" || arrays[w.of(x)]
	case *pg.Node_CoalesceExpr:
		return slices.ContainsFunc(e.CoalesceExpr.Args, w.isArray)
	case *pg.Node_SubLink:
		return e.SubLink.SubLinkType == pg.SubLinkType_ARRAY_SUBLINK
	}
	return arrays[w.of(x)]
}

// arrays are the types of arrays that columns may be of.
var arrays = map[uint32]bool{
	1000: true, 1001: true, 1005: true, 1007: true, 1009: true, 1015: true, 1016: true, 1021: true, 1022: true,
	1115: true, 1182: true, 1183: true, 1185: true, 1187: true, 1231: true, 2951: true,
}

// arraysOf are the types of arrays by those of their elements. A string that nothing says of is a text there.
var arraysOf = map[uint32]uint32{
	booleanType: 1000, byteaType: 1001, smallType: 1005, integerType: 1007, textType: 1009, unknownType: 1009,
	bigintType: 1016, realType: 1021, doubleType: 1022, timestampType: 1115, dateType: 1182, timestampTZType: 1185,
	intervalType: 1187, numericType: 1231, varcharType: varcharsType,
}

// elementsOf are the types of elements by those of their arrays.
var elementsOf = map[uint32]uint32{
	1000: booleanType, 1005: smallType, 1007: integerType, 1016: bigintType, 1021: realType, 1022: doubleType,
	1231: numericType, 1182: dateType, 1115: timestampType, 1185: timestampTZType, 1187: intervalType, 1009: textType,
	varcharsType: varcharType,
}
