package dialect

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// subscriptName begins the macros that read a subscript that may be less than 1: DuckDB counts those from the end of an
// array, PostgreSQL has nothing there.
const subscriptName = pgcatalog.TranslatedPrefix + "subscript"

// mayCountBack is a cheap check, which is false for most texts.
func mayCountBack(sql string) bool {
	at := strings.IndexByte(sql, '[')
	return at >= 0 && strings.IndexByte(sql[at:], '-') >= 0
}

// slice reports whether what begins with a bracket is [i:j].
func (r *translation) slice(open lex.Token) bool {
	depth := 0
	for t := r.next(open.End()); !t.Ends(); t = r.next(t.End()) {
		switch {
		case t.Is(":") && depth == 0:
			return true
		case t.IsAny("(", "[", "{"):
			depth++
		case t.IsAny(")", "]", "}"):
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return false
}

// subscript reads [i] or [i:j] behind an operand, from the bracket on.
//
//	a[i - 1]      a[csm_subscript(i - 1)]
//	a[-1:i - 1]   a[csm_subscript__from(-1):csm_subscript__to(i - 1)]
func (r *translation) subscript(open lex.Token, in clause) int {
	bounds := []lex.Token{{Start: open.End()}} // where each begins, and behind it what ends it
	back, depth := []bool{false}, 0
	for t := r.next(open.End()); !t.Ends(); t = r.next(t.End()) {
		switch {
		case t.IsAny(")", "]", "}") && depth == 0:
			bounds = append(bounds, t)
			return r.countedForward(bounds, back, r.walk(open.End(), context{clause: in}))
		case t.IsAny(")", "]", "}"):
			depth--
		case t.IsAny("(", "[", "{"):
			depth++
		case t.Is(":") && depth == 0:
			bounds, back = append(bounds, t), append(back, false)
		case t.Is("-") && depth == 0:
			back[len(back)-1] = true
		}
	}
	return r.walk(open.End(), context{clause: in})
}

// countedForward writes a macro around each bound that may be negative.
func (r *translation) countedForward(bounds []lex.Token, back []bool, stop int) int {
	for i, may := range back {
		name := subscriptName
		switch {
		case len(back) > 1 && i == 0:
			name += "__from"
		case len(back) > 1 && i == 1:
			name += "__to"
		case i > 1:
			return stop // DuckDB's step
		}
		if may {
			r.insert(bounds[i].End(), name+"(", opens)
			r.insert(bounds[i+1].Start, ")", closes)
		}
	}
	return stop
}
