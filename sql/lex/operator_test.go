package lex_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/lex"
)

// An operator on patterns stands between two operands; it is returned with its text.
func TestOperators(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT a ~ 'b', a !~ b, a~*b, a !~* $1":                                    "~ [~]  !~ [!~]  ~* [~*]  !~* [!~*]",
		"SELECT ~5, - ~5, 3 & ~1, (~a), f(~a, ~b) WHERE ~a = 1 AND ~b":              "",
		"SELECT DISTINCT ~a, CASE ~a WHEN ~b THEN ~c ELSE ~d END ~ 'x' ORDER BY ~a": "~ [~]",
		`SELECT f(a) ~ 'b', a[1] ~ 'b', "q" ~ 'b', 'x' ~ 'b', $1 ~ 'b', by ~ 'b'`:   "~ [~]  ~ [~]  ~ [~]  ~ [~]  ~ [~]  ~ [~]",
		"FROM t SELECT a ~ 'b' WHERE list_filter(l, lambda x: x ~ 'b')":             "~ [~]  ~ [~]",
		"SELECT a OPERATOR(~) 'b'":                                                  "~ [~]",
		"SELECT '~', \"~\", $$ a ~ b $$ -- a ~ b\n /* a ~ b */, a ~-- c\n 'x'":      "~ [~]",
		"SELECT a ~~ 'b', a ~~* 'b', a ~= b, a @~ b, a ~- 1, a =~ b":                "~~ [~~]  ~~* [~~*]",
		"SELECT a LIKE 'b', a LIKE any_value(b), a NOT LIKE all_b":                  "",
		"SELECT a LIKE ANY (b), a NOT  ILIKE\nSOME(b), a ILIKE ALL (ARRAY['x'])":    "~~ any [LIKE ANY]  !~~* any [NOT  ILIKE\nSOME]  ~~* all [ILIKE ALL]",
		"SELECT a ~ ANY (b), a !~* ALL(b)":                                          "~ any [~ ANY]  !~* all [!~* ALL]",
		"SELECT a ~ ANY (SELECT b), a ~ ALL (VALUES ('x'))":                         "~ [~]  ~ [~]",
		"SELECT a ~ 'x', 'unfinished ~ b":                                           "~ [~]",
	} {
		var got []string
		for _, op := range lex.Operators(lex.Client.Text(sql)) {
			got = append(got, strings.TrimSpace(op.Name+" "+op.Quantifier)+fmt.Sprintf(" [%s]", sql[op.Start:op.End]))
		}
		require.Equal(t, want, strings.Join(got, "  "), sql)
	}
}
