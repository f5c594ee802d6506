package inline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/inline"
)

// Whatever stands before ::, all of it is cast, and nothing else.
func TestCastsToDomains(t *testing.T) {
	find := func(number uint64) (*inline.Domain, error) {
		switch number {
		case 7:
			return &inline.Domain{Name: "d", Base: inline.Of("int")}, nil
		case 8:
			return &inline.Domain{Name: "free", Base: inline.Of("text"), Free: true}, nil
		}
		return nil, nil
	}
	of := func(operand string) string {
		return "list_extract(list_transform(list_value(CAST((" + operand + ") AS int)), csm_type__7), 1)"
	}
	for _, operand := range []string{
		"a", "t.a", `"A b"."c"`, "(a)", "((a) + b)", "((a + b) * c)", "f(a, (b))", "s.f(a)", "sum(a) FILTER (WHERE b > 0)",
		"sum(a) OVER (PARTITION BY b ORDER BY c)", "sum(a) OVER w", "a[1]", "(a[1:2])[1]", "(t.a).b", "CASE WHEN a THEN (b) ELSE c END",
		"CASE a WHEN 1 THEN 2 END", "ARRAY[1, 2]", "(SELECT max(a) FROM u)", "EXISTS (SELECT 1)", "CAST(a AS text)", "a::text",
		"a::varchar(5)", "a::double precision", "a::timestamp(3) with time zone", "'x'::text::varchar(3)", "date '2020-01-01'",
		"interval '1' day", "E'a''b'", "$$x$$", "extract(year FROM a)", "substring(a FROM 1 FOR 2)", "coalesce(a, b)", "(a IS NULL)",
		"(a BETWEEN 1 AND 2)", "ROW(1, 2)", "(1, 2)", "current_date", "(a AT TIME ZONE 'x')", "(NOT a)", "(-5)", "count(*)", "($1)",
		"nullif(a, b)", "greatest(a, (b))", `(a COLLATE "C")`, "/* b */ a /* c */",
	} {
		for _, around := range []string{"SELECT x, % FROM t", "SELECT 1 + % * 2 AS y FROM t", "SELECT y FROM t WHERE (% > 1) AND b", "SELECT -% AS y"} {
			given := strings.Replace(around, "%", operand+"::csm_type__7", 1)
			if strings.HasPrefix(operand, "/*") {
				given = strings.Replace(around, "%", " "+operand+"::csm_type__7", 1)
			}
			text, made, err := inline.Casts(dialect.SourceOf(given), find)
			require.NoError(t, err, given)
			require.NotNil(t, made, given)
			plain := strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(operand, "/* b */ ", ""), " /* c */", ""))
			if !strings.Contains(operand, "/*") {
				require.Contains(t, text, of(plain), given)
			}
			require.NotNil(t, dialect.SourceOf(text).Tree, text)
			require.NotContains(t, text, "::csm_type__7")
		}
	}
	for given, want := range map[string]string{
		"SELECT CAST(a AS csm_type__7) AS x":                    "SELECT " + of("a") + " AS x",
		"SELECT CAST(a AS csm_type__7)":                         "SELECT " + of("a") + ` AS "a"`,
		"SELECT a + b::csm_type__7 AS x":                        "SELECT a + " + of("b") + " AS x",
		"SELECT a::csm_type__7::csm_type__7 AS x":               "SELECT " + of(of("a")) + " AS x",
		"SELECT (1 + a::csm_type__7)::csm_type__7 AS x":         "SELECT " + of("(1 + "+of("a")+")") + " AS x",
		"SELECT CAST(b::csm_type__7 AS csm_type__7) AS x":       "SELECT " + of(of("b")) + " AS x",
		"SELECT a::csm_type__8 AS x":                            "SELECT CAST((a) AS text) AS x",
		"SELECT a::csm_type__9 AS x":                            "SELECT a::csm_type__9 AS x",
		"SELECT f(a::csm_type__7, b::csm_type__7) AS x":         "SELECT f(" + of("a") + ", " + of("b") + ") AS x",
		"SELECT pg_typeof(1::csm_type__8) AS x":                 "SELECT CASE WHEN CAST(1 AS text) IS NULL THEN 'free' ELSE 'free' END AS x",
		"SELECT x FROM (SELECT 1::csm_type__8) AS q":            `SELECT x FROM (SELECT CAST(1 AS text) AS "free") AS q`,
		"INSERT INTO t VALUES (a::csm_type__8, 'b')":            "INSERT INTO t VALUES (CAST((a) AS text), 'b')",
		"UPDATE t SET a = b::csm_type__8 RETURNING c":           "UPDATE t SET a = CAST((b) AS text) RETURNING c",
		"SELECT 1 FROM t WHERE a::csm_type__8 = 'x' GROUP BY b": "SELECT 1 FROM t WHERE CAST((a) AS text) = 'x' GROUP BY b",
		"UPDATE t SET (a, b) = (SELECT 1, c::csm_type__8)":      `UPDATE t SET (a, b) = (SELECT 1, CAST((c) AS text) AS "c")`,
	} {
		text, _, err := inline.Casts(dialect.SourceOf(given), find)
		require.NoError(t, err, given)
		require.Equal(t, want, text)
	}
	_, _, err := inline.Casts(dialect.SourceOf("SELECT a::csm_type__7[]"), find)
	require.EqualError(t, err, `a type made of domain "d" is not supported`)
}
