package plan

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// Span is a range of bytes [Start, End) of the statement's text.
type Span struct{ Start, End int }

// name is a possibly qualified name as it stands in the text.
type name struct {
	Span
	parts  []string // without quotes, case kept
	starts []int    // byte offset of each part
}

// nameAt reads a dotted name at an offset, without a copy of what it does not have to unquote. The tree alone would not
// do:
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

// identifierAt reads the word or quoted identifier that begins at an offset.
func identifierAt(sql string, at int) (part string, end int, ok bool) {
	if at < 0 || at >= len(sql) {
		return "", 0, false
	}
	t := lex.PostgreSQL.Next(sql, at)
	if t.Start != at || t.Kind != lex.Word && (t.Kind != lex.Quoted || t.Text[0] != '"') {
		return "", 0, false
	}
	part, ok = t.Name()
	return part, t.End(), ok
}

// skipBlank passes white space and comments up to the next token.
func skipBlank(sql string, at int) int {
	at, whole := lex.PostgreSQL.SkipBlank(sql, at)
	if !whole {
		return len(sql)
	}
	return at
}

// wordBefore is the unquoted word that ends right before an offset (blanks between), with its start; "" if there is
// none.
// It does not look behind comments: a caller that wants to know about one keyword then misses it and does nothing.
func wordBefore(sql string, at int) (word string, start int) {
	end := len(strings.TrimRight(sql[:at], " \t\r\n\f\v"))
	start = end
	for start > 0 && lex.IsNamePart(sql[start-1]) {
		start--
	}
	return sql[start:end], start
}

// wordAfter is the unquoted word that follows an offset, or "".
func wordAfter(sql string, at int) string {
	if t := lex.PostgreSQL.Next(sql, at); t.Kind == lex.Word {
		return t.Text
	}
	return ""
}
