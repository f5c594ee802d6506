package statement

// CountTokens counts the tokens of a text, by which it can be told before it is parsed how large its tree will be. Of a text that ends within a string or a comment
// it counts those before.
func CountTokens(sql string) (n int) {
	for at := 0; ; n++ {
		t := lex(sql, at)
		if t.kind == end || t.kind == incomplete {
			return n
		}
		at = t.end()
	}
}
