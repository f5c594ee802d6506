package typing

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// A string that is an argument is of the parameter's type in PostgreSQL. DuckDB rounds it, chooses another function of
// the name, or none:
//
//	left(s, '1.5')      invalid input syntax for type integer
//	substr(s, '2')      substr(s, '2'::integer)
//	round('2.5')        round('2.5'::double precision)
//	lag(n, 1, '0.555')  lag(csm_numeric__digits(n, 0.000), 1, 0.555)
//
// What has several functions for the types of the others is of the type that PostgreSQL prefers, a double precision.

// parameters are the types of those of functions, by the names that typing sees without pgcatalog.TranslatedPrefix; 0:
// a string is a string.
var parameters = func() map[string][]uint32 {
	types := map[string][]uint32{}
	for list, of := range map[string][]uint32{
		"substr":                                {0, integerType, integerType},
		"overlay":                               {0, 0, integerType, integerType},
		"left right repeat lpad rpad":           {0, integerType},
		"split_part regexp_count regexp_substr": {0, 0, integerType},
		"chr ntile factorial":                   {integerType},
		"make_date":                             {integerType, integerType, integerType},
		"make_time":                             {integerType, integerType, doubleType},
		"make_timestamp": {
			integerType, integerType, integerType, integerType, integerType, doubleType,
		},
		"nth_value lag lead array_length array_upper": {0, integerType},
		"array_lower trim_array":                      {0, integerType},
		"bool_and bool_or every":                      {booleanType},
		"percentile_cont percentile_disc setseed":     {doubleType},
		"corr covar_pop covar_samp regr_slope atan2":  {doubleType, doubleType},
		"justify_days justify_hours justify_interval": {intervalType},
		"div":          {numericType, numericType},
		"width_bucket": {doubleType, doubleType, doubleType, integerType},
		"sqrt cbrt exp ln log10 degrees radians sin cos tan cot asin acos atan sinh cosh tanh asinh acosh atanh " +
			"operator__sqrt operator__cbrt abs ceil ceiling floor sign": {doubleType},
	} {
		for name := range strings.FieldsSeq(list) {
			types[name] = of
		}
	}
	return types
}()

// byArguments are those of which there are several for so many arguments: of one, and of two.
var byArguments = map[string][2][]uint32{
	"round": {{doubleType}, {numericType, integerType}},
	"trunc": {nil, {numericType, integerType}},
	"log":   {{doubleType}, {numericType, numericType}},
}

// alike are those whose arguments have one type.
var alike = map[string]bool{
	"generate_series": true, "gcd": true, "lcm": true, "mod": true, "power": true, "pow": true, "operator__power": true,
}

// castNames are the types of parameters, as DuckDB has them.
var castNames = map[uint32]string{
	smallType: "smallint", integerType: "integer", bigintType: "bigint", doubleType: "double precision",
	booleanType: "boolean", numericType: "numeric", timestampTZType: "timestamptz", intervalType: "interval",
	timestampType: "timestamp", dateType: "date", realType: "real",
}

// arrayFunctions take an array of any type, and nothing that says which.
var arrayFunctions = map[string]bool{
	"cardinality": true, "array_length": true, "array_upper": true, "array_lower": true, "array_dims": true,
	"array_ndims": true, "array_to_string": true,
}

// constants writes the strings among the arguments of a call as the parameters' types are.
func (w *translation) constants(f *pg.FuncCall, name string) {
	if !someString(f.Args) || f.FuncVariadic {
		return
	}
	types := parameters[name]
	if by, ok := byArguments[name]; ok && len(f.Args) <= len(by) {
		types = by[len(f.Args)-1]
	}
	first := f.Args[0].GetAConst()
	switch {
	case arrayFunctions[name] && isString(f.Args[0]) && !strings.HasPrefix(first.GetSval().Sval, "["): // DuckDB's
		e := sqlerror.New("42804", "could not determine polymorphic type because input has type unknown")
		e.At = edit.Position(w.sql, int(first.Location))
		w.refused = cmp.Or[error](w.refused, e)
		return
	case name == "to_hex" && len(f.Args) == 1, name == "to_char" && len(f.Args) == 2 && isString(f.Args[0]):
		types := strings.Repeat(", unknown", len(f.Args))[2:]
		e := sqlerror.New("42725", "function %s(%s) is not unique", name, types).
			WithHint("Could not choose a best candidate function. You might need to add explicit type casts.")
		e.At = edit.Position(w.sql, int(f.Location))
		w.refused = cmp.Or[error](w.refused, e)
		return
	case alike[name]:
		w.alike(f, name)
		return
	case ofArrays[name] != nil:
		w.ofArray(f, ofArrays[name])
		return
	case name == "date_bin" && len(f.Args) == 3:
		types = []uint32{intervalType, timestampTZType, timestampTZType}
		if t := w.unified(slices.DeleteFunc(slices.Clone(f.Args[1:]), isString)); t == timestampType {
			types[1], types[2] = t, t
		}
	case name == "timezone" && len(f.Args) == 2:
		types = []uint32{0, timestampTZType}
	case name == "substring" && len(f.Args) == 3 && f.Args[1].GetAConst().GetSval() == nil:
		types = parameters["substr"]
	case name == "age" && isString(f.Args[0]) && isString(f.Args[len(f.Args)-1]):
		types = []uint32{timestampTZType, timestampTZType}
	case strings.HasPrefix(name, "round__"), strings.HasPrefix(name, "trunc__"):
		types = []uint32{numericType}
	case (name == "lag" || name == "lead") && len(f.Args) == 3:
		w.substitute(f)
	}
	for i, x := range f.Args {
		if i < len(types) && types[i] != 0 {
			w.constant(x, types[i])
		}
	}
}

// ofArrays are the places of arrays and elements among the arguments of functions; their types go together.
var ofArrays = map[string][]place{
	"array_append": {array, element}, "array_prepend": {element, array}, "array_cat": {array, array},
	"array_position": {array, element, other}, "array_positions": {array, element}, "array_remove": {array, element},
	"array_replace": {array, element, element},
}

type place int

const (
	other place = iota
	array
	element
)

// ofArray writes strings as arrays, or elements, of the type that another argument has.
func (w *translation) ofArray(f *pg.FuncCall, places []place) {
	t := uint32(0)
	for i, x := range f.Args[:min(len(f.Args), len(places))] {
		switch of := w.of(x); {
		case isString(x) || t != 0:
		case places[i] == array && arrays[of]:
			t = of
		case places[i] == element:
			t = arraysOf[of]
		}
	}
	for i, x := range f.Args {
		switch {
		case i >= len(places) || !isString(x):
		case places[i] == array:
			w.arrayLiteral(x, t)
		case places[i] == element && castNames[elementsOf[t]] != "":
			w.constant(x, elementsOf[t])
		}
	}
}

func someString(list []*pg.Node) bool { return slices.ContainsFunc(list, isString) }

func isString(x *pg.Node) bool { return x.GetAConst().GetSval() != nil }

// constant writes a string as a constant of a type.
func (w *translation) constant(x *pg.Node, t uint32) {
	c := x.GetAConst()
	if c.GetSval() == nil {
		return
	}
	by := w.number(x, t, false)
	if by == "" {
		by = lex.QuoteString(c.GetSval().Sval) + "::" + castNames[t]
	}
	w.replaceString(c, by)
}

// alike are arguments of one type. A power of what is no numeric is a double precision.
func (w *translation) alike(f *pg.FuncCall, name string) {
	others := slices.DeleteFunc(slices.Clone(f.Args), isString)
	t := w.unified(others)
	if strings.HasSuffix(name, "pow") || strings.HasSuffix(name, "power") {
		if t != numericType {
			t = doubleType
		}
	}
	for _, x := range f.Args {
		if isNumber(t) && castNames[t] != "" {
			w.constant(x, t)
		}
	}
}

// substitute is the third argument of lag and lead, which has the type of the first, and gives it its digits.
func (w *translation) substitute(f *pg.FuncCall) {
	x, t := f.Args[2], w.of(f.Args[0])
	by := w.number(x, t, false)
	if by == "" || x.GetAConst().GetSval() == nil {
		return
	}
	w.replaceString(x.GetAConst(), by)
	if d, ok := w.decimal(x); ok && d.fraction > 0 {
		w.wrap(f.Args[0], DigitsName+"(", ", 0."+strings.Repeat("0", d.fraction)+")")
	}
}

// mayTakeConstants reports whether a call has strings in the places of other types.
func mayTakeConstants(f *pg.FuncCall) bool {
	if !someString(f.Args) {
		return false
	}
	name := strings.TrimPrefix(tree.LastText(f.Funcname), pgcatalog.TranslatedPrefix)
	_, some := byArguments[name]
	return some || parameters[name] != nil || alike[name] || arrayFunctions[name] || ofArrays[name] != nil ||
		name == "date_bin" || name == "timezone" || name == "substring" || name == "age" ||
		name == "to_hex" || name == "to_char" ||
		strings.HasPrefix(name, "round__") || strings.HasPrefix(name, "trunc__")
}
