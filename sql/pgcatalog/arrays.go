package pgcatalog

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

// joined are the sides of ||: of an array and an element, or of a text and what is shown as text.
func (w *translation) joined(a, b *pg.Node) {
	switch left, right := w.isArray(a), w.isArray(b); {
	case left && !right:
		if w.element(b) {
			w.present(a)
		}
	case right && !left:
		if w.element(a) {
			w.present(b)
		}
	case left && right:
		w.arrays(a, b)
	case w.of(a) == byteaType && b.GetAConst().GetSval() != nil:
		w.cast(b, "bytea")
	case w.of(b) == byteaType && a.GetAConst().GetSval() != nil:
		w.cast(a, "bytea")
	case !left && !right:
		w.text(a, false)
		w.text(b, false)
	}
}

func isConcatenation(e *pg.A_Expr) bool {
	return e.Kind == pg.A_Expr_Kind_AEXPR_OP && len(e.Name) == 1 && lastText(e.Name) == "||" && e.Lexpr != nil
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
				w.wrap(x, TranslatedPrefix+macro, ")")
			}
		}
	}
}

// isArray tells of an expression that certainly is an array.
func (w *translation) isArray(x *pg.Node) bool {
	switch e := x.GetNode().(type) {
	case *pg.Node_AArrayExpr:
		return true
	case *pg.Node_TypeCast:
		return len(e.TypeCast.TypeName.GetArrayBounds()) > 0
	case *pg.Node_AExpr:
		return isConcatenation(e.AExpr) && (w.isArray(e.AExpr.Lexpr) || w.isArray(e.AExpr.Rexpr))
	case *pg.Node_FuncCall:
		return lastText(e.FuncCall.Funcname) == "array_agg"
	}
	return arrays[w.of(x)]
}

// arrays are the types of arrays that columns may be of.
var arrays = map[uint32]bool{
	1000: true, 1001: true, 1005: true, 1007: true, 1009: true, 1015: true, 1016: true, 1021: true, 1022: true,
	1115: true, 1182: true, 1183: true, 1185: true, 1187: true, 1231: true, 2951: true,
}

// element makes an array of what stands beside one: DuckDB's || joins arrays alone.
func (w *translation) element(x *pg.Node) bool {
	t := w.of(x)
	return t != 0 && t != unknownType && w.wrap(x, "ARRAY[", "]")
}

// present writes an array that may be NULL, and is joined to one that is not, as one without elements: DuckDB's || of
// NULL is NULL.
func (w *translation) present(x *pg.Node) {
	if x.GetColumnRef() != nil {
		w.wrap(x, "coalesce(", ", ARRAY[])")
	}
}

// arrays are two that are joined.
func (w *translation) arrays(a, b *pg.Node) {
	if b.GetAArrayExpr() != nil {
		w.present(a)
	}
	if a.GetAArrayExpr() != nil {
		w.present(b)
	}
}
