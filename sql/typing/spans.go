package typing

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// plainCast writes csm_text(a) as CAST(a AS text), with a name.
func (w *translation) plainCast(f *pg.FuncCall, name string) {
	if _, end, ok := w.span(f); ok && w.rename(f, "CAST") {
		w.closes(end-1, " AS text")
		if name != "" {
			w.closes(end, name)
		}
	}
}

// span is where a call stands in the text.
func (w *translation) span(f *pg.FuncCall) (start, end int, ok bool) {
	start = int(f.Location)
	end, ok = callEnd(w.sql, start)
	return start, end, ok
}

// rename calls another function; false: it is written in a way that is not known.
func (w *translation) rename(f *pg.FuncCall, to string) bool {
	name, ok := bind.NameAt(w.sql, int(f.Location))
	if ok {
		w.edits = append(w.edits, change{name.Start, name.End, to, len(w.edits)})
	}
	return ok
}

// cast casts an expression; false: the text does not show where it ends.
func (w *translation) cast(x *pg.Node, to string) bool { return w.wrap(x, "", "::"+to) }

// wrap writes something before and behind a constant, a column or a call; false: it is none of them.
func (w *translation) wrap(x *pg.Node, before, behind string) (ok bool) {
	start, end := 0, 0
	switch e := x.GetNode().(type) {
	case *pg.Node_AConst:
		start = int(e.AConst.Location)
		t := lex.Client.Next(w.sql, start)
		for t.IsAny("-", "+") {
			t = lex.Client.Next(w.sql, t.End())
		}
		end, ok = t.End(), t.Kind == lex.Number || t.Kind == lex.String || t.IsAny("true", "false")
	case *pg.Node_ColumnRef:
		name, known := bind.NameAt(w.sql, int(e.ColumnRef.Location))
		start, end, ok = name.Start, name.End, known
	case *pg.Node_FuncCall:
		if _, name := tree.FunctionName(e.FuncCall); name != "" && before != "" {
			start, end, ok = w.span(e.FuncCall)
		}
	case *pg.Node_TypeCast:
		start, end, ok = w.castSpan(e.TypeCast)
	}
	if !ok {
		return false
	}
	if before != "" {
		w.opens(start, before)
	}
	w.closes(end, behind)
	return true
}

// castSpan is where a::b stands, of a constant or a column and a type of one word with its length, CAST(a AS b),
// or b 'a'.
func (w *translation) castSpan(c *pg.TypeCast) (start, end int, ok bool) {
	if c.TypeName.GetLocation() < 0 {
		return 0, 0, false
	}
	if t := lex.Client.Next(w.sql, max(int(c.Location), 0)); c.Location >= 0 && t.Is("cast") {
		end, ok = closing(w.sql, lex.Client.Next(w.sql, t.End()))
		return t.Start, end, ok
	}
	switch a := c.Arg.GetNode().(type) {
	case *pg.Node_AConst:
		start = int(a.AConst.Location)
	case *pg.Node_ColumnRef:
		start = int(a.ColumnRef.Location)
	default:
		return 0, 0, false
	}
	word := lex.Client.Next(w.sql, int(c.TypeName.GetLocation()))
	next := lex.Client.Next(w.sql, word.End())
	if next.Kind == lex.String && next.Start == start {
		return word.Start, next.End(), word.Kind == lex.Word
	}
	if c.Location < 0 {
		return 0, 0, false
	}
	colons := lex.Client.Next(w.sql, int(c.Location))
	end = word.End()
	if next.Is("(") {
		if end, ok = closing(w.sql, next); !ok {
			return 0, 0, false
		}
		next = lex.Client.Next(w.sql, end)
	}
	ok = strings.HasPrefix(w.sql[colons.Start:], "::") && word.Kind == lex.Word &&
		!next.IsAny("(", "[", ".", "precision", "varying", "with", "without")
	return start, end, ok && start < colons.Start && colons.Start < word.Start
}

// arguments are where those of a call stand; nil: the text does not show it.
func (w *translation) arguments(f *pg.FuncCall) []bind.Span {
	c, ok := bind.CallAt(w.sql, int(f.Location))
	if !ok || len(c.Arguments) != len(f.Args) || f.AggDistinct || len(f.AggOrder) > 0 || f.FuncVariadic {
		return nil
	}
	return c.Arguments
}

// callEnd passes the call of an aggregate that begins at an offset, with what stands behind its arguments.
func callEnd(sql string, at int) (end int, ok bool) {
	t := lex.Client.Next(sql, at)
	for t.Kind == lex.Word || t.Kind == lex.Quoted || t.Is(".") {
		t = lex.Client.Next(sql, t.End())
	}
	if end, ok = closing(sql, t); !ok {
		return 0, false
	}
	for {
		word := lex.Client.Next(sql, end)
		next := lex.Client.Next(sql, word.End())
		switch {
		case word.Is("over") && (next.Kind == lex.Word || next.Kind == lex.Quoted):
			end = next.End()
		case word.IsAny("filter", "over") && next.Is("("):
			if end, ok = closing(sql, next); !ok {
				return 0, false
			}
		default:
			return end, true
		}
	}
}

// closing is behind what closes a parenthesis.
func closing(sql string, open lex.Token) (end int, ok bool) {
	if !open.Is("(") {
		return 0, false
	}
	for depth, t := 0, open; !t.Ends(); t = lex.Client.Next(sql, t.End()) {
		switch {
		case t.IsAny("(", "["):
			depth++
		case t.IsAny(")", "]"):
			if depth--; depth == 0 {
				return t.End(), true
			}
		}
	}
	return 0, false
}
