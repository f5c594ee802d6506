package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// A text means what its session's dialect says when it comes in, and what is made of it keeps that.
func TestDialectStaysWithTheText(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE TABLE t AS SELECT * FROM (VALUES (1), (7), (NULL)) v(i);
		PREPARE duck AS SELECT 7 / 2 || '';
		CREATE VIEW duck AS SELECT i / 2 AS x FROM t ORDER BY i DESC;
		CREATE TEMP MACRO duck(a, b) AS a / b;
		SET csm.dialect = postgres`)
	exec(t, s, `PREPARE post AS SELECT 7 / 2 || '';
		PREPARE sorted AS SELECT i FROM t ORDER BY i DESC;
		CREATE VIEW post AS SELECT i / 2 AS x FROM t ORDER BY i DESC;
		CREATE TEMP VIEW temporary AS SELECT 7 / 2 AS x; CREATE TEMP MACRO post(a, b) AS a / b;
		CREATE TABLE derived AS SELECT i / 2 AS x FROM t;
		CREATE TABLE checked (a int DEFAULT 7 / 2, b int CHECK (b / 2 = 1))`)
	for _, dialect := range []string{engine.DialectPostgres, engine.DialectDuckDB} {
		t.Run(dialect, func(t *testing.T) {
			exec(t, s, "SET csm.dialect = "+dialect)
			require.Equal(t, []string{"3"}, rows(t, s, "EXECUTE post"))
			require.Equal(t, []string{"3.5"}, rows(t, s, "EXECUTE duck"))
			require.Equal(t, []string{"(null)", "7", "1"}, rows(t, s, "EXECUTE sorted"))
			require.Equal(t, []string{"(null)", "3", "0"}, rows(t, s, "SELECT x FROM post"))
			require.Equal(t, []string{"3.5", "0.5", "(null)"}, rows(t, s, "SELECT x FROM duck"))
			require.Equal(t, []string{"3"}, rows(t, s, "SELECT x FROM temporary"))
			require.Equal(t, []string{"3"}, rows(t, s, "SELECT post(7, 2)"))
			require.Equal(t, []string{"3.5"}, rows(t, s, "SELECT duck(7, 2)"))
			require.Equal(t, []string{"0", "3", "(null)"}, rows(t, s, "SELECT x FROM derived ORDER BY x NULLS LAST"))
			exec(t, s, "TRUNCATE checked; INSERT INTO checked (b) VALUES (3)")
			require.Equal(t, []string{"3"}, rows(t, s, "SELECT a FROM checked"))
			fails(t, s, "23514", "INSERT INTO checked VALUES (1, 4)")
		})
	}
}

// A kept plan, a statement that is prepared and a transaction's end do not mix dialects up.
func TestDialectOfASession(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT * FROM (VALUES (1), (7), (NULL)) v(i)")
	const text = "SELECT i FROM t ORDER BY i / 2 DESC"
	duck, post := []string{"7", "1", "(null)"}, []string{"(null)", "7", "1"}
	prepared, err := s.Prepare(context.Background(), text)
	require.NoError(t, err)
	for range 2 {
		require.Equal(t, duck, rows(t, s, text))
		exec(t, s, "SET csm.dialect = postgres")
		require.Equal(t, post, rows(t, s, text))
		require.Equal(t, post, rows(t, s, text))
		require.Equal(t, []string{"postgres"}, rows(t, s, "SHOW csm.dialect"))
		require.Equal(t, []string{"postgres"}, rows(t, s, "SELECT current_setting('csm.dialect')"))
		records, err := prepared.Query(context.Background())
		require.NoError(t, err)
		again, err := linesOf(records)
		require.NoError(t, err)
		require.Equal(t, duck, again)
		exec(t, s, "RESET csm.dialect")
		exec(t, s, "BEGIN; SET LOCAL csm.dialect = postgres")
		require.Equal(t, post, rows(t, s, text))
		exec(t, s, "COMMIT")
	}
	fails(t, s, "22023", "SET csm.dialect = mysql")

	other, err := engine.Open(context.Background(), engine.Config{})
	require.NoError(t, err)
	defer other.Close()
	require.Equal(t, []string{"postgres"}, rows(t, session(t, other), "SHOW csm.dialect"))
	require.Equal(t, []string{"3"}, rows(t, session(t, other), "SELECT 7 / 2"))
	_, err = engine.Open(context.Background(), engine.Config{Dialect: "mysql"})
	requireState(t, "22023", err)
}

// Errors point into the user's text.
func TestDialectErrors(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "SET csm.dialect = postgres; CREATE TABLE t AS SELECT 1 AS i")
	for sql, want := range map[string]int{
		"SELECT 7 / 2, nope FROM t": 15, "SELECT i / nope FROM t": 12,
		"SELECT 1/2, (SELECT i FROM t ORDER BY nope DESC)": 39,
		"SELECT 1/2, 1 SIMILAR TO i FROM t":                26, "CREATE VIEW v AS SELECT 7 / nope FROM t": 29,
	} {
		var e *engine.Error
		require.ErrorAs(t, failing(s, sql), &e, sql)
		require.Equal(t, want, e.Position(), "%s: %s", sql, e)
	}
	requireState(t, "22012", failing(s, "SELECT 1 / 0"))
	requireState(t, "22012", failing(s, "SELECT 5 % 0"))
}

// What types say is said again when they change: a text that a plan is kept for, in another dialect or of another
// catalog, is not taken for one that says it.
func TestDialectFollowsTypes(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 7::bigint AS b, 100::smallint AS s")
	const quotient, product = "SELECT csm_divide(sum(b), 2) FROM t", "SELECT s * 1000 FROM t"
	for range 3 {
		exec(t, s, "SET csm.dialect = duckdb")
		require.Equal(t, []string{"3"}, rows(t, s, quotient))
		fails(t, s, "22003", product)
		exec(t, s, "SET csm.dialect = postgres")
		require.Equal(t, []string{"3.5"}, rows(t, s, quotient))
		require.Equal(t, []string{"3.5"}, rows(t, s, "SELECT sum(b) / 2 FROM t"))
		require.Equal(t, []string{"100000"}, rows(t, s, product))
	}
	exec(t, s, "SET csm.dialect = postgres; DROP TABLE t; CREATE TABLE t AS SELECT 7::int AS b, 100::int AS s")
	for range 2 {
		require.Equal(t, []string{"3"}, rows(t, s, "SELECT sum(b) / 2 FROM t"))
		require.Equal(t, []string{"100000"}, rows(t, s, product))
	}
	exec(t, other, "DROP TABLE t; CREATE TABLE t AS SELECT 7::bigint AS b, 100::smallint AS s")
	require.Equal(t, []string{"3.5"}, rows(t, s, "SELECT sum(b) / 2 FROM t"), "a plan that is kept no longer stands")
	require.Equal(t, []string{"100000"}, rows(t, s, product))
}

// A text means the same wherever it runs, and whatever it comes in.
func TestDialectEverywhere(t *testing.T) {
	t.Parallel()
	const columns = "SELECT i::int AS i, (i * 3)::bigint AS big, (100 + i)::smallint AS small, i + 0.5::float8 AS f, " +
		"date '2020-01-31' + i::int AS d, timestamp '2020-01-31 10:00' AS ts"
	const making = "CREATE TABLE t AS " + columns + " FROM range(3) r(i)"
	t.Run("here", func(t *testing.T) {
		s := session(t, open(t))
		exec(t, s, making)
		meansPostgres(t, s, "")
	})
	t.Run("in a worker", func(t *testing.T) {
		s := session(t, openWithWorkers(t, 1))
		exec(t, s, making)
		meansPostgres(t, s, "")
	})
	t.Run("in another process", func(t *testing.T) {
		e, socket := lend(t)
		exec(t, session(t, e), making)
		guest, err := engine.AttachWith(t.Context(), socket,
			engine.Config{MemoryBytes: 256 << 20, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, guest.Close()) })
		meansPostgres(t, session(t, guest), "TEMP")
	})
	t.Run("on three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		exec(t, c.session(0), making+" WHERE false")
		for i := range 3 {
			exec(t, c.session(i), fmt.Sprintf("INSERT INTO t %s FROM range(%d, %d) r(i)", columns, i, i+1))
		}
		s := c.session(1)
		exec(t, s, "SET csm.distribute = 'always'; SET csm.dialect = postgres")
		require.Contains(t, explain(t, s, "SELECT i / 2, small * 1000 FROM t ORDER BY i DESC"), "on n2")
		require.Contains(t, explain(t, s, "SELECT sum(big) / 2 FROM t"), "on n2")
		meansPostgres(t, s, "")
	})
}

// meansPostgres asks statements of a table of three rows, by themselves, by PREPARE, by a cursor and by a view.
func meansPostgres(t *testing.T, s *engine.Session, temp string) {
	t.Helper()
	exec(t, s, "SET csm.dialect = postgres")
	for query, want := range map[string][]string{
		"SELECT i / 2 AS x FROM t ORDER BY i DESC":                                             {"1", "0", "0"},
		"SELECT nullif(i, 2) AS x FROM t ORDER BY 1 DESC":                                      {"(null)", "1", "0"},
		"SELECT small * 1000 AS x FROM t ORDER BY i":                                           {"100000", "101000", "102000"},
		"SELECT sum(big) / 2 AS x, sum(i) / 2 AS y FROM t":                                     {"4.5|1"},
		"SELECT x / 2 AS y FROM (SELECT sum(big) AS x FROM t) q":                               {"4.5"},
		"SELECT i % 2 AS x, sum(small) / 2 AS y FROM t GROUP BY 1 ORDER BY 1":                  {"0|101", "1|50"},
		"SELECT round(f) AS x, f::text AS y FROM t ORDER BY i":                                 {"0|0.5", "2|1.5", "2|2.5"},
		"SELECT sum(f)::text AS x, 'x' || sum(f - 0.5) AS y FROM t":                            {"4.5|x3"},
		"SELECT date_trunc('month', d)::date AS x, count(*) AS y FROM t GROUP BY 1 ORDER BY 1": {"2020-01-01|1", "2020-02-01|2"},
		"SELECT (ts - '2020-01-30')::text AS x FROM t WHERE i = 1":                             {"1 day 10:00:00"},
		"SELECT generate_series(1, i) AS x FROM t ORDER BY 1":                                  {"1", "1", "2"},
	} {
		require.Equal(t, want, rows(t, s, query), query)
		exec(t, s, "PREPARE p AS "+query)
		require.Equal(t, want, rows(t, s, "EXECUTE p"), query)
		exec(t, s, "DEALLOCATE p; BEGIN; DECLARE c CURSOR FOR "+query)
		require.Equal(t, want, rows(t, s, "FETCH ALL FROM c"), query)
		exec(t, s, "COMMIT; CREATE "+temp+" VIEW made AS "+query)
		exec(t, s, "SET csm.dialect = duckdb")
		require.ElementsMatch(t, want, rows(t, s, "SELECT * FROM made"), query)
		exec(t, s, "DROP VIEW made; SET csm.dialect = postgres")
	}
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(*) FROM t WHERE small * 1000 > i / 2"))
	exec(t, s, "PREPARE p AS SELECT small * $1 FROM t WHERE i / 2 = $2")
	require.Equal(t, []string{"10200"}, rows(t, s, "EXECUTE p(100, 1)"))
	requireState(t, "22003", failing(s, "EXECUTE p(1000, 1)")) // a parameter beside a smallint is one, in PostgreSQL, too
	exec(t, s, "DEALLOCATE p")
	requireState(t, "22012", failing(s, "SELECT i / 0 FROM t"))
}
