package plan

import "strings"

// Span is a range of bytes [Start, End) of the statement's text.
type Span struct{ Start, End int }

// name is a possibly qualified name as it stands in the text.
type name struct {
	Span
	parts  []string // without quotes, case kept
	starts []int    // byte offset of each part
}

// nameAt reads a dotted name at an offset, without a copy of what it does not have to unquote. The tree alone would not do:
// it has folded the case, cut names at 63 bytes and knows no end.
//
// It answers ok=false at anything that is not a name, or is one only under PostgreSQL's U&"…" rules.
func nameAt(sql string, at int) (name, bool) {
	n := name{Span: Span{at, at}}
	for {
		part, end, ok := identifierAt(sql, at)
		if !ok {
			return name{}, false
		}
		n.parts = append(n.parts, part)
		n.starts = append(n.starts, at)
		n.End = end
		next := skipBlank(sql, end)
		if next >= len(sql) || sql[next] != '.' {
			return n, true
		}
		at = skipBlank(sql, next+1)
		if at < len(sql) && sql[at] == '*' {
			return n, true // t.* : the star is no part of the name
		}
	}
}

func identifierAt(sql string, at int) (part string, end int, ok bool) {
	if at < 0 || at >= len(sql) {
		return "", 0, false
	}
	if sql[at] == '"' {
		return quotedAt(sql, at)
	}
	end = at
	for end < len(sql) && isIdentifierByte(sql[end], end == at) {
		end++
	}
	if end == at || (sql[at] == 'u' || sql[at] == 'U') && strings.HasPrefix(sql[end:], `&"`) {
		return "", 0, false
	}
	return sql[at:end], end, true
}

func quotedAt(sql string, at int) (part string, end int, ok bool) {
	for i := at + 1; i < len(sql); i++ {
		if sql[i] != '"' {
			continue
		}
		if i+1 < len(sql) && sql[i+1] == '"' {
			i++
			continue
		}
		return strings.ReplaceAll(sql[at+1:i], `""`, `"`), i + 1, i > at+1
	}
	return "", 0, false
}

func isIdentifierByte(c byte, first bool) bool {
	switch {
	case 'a' <= lower(c) && lower(c) <= 'z', c == '_', c >= 0x80:
		return true
	case isDigit(c), c == '$':
		return !first
	}
	return false
}

// skipBlank passes white space and comments, nested ones too.
func skipBlank(sql string, at int) int {
	for at < len(sql) {
		switch {
		case strings.IndexByte(" \t\r\n\f\v", sql[at]) >= 0:
			at++
		case strings.HasPrefix(sql[at:], "--"):
			if end := strings.IndexAny(sql[at:], "\r\n"); end >= 0 {
				at += end
			} else {
				return len(sql)
			}
		case strings.HasPrefix(sql[at:], "/*"):
			at = skipComment(sql, at)
		default:
			return at
		}
	}
	return at
}

func skipComment(sql string, at int) int {
	depth := 0
	for at < len(sql) {
		switch {
		case strings.HasPrefix(sql[at:], "/*"):
			depth++
			at += 2
		case strings.HasPrefix(sql[at:], "*/"):
			depth--
			at += 2
			if depth == 0 {
				return at
			}
		default:
			at++
		}
	}
	return at
}

// wordBefore is the unquoted word that ends right before an offset (blanks between), with its start; "" if there is none.
// It does not look behind comments: a caller that wants to know about one keyword then misses it and does nothing.
func wordBefore(sql string, at int) (word string, start int) {
	end := len(strings.TrimRight(sql[:at], " \t\r\n\f\v"))
	start = end
	for start > 0 && isIdentifierByte(sql[start-1], false) {
		start--
	}
	return sql[start:end], start
}

// wordAfter is the unquoted word that follows an offset, or "".
func wordAfter(sql string, at int) string {
	at = skipBlank(sql, at)
	if at >= len(sql) || sql[at] == '"' {
		return ""
	}
	word, _, _ := identifierAt(sql, at)
	return word
}

// quoteName writes an identifier so that both dialects read exactly it.
func quoteName(s string) string {
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
