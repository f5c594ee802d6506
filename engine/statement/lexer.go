package statement

import "strings"

// kind tells what a token is. The lexer knows what PostgreSQL's and DuckDB's have in common; it is ours because the heads need
// one that goes on where PostgreSQL's gives up on DuckDB's dialect, and that costs no call into C.
type kind uint8

const (
	end        kind = iota // behind the last token
	word                   // an unquoted identifier or keyword
	quoted                 // "identifier", U&"identifier"
	text                   // 'string', E'string', U&'string', x'bits', $tag$string$tag$
	number                 // 1, 1.5e-3, 0xff
	parameter              // $1
	symbol                 // one character of punctuation or of an operator
	incomplete             // a string, quoted identifier or comment that does not end
)

// token is a piece of the text (S1). Comments and spaces are no tokens.
type token struct {
	text  string
	start int
	kind  kind
}

func (t token) end() int { return t.start + len(t.text) }

// is tells whether t is the keyword (given in lower case) or the symbol.
func (t token) is(s string) bool {
	switch t.kind {
	case word:
		return len(t.text) == len(s) && equalFold(t.text, s)
	case symbol:
		return t.text == s
	}
	return false
}

// isAny tells whether t is one of several keywords or symbols.
func (t token) isAny(list ...string) bool {
	for _, s := range list {
		if t.is(s) {
			return true
		}
	}
	return false
}

// equalFold compares as keywords are compared: only ASCII letters have two cases.
func equalFold(s, lower string) bool {
	for i := range len(s) {
		if c := s[i]; c != lower[i] && (c < 'A' || c > 'Z' || c|0x20 != lower[i]) {
			return false
		}
	}
	return true
}

// fold is how unquoted identifiers are folded: ASCII letters to lower case, as PostgreSQL does in UTF-8 databases.
func fold(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for k := i; k < len(b); k++ {
				if b[k] >= 'A' && b[k] <= 'Z' {
					b[k] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isSpace(c byte) bool  { return c == ' ' || c >= '\t' && c <= '\r' }

// lex returns the first token at or after offset at.
func lex(sql string, at int) token {
	at, whole := skipBlank(sql, at)
	if !whole {
		return token{sql[at:], at, incomplete}
	}
	if at == len(sql) {
		return token{start: at}
	}
	k, stop := measure(sql, at)
	if stop < 0 {
		return token{sql[at:], at, incomplete}
	}
	return token{sql[at:stop], at, k}
}

// measure tells the kind of the token at at and where it ends; less than zero: it does not.
func measure(sql string, at int) (kind, int) {
	c, next := sql[at], byte(0)
	if at+1 < len(sql) {
		next = sql[at+1]
	}
	switch {
	case c == '\'':
		return text, stringEnd(sql, at+1, ' ')
	case c == '"':
		return quoted, quoteEnd(sql, at+1)
	case next == '\'' && strings.IndexByte("eEbBxX", c) >= 0:
		return text, stringEnd(sql, at+2, c|0x20)
	case c|0x20 == 'u' && strings.HasPrefix(sql[at+1:], "&'"):
		return text, stringEnd(sql, at+3, ' ')
	case c|0x20 == 'u' && strings.HasPrefix(sql[at+1:], `&"`):
		return quoted, quoteEnd(sql, at+3)
	case isLetter(c):
		return word, wordEnd(sql, at+1)
	case isDigit(c), c == '.' && isDigit(next):
		return number, numberEnd(sql, at)
	case c == '$' && isDigit(next):
		stop := at + 1
		for stop < len(sql) && isDigit(sql[stop]) {
			stop++
		}
		return parameter, stop
	case c == '$':
		if stop, ok := dollarEnd(sql, at); ok {
			return text, stop
		}
	}
	return symbol, at + 1
}

// wordEnd stops before the spaces of Unicode, which DuckDB takes for spaces.
func wordEnd(sql string, at int) int {
	for at < len(sql) && (isLetter(sql[at]) || isDigit(sql[at]) || sql[at] == '$') {
		if sql[at] >= 0x80 && wideSpace(sql[at:]) > 0 {
			break
		}
		at++
	}
	return at
}

// numberEnd is generous: what a number may look like is for the parsers to say. But it has one point, and none behind an exponent, and 0xe+1
// has no exponent.
func numberEnd(sql string, at int) int {
	whole := true // neither was there
	hexadecimal := sql[at] == '0' && at+1 < len(sql) && sql[at+1]|0x20 == 'x'
	for at < len(sql) {
		switch c := sql[at]; {
		case c == '.' && (!whole || strings.HasPrefix(sql[at:], "..")): // 1..10
			return at
		case c == '.', c != '_' && c < 0x80 && isLetter(c):
			whole = false
		case (c == '+' || c == '-') && !hexadecimal && sql[at-1]|0x20 == 'e' && at+1 < len(sql) && isDigit(sql[at+1]):
		case c != '.' && !isLetter(c) && !isDigit(c), c >= 0x80:
			return at
		}
		at++
	}
	return at
}

func quoteEnd(sql string, at int) int {
	for {
		i := strings.IndexByte(sql[at:], '"')
		if i < 0 {
			return -1
		}
		if at += i + 1; at == len(sql) || sql[at] != '"' {
			return at
		}
		at++
	}
}

// stringEnd finds the end of a string whose first quote is before at. In 'e' strings backslashes escape; in 'b' and 'x'
// strings a double quote is no quote. A string goes on in the next line if that begins with a quote, as the standard says.
func stringEnd(sql string, at int, prefix byte) int {
	for at < len(sql) {
		switch sql[at] {
		case '\\':
			if prefix == 'e' {
				at++
			}
			at++
		case '\'':
			at++
			switch more := continuation(sql, at); {
			case at < len(sql) && sql[at] == '\'' && prefix != 'b' && prefix != 'x':
				at++
			case more > 0:
				at = more
			default:
				return at
			}
		default:
			at++
		}
	}
	return -1
}

// continuation is where a string goes on behind its closing quote, or zero.
func continuation(sql string, at int) int {
	line := false
	for at < len(sql) {
		switch c := sql[at]; {
		case c == '\n' || c == '\r':
			line = true
			at++
		case isSpace(c):
			at++
		case strings.HasPrefix(sql[at:], "--"):
			at = lineEnd(sql, at)
		case c == '\'' && line:
			return at + 1
		default:
			return 0
		}
	}
	return 0
}

func lineEnd(sql string, at int) int {
	if i := strings.IndexAny(sql[at:], "\n\r"); i >= 0 {
		return at + i
	}
	return len(sql)
}

// dollarEnd finds the end of $tag$…$tag$; not ok when the dollar begins no string. An end below zero: it is not there.
func dollarEnd(sql string, at int) (int, bool) {
	i := at + 1
	for i < len(sql) && (isLetter(sql[i]) || isDigit(sql[i])) {
		i++
	}
	if i == len(sql) || sql[i] != '$' {
		return 0, false
	}
	tag := sql[at : i+1]
	stop := strings.Index(sql[i+1:], tag)
	if stop < 0 {
		return -1, true
	}
	return i + 1 + stop + len(tag), true
}

// skipBlank moves over spaces and comments; not whole when a comment does not end.
func skipBlank(sql string, at int) (int, bool) {
	for at < len(sql) {
		switch c := sql[at]; {
		case isSpace(c):
			at++
		case c >= 0x80 && wideSpace(sql[at:]) > 0:
			at += wideSpace(sql[at:])
		case c == '-' && strings.HasPrefix(sql[at:], "--"):
			at = lineEnd(sql, at)
		case c == '/' && strings.HasPrefix(sql[at:], "/*"):
			stop := commentEnd(sql, at)
			if stop < 0 {
				return at, false
			}
			at = stop
		default:
			return at, true
		}
	}
	return at, true
}

// commentEnd: comments nest.
func commentEnd(sql string, at int) int {
	for depth := 0; at+1 < len(sql); {
		switch sql[at : at+2] {
		case "/*":
			depth++
			at += 2
		case "*/":
			at += 2
			if depth--; depth == 0 {
				return at
			}
		default:
			at++
		}
	}
	return -1
}

// wideSpace is the length of the Unicode space that s begins with, or zero. DuckDB replaces them by spaces outside of
// strings, and they come with every query that is copied from a web page.
func wideSpace(s string) int {
	switch {
	case strings.HasPrefix(s, "\u00a0"):
		return 2
	case len(s) < 3:
		return 0
	case s[0] == 0xe2 && s[1] == 0x80 && (s[2] >= 0x80 && s[2] <= 0x8b || s[2] == 0xaf): // U+2000–U+200B, U+202F
		return 3
	case strings.HasPrefix(s, "\u205f"), strings.HasPrefix(s, "\u2060"), strings.HasPrefix(s, "\u3000"), strings.HasPrefix(s, "\ufeff"):
		return 3
	}
	return 0
}
