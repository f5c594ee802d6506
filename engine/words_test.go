package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What DuckDB finds wrong is told in PostgreSQL's words, by which people, and tools that read messages, know it.
func TestErrorsInPostgresWords(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
	for sql, want := range map[string]string{
		"SELECT 'x'::int":                  `22P02 invalid input syntax for type integer: "x"`,
		"SELECT 'x'::float8":               `22P02 invalid input syntax for type double precision: "x"`,
		"SELECT b::bigint FROM t":          `22P02 invalid input syntax for type bigint: "x"`,
		"SELECT 5000000000::int":           `22003 value "5000000000" is out of range for type integer`,
		"SELECT '2024-13-01'::date":        `22008 date field value out of range: "2024-13-01"`,
		"SELECT nope":                      `42703 column "nope" does not exist`,
		"SELECT t.zz FROM t":               `42703 column t.zz does not exist`,
		"SELECT a, count(*) FROM t":        `42803 column "a" must appear in the GROUP BY clause or be used in an aggregate function`,
		"SELECT a FROM t WHERE sum(a) > 1": `42803 aggregate functions are not allowed in WHERE`,
		"SELECT * FROM t x, t x":           `42712 table name "x" specified more than once`,
		"SELECT * FROM t LIMIT -1":         `2201W LIMIT and OFFSET must not be negative`,
		"SELECT nextval('s')":              `42P01 relation "s" does not exist`,
		"SELECT 1::nosuch":                 `42704 type "nosuch" does not exist`,
		"CREATE SCHEMA public":             `42P06 schema "public" already exists`,
		"SET DateStyle = 'German'":         `0A000 dates are shown in ISO style alone, not "German"`,
		"SET intervalstyle = iso_8601":     `0A000 intervals are shown in style postgres alone, not "iso_8601"`,
		"SET statement_timeout = 'soon'":   `22023 invalid value for parameter "statement_timeout": "soon"`,
		"SHOW nosuch":                      `42704 unrecognized configuration parameter "nosuch"`,
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
		{"SELECT to_jsonb([1])::text, jsonb_array_length('[1,2]')", "[1]|2"},
		{"SELECT json_object_keys('{\"a\":1}')", "a"}, {"SELECT value::text FROM json_array_elements('[{\"b\":2}]')", `{"b":2}`},
		{"SELECT pg_typeof(1), pg_typeof(1.5), pg_typeof('x'), pg_typeof(now()), pg_typeof(1e0), pg_typeof(NULL), pg_typeof([1])", "integer|numeric|text|timestamp with time zone|double precision|unknown|integer[]"},
	} {
		require.Equal(t, []string{c[1]}, rows(t, s, c[0]), c[0])
	}
	for _, c := range [][2]string{
		{"CREATE TEMP MACRO m(a) AS a + 1", "CREATE MACRO"}, {"CREATE OR REPLACE TEMP MACRO m(a) AS a + 2", "CREATE MACRO"}, {"DROP MACRO m", "DROP MACRO"},
		{"CREATE TEMP SEQUENCE q", "CREATE SEQUENCE"}, {"DROP SEQUENCE IF EXISTS q", "DROP SEQUENCE"}, {"CREATE TEMP TABLE x AS SELECT 1 AS a", "CREATE TABLE"},
		{"CREATE TEMP VIEW y AS SELECT 1 AS a", "CREATE VIEW"}, {"DROP VIEW y", "DROP VIEW"}, {"DROP TABLE x", "DROP TABLE"},
	} {
		require.Equal(t, c[1], exec(t, s, c[0]).Tag, c[0])
	}
	values, err := s.Prepare(t.Context(), "VALUES (1, 'a'), (2, 'b')")
	require.NoError(t, err)
	require.Equal(t, []string{"column1", "column2"}, []string{values.Schema().Field(0).Name, values.Schema().Field(1).Name})
	for given, shown := range map[string]string{"ISO": "ISO, MDY", "DMY": "ISO, DMY", "iso, european": "ISO, DMY", "ISO, YMD": "ISO, YMD"} {
		exec(t, s, "SET datestyle = '"+given+"'")
		require.Equal(t, []string{shown}, rows(t, s, "SHOW datestyle"))
	}
	exec(t, s, "SET statement_timeout = '10 min'; SET lock_timeout = 5000; SET search_path = nosuch, public; CREATE TABLE t AS SELECT 1 AS a")
	require.Equal(t, []string{"t"}, rows(t, s, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"))
	st, err := s.Prepare(t.Context(), "SHOW timezone")
	require.NoError(t, err)
	require.Equal(t, "TimeZone", st.Schema().Field(0).Name)
	requireState(t, "3F000", failing(s, "CREATE TABLE nosuch.t (a int)"))
}
