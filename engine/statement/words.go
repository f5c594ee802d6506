package statement

// Word is an identifier, quoted or not, or a string in a text, with what stands around it.
type Word struct {
	Name          string // without its quotes, not folded
	Literal       bool   // a string
	At            int    // where it begins, in bytes
	Before, After string // the tokens around it, folded; empty at the ends of the text
	Qualifier     string // the identifier a in a.name, without its quotes
}

// Words are all of them, from left to right, up to whatever does not end.
func Words(sql string) []Word {
	var words []Word
	var before, earlier token
	t := lex(sql, 0)
	for t.kind != end && t.kind != incomplete {
		after := lex(sql, t.end())
		if name, ok := t.name(); ok {
			w := Word{Name: name, Literal: t.kind == text, At: t.start, Before: fold(before.text), After: fold(after.text)}
			if before.is(".") {
				w.Qualifier, _ = earlier.name()
			}
			words = append(words, w)
		}
		earlier, before, t = before, t, after
	}
	return words
}

// name is what a token names, if it may name something.
func (t token) name() (string, bool) {
	switch t.kind {
	case word:
		return t.text, true
	case quoted:
		return unquoteIdentifier(t.text)
	case text:
		return unquote(t.text)
	}
	return "", false
}
