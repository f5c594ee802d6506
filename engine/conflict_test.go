package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// OX2: what becomes of rows, in their order.
func TestOnConflict(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, v text, n int DEFAULT 7)")
	exec(t, s, "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
	require.Equal(t, []string{"1|xa|6", "3|c|3"}, rows(t, s, "INSERT INTO t VALUES (1, 'x', 5), (3, 'c', 3) "+
		"ON CONFLICT (k) DO UPDATE SET n = t.n + excluded.n, v = excluded.v || t.v RETURNING *"))
	exec(t, s, "INSERT INTO t VALUES (1, 'x', 5), (4, 'd', 4), (4, 'e', 4) ON CONFLICT DO NOTHING")
	require.Equal(t, []string{"1|xa|6", "2|b|2", "3|c|3", "4|d|4"}, rows(t, s, "SELECT * FROM t ORDER BY k"))
	require.Equal(t, "21000 ", keyRefused(t, s, "INSERT INTO t VALUES (9, 'x', 5), (9, 'd', 4) ON CONFLICT (k) DO UPDATE SET n = 0"))
	require.Equal(t, "21000 ", keyRefused(t, s, "INSERT INTO t VALUES (1, 'x', 5), (1, 'd', 4) ON CONFLICT (k) DO UPDATE SET n = 0"))
	// The first one moves away, so that there is room for the second one.
	exec(t, s, "INSERT INTO t VALUES (1, 'x', 5), (1, 'd', 4) ON CONFLICT (k) DO UPDATE SET k = t.k + 10")
	require.Equal(t, []string{"1|d|4", "11|xa|6"}, rows(t, s, "SELECT * FROM t WHERE k IN (1, 11) ORDER BY k"))
}

// OX1: what random() gave for a proposed row, and for what it makes of another one, is what is written and returned.
func TestOnConflictIsAskedOnce(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, a float8, b float8)")
	exec(t, s, "INSERT INTO t SELECT i, 0, 0 FROM range(0, 3000, 2) r(i)")
	got := rows(t, s, "INSERT INTO t SELECT i, random(), 1 FROM range(3000) r(i) ON CONFLICT (k) DO UPDATE SET a = excluded.a, "+
		"b = random() RETURNING *")
	require.Len(t, got, 3000)
	require.Equal(t, got, rows(t, s, "SELECT * FROM t ORDER BY k"))
	require.Equal(t, []string{"3000|1501"}, rows(t, s, "SELECT count(DISTINCT a), count(DISTINCT b) FROM t"))
}

// OX3.
func TestProposedRowsAreHeldToTheirTable(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, n int NOT NULL CHECK (n > 0)); INSERT INTO t VALUES (1, 1)")
	require.Equal(t, "23502 ", keyRefused(t, s, "INSERT INTO t VALUES (1, NULL) ON CONFLICT DO NOTHING"))
	require.Contains(t, keyRefused(t, s, "INSERT INTO t VALUES (1, 0) ON CONFLICT (k) DO UPDATE SET n = 2"), "23514 ")
	require.Contains(t, keyRefused(t, s, "INSERT INTO t VALUES (1, 1) ON CONFLICT (k) DO UPDATE SET n = 0"), "23514 ")
	require.Equal(t, []string{"1|1"}, rows(t, s, "SELECT * FROM t"))
}

// OX3: rows of every type are held to checks: they lie as DuckDB gave them, and not as a chunk would have them.
func TestProposedRowsOfEveryTypeAreHeldToChecks(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN price AS numeric(6, 2) CHECK (VALUE > 0)")
	for i, c := range []struct{ of, value, other, wrong string }{
		{"numeric(3, 1)", "1.5", "2.5", "-1"}, {"numeric(5, 2)", "1.25", "2.5", "-1"}, {"numeric(18, 2)", "1.25", "2.5", "-1"},
		{"numeric(38, 2)", "1.25", "2.5", "-1"}, {"price", "1.25", "2.5", ""}, {"hugeint", "1", "2", "-1"}, {"uhugeint", "1", "2", "0"},
		{"tinyint", "1", "2", "-1"}, {"utinyint", "1", "2", "0"}, {"ubigint", "1", "2", "0"}, {"real", "1.5", "2.5", "-1"},
		{"float8", "1.5", "2.5", "-1"}, {"boolean", "true", "true", "false"}, {"text", "'abc'", "'abd'", "'a'"},
		{"varchar(5)", "'abc'", "'abd'", "'a'"}, {"char(3)", "'abc'", "'abd'", "'a'"}, {"bytea", `'\x01ff'`, `'\x02'`, `'\x00'`},
		{"date", "'2024-01-02'", "'2024-01-03'", "'2023-01-01'"}, {"time", "'10:00'", "'11:00'", "'09:00'"},
		{"timetz", "'10:00+01'", "'11:00+01'", "'09:00+01'"}, {"timestamp", "'2024-01-02'", "'2024-01-03'", "'2023-01-01'"},
		{"timestamptz", "'2024-01-02 00:00+00'", "'2024-01-03 00:00+00'", "'2023-01-01 00:00+00'"}, {"timestamp(0)", "'2024-01-02'", "'2024-01-03'", "'2023-01-01'"},
		{"timestamp_ns", "'2024-01-02'", "'2024-01-03'", "'2023-01-01'"}, {"interval", "'2 days'", "'3 days'", "'1 day'"},
		{"uuid", "'10000000-0000-0000-0000-000000000000'", "'20000000-0000-0000-0000-000000000000'", "'00000000-0000-0000-0000-000000000000'"},
		{"bitstring", "B'101'", "B'111'", "B'001'"}, {"mood", "'ok'", "'ok'", "'sad'"}, {"json", `'{"a":1}'`, `'{"a":2}'`, ""},
		{"int[]", "ARRAY[2]", "ARRAY[3]", "ARRAY[1]"}, {"numeric(5, 2)[]", "ARRAY[2.5]", "ARRAY[3.5]", "ARRAY[1]"},
		{"STRUCT(a int, b numeric(5, 2))", "ROW(1, 1.5)", "ROW(2, 2.5)", ""},
		{"MAP(text, numeric(5, 2))", "MAP {'a': 1.5}", "MAP {'a': 2.5}", ""}, {"UNION(a int, b text)", "1", "'x'", ""},
		{"numeric(5, 2)[2]", "array_value(1.5, 2.5)", "array_value(2.5, 2.5)", ""},
	} {
		table := fmt.Sprintf("t%d", i)
		check := ""
		if c.wrong != "" {
			check = fmt.Sprintf(" CHECK (v > CAST(%s AS %s))", c.wrong, c.of)
		}
		exec(t, s, fmt.Sprintf("CREATE TABLE %s (k int PRIMARY KEY, v %s%s, n int CHECK (n > 0))", table, c.of, check))
		insert := "INSERT INTO " + table + " VALUES (%s, %s, %d) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = excluded.n"
		for _, value := range []string{c.value, c.other, "NULL", c.value} {
			exec(t, s, fmt.Sprintf(insert, "1", value, 5))
		}
		require.Equal(t, []string{"true|5"}, rows(t, s, fmt.Sprintf("SELECT v::text = CAST(%s AS %s)::text, n FROM %s", c.value, c.of, table)), c.of)
		require.Contains(t, keyRefused(t, s, fmt.Sprintf(insert, "1", c.other, 0)), "23514 ", c.of)
		if c.wrong != "" {
			require.Contains(t, keyRefused(t, s, fmt.Sprintf(insert, "2", c.wrong, 5)), "23514 ", c.of)
		}
		require.Equal(t, []string{"1"}, rows(t, s, "SELECT count(*) FROM "+table), c.of)
	}
}

// Rows that are there lie in many chunks, were deleted, or are the transaction's own.
func TestOnConflictOverManyChunks(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (k text PRIMARY KEY, n bigint, l int[])")
	for i := range 12 {
		exec(t, s, fmt.Sprintf("INSERT INTO t SELECT 'k' || i, i, [i] FROM range(%d, %d) r(i)", i*500, i*500+500))
	}
	exec(t, s, "DELETE FROM t WHERE n % 3 = 0; BEGIN; INSERT INTO t VALUES ('k0', -1, NULL)")
	exec(t, s, "INSERT INTO t SELECT 'k' || i, 0, [] FROM range(7000) r(i) ORDER BY hash(i) ON CONFLICT (k) DO UPDATE SET n = t.n + 1000000")
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"7000|7000|4001"}, rows(t, s, "SELECT count(*), count(DISTINCT k), count(*) FILTER (n >= 900000) FROM t"))
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM t WHERE n > 1000000 AND (k <> 'k' || n - 1000000 OR l[1] <> n - 1000000)"))
	require.Equal(t, []string{"999999|(null)"}, rows(t, s, "SELECT n, l FROM t WHERE k = 'k0'"))
}

// Clients that count by upserts, at once, never fail, and count exactly; nor do those that insert what is there.
func TestUpsertsAtOnce(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, sessions []*engine.Session, each int) {
		exec(t, sessions[0], "CREATE TABLE t (k int PRIMARY KEY, n int); CREATE TABLE once (k int UNIQUE, writer int)")
		var writers errgroup.Group
		for w, s := range sessions {
			writers.Go(func() error {
				for i := range each {
					text := fmt.Sprintf("INSERT INTO t VALUES (%d, 1) ON CONFLICT (k) DO UPDATE SET n = t.n + 1", i%3)
					var err error
					if w%2 == 0 {
						_, err = s.Exec(t.Context(), text)
					} else {
						_, err = within(t.Context(), s, text)
					}
					if err == nil {
						_, err = s.Exec(t.Context(), fmt.Sprintf("INSERT INTO once VALUES (%d, %d) ON CONFLICT DO NOTHING", i, w))
					}
					if err != nil {
						return fmt.Errorf("%d %d: %w", w, i, err)
					}
				}
				return nil
			})
		}
		require.NoError(t, writers.Wait())
		require.Equal(t, []string{fmt.Sprint(len(sessions) * each)}, rows(t, sessions[0], "SELECT sum(n) FROM t"))
		require.Equal(t, []string{fmt.Sprintf("%d|%[1]d", each)}, rows(t, sessions[0], "SELECT count(*), count(DISTINCT k) FROM once"))
	}
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		var sessions []*engine.Session
		for range 8 {
			sessions = append(sessions, session(t, e))
		}
		test(t, sessions, 10*testsuite.Effort())
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		test(t, []*engine.Session{c.session(0), c.session(1), c.session(2), c.session(0), c.session(1), c.session(2)}, 5*testsuite.Effort())
		c.requireSpace()
	})
}

// In a block, a key that another one has committed since its snapshot is a lost race, not a duplicate: it may be tried
// again.
func TestUpsertsInBlocksLoseRaces(t *testing.T) {
	t.Parallel()
	e := open(t)
	a, b := session(t, e), session(t, e)
	exec(t, a, "CREATE TABLE t (k int PRIMARY KEY, n int)")
	exec(t, a, "BEGIN; INSERT INTO t VALUES (1, 1) ON CONFLICT (k) DO UPDATE SET n = t.n + 1")
	exec(t, b, "INSERT INTO t VALUES (1, 10)")
	require.Equal(t, "40001 Key (k)=(1) already exists.", keyRefused(t, a, "COMMIT"))
	require.Equal(t, []string{"1|10"}, rows(t, a, "SELECT * FROM t"))

	// So it is where another statement of the block finds it (TR7).
	for i, sees := range []string{"SELECT n FROM t", "UPDATE t SET n = 0 WHERE k = 1", "INSERT INTO t VALUES (1, 1) ON CONFLICT (k) DO NOTHING"} {
		exec(t, a, fmt.Sprintf("BEGIN; INSERT INTO t VALUES (%d, 1) ON CONFLICT (k) DO UPDATE SET n = t.n + 1", i+2))
		exec(t, b, fmt.Sprintf("INSERT INTO t VALUES (%d, 10)", i+2))
		require.Equal(t, fmt.Sprintf("40001 Key (k)=(%d) already exists.", i+2), keyRefused(t, a, sees), sees)
		exec(t, a, "ROLLBACK")
	}
	require.Equal(t, []string{"10"}, rows(t, a, "SELECT DISTINCT n FROM t"))
}
