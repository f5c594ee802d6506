package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// DuckDB's errors are reported in PostgreSQL's words, which people and tools that read messages know.
func TestErrorsInPostgresWords(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
	for sql, want := range map[string]string{
		"SELECT 'x'::int":                       `22P02 invalid input syntax for type integer: "x"`,
		"SELECT 'x'::float8":                    `22P02 invalid input syntax for type double precision: "x"`,
		"SELECT b::bigint FROM t":               `22P02 invalid input syntax for type bigint: "x"`,
		"SELECT 5000000000::int":                `22003 value "5000000000" is out of range for type integer`,
		"SELECT '5000000000'::int":              `22003 value "5000000000" is out of range for type integer`,
		"SELECT '-1e30'::smallint":              `22003 value "-1e30" is out of range for type smallint`,
		"SELECT '1e30'::decimal(10, 2)":         `22003 numeric field overflow: 1e30 does not fit DECIMAL(10,2)`,
		"SELECT 12345.6::float8::decimal(4, 1)": `22003 numeric field overflow: 12345.600000 does not fit DECIMAL(4,1)`,
		"SELECT 123456.78::decimal(4, 1)":       `22003 numeric field overflow: 123456.78 does not fit DECIMAL(4,1)`,
		"SELECT 'x'::decimal(4, 1)":             `22P02 invalid input syntax for type numeric: "x"`,
		"SELECT 'x'::date":                      `22007 invalid date field format: "x", expected format is (YYYY-MM-DD)`,
		"SELECT '2024-13-01'::date":             `22008 date field value out of range: "2024-13-01"`,
		"SELECT nope":                           `42703 column "nope" does not exist`,
		"SELECT t.zz FROM t":                    `42703 column t.zz does not exist`,
		"SELECT a, count(*) FROM t":             `42803 column "a" must appear in the GROUP BY clause or be used in an aggregate function`,
		"SELECT a FROM t WHERE sum(a) > 1":      `42803 aggregate functions are not allowed in WHERE`,
		"SELECT * FROM t x, t x":                `42712 table name "x" specified more than once`,
		"SELECT * FROM t LIMIT -1":              `2201W LIMIT and OFFSET must not be negative`,
		"SELECT nextval('s')":                   `42P01 relation "s" does not exist`,
		"SELECT 1::nosuch":                      `42704 type "nosuch" does not exist`,
		"CREATE SCHEMA public":                  `42P06 schema "public" already exists`,
		"SET DateStyle = 'German'":              `0A000 parameter "DateStyle" cannot be set to "German" here: dates are shown in ISO style alone`,
		"SET intervalstyle = iso_8601":          `0A000 parameter "IntervalStyle" cannot be set to "iso_8601" here, only to "postgres"`,
		"SET statement_timeout = 'soon'":        `22023 invalid value for parameter "statement_timeout": "soon"`,
		"SHOW nosuch":                           `42704 unrecognized configuration parameter "nosuch"`,
	} {
		err := failing(s, sql)
		var e interface{ SQLState() string }
		require.ErrorAs(t, err, &e, sql)
		require.Equal(t, want, e.SQLState()+" "+err.Error(), sql)
	}
}

// Settings and functions that clients of PostgreSQL's ask for.
func TestWhatClientsAsk(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	for _, c := range [][2]string{
		{"SHOW max_connections", "100"}, {"SHOW DateStyle", "ISO, MDY"}, {"SELECT 'aBc' ~* 'b', 'abc' !~* 'B'", "true|false"},
		{"SELECT '1'::json::text, json_object('a', 2)::text", `1|{"a":2}`}, {"SELECT count('1'::json) > 0 FROM pg_class", "true"},
		{"SELECT to_jsonb([1])::text, jsonb_array_length('[1,2]')", "[1]|2"},
		{"SELECT json_object_keys('{\"a\":1}')", "a"}, {"SELECT value::text FROM json_array_elements('[{\"b\":2}]')", `{"b":2}`},
		{"SELECT pg_typeof(1), pg_typeof(1.5), pg_typeof('x'), pg_typeof(now()), pg_typeof(1e0), pg_typeof(NULL), pg_typeof([1])", "integer|numeric|text|timestamp with time zone|double precision|unknown|integer[]"},
	} {
		require.Equal(t, []string{c[1]}, rows(t, s, c[0]), c[0])
	}
	for _, c := range [][2]string{
		{"CREATE TEMP MACRO m(a) AS a + 1", "CREATE MACRO"}, {"CREATE OR REPLACE TEMP MACRO m(a) AS a + 2", "CREATE MACRO"}, {"DROP MACRO m", "DROP MACRO"},
		{"CREATE TEMP SEQUENCE q", "CREATE SEQUENCE"}, {"DROP SEQUENCE IF EXISTS q", "DROP SEQUENCE"}, {"CREATE TEMP TABLE x AS SELECT 1 AS a", "SELECT 1"},
		{"CREATE TEMP VIEW y AS SELECT 1 AS a", "CREATE VIEW"}, {"DROP VIEW y", "DROP VIEW"}, {"DROP TABLE x", "DROP TABLE"},
	} {
		require.Equal(t, c[1], exec(t, s, c[0]).Tag, c[0])
	}
	values, err := s.Prepare(t.Context(), "VALUES (1, 'a'), (2, 'b')")
	require.NoError(t, err)
	require.Equal(t, []string{"column1", "column2"}, []string{values.Schema().Field(0).Name, values.Schema().Field(1).Name})
	for _, c := range [][2]string{{"ISO", "ISO, MDY"}, {"DMY", "ISO, DMY"}, {"ISO", "ISO, DMY"}, {"default", "ISO, MDY"}, {"iso, european", "ISO, DMY"}, {"ISO, YMD", "ISO, YMD"}} {
		exec(t, s, "SET datestyle = '"+c[0]+"'")
		require.Equal(t, []string{c[1]}, rows(t, s, "SHOW datestyle"))
	}
	exec(t, s, "SET statement_timeout = '10 min'; SET lock_timeout = 5000; SET search_path = nosuch, public; CREATE TABLE t AS SELECT 1 AS a")
	require.Equal(t, []string{"t"}, rows(t, s, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"))
	st, err := s.Prepare(t.Context(), "SHOW timezone")
	require.NoError(t, err)
	require.Equal(t, "TimeZone", st.Schema().Field(0).Name)
	requireState(t, "3F000", failing(s, "CREATE TABLE nosuch.t (a int)"))
}

// Operators on patterns are PostgreSQL's: answers are those of PostgreSQL 15.
func TestPatternOperators(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE TABLE t (a text, hit bool DEFAULT ('abc' ~ 'b'), list text[] DEFAULT '{a,b}'::text[]);
		INSERT INTO t(a) VALUES ('one'), ('two'), ('three'), (NULL);
		CREATE VIEW v AS SELECT a, a ~ 'o' AS o, a !~ ALL (ARRAY['^t','e$']) AS neither FROM t WHERE a !~ 'z' OR a IS NULL;
		CREATE TEMP VIEW w AS SELECT a FROM t WHERE a ~ 'o';
		CREATE TEMP TABLE own AS SELECT a FROM t WHERE a ~ 'e';
		CREATE TEMP MACRO has(x, y) AS x ~ y`)
	check := func(sql, want string) {
		t.Helper()
		require.Equal(t, want, strings.Join(rows(t, s, sql), " "), sql)
	}
	for _, c := range [][2]string{
		{"SELECT 'abc' ~ 'b', 'abc' !~ 'b', 'abc'~'^b', 'abc' ~ /* c */ 'c$', NOT 'abc' ~ 'x', ~5, 3 & ~1", "true|false|false|true|true|-6|2"},
		{"SELECT 'abc' ~ NULL, NULL ~ 'a', NULL !~ 'a'", "(null)|(null)|(null)"},
		{"SELECT E'a\nb' ~ 'a.b', E'a\nb' ~ '^b', E'a\nb' ~* 'A.B', E'a\n' ~ 'a$', 'x' || 'y' ~ 'xy', 'a~b' ~ '~'", "true|false|true|false|true|true"},
		{"SELECT 'abc' SIMILAR TO 'b', 'abc' SIMILAR TO 'a.c', regexp_full_match('abc', 'b')", "false|true|false"}, // DuckDB's
		{"SELECT 'abc' ~ ANY (ARRAY['x', NULL]), 'abc' ~ ANY (ARRAY['b', NULL]), 'abc' ~ ALL (ARRAY['b', NULL]), 'abc' ~ ALL (ARRAY['x', NULL])", "(null)|true|(null)|false"},
		{"SELECT NULL ~ ANY (ARRAY['x']), 'a' ~ ANY (NULL::text[]), 'a' ~ ANY ('{}'::text[]), 'a' ~ ALL ('{}'::text[]), 'a' !~ ALL ('{}'::text[]), 'a' !~ ANY ('{b,a}')", "(null)|(null)|false|true|true|true"},
		{"SELECT 'abc' LIKE ANY (ARRAY['a%']), 'abc' NOT LIKE ALL (ARRAY['x%','y%']), 'abc' ILIKE SOME (ARRAY['B%','%C']), 'abc' NOT ILIKE ANY ('{A%,%c}'), 'a%' LIKE ALL (ARRAY['a\\%'])", "true|true|true|false|true"},
		{"SELECT count(*) FROM pg_catalog.pg_class WHERE relname OPERATOR(pg_catalog.~) '^(pg_cla)' COLLATE pg_catalog.default AND relname !~ ANY (ARRAY['index'])", "1"},
		{"SELECT relname FROM pg_class WHERE relname ~ '^t' AND relkind = 'r'", "t"},
		{"FROM t SELECT a WHERE a ~ 'hre'", "three"},
		{"SELECT * FROM v ORDER BY a NULLS LAST", "one|true|false three|false|false two|true|false (null)|(null)|(null)"},
		{"SELECT a FROM w ORDER BY a", "one two"}, {"SELECT a FROM own ORDER BY a", "one three"}, {"SELECT has('abc', 'b')", "true"},
	} {
		check(c[0], c[1])
	}
	exec(t, s, "DELETE FROM own WHERE a ~ '^t'; UPDATE t SET a = a || '!' WHERE a ~ 'w'; DELETE FROM t WHERE a ~ 'hr'; INSERT INTO t VALUES ('new', DEFAULT, DEFAULT) RETURNING *")
	check("SELECT a FROM own", "one")
	check("SELECT * FROM t ORDER BY a NULLS LAST", "new|true|[\"a\",\"b\"] one|true|[\"a\",\"b\"] two!|true|[\"a\",\"b\"] (null)|true|[\"a\",\"b\"]")
	check("SELECT definition FROM pg_views WHERE viewname = 'v'", " SELECT a, a ~ 'o' AS o, a !~ ALL (ARRAY['^t','e$']) AS neither FROM public.t WHERE a !~ 'z' OR a IS NULL;")
	for _, sql := range []string{"SELECT 'abc' ~ $1", "SELECT 'abc' ~ ANY ($1)"} {
		st, err := s.Prepare(t.Context(), sql)
		require.NoError(t, err)
		var arg any = "b"
		if strings.Contains(sql, "ANY") {
			arg = "[x, b]" // as the frontend hands arrays over
		}
		got, err := st.Query(t.Context(), arg)
		require.NoError(t, err, sql)
		require.True(t, got.Next())
		require.Equal(t, "true", got.RecordBatch().Column(0).ValueStr(0))
		got.Release()
		require.NoError(t, st.Close())
	}
	exec(t, s, "PREPARE p(text, text[]) AS SELECT 'abc' ~ $1, 'abc' LIKE ALL ($2)")
	check("EXECUTE p('c$', '{a%,%b%}')", "true|true")
	requireState(t, "2201B", failing(s, "SELECT a ~ 'a(' FROM t"))
	var at interface{ Position() int }
	require.ErrorAs(t, failing(s, "SELECT 'a' LIKE ANY (ARRAY['x']), nope"), &at)
	require.Equal(t, 35, at.Position())
}

// A backslash in LIKE escapes without being asked to: answers are those of PostgreSQL 15.
func TestLikeEscapes(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	check := func(sql, want string) {
		t.Helper()
		require.Equal(t, want, strings.Join(rows(t, s, sql), " "), sql)
	}
	exec(t, s, `CREATE TABLE t (a text, p text, hit bool DEFAULT ('a_b' LIKE 'a\_b'));
		INSERT INTO t(a, p) VALUES ('a_b', 'a\_b'), ('axb', 'a\_b'), ('a%b', 'a\%b'), ('a\b', 'a\\b'), ('ab', NULL);
		CREATE VIEW v AS SELECT a FROM t WHERE a LIKE 'a\_%';
		CREATE TEMP VIEW w AS SELECT a FROM t WHERE a NOT LIKE p;
		CREATE TEMP TABLE own AS FROM t SELECT a WHERE a LIKE 'a\%b';
		CREATE TEMP MACRO fits(x, y) AS x LIKE y`)
	for _, c := range [][2]string{
		{`SELECT 'a_b' LIKE 'a\_b', 'axb' LIKE 'a\_b', 'axb' NOT LIKE 'a\_b', 'A_b' ILIKE 'a\_B', 'AxB' NOT ILIKE 'a\_B'`, "true|false|true|true|true"},
		{`SELECT 'a_b' ~~ 'a\_b', 'axb' ~~ 'a\_b', 'axb' !~~ 'a\_b', 'A_b' ~~* 'a\_B', 'AxB' !~~* 'a\_B', 'abc' ~~ 'a%', 'abc' !~~* 'A%'`, "true|false|true|true|true|true|false"},
		{`SELECT 'a\' LIKE 'a\\', 'a\b' LIKE 'a\b', 'ab' LIKE 'a\b', 'a%b' LIKE '%\%%', 'ab' LIKE '%\%%', 'a_' LIKE E'a\\_', 'ax' LIKE E'a\\_', E'a\nb' LIKE 'a_b'`, "true|false|true|true|false|true|false|true"},
		{`SELECT 'a\b' LIKE 'a\b' ESCAPE '', 'a\_b' LIKE 'a\_b' ESCAPE '', 'a_b' LIKE 'a!_b' ESCAPE '!', 'axb' LIKE 'a!_b' ESCAPE '!', 'a\xb' LIKE 'a\_b' ESCAPE '!'`, "true|true|true|false|true"},
		{`SELECT 'a_b' LIKE 'a' || '\_b', 'axb' LIKE 'a' || '\_b', 'ax' || 'b' LIKE 'ax' || '%', 'abc' LIKE 'ab' || '%' AND NOT 'abc' LIKE 'b' || '%', 'ab' LIKE 'a%' = true`, "true|false|true|true|true"},
		{`SELECT 'abc' LIKE 'a%', 'abc' LIKE '%c', 'abc' LIKE '%b%', 'abc' LIKE 'a%c', 'abc' LIKE 'a_c', 'abc' NOT LIKE 'a%', 'ABC' ILIKE 'a%', 'x' LIKE '', '' LIKE '%'`, "true|true|true|true|true|false|true|false|true"},
		{`SELECT 'a_b' LIKE NULL, NULL LIKE 'a\_b', NULL NOT LIKE 'a%', 'a_b' ILIKE NULL`, "(null)|(null)|(null)|(null)"},
		{`SELECT 'a_b' LIKE ANY (ARRAY['x', 'a\_b']), 'axb' LIKE ANY (ARRAY['x', 'a\_b']), 'axb' NOT LIKE ALL (ARRAY['x', 'a\_b']), 'A_B' ILIKE ALL (ARRAY['a\_%'])`, "true|false|true|true"},
		{`SELECT 'a' SIMILAR TO 'a', 'x' LIKE 'x' COLLATE "C", 'x%' LIKE 'x\%'::text, 'xy' LIKE 'x%'::text, 'b' LIKE CASE WHEN true THEN 'b' ELSE '\b' END`, "true|true|true|true|true"},
		{`SELECT 'ab' LIKE 'b\'`, "false"},
		{`SELECT a FROM t WHERE a LIKE p ORDER BY a`, `a%b a\b a_b`},
		{`SELECT a FROM v`, "a_b"}, {`SELECT a FROM w`, "axb"}, {`SELECT a FROM own`, "a%b"}, {`SELECT fits('axb', 'a\_b'), fits('a_b', 'a\_b')`, "false|true"},
		{`SELECT DISTINCT hit FROM t`, "true"},
		{`FROM t SELECT a WHERE a LIKE 'a\_b'`, "a_b"},
		{`SELECT relname FROM pg_catalog.pg_class WHERE relname LIKE 'pg\_attr%' ORDER BY 1`, "pg_attrdef pg_attribute"},
		{`SELECT x FROM (VALUES ('a\_%'), ('%x%')) v(x) JOIN t ON t.a LIKE x ORDER BY 1`, `%x% a\_%`},
		{`SELECT (SELECT min(a) FROM t WHERE a LIKE '%\_%') LIKE (SELECT 'a\_' || 'b'), max(a) LIKE '%x%' FROM t`, "true|true"},
		{`SELECT unnest(['a_b', 'axb']) LIKE 'a\_b'`, "true false"},
		{`SELECT * EXCLUDE (p) LIKE 'hi%' FROM t LIMIT 1`, "true"},
	} {
		check(c[0], c[1])
	}
	for pattern, want := range map[string]string{`a\_b`: "a_b", `a\%%`: "a%b", "a_b": `a%b a\b a_b axb`, "%x%": "axb", `a\\%`: `a\b`} { // one plan, many values
		require.Equal(t, want, strings.Join(rows(t, s, "SELECT a FROM t WHERE a LIKE $1 ORDER BY a", pattern), " "), pattern)
	}
	exec(t, s, `PREPARE p(text) AS SELECT count(*) FROM t WHERE a LIKE $1 || 'b'`)
	check(`EXECUTE p('a\_')`, "1")
	requireState(t, "22025", failing(s, `SELECT a LIKE 'a\' FROM t`))
	requireState(t, "22025", failing(s, `SELECT 'abc' LIKE 'a%\'`))
	exec(t, s, `DELETE FROM t WHERE a LIKE 'a\%b'; UPDATE t SET a = 'new' WHERE a LIKE 'a\_b'; CREATE TABLE u AS SELECT a FROM t WHERE a NOT LIKE 'a\_b'`)
	check("SELECT a FROM u ORDER BY a", `a\b ab axb new`)

	plan := strings.Join(rows(t, s, "EXPLAIN SELECT a || p FROM t WHERE a LIKE 'x%' AND p LIKE '%x%' AND a NOT LIKE '%x'"), "")
	for _, fast := range []string{"prefix(", "contains(", "suffix("} {
		require.Contains(t, plan, fast, "what has no backslash goes DuckDB's fast ways")
	}
	require.NotContains(t, plan, "escape")
}

// Chunks are not left out that have rows which a pattern with a backslash fits.
func TestLikeEscapesPruned(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.Disable = aChunkEach })
	s := session(t, e)
	exec(t, s, `CREATE TABLE t (a text)`)
	for _, a := range []string{"a_1", "ax1", "50%", "50x", `c\1`, "plain"} { // a chunk each
		exec(t, s, "INSERT INTO t VALUES ('"+a+"')")
	}
	for pattern, want := range map[string]string{
		`a\_%`: "a_1", `%\_%`: "a_1", `50\%`: "50%", `%\%`: "50%", `\50%`: "50% 50x", `\plain`: "plain", `c\\%`: `c\1`, `%\\%`: `c\1`, `pl\ain%`: "plain", `%\ain`: "plain", "a_1": "a_1 ax1",
	} {
		require.Equal(t, want, strings.Join(rows(t, s, "SELECT a FROM t WHERE a LIKE '"+pattern+"' ORDER BY a"), " "), pattern)
		require.Equal(t, want, strings.Join(rows(t, s, "SELECT a FROM t WHERE a = 'none' OR a LIKE '"+pattern+"' ORDER BY a"), " "), pattern)
	}
	require.Contains(t, strings.Join(rows(t, s, "EXPLAIN SELECT a || '' FROM t WHERE a LIKE 'pl%'"), "\n"), "1 of 6 chunks")
}

// All nodes that run a part of a statement mean the same by a pattern.
func TestLikeEscapesOnNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := session(t, c.nodes[0])
	exec(t, s, `CREATE TABLE t (k int, a text); INSERT INTO t SELECT i, CASE i % 3 WHEN 0 THEN 'a_b' WHEN 1 THEN 'axb' ELSE 'a\' END FROM range(3000) r(i)`)
	exec(t, session(t, c.nodes[1]), "INSERT INTO t SELECT i, 'a_b' FROM range(500) r(i)")
	exec(t, s, "SET csm.distribute = 'always'")
	sql := `SELECT count(*) FILTER (WHERE a LIKE 'a\_b'), count(*) FILTER (WHERE a LIKE '%b'), count(*) FROM t WHERE a NOT LIKE '%\\'`
	require.Contains(t, explain(t, s, sql), "distributed")
	require.Equal(t, []string{"1500|2500|2500"}, rows(t, s, sql))
}
