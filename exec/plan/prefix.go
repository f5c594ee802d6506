package plan

import (
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// beginning reads substring(c FROM 1 FOR n), substr(c, 1, n) and left(c, n): the first n characters of a column, n
// ≥ 1. A character is a code point to DuckDB's functions of these names, never a grapheme.
func (a *analyzer) beginning(n *pg.Node) (column *pg.Node, characters int64, ok bool) {
	call := n.GetFuncCall()
	if call == nil || !isPlainCall(call) || len(call.Args) == 0 || call.Args[0].GetColumnRef() == nil {
		return nil, 0, false
	}
	switch numbers := call.Args[1:]; builtinName(call) {
	case "left":
		if len(numbers) == 1 {
			characters, ok = a.count(numbers[0])
		}
	case "substring", "substr":
		if len(numbers) == 2 {
			first, isNumber := a.count(numbers[0])
			characters, ok = a.count(numbers[1])
			ok = ok && isNumber && first == 1
		}
	}
	return call.Args[0], characters, ok
}

// count reads a literal number that is at least 1. Anything less has a meaning of its own: left(c, -1) is all but the
// last.
func (a *analyzer) count(n *pg.Node) (int64, bool) {
	v, ok := a.constant(n)
	if !ok || v.kind != Exact || v.scale != 0 {
		return 0, false
	}
	i, ok := v.int64()
	return i, ok && i >= 1
}

// beginningIs turns what the first characters of a column are compared with into the prefixes that this demands. A
// word of fewer characters would be the whole value; to demand it as a prefix demands less, which is allowed (P1).
// A longer one is never met.
func beginningIs(op Op, words []Value, characters int64) ([]Value, bool) {
	if op != Equal && op != In {
		return nil, false
	}
	var prefixes []Value
	for _, w := range words {
		if w.kind != Text || w.text == "" {
			return nil, false
		}
		if int64(utf8.RuneCountInString(w.text)) <= characters {
			prefixes = append(prefixes, w)
		}
	}
	return prefixes, len(prefixes) > 0
}

// startsWith is the condition starts_with(c, 'text'), which is also spelled prefix(c, 'text') and c ^@ 'text'.
func (a *analyzer) startsWith(q *bind.Query, column, text *pg.Node) []demand {
	v, ok := a.constant(text)
	return a.predicateIf(ok && v.kind == Text && v.text != "", q, column, Prefix, v)
}

// builtinName is the name of a function of DuckDB's own, in small letters; empty for a qualified one. SUBSTRING (…
// FROM …) comes out of PostgreSQL's grammar qualified.
func builtinName(call *pg.FuncCall) string {
	names := call.Funcname
	if len(names) == 2 && names[0].GetString_().GetSval() == "pg_catalog" && call.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX {
		names = names[1:]
	}
	if len(names) != 1 {
		return ""
	}
	return names[0].GetString_().GetSval()
}

// isPlainCall: arguments by place and nothing else.
func isPlainCall(call *pg.FuncCall) bool {
	return !call.AggDistinct && !call.AggStar && !call.AggWithinGroup && !call.FuncVariadic && call.AggFilter == nil && call.Over == nil &&
		len(call.AggOrder) == 0
}
