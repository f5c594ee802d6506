package typing

import (
	"regexp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

// varcharType is that of varchar, with and without a length, varcharsType that of its arrays, textsType of those of
// text.
const (
	varcharType  = 1043
	varcharsType = 1015
	textsType    = 1009
)

// textFunctions give a text, whatever they are given.
var textFunctions = map[string]bool{
	"lower": true, "upper": true, "trim": true, "btrim": true, "ltrim": true,
	"rtrim": true, "replace": true, "left": true, "right": true,
	"concat": true, "concat_ws": true, "string_agg": true, "initcap": true, "translate": true, "format": true,
	"md5": true, "current_setting": true, "to_char": true, "quote_literal": true, "quote_ident": true,
	"array_to_string": true,
}

// ourTextFunctions likewise, behind pgcatalog.TranslatedPrefix.
var ourTextFunctions = map[string]bool{
	"text": true, "varchar": true, "btrim": true, "substr": true, "substring": true, "split_part": true, "lpad": true,
	"rpad": true, "reverse": true, "overlay": true, "array_to_string": true, "regexp_replace": true,
	"regexp_substr": true, "substr__pattern": true, "substring__pattern": true, "json_extract_path_text": true,
	"jsonb_extract_path_text": true,
}

// isText reports whether an expression is certainly a text that is no constant.
func (n *inference) isText(x *pg.Node) bool {
	switch e := x.GetNode().(type) {
	case *pg.Node_AConst:
		return false
	case *pg.Node_FuncCall:
		if n.givesText(e.FuncCall) {
			return true
		}
	case *pg.Node_AExpr:
		if isPick(e.AExpr) {
			return true
		}
	case *pg.Node_CoalesceExpr: // beside a text there are texts, and constants
		return slices.ContainsFunc(e.CoalesceExpr.Args, n.isText)
	case *pg.Node_MinMaxExpr:
		return slices.ContainsFunc(e.MinMaxExpr.Args, n.isText)
	case *pg.Node_CaseExpr:
		return slices.ContainsFunc(results(e.CaseExpr), n.isText)
	}
	switch n.of(x) {
	case textType, varcharType, bpcharType:
		return true
	case unknownType: // of strings alone: what is computed of them is a text
		return x.GetParamRef() == nil
	}
	return false
}

// givesText reports whether a function is one of those that give a text.
func (n *inference) givesText(f *pg.FuncCall) bool {
	schema, name := tree.FunctionName(f)
	if f.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX { // trim(LEADING 'a' FROM b)
		schema, name = "", tree.LastText(f.Funcname)
	}
	ours, is := strings.CutPrefix(name, pgcatalog.TranslatedPrefix)
	return is && ourTextFunctions[ours] || textFunctions[name] && (schema == "" || schema == tree.SystemSchema)
}

// isPick reports whether an operator takes a text out of a document.
func isPick(e *pg.A_Expr) bool {
	op := tree.LastText(e.Name)
	return e.Kind == pg.A_Expr_Kind_AEXPR_OP && (op == "->>" || op == "#>>")
}

// ofText has what is cast from a text to a whole number or a boolean, or from an array of texts, looked at: DuckDB
// rounds '2.7', reads '1e3', and knows fewer words for true.
func (w *translation) ofText(c *pg.TypeCast) {
	t, by, array := mayReadText(c), "whole", len(c.TypeName.GetArrayBounds()) > 0
	switch is := uint32(0); {
	case t == 0:
		return
	case array:
		by, is = "wholes", w.of(c.Arg)
		if is != textsType && is != varcharsType || areWhole(c.Arg.GetAArrayExpr()) {
			return
		}
	case !w.isText(c.Arg):
		return
	case t == booleanType:
		by = "truth"
	}
	if start, end, ok := w.operandSpan(c); ok {
		w.opens(start, pgcatalog.TranslatedPrefix+by+"(")
		if by == "truth" {
			w.closes(end, ")")
			return
		}
		w.closes(end, ", '"+shownNames[t]+"')")
	}
}

// wholeText is what a text of a whole number is.
var wholeText = regexp.MustCompile(`^[ \t\n\v\f\r]*[+-]?[0-9]+[ \t\n\v\f\r]*$`)

// areWhole reports whether an array is written of nothing but strings that are whole numbers, and NULLs: so it stays a
// constant.
func areWhole(x *pg.A_ArrayExpr) bool {
	return x != nil && !slices.ContainsFunc(x.Elements, func(e *pg.Node) bool {
		c := e.GetAConst()
		return c == nil || !c.Isnull && !wholeText.MatchString(c.GetSval().GetSval())
	})
}

// mayReadText is the type, or that of the elements, of a cast that may read a text as ofText has it; 0: it does not.
func mayReadText(c *pg.TypeCast) uint32 {
	if c.Arg.GetAConst() != nil || c.Arg.GetParamRef() != nil || len(c.TypeName.GetArrayBounds()) > 1 {
		return 0
	}
	_, name := tree.TypeName(c.TypeName)
	switch t := namedTypes[name]; t {
	case smallType, integerType, bigintType:
		return t
	case booleanType:
		if len(c.TypeName.GetArrayBounds()) == 0 {
			return t
		}
	}
	return 0
}

// localTime casts what has a time zone to the session's time by two casts: DuckDB has none from one to the other.
func (w *translation) localTime(c *pg.TypeCast) {
	if !toTime(c) || w.of(c.Arg) != timestampTZType {
		return
	}
	if start, end, ok := w.operandSpan(c); ok {
		w.opens(start, "CAST(")
		w.closes(end, " AS timestamp)")
	}
}

// isAtTimeZone reports whether a call was written as a AT TIME ZONE b.
func isAtTimeZone(f *pg.FuncCall) bool {
	return f.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX && tree.LastText(f.Funcname) == "timezone"
}

// toTime reports whether a cast is to time without time zone.
func toTime(c *pg.TypeCast) bool {
	_, name := tree.TypeName(c.TypeName)
	return name == "time" && len(c.TypeName.GetArrayBounds()) == 0 && c.Arg.GetAConst() == nil
}

// operandSpan is where what is cast stands, of CAST(a AS b), of a column, a call and (…) before ::.
func (w *translation) operandSpan(c *pg.TypeCast) (start, end int, ok bool) {
	if c.Location < 0 {
		return 0, 0, false
	}
	t := lex.Client.Next(w.sql, int(c.Location))
	if t.Is("cast") {
		return w.castOperand(t)
	}
	if !strings.HasPrefix(w.sql[t.Start:], "::") {
		return 0, 0, false
	}
	switch e := c.Arg.GetNode().(type) {
	case *pg.Node_ColumnRef:
		if name, known := bind.NameAt(w.sql, int(e.ColumnRef.Location)); known {
			return name.Start, name.End, name.End <= t.Start
		}
	case *pg.Node_FuncCall:
		if isAtTimeZone(e.FuncCall) {
			return w.closedBefore(t.Start, -1)
		}
		if start, end, ok = w.span(e.FuncCall); ok && lex.Client.Next(w.sql, end).Start != t.Start {
			return w.closedBefore(t.Start, e.FuncCall.Location) // (f(a))::b
		}
		return start, end, ok
	case *pg.Node_CoalesceExpr:
		return w.closedBefore(t.Start, e.CoalesceExpr.Location)
	case *pg.Node_MinMaxExpr:
		return w.closedBefore(t.Start, e.MinMaxExpr.Location)
	case *pg.Node_AExpr:
		if e.AExpr.Kind == pg.A_Expr_Kind_AEXPR_NULLIF {
			return w.closedBefore(t.Start, e.AExpr.Location)
		}
		return w.closedBefore(t.Start, -1)
	case *pg.Node_SqlvalueFunction: // current_timestamp, and perhaps (0)
		word := lex.Client.Next(w.sql, int(e.SqlvalueFunction.Location))
		if end, ok = closing(w.sql, lex.Client.Next(w.sql, word.End())); !ok {
			end = word.End()
		}
		return word.Start, end, lex.Client.Next(w.sql, end).Start == t.Start
	case *pg.Node_TypeCast:
		if start, end, ok = w.castSpan(e.TypeCast); ok && lex.Client.Next(w.sql, end).Start == t.Start {
			return start, end, true
		}
		start, end, ok = w.closedBefore(t.Start, -1) // not the length of a::b(7)::c
		return start, end, ok && start < int(e.TypeCast.Location)
	case *pg.Node_SubLink, *pg.Node_CaseExpr:
		return w.closedBefore(t.Start, -1)
	case *pg.Node_AArrayExpr:
		if _, end, ok = w.lexed().BracketBefore(t.Start); ok {
			return int(e.AArrayExpr.Location), end, true
		}
		return w.closedBefore(t.Start, -1)
	case *pg.Node_AIndirection:
		return w.subscripted(e.AIndirection, t.Start)
	}
	return 0, 0, false
}

// subscripted is where a column, or (…), with one subscript stands that ends before an offset.
func (w *translation) subscripted(x *pg.A_Indirection, offset int) (start, end int, ok bool) {
	open, end, ok := w.lexed().BracketBefore(offset)
	switch c := x.Arg.GetColumnRef(); {
	case !ok: // (a[1])::b
		return w.closedBefore(offset, -1)
	case len(x.Indirection) != 1:
		return 0, 0, false
	case c != nil:
		name, known := bind.NameAt(w.sql, int(c.Location))
		if known && lex.Client.Next(w.sql, name.End).Start == open {
			return name.Start, end, true
		}
	}
	start, _, ok = w.closedBefore(open, -1)
	return start, end, ok
}

// lexed are the groups of the text.
func (w *translation) lexed() *lex.Groups {
	if w.groups == nil {
		w.groups = lex.NewGroups(lex.Client.Text(w.sql))
	}
	return w.groups
}

// closedBefore is what a parenthesis closes before an offset, with the word before it where there is one; -1: there is
// none.
func (w *translation) closedBefore(offset int, word int32) (start, end int, ok bool) {
	start, end, ok = w.lexed().ClosedBefore(offset)
	if word < 0 || !ok || start < int(word) {
		return start, end, ok
	}
	t := lex.Client.Next(w.sql, int(word))
	return t.Start, end, lex.Client.Next(w.sql, t.End()).Start == start
}

// castOperand is where a stands in CAST(a AS b).
func (w *translation) castOperand(cast lex.Token) (start, end int, ok bool) {
	open := lex.Client.Next(w.sql, cast.End())
	start = lex.Client.Next(w.sql, open.End()).Start
	for depth, t := 0, open; !t.Ends(); t = lex.Client.Next(w.sql, t.End()) {
		switch {
		case t.IsAny("(", "[", "{"):
			depth++
		case t.IsAny(")", "]", "}"):
			if depth--; depth == 0 {
				return 0, 0, false
			}
		case depth == 1 && t.Is("as"):
			return start, end, true
		}
		end = t.End()
	}
	return 0, 0, false
}
