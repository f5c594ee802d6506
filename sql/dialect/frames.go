package dialect

import "github.com/csmsql/csmsql/sql/lex"

// frame refuses the frame of a window that begins or ends -1 or NULL rows from the current one: DuckDB has no rows in
// it. t is ROWS, RANGE or GROUPS.
func (r *translation) frame(t lex.Token) {
	side := "starting"
	bound := r.next(t.End())
	if bound.Is("between") {
		bound = r.next(bound.End())
	}
	for range 2 {
		last := bound
		if bound.IsAny("-", "unbounded", "current") {
			last = r.next(bound.End())
		}
		way := r.next(last.End())
		switch {
		case bound.Is("current"):
			way = last
		case !way.IsAny("preceding", "following"):
			return
		case bound.Is("null"):
			r.refuse(bound, "22004", "frame "+side+" offset must not be null", "")
		case bound.Is("-") && last.Kind == lex.Number && constantOf(last.Text) != unknown:
			r.refuse(bound, "22013", "frame "+side+" offset must not be negative", "")
		}
		and := r.next(way.End())
		if !and.Is("and") {
			return
		}
		side, bound = "ending", r.next(and.End())
	}
}
