package dialect

import (
	"cmp"
	"strings"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// pattern reads [NOT] SIMILAR TO with what it looks for; t is the first word.
func (r *translation) pattern(t lex.Token) int {
	verb, not := t, t.Is("not")
	if not {
		verb = r.next(t.End())
	}
	if to := r.next(verb.End()); verb.Is("similar") && to.Is("to") {
		return r.similar(t.Start, not, to.End())
	}
	return t.End()
}

const similarRefused = "SIMILAR TO with a pattern that is no constant is not supported"

// isOperator reports whether t is an operator that binds more tightly than LIKE.
func isOperator(t lex.Token) bool {
	return t.Kind == lex.Symbol && strings.IndexByte("~!@#^&|`?+-*/%", t.Text[0]) >= 0
}

// similar writes SIMILAR TO as a regular expression, which PostgreSQL does as well. at is behind TO.
func (r *translation) similar(start int, not bool, at int) int {
	pattern := r.next(at)
	if pattern.Is("null") {
		return pattern.End()
	}
	escape, end := `\`, pattern.End()
	if word := r.next(end); word.Is("escape") {
		by := r.next(word.End())
		value, ok := by.Value()
		if !ok || by.Kind != lex.String || len([]rune(value)) > 1 {
			return r.refuse(by, "22025", "invalid escape string", "Escape string must be empty or one character.")
		}
		escape, end = value, by.End()
	}
	value, ok := pattern.Value()
	if after := r.next(end); pattern.Kind != lex.String || !ok || isOperator(after) || after.Is("::") {
		return r.refuse(pattern, "0A000", similarRefused, "Use ~ with a regular expression.")
	}
	op := "~ "
	if not {
		op = "!~ "
	}
	r.replace(start, end, op+lex.QuoteString(similarPattern(value, escape)))
	return end
}

func (r *translation) refuse(at lex.Token, state, message, hint string) int {
	e := sqlerror.New(state, "%s", message).WithHint(hint)
	e.At = edit.Position(r.sql, at.Start)
	r.failed = cmp.Or[error](r.failed, e)
	return at.End()
}

// similarPattern is a pattern of SIMILAR TO as a regular expression (similar_escape_internal in regexp.c).
func similarPattern(pattern, escape string) string {
	var b strings.Builder
	b.WriteString("^(?:")
	escaped, inside := false, false
	for _, c := range pattern {
		switch {
		case escaped:
			b.WriteString(`\` + string(c))
			escaped = false
		case escape != "" && string(c) == escape:
			escaped = true
		case inside:
			if c == '\\' {
				b.WriteByte('\\')
			}
			inside = c != ']'
			b.WriteRune(c)
		case c == '[':
			inside = true
			b.WriteRune(c)
		case c == '%':
			b.WriteString(".*")
		case c == '_':
			b.WriteByte('.')
		case c == '(':
			b.WriteString("(?:")
		case c == '\\' || c == '.' || c == '^' || c == '$':
			b.WriteString(`\` + string(c))
		default:
			b.WriteRune(c)
		}
	}
	b.WriteString(")$")
	return b.String()
}
