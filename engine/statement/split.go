package statement

import "strings"

// Split cuts a text into its statements, each a piece of sql without its semicolon and without spaces around it (S3). A
// text in which a string or comment does not end is one statement, whose Parse says what is wrong with it.
func Split(sql string) []string {
	var out []string
	start, last := -1, 0 // of the statement that is being read
	for at := 0; ; {
		t := lex(sql, at)
		at = t.end()
		switch {
		case t.kind == incomplete:
			return []string{strings.TrimSpace(sql)}
		case t.kind != end && !t.is(";"):
			if start < 0 {
				start = t.start
			}
			last = at
			continue
		case start >= 0:
			out = append(out, sql[start:last])
		}
		if t.kind == end {
			return out
		}
		start = -1
	}
}

// chainMax bounds how deep PostgreSQL's parser may have to nest its tree. Its grammar checks its own stack, but what
// writes the tree out recurses once per level without looking, and a chain like 1+1+1+… is as deep as it is long: 100,000
// links overflow a thread's 8 MiB stack, which ends the process. 20,000 tokens are far from that and more than anybody means.
const chainMax = 20_000

// tooDeep tells whether a tree of sql could be deeper than chainMax: tokens can nest only if no comma of their own group
// stands between them.
func tooDeep(sql string) bool {
	if len(sql) < chainMax {
		return false
	}
	depth, groups := 0, []int{} // depth when the group began
	for at := 0; ; {
		t := lex(sql, at)
		at = t.end()
		depth++
		switch {
		case t.kind == end || t.kind == incomplete:
			return false
		case depth > chainMax:
			return true
		case t.kind != symbol:
		case t.isAny("(", "[", "{"):
			groups = append(groups, depth)
		case len(groups) == 0:
			if t.text == "," || t.text == ";" {
				depth = 0
			}
		case t.isAny(")", "]", "}"):
			depth = groups[len(groups)-1]
			groups = groups[:len(groups)-1]
		case t.text == ",":
			depth = groups[len(groups)-1]
		}
	}
}
