package statement

import "github.com/csmsql/csmsql/sql/lex"

// Tokens are the tokens of a text; not whole when a string or comment does not end.
func Tokens(sql string) (out []string, whole bool) {
	open := false
	t := lex.Client.Next(sql, 0)
	for ; t.Kind != lex.End; t = lex.Client.Next(sql, t.End()) {
		out = append(out, t.Text)
		open = open || t.Kind == lex.Incomplete
	}
	return out, !open
}
