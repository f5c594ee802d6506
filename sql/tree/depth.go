package tree

import "github.com/csmsql/csmsql/sql/lex"

// chainMax bounds how deep PostgreSQL's parser may have to nest its tree. Its grammar checks its own stack, but what
// writes the tree out recurses once per level without looking, and a chain like 1+1+1+… is as deep as it is long:
// 100,000 links overflow a thread's 8 MiB stack, which ends the process. 20,000 tokens are far from that and more than
// real statements have.
const chainMax = 20_000

// TooDeep reports whether a tree of sql could be deeper than chainMax: tokens can nest only if no comma of their own
// group stands between them.
func TooDeep(read *lex.Text) bool {
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
