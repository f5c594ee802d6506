package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// DuckDB is shown no table, and PostgreSQL's functions are not made, before a statement needs them; then all are there,
// also what others made meanwhile, and in a block what was there when it began.
func TestNamesAreShownWhenTheyAreNeeded(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{engine.DialectPostgres, engine.DialectDuckDB} {
		e := open(t, func(c *engine.Config) { c.Dialect = dialect })
		s, other := session(t, e), session(t, e)
		exec(t, s, "CREATE SCHEMA aside; CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y')")
		exec(t, s, "CREATE TABLE aside.u AS SELECT a + 1 AS a FROM t")
		require.Equal(t, []string{"2", "3"}, rows(t, s, `WITH c AS (SELECT a FROM t)
			SELECT u.a FROM aside.u, c, (SELECT max(a) AS m FROM t) x WHERE c.a + 1 = u.a AND x.m = 2 ORDER BY 1`))
		exec(t, s, "SET search_path = aside")
		require.Equal(t, []string{"2", "3"}, rows(t, s, "SELECT a FROM u ORDER BY a"))
		exec(t, s, "INSERT INTO u SELECT a + 2 FROM u; DELETE FROM u WHERE a = 5; UPDATE u SET a = a + 10 WHERE a = 4")
		exec(t, s, "RESET search_path")
		exec(t, s, "SELECT a FROM t; SELECT a FROM aside.u") // one unit
		s.BeginImplicit()
		require.Equal(t, []string{"1", "2"}, rows(t, s, "SELECT a FROM t ORDER BY 1"))
		require.NoError(t, s.EndImplicit(t.Context(), true))
		require.Zero(t, engine.NamesReached(e), "no statement asked DuckDB for a table")
		exec(t, s, "BEGIN; SELECT a, row_number() OVER (ORDER BY a) FROM t; COMMIT")
		require.False(t, engine.FunctionsMade(e))

		exec(t, other, "CREATE SCHEMA later; CREATE TABLE later.w AS SELECT 7 AS a")
		exec(t, other, "CREATE VIEW v AS SELECT a FROM t WHERE b LIKE 'x%'")
		require.Equal(t, []string{"1"}, rows(t, s, "SELECT a FROM v"))
		require.True(t, engine.FunctionsMade(e))
		require.Equal(t, []string{"7"}, rows(t, s, "FROM later.w"))
		require.Positive(t, engine.NamesReached(e))
		exec(t, s, "BEGIN; SELECT a FROM t")
		require.Equal(t, []string{"7"}, rows(t, s, "FROM later.w"))
		exec(t, s, "COMMIT")
	}
}

// A statement by itself has names, and a block whose first statement needs no names, and no function, has them for
// those that come after.
func TestBlocksHaveNames(t *testing.T) {
	t.Parallel()
	const made = "CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT * FROM t, range(1) r(i) WHERE i = 0"
	for _, ask := range []struct{ sql, want string }{
		{"FROM t", "1"}, {"SELECT count(*) FROM duckdb_tables() WHERE table_name = 't'", "1"}, {"SELECT * FROM v", "1"},
		{"SELECT initcap('a b')", "A B"}, {"SELECT 'a' LIKE 'a%'", "true"},
		{"SELECT * FROM query_table('t')", "1"}, {"SHOW TABLES", "t"}, {"DESCRIBE t", "a"}, {"SUMMARIZE t", "a"},
	} {
		e := open(t)
		exec(t, session(t, e), made)
		require.Contains(t, rows(t, session(t, e), ask.sql)[0], ask.want, ask.sql)
		e = open(t)
		exec(t, session(t, e), made)
		s := session(t, e)
		exec(t, s, "BEGIN; SELECT 1")
		require.Contains(t, rows(t, s, ask.sql)[0], ask.want, ask.sql)
		exec(t, s, "ROLLBACK; SELECT 1")
		require.Contains(t, rows(t, s, ask.sql)[0], ask.want, ask.sql)
	}
}

// A transaction of DuckDB's finds functions that were made after it began, by its own session or by another, also where
// it has names of its own.
func TestBlocksHaveLaterFunctions(t *testing.T) {
	t.Parallel()
	for _, inAnother := range []bool{false, true} {
		for _, own := range []bool{false, true} {
			e := open(t)
			s, other := session(t, e), session(t, e)
			exec(t, s, "CREATE TABLE t AS SELECT 1 AS a")
			exec(t, s, "BEGIN; SELECT a, row_number() OVER (ORDER BY a) FROM t")
			require.False(t, engine.FunctionsMade(e))
			if inAnother {
				require.Equal(t, []string{"A B"}, rows(t, other, "SELECT initcap('a b')"))
			}
			if own {
				exec(t, s, "CREATE VIEW v AS SELECT a, initcap('c d') AS b FROM t")
				require.Equal(t, []string{"C D"}, rows(t, s, "SELECT b FROM query_table('v')"))
			}
			require.Equal(t, []string{"C D"}, rows(t, s, "SELECT initcap('c d') FROM t, range(1)"))
			exec(t, s, "COMMIT")
			require.Equal(t, []string{"E F"}, rows(t, other, "SELECT initcap('e f') FROM t, range(1)"))
			if own {
				require.Equal(t, []string{"C D"}, rows(t, other, "SELECT b FROM query_table('v')"))
			}
		}
	}
}

// Functions that another session's text has made since do not keep a failed transaction from its end.
func TestFailedBlocksBesideNewFunctions(t *testing.T) {
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a")
	exec(t, s, "BEGIN; SELECT a, row_number() OVER (ORDER BY a) FROM t")
	fails(t, s, "22P02", "SELECT sum(CAST('x' || a AS int)) FROM t, range(1)")
	require.Equal(t, []string{"A B"}, rows(t, other, "SELECT initcap('a b')"))
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"C D"}, rows(t, s, "SELECT initcap('c d') FROM t, range(1)"))
}
