package dialect

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// mayQuantify finds texts that compare with ANY or ALL of an array.
func mayQuantify(sql string) bool {
	for rest := sql; ; {
		at := strings.IndexByte(rest, '(')
		if at < 0 {
			return false
		}
		if quantifier(rest[:at]) {
			return true
		}
		rest = rest[at+1:]
	}
}

// quantifier reports whether a text ends with a comparison's operator and ANY, SOME or ALL.
func quantifier(before string) bool {
	before = strings.TrimRight(before, blanks)
	for _, word := range []string{"any", "some", "all"} {
		if n := len(before) - len(word); n > 0 && strings.EqualFold(before[n:], word) {
			before = strings.TrimRight(before[:n], blanks)
			return before != "" && strings.IndexByte("=<>", before[len(before)-1]) >= 0
		}
	}
	return false
}

// elementsName is the macro that gives a NULL an element.
const elementsName = pgcatalog.TranslatedPrefix + "elements"

// quantified writes a <> ALL (b) as a <> ALL (csm_elements(b)), an array that has the element NULL if it is NULL
// itself: in DuckDB it has none, so that the comparison with ALL is true, and with ANY false. A parameter stays, for
// the other side says what it is; so do constants, except NULL.
func (r *translation) quantified(c *call) {
	if len(c.arguments) == 0 || len(c.commas) > 0 || !quantifier(r.sql[:c.open.Start]) {
		return
	}
	first := c.arguments[0]
	if first.Kind == lex.Parameter || first.Kind == lex.String || first.IsAny(elementsName, "array", "[", "{") ||
		r.isQuery(first, c.closing) {
		return
	}
	r.insert(c.open.End(), elementsName+"(", opens)
	r.insert(c.closing, ")", closes)
}

// isQuery reports whether what stands from a token to end is a query, maybe within parentheses.
func (r *translation) isQuery(first lex.Token, end int) bool {
	for first.Is("(") {
		closing := r.callAt("", first.Start, first).closing
		if r.next(closing+1).Start != end {
			return false
		}
		first, end = r.next(first.End()), closing
	}
	return first.IsAny("select", "with", "values", "from", "table")
}
