package pgcatalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/csmsql/csmsql/sql/lex"
)

// A macro puts its arguments where its parameters stand. One that is read twice is computed twice, which is another
// value for random(), and a number more of a sequence. So each macro that reads a parameter more than once has a twin,
// which computes its arguments once, in a list of one: slower, and so for arguments that
// are volatile alone.

// OncePrefix begins the names of the twins.
const OncePrefix = TranslatedPrefix + "once__"

// FirstPrefix begins the names of those that compute the first argument once, and leave the others as they are: some of
// DuckDB's functions want constants.
const FirstPrefix = OncePrefix + "first__"

// form is one of a macro's forms, by the number of its parameters.
type form struct {
	schema, name string
	parameters   []string // with their types
	reads        []int    // how often each of them is
	calls        []string // what is called in it
	aggregates   bool     // rows, which no list can stand between
}

// forms are those of the macros that any statement may call, by their schema and name. The last definition counts.
var forms = sync.OnceValue(func() map[string][]form {
	out := map[string][]form{}
	text := lex.DuckDB.Text(readFile("functions.sql"))
	for t := text.Next(0); !t.Ends(); t = text.Next(t.End()) {
		if !t.Is("macro") {
			continue
		}
		schema := text.Next(t.End())
		name := text.Next(text.Next(schema.End()).End())
		key := schema.Text + "." + name.Text
		var found []form
		open := text.Next(name.End())
		for open.Is("(") {
			f := form{schema: schema.Text, name: name.Text}
			var body lex.Token
			f.parameters, body = parameters(text, open)
			f.reads = make([]int, len(f.parameters))
			stop := reads(text, text.Next(body.End()), out, &f)
			found = append(found, f)
			t, open = stop, text.Next(stop.End())
			if !stop.Is(",") {
				break
			}
		}
		out[key] = found
	}
	return out
})

// parameters are those between parentheses, and the AS behind them.
func parameters(text *lex.Text, open lex.Token) (names []string, as lex.Token) {
	from, depth := open.End(), 0 // DECIMAL(38, 10)
	for t := text.Next(from); ; t = text.Next(t.End()) {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")") && depth > 0:
			depth--
		case t.IsAny(",", ")") && depth == 0:
			if name := strings.TrimSpace(text.SQL[from:t.Start]); name != "" {
				names = append(names, name)
			}
			from = t.End()
			if t.Is(")") {
				return names, text.Next(from)
			}
		}
	}
}

// reads counts how often the parameters of f are read from t on, up to what ends its body. What a called macro reads
// twice is read twice; a type is none of a value.
func reads(text *lex.Text, t lex.Token, known map[string][]form, f *form) (stop lex.Token) {
	type call struct {
		name   string
		counts []map[string]int // of each argument
	}
	calls := []call{{counts: []map[string]int{{}}}}
	var before [3]lex.Token // the last one first
	for ; ; t = text.Next(t.End()) {
		inner := &calls[len(calls)-1]
		switch {
		case t.Ends() || t.Is(";") || len(calls) == 1 && t.Is(","):
			for i, parameter := range f.parameters {
				name, _, _ := strings.Cut(parameter, " ")
				f.reads[i] = calls[0].counts[0][name]
			}
			return t
		case t.IsAny("(", "[", "{"):
			opened := call{counts: []map[string]int{{}}}
			if t.Is("(") && before[0].Kind == lex.Word {
				opened.name = before[0].Text
				if before[1].Is(".") {
					opened.name = before[2].Text + "." + opened.name
				}
			}
			calls = append(calls, opened)
			f.calls = append(f.calls, opened.name)
			f.aggregates = f.aggregates || aggregates[opened.name]
			for _, g := range known[opened.name] {
				f.aggregates = f.aggregates || g.aggregates
			}
		case t.IsAny(")", "]", "}"):
			times := timesOf(known, inner.name, len(inner.counts))
			calls = calls[:len(calls)-1]
			around := &calls[len(calls)-1]
			for i, counts := range inner.counts {
				for name, n := range counts {
					around.counts[len(around.counts)-1][name] += n * times(i)
				}
			}
		case t.Is(","):
			inner.counts = append(inner.counts, map[string]int{})
		case t.Kind == lex.Word && !before[0].Is("."):
			inner.counts[len(inner.counts)-1][t.Text]++
		}
		before = [3]lex.Token{t, before[0], before[1]}
	}
}

// aggregates are those of DuckDB's that macros call.
var aggregates = map[string]bool{"sum": true, "count": true, "string_agg": true, "bool_and": true}

// duckdbs are DuckDB's own macros that read a parameter more than once, and how often.
var duckdbs = map[string][]int{
	"array_pop_back": {2}, "array_to_string": {2, 1}, "array_to_string_comma_default": {2, 1}, "fmod": {2, 2},
	"nullif": {2, 1}, "round_even": {3, 3}, "roundbankers": {3, 3}, "split_part": {2, 2, 2},
}

// timesOf says how often a call of count arguments reads each of them.
func timesOf(known map[string][]form, name string, count int) func(i int) int {
	if name == "typeof" {
		return func(int) int { return 0 } // it is known when a statement is planned
	}
	for _, f := range known[name] {
		if len(f.parameters) == count {
			return func(i int) int { return f.reads[i] }
		}
	}
	if times, ok := duckdbs[name]; ok {
		return func(i int) int { return times[min(i, len(times)-1)] }
	}
	return func(int) int { return 1 }
}

// Reads says how a call of a function, with so many arguments, computes the given ones: each of them once, or more
// often than that, when there may be a twin to call, by its name.
func Reads(name string, count int, given []int) (once bool, twin string) {
	if oneOf[name] {
		return true, ""
	}
	known := forms()["pg_session."+name]
	if quoting[name] {
		known = forms()["pg_compat."+name]
	}
	for _, f := range known {
		for _, i := range given {
			switch {
			case len(f.parameters) != count || f.reads[i] <= 1:
			case f.aggregates:
				return false, ""
			case len(given) == 1 && i == 0, f.readsFirst():
				return false, FirstPrefix + name
			default:
				return false, OncePrefix + name
			}
		}
	}
	return true, ""
}

// readsFirst reports whether a form reads no other parameter than the first one more than once.
func (f form) readsFirst() bool {
	return !slices.ContainsFunc(f.reads[1:], func(n int) bool { return n > 1 })
}

// oneOf are those with branches of which one is read.
var oneOf = map[string]bool{"format": true}

// quoting are those functions of users' that are in pg_compat.
var quoting = map[string]bool{"quote_ident": true, "quote_literal": true, "quote_nullable": true}

// twins are the macros that compute what others read more than once.
func twins() string {
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(forms())) {
		schema, name, _ := strings.Cut(key, ".")
		if schema != "pg_session" && !quoting[name] || name[0] == '"' || oneOf[name] {
			continue
		}
		for _, prefix := range []string{OncePrefix, FirstPrefix} {
			var bodies []string
			for _, f := range forms()[key] {
				first := prefix == FirstPrefix
				if body := f.twin(first); body != "" && (first || !f.readsFirst()) {
					bodies = append(bodies, body)
				}
			}
			if len(bodies) > 0 {
				fmt.Fprintf(&out, "CREATE MACRO pg_session.%s%s%s;\n", prefix, name, strings.Join(bodies, ", "))
			}
		}
	}
	return out.String()
}

// twin is the parameters and the body of a form that computes its arguments once, or the first of them; empty: it does
// so itself.
func (f form) twin(first bool) string {
	var fields, arguments []string
	for i, parameter := range f.parameters {
		name, _, _ := strings.Cut(parameter, " ")
		argument := name
		if f.reads[i] > 1 && (i == 0 || !first) {
			fields = append(fields, "'"+name+"': "+name)
			argument = "struct_extract(csm_computed, '" + name + "')"
		}
		arguments = append(arguments, argument)
	}
	if len(fields) == 0 || f.aggregates {
		return ""
	}
	const body = "(%s) AS list_transform([{%s}], lambda csm_computed: %s.%s(%s))[1]"
	return fmt.Sprintf(body, strings.Join(f.parameters, ", "), strings.Join(fields, ", "), f.schema, f.name,
		strings.Join(arguments, ", "))
}
