package typing

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

func (w *translation) call(x *pg.Node) {
	f := x.GetFuncCall()
	if isAtTimeZone(f) {
		w.constants(f, "timezone")
	}
	w.bytes(f)
	schema, name := tree.FunctionName(f)
	if schema != "" && schema != tree.SystemSchema || len(f.Args) == 0 {
		return
	}
	w.refused = cmp.Or(w.refused, w.aggregable(f, name))
	last := w.of(f.Args[len(f.Args)-1])
	w.constants(f, strings.TrimPrefix(name, pgcatalog.TranslatedPrefix))
	switch {
	case (name == "csm_divide" || name == "csm_mod") && len(f.Args) == 2:
		w.numbers(f.Args, true)
		w.operands(f.Args[0], f.Args[1], false)
	case (name == "sum" || name == "avg") && last == intervalType && f.Over == nil && f.AggFilter == nil &&
		!f.AggDistinct:
		w.rename(f, pgcatalog.TranslatedPrefix+name+"__interval")
	case name == "string_agg" && len(f.Args) == 2 && w.of(f.Args[0]) == byteaType:
		w.rename(f, pgcatalog.TranslatedPrefix+"string_agg__bytea")
	case name == "sum":
		w.sum(x)
	case name == "csm_numeric" && w.isAnyNumber(f.Args[0]):
		w.rename(f, pgcatalog.TranslatedPrefix+"numeric__exact")
	case name == "csm_numeric" && w.isText(f.Args[0]):
		w.rename(f, pgcatalog.TranslatedPrefix+"numeric__of_text")
	case name == "csm_numeric__array":
		switch last {
		case textType, varcharType, bpcharType:
			w.rename(f, pgcatalog.TranslatedPrefix+"numeric__text")
		case arraysOf[textType], varcharsType:
			w.rename(f, pgcatalog.TranslatedPrefix+"numeric__texts")
		default:
			if slices.ContainsFunc(f.Args[0].GetAArrayExpr().GetElements(), w.isText) {
				w.rename(f, pgcatalog.TranslatedPrefix+"numeric__texts")
			}
		}
	case name == "csm_generate_series" && len(f.Args) == 3 && w.of(f.Args[0]) == dateType &&
		w.of(f.Args[1]) == dateType:
		w.wrap(f.Args[0], "CAST(", " AS timestamptz)")
		w.wrap(f.Args[1], "CAST(", " AS timestamptz)")
	case name == "csm_time" && w.of(f.Args[0]) == timestampTZType: // to a time of so many digits (localTime)
		if list := w.arguments(f); list != nil {
			w.opens(list[0].Start, "CAST(")
			w.closes(list[0].End, " AS timestamp)")
		}
	case name == "csm_text" && f.Args[0].GetRowExpr() != nil:
		w.row(f.Args[0])
		w.plainCast(f, "")
	case name == "csm_text" && last == 0 && f.Args[0].GetColumnRef() != nil && w.wholeText(f.Args[0].GetColumnRef()):
		name := ""
		if w.bare[x] {
			name = " AS " + lex.Quote(tree.LastText(f.Args[0].GetColumnRef().Fields))
		}
		w.plainCast(f, name)
	case countsWhole(f):
		w.countWhole(f)
	case name == "to_char" && len(f.Args) == 2 && isFloat(w.of(f.Args[0])):
		w.rename(f, pgcatalog.TranslatedPrefix+"to_char__float")
	case name == "round" && len(f.Args) == 1 && (isFloat(last) || isString(f.Args[0])):
		w.rename(f, pgcatalog.TranslatedPrefix+"round__even")
	case name == "concat" || name == "concat_ws":
		for i, at := range w.arguments(f) {
			if before := w.textOf(f.Args[i], true); before != "" {
				w.opens(at.Start, before)
				w.closes(at.End, ")")
			}
		}
	case (name == "date_trunc" || strings.HasPrefix(name, "csm_date_trunc__")) && last == dateType:
		if start, end, ok := w.span(f); ok {
			w.opens(start, "CAST(")
			w.closes(end, " AS timestamptz)")
		}
	case name == "csm_text" && (plainText[last] || namesObject(f.Args[0])):
		w.plainCast(f, "")
	}
}

// ofBytes are functions that DuckDB has of texts alone, and how many of their arguments, from the first one on, are
// bytes where one is.
var ofBytes = map[string]int{"length": 1, "bit_length": 1, "substr": 1, "substring": 1, "overlay": 2, "position": 2}

// mayTakeBytes reports whether a call is of one of them, and not of strings alone.
func mayTakeBytes(f *pg.FuncCall) bool {
	n := ofBytes[strings.TrimPrefix(tree.LastText(f.Funcname), pgcatalog.TranslatedPrefix)]
	return n > 0 && slices.ContainsFunc(f.Args[:min(n, len(f.Args))], func(x *pg.Node) bool { return !isString(x) })
}

// bytes calls a function of bytes, with commas in the place of the words between its arguments.
func (w *translation) bytes(f *pg.FuncCall) {
	name := strings.TrimPrefix(tree.LastText(f.Funcname), pgcatalog.TranslatedPrefix)
	list := f.Args[:min(ofBytes[name], len(f.Args))]
	schema, _ := tree.FunctionName(f)
	if schema != "" && schema != tree.SystemSchema ||
		!slices.ContainsFunc(list, func(x *pg.Node) bool { return w.of(x) == byteaType }) {
		return
	}
	words, ok := w.wordsIn(f)
	if !ok || len(words) == 2 && words[0].Is("for") || !w.rename(f, pgcatalog.TranslatedPrefix+name+"__bytea") {
		return // substring(b FOR 1 FROM 2)
	}
	for _, word := range words {
		by := ","
		if name == "substring" && word.Is("for") && len(words) == 1 {
			by = ", 1,"
		}
		w.edits = append(w.edits, change{word.Start, word.End(), by, len(w.edits)})
	}
	for _, x := range list {
		if isString(x) {
			w.cast(x, "bytea")
		}
	}
}

// wordsIn are those that stand between the arguments of a call in the place of commas.
func (w *translation) wordsIn(f *pg.FuncCall) (words []lex.Token, ok bool) {
	start := int(f.Location)
	end, ok := callEnd(w.sql, start)
	for depth, t := 0, lex.Client.Next(w.sql, start); ok && t.Start < end; t = lex.Client.Next(w.sql, t.End()) {
		switch {
		case t.IsAny("(", "[", "case"):
			depth++
		case t.IsAny(")", "]", "end"):
			depth--
		case depth == 1 && t.IsAny("from", "for", "in", "placing"):
			words = append(words, t)
		}
	}
	return words, ok
}

// isAnyNumber reports whether an expression certainly is a number of any type but a constant.
func (w *translation) isAnyNumber(x *pg.Node) bool {
	t := w.of(x)
	switch {
	case x.GetAConst() != nil, x.GetColumnRef() != nil: // DuckDB knows their types
		return false
	case t == 0:
		if f := x.GetFuncCall(); f != nil {
			_, name := tree.FunctionName(f)
			return numberFunctions[name]
		}
		return x.GetAExpr() != nil && isArithmetic(x.GetAExpr())
	}
	return isNumber(t) && t != unknownType
}

// numberFunctions give a number, whatever they are given.
var numberFunctions = map[string]bool{
	"sum": true, "avg": true, "round": true, "trunc": true, "ceil": true, "ceiling": true, "floor": true, "sign": true,
}

// plainText are types whose values are the same texts in DuckDB.
var plainText = map[uint32]bool{
	smallType: true, integerType: true, bigintType: true, numericType: true, dateType: true, timestampType: true,
	timestampTZType: true, 16: true, 25: true, 1042: true, 1043: true, 1083: true, 2950: true, 114: true,
}

// namesObject reports whether an expression is a cast to a type such as regclass, whose values are texts already. They
// are looked up, as often as the macro names its argument.
func namesObject(x *pg.Node) bool {
	c := x.GetTypeCast()
	if c == nil || len(c.TypeName.GetArrayBounds()) > 0 {
		return false
	}
	_, name := tree.TypeName(c.TypeName)
	return pgcatalog.NamesObjects(name)
}

// text writes what is shown as text as PostgreSQL does; short: true is t.
func (w *translation) text(x *pg.Node, short bool) {
	if before := w.textOf(x, short); before != "" {
		w.wrap(x, before, ")")
	}
}

// textOf is what is written before it; empty: DuckDB's text is the same.
func (w *translation) textOf(x *pg.Node, short bool) string {
	switch t := w.of(x); {
	case isFloat(t) || t == intervalType:
		return pgcatalog.TranslatedPrefix + "text("
	case t == booleanType && short:
		return pgcatalog.TranslatedPrefix + "text__boolean("
	}
	return ""
}

// sum casts one of whole numbers.
func (w *translation) sum(x *pg.Node) {
	if !isSum(x) {
		return
	}
	to, of := "", w.of(x.GetFuncCall().Args[0])
	if w.stays[x] && of != realType {
		return
	}
	switch of {
	case realType:
		to = "real"
	case smallType, integerType:
		to = "bigint"
	case bigintType:
		to = "numeric(38, 0)"
	default:
		return
	}
	start := int(x.GetFuncCall().Location)
	end, ok := callEnd(w.sql, start)
	if !ok {
		return
	}
	to = " AS " + to + ")"
	if w.unnamed[x] {
		to += " AS sum"
	}
	w.opens(start, "CAST(")
	w.closes(end, to)
}
