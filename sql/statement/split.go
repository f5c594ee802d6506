package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// Split cuts a text into its statements, each a piece of it without its semicolon and without spaces around it (S3). A
// text in which a string or comment does not end is one statement, whose Parse says what is wrong with it.
func Split(read *lex.Text) []*lex.Text {
	var out []*lex.Text
	start, last := -1, 0 // of the statement that is being read
	for at := 0; ; {
		t := read.Next(at)
		at = t.End()
		switch {
		case t.Kind == lex.Incomplete:
			return []*lex.Text{lex.Client.Text(strings.TrimSpace(read.SQL))}
		case t.Kind != lex.End && !t.Is(";"):
			if start < 0 {
				start = t.Start
			}
			last = at
			continue
		case start >= 0:
			out = append(out, read.Part(start, last))
		}
		if t.Kind == lex.End {
			return out
		}
		start = -1
	}
}

// chainMax bounds how deep PostgreSQL's parser may have to nest its tree. Its grammar checks its own stack, but what
// writes the tree out recurses once per level without looking, and a chain like 1+1+1+… is as deep as it is long:
// 100,000 links overflow a thread's 8 MiB stack, which ends the process. 20,000 tokens are far from that and more than
// anybody means.
const chainMax = 20_000

// tooDeep tells whether a tree of sql could be deeper than chainMax: tokens can nest only if no comma of their own
// group stands between them.
func tooDeep(read *lex.Text) bool {
	if len(read.SQL) < chainMax {
		return false
	}
	depth, groups := 0, []int{} // depth when the group began
	for at := 0; ; {
		t := read.Next(at)
		at = t.End()
		depth++
		switch {
		case t.Ends():
			return false
		case depth > chainMax:
			return true
		case t.Kind != lex.Symbol:
		case t.IsAny("(", "[", "{"):
			groups = append(groups, depth)
		case len(groups) == 0:
			if t.Text == "," || t.Text == ";" {
				depth = 0
			}
		case t.IsAny(")", "]", "}"):
			depth = groups[len(groups)-1]
			groups = groups[:len(groups)-1]
		case t.Text == ",":
			depth = groups[len(groups)-1]
		}
	}
}
