package pgcatalog_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

func TestCalls(t *testing.T) {
	for _, sql := range []string{
		"SELECT csm_power(2, 3)", "SELECT \"CSM_Power\"(2, 3)", "SELECT 'a' LIKE b FROM t", "SELECT a ~ b FROM t",
		"SELECT a !~~ b FROM t",
		"show tables", "FROM (DESCRIBE t)", "DESC t", " desc t", "FROM (desc t)", "SUMMARIZE t", "PRAGMA show_tables",
		"FROM duckdb_views()",
		"SELECT * FROM sqlite_master", "SELECT * FROM information_schema.tables", "CALL pragma_version()",
		"SELECT current_user",
		"SELECT csm_once__csm_power(random(), 2)", "SELECT * FROM pg_class", "SELECT 'of format'",
		"SELECT pg_compat.static_pg_settings FROM t",
	} {
		require.True(t, pgcatalog.Calls(sql), sql)
	}
	for _, sql := range []string{
		"", "SELECT 1", "SELECT * FROM csm_scan(7) ORDER BY a DESC, b DESC NULLS LAST",
		"SET search_path = 'csmsql.public,csmsql.pg_session'",
		"SELECT sum(a), lower(b) FROM csm_table('public', 't') WHERE c BETWEEN 1 AND 2 AND d <> 'x' GROUP BY ALL",
		"SELECT liked, shown FROM t",
	} {
		require.False(t, pgcatalog.Calls(sql), sql)
	}
}

// A text that Calls nothing is planned and answered without it: asked are PostgreSQL's dialect's statements, by DuckDB
// as they stand, and what it has words for.
func TestWhatCallsNothingNeedsNothing(t *testing.T) {
	list, err := os.ReadFile("../../internal/clienttest/testdata/postgres/statements.txt")
	require.NoError(t, err)
	texts := strings.Split(string(list), "\n")
	for i, text := range texts {
		for strings.Contains(text, "«") { // its first alternatives
			before, rest, _ := strings.Cut(text, "«")
			choices, after, _ := strings.Cut(rest, "»")
			choice, _, _ := strings.Cut(choices, ";")
			text = before + choice + after
		}
		texts[i] = text
	}
	texts = append(texts, "SHOW ALL TABLES", "SHOW DATABASES", "SHOW TABLES FROM csmsql.public", "DESCRIBE",
		"FROM (DESCRIBE region)", "SHOW VARIABLES",
		"SUMMARIZE region", "DESC region", "FROM sqlite_master", "FROM information_schema.tables",
		"FROM duckdb_functions() WHERE function_name = 'x'",
		"SELECT [1, 2, 3][1:2], {'a': 1}.a, MAP {1: 2}[1], 2 ^ 3, 7 // 2, 5 % 3, -(-1), 1 << 2",
		"SELECT 'a' COLLATE nocase < 'B', 'a' SIMILAR TO 'b', 'a' GLOB 'a*'",
		"SELECT extract(year FROM DATE '2020-01-01'), position('a' IN 'ba'), substring('abc' FROM 2), trim(BOTH 'a' FROM 'aba')",
		"SELECT TIMESTAMPTZ '2020-01-01' AT TIME ZONE 'UTC'",
		"SELECT current_date IS NULL, current_timestamp IS NULL, localtime IS NULL,"+
			" CAST('1' AS int), try_cast('x' AS int), 1 IN (1, 2), [x FOR x IN [1, 2]]")
	open := func(install bool) *duckdb.Connection {
		db, err := duckdb.Open(duckdb.Options{Threads: 1})
		require.NoError(t, err)
		t.Cleanup(db.Close)
		c, err := db.Connect(nil)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		require.NoError(t, pgcatalog.InstallSchemas(c.Exec))
		if install {
			require.NoError(t, pgcatalog.Install(c.Exec))
		}
		require.NoError(t, c.Exec("SET search_path = 'csmsql.public,"+pgcatalog.SessionSchema+"'"))
		require.NoError(t, c.Exec("CREATE TABLE region AS SELECT 1 AS a"))
		return c
	}
	bare, installed := open(false), open(true)
	answer := func(c *duckdb.Connection, sql string) string {
		texts, err := c.Texts(t.Context(), "SELECT CAST(x AS VARCHAR) FROM ("+sql+"\n) AS x")
		if err != nil {
			texts, err = nil, c.Exec(sql)
		}
		if err != nil {
			return err.Error()
		}
		return strings.Join(texts, "\n")
	}
	asked, same := 0, 0
	for _, sql := range texts {
		if sql == "" || strings.HasPrefix(sql, "#") || pgcatalog.Calls(sql) {
			continue
		}
		asked++
		want := answer(installed, sql)
		if got := answer(bare, sql); got == want {
			same++
		} else {
			require.NotEqual(t, want, answer(installed, sql), "%s: where nothing is made %q", sql, got)
		}
	}
	require.Greater(t, asked, 500)
	require.Greater(t, same, asked*9/10)
}

// What could not be made whole is made when it is asked for again.
func TestInstallingAgain(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{Threads: 1})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	c, err := db.Connect(nil)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	full := errors.New("no memory")
	for fails := 1; fails < 5; fails++ {
		n := 0
		err := pgcatalog.Install(func(sql string) error {
			if n++; n == fails {
				return full
			}
			return c.Exec(sql)
		})
		require.ErrorIs(t, err, full)
	}
	require.NoError(t, pgcatalog.Install(c.Exec))
	texts, err := c.Texts(t.Context(), "SELECT CAST(csmsql.pg_session.csm_power(2, 3) AS VARCHAR)")
	require.NoError(t, err)
	require.Equal(t, []string{"8.0"}, texts)
}
