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
