package lex

import "strings"

// IsLetter reports whether an unquoted name may begin with the byte. Characters of several bytes are letters.
func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

// IsDigit reports whether the byte is a decimal digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// OnlyDigits reports whether s has no other character.
func OnlyDigits(s string) bool {
	for i := range len(s) {
		if !IsDigit(s[i]) {
			return false
		}
	}
	return true
}

// IsNamePart reports whether an unquoted name may go on with the byte.
func IsNamePart(c byte) bool { return IsLetter(c) || IsDigit(c) || c == '$' }

// Fold is how unquoted names are folded: ASCII letters to lower case, as PostgreSQL does in UTF-8 databases.
func Fold(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for k := i; k < len(b); k++ {
				b[k] = lower(b[k])
			}
			return string(b)
		}
	}
	return s
}

// Mentions reports whether a word in lower case is anywhere in a text, in whatever case: a cheap check, which is false
// for most texts. It copies nothing, however long they are.
func Mentions(text, word string) bool {
	for at := range len(text) - len(word) + 1 {
		if lower(text[at]) == word[0] && Same(text[at:at+len(word)], word) {
			return true
		}
	}
	return false
}

// Same compares names as DuckDB's catalog does, and keywords as both parsers do: only ASCII letters have two cases.
func Same(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// Quote writes a name so that both parsers read exactly it.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteString writes a string so that both parsers read exactly it.
func QuoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Name is the name that a token stands for, if it may stand for one: a word as it is written, an identifier without
// its quotes, a string's value where DuckDB takes that for a name. Names are not empty.
func (t Token) Name() (name string, ok bool) {
	switch t.Kind {
	case Word:
		return t.Text, true
	case Quoted:
		if t.Text[0] != '"' {
			name, ok = t.Unescape('\\')
			return name, ok && name != ""
		}
		name = t.Body()
		return name, name != ""
	case String:
		return t.Value()
	}
	return "", false
}

// IsReserved reports whether a word, in lower case, names nothing unless it is quoted, neither for PostgreSQL nor for
// DuckDB.
func IsReserved(word string) bool { return reserved[word] }

var reserved = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`all analyse analyze and any array as asc asymmetric both case cast check collate column constraint
		create default deferrable desc distinct do else end except false for foreign from group having in initially intersect into
		lateral leading limit not null offset on only or order placing primary references returning select some symmetric table then
		to trailing true union unique using variadic when where window with`) {
		reserved[w] = true
	}
}
