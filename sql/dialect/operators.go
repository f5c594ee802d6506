package dialect

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// prefixes are the functions of operators that stand before a number.
var prefixes = map[string]string{"|/": "sqrt", "||/": "cbrt"}

// prefix writes |/ a as sqrt(a): everything that binds more tightly than an operator of many characters belongs to a.
func (r *translation) prefix(t lex.Token, in clause) int {
	r.replace(t.Start, t.End(), pgcatalog.TranslatedPrefix+"operator__"+prefixes[t.Text]+"(")
	at := t.End()
	for r.failed == nil {
		first := r.next(at)
		if first.Ends() || first.IsAny(")", "]", "}", ",") {
			break
		}
		if at = r.chain(first, in); r.sql[at-1] != '+' && r.sql[at-1] != '-' {
			break
		}
	}
	r.insert(at, ")", closes)
	return at
}

// key writes a -> '$x', the name of a member, as a -> csm_json_member('$x'), where DuckDB would take it for a path.
func (r *translation) key(t lex.Token) int {
	constant := r.next(t.End())
	value, ok := constant.Value()
	if constant.Kind == lex.String && ok && (value == "" || strings.ContainsAny(value, `$/*"`)) &&
		!r.next(constant.End()).Is("::") {
		r.insert(constant.Start, pgcatalog.TranslatedPrefix+"json_member(", opens)
		r.insert(constant.End(), ")", closes)
		return constant.End()
	}
	return t.End()
}

// path writes a #> '{b,0}' as a -> csm_json_pointer('/b/0'), whose numbers are places in arrays, or names. One that is
// no constant, or counts from an array's end, stays for DuckDB to refuse.
func (r *translation) path(t lex.Token) int {
	constant := r.next(t.End())
	value, ok := constant.Value()
	inner, opened := strings.CutPrefix(value, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if constant.Kind != lex.String || !ok || !opened || !closed || inner == "" || strings.ContainsAny(inner, `"\{}`) ||
		r.next(constant.End()).Is("::") {
		return t.End()
	}
	var pointer strings.Builder
	for part := range strings.SplitSeq(inner, ",") {
		if part = strings.TrimSpace(part); strings.HasPrefix(part, "-") || strings.EqualFold(part, "null") {
			return t.End()
		}
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	r.replace(t.Start, t.End(), strings.Replace(t.Text, "#", "-", 1))
	by := pgcatalog.TranslatedPrefix + "json_pointer(" + lex.QuoteString(pointer.String()) + ")"
	r.replace(constant.Start, constant.End(), by)
	return constant.End()
}
