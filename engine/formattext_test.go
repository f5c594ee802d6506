package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// format is PostgreSQL's where the template has its specifiers, DuckDB's where it has braces, and an error where it has both: in queries and in changes,
// read by either parser, whatever the template comes from.
func TestFormat(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int, f text)")
	for _, c := range [][2]string{
		{`SELECT format('%I.%I', 'a', 'b C')`, `a."b C"`},
		{`SELECT format('%s %s', 1, 2), format('%2$s %1$s', 'a', 'b'), format('%%')`, "1 2|b a|%"},
		{`SELECT format('%L %L %L', NULL, 'it''s', 'a\b'), format('%s.', NULL)`, `NULL 'it''s' E'a\\b'|.`},
		{`SELECT format('%5s|%-5s|%2s|', 'a', 'b', 'long')`, "    a|b    |long|"},
		{`SELECT format('%1$s %s %s %1$I', 'a', 'b', 'c')`, "a b c a"},
		{`SELECT format('%I %I %I %I', 'select', 'abort', 'x$', 'A')`, `"select" abort "x$" "A"`},
		{`SELECT format('{} {:03d}', 1, 2), format('plain', 1), format('{}%', 5)`, "1 002|plain|5%"},
		{`SELECT format(f, 'x') FROM (VALUES ('%I'), ('{}'), ('as it is')) v(f)`, "x|x|as it is"},
		{`SELECT format('%s of %s', count(*), max(i)) FROM range(3) r(i)`, "3 of 2"},
		{`SELECT * EXCLUDE (a), format('%s', a) AS s FROM (SELECT 1 AS a, 2 AS b)`, "2|1"},
		{`INSERT INTO t VALUES (1, format('%s-%I', 1, 'x y')) RETURNING f`, `1-"x y"`},
		{`UPDATE t SET f = format('%s', a + 1) RETURNING f`, "2"},
		{`DELETE FROM t WHERE f = format('%s', 2) RETURNING format('%L', f)`, "'2'"},
		{`SELECT quote_ident('select'), quote_ident('abort'), quote_ident('x$'), quote_literal('a\b')`, `"select"|abort|"x$"|E'a\\b'`},
		{`SELECT quote_nullable(NULL), quote_literal(NULL) IS NULL, quote_ident('')`, `NULL|true|""`},
	} {
		text, want := c[0], c[1]
		list := rows(t, s, text)
		joined := list[0]
		for _, row := range list[1:] {
			joined += "|" + row
		}
		require.Equal(t, want, joined, text)
	}
	for text, want := range map[string]string{
		`SELECT format('%s')`:                              "22023 too few arguments for format()",
		`SELECT format('%3$s', 1, 2)`:                      "22023 too few arguments for format()",
		`SELECT format('%x', 1)`:                           `22023 unrecognized format() type specifier "x"`,
		`SELECT format('50%', 1)`:                          "22023 unterminated format() type specifier",
		`SELECT format('%0$s', 1)`:                         "22023 format specifies argument 0, but arguments are numbered from 1",
		`SELECT format('%I', NULL)`:                        "22004 null values cannot be formatted as an SQL identifier",
		`SELECT format('{"a": %s}', 1)`:                    "0A000 format() of a template with both PostgreSQL's specifiers and DuckDB's braces is not supported",
		`SELECT format(f, 1) FROM (VALUES ('{} %s')) v(f)`: "0A000 format() of a template with both PostgreSQL's specifiers and DuckDB's braces is not supported",
	} {
		_, err := tryRows(s, text)
		require.Error(t, err, text)
		require.Equal(t, want, state(t, err)+" "+err.Error(), text)
	}
	exec(t, s, "PREPARE p AS SELECT format('%s %s', $1, $2)")
	require.Equal(t, []string{"a 3"}, rows(t, s, "EXECUTE p ('a', 3)"))
}
