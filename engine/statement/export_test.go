package statement

// Tokens are the tokens of a text; not whole when a string or comment does not end.
func Tokens(sql string) (out []string, whole bool) {
	for _, p := range Places(sql) {
		out = append(out, sql[p[0]:p[1]])
	}
	for at := 0; ; {
		t := lex(sql, at)
		if t.kind == end || t.kind == incomplete {
			return out, t.kind == end
		}
		at = t.end()
	}
}

// Places are where the tokens of a text begin and end.
func Places(sql string) (out [][2]int) {
	for at := 0; ; {
		t := lex(sql, at)
		if t.kind == end {
			return out
		}
		at = t.end()
		out = append(out, [2]int{t.start, at})
	}
}

// HasWideSpace tells whether PostgreSQL's lexer and ours differ in what a space is.
func HasWideSpace(sql string) bool {
	for i := range sql {
		if wideSpace(sql[i:]) > 0 {
			return true
		}
	}
	return false
}
