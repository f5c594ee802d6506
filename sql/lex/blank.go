package lex

import "strings"

// SkipBlank moves over blanks; not whole when a comment does not end.
func (d Dialect) SkipBlank(sql string, at int) (end int, whole bool) {
	for at < len(sql) {
		switch c := sql[at]; {
		case isSpace(c):
			at++
		case c >= 0x80 && d != PostgreSQL && wideSpace(sql[at:]) > 0:
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

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// lineEnd is where a comment of hyphens ends: before either character that ends a line.
func lineEnd(sql string, at int) int {
	if i := strings.IndexAny(sql[at:], "\n\r"); i >= 0 {
		return at + i
	}
	return len(sql)
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

// wideSpace is the length of the wide space that s begins with, or zero. They come with every query that is copied
// from a web page.
func wideSpace(s string) int {
	switch {
	case strings.HasPrefix(s, "\u00a0"):
		return 2
	case len(s) < 3:
		return 0
	case s[0] == 0xe2 && s[1] == 0x80 && (s[2] >= 0x80 && s[2] <= 0x8b || s[2] == 0xaf): // U+2000–U+200B, U+202F
		return 3
	case s[:3] == "\u205f", s[:3] == "\u2060", s[:3] == "\u3000", s[:3] == "\ufeff":
		return 3
	}
	return 0
}
