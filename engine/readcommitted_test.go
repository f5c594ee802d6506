package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
)

// waiting runs a statement that may have to wait; its error comes by the channel.
func waiting(s *engine.Session, sql string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := s.Exec(context.Background(), sql)
		ended <- err
	}()
	return ended
}

// TestWhoChangesARowWaits: what the second of two transactions gets that change one row (TR3, RK1, RK2).
func TestWhoChangesARowWaits(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, first, second := session(t, e), session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, n int)")
	for _, c := range []struct {
		what                 string
		first, end           string
		begin, second, state string
		want                 []string
	}{
		{"an increment", "UPDATE t SET n = n + 1 WHERE k = 1", "COMMIT", "BEGIN", "UPDATE t SET n = n + 10 WHERE k = 1", "", []string{"1|11", "2|0"}},
		{"after ROLLBACK", "UPDATE t SET n = n + 1 WHERE k = 1", "ROLLBACK", "BEGIN", "UPDATE t SET n = n + 10 WHERE k = 1", "", []string{"1|10", "2|0"}},
		{"a row that is gone", "DELETE FROM t WHERE k = 1", "COMMIT", "BEGIN", "UPDATE t SET n = n + 10 WHERE k = 1", "", []string{"2|0"}},
		{"a row that is no longer meant", "UPDATE t SET n = 5 WHERE k = 1", "COMMIT", "BEGIN", "DELETE FROM t WHERE n = 0", "", []string{"1|5"}},
		{"a statement alone", "UPDATE t SET n = n + 1 WHERE k = 1", "COMMIT", "", "UPDATE t SET n = n + 10 WHERE k = 1", "", []string{"1|11", "2|0"}},
		{"an upsert", "UPDATE t SET n = n + 1 WHERE k = 1", "COMMIT", "BEGIN", "INSERT INTO t VALUES (1, 3) ON CONFLICT (k) DO UPDATE SET n = t.n + excluded.n", "", []string{"1|4", "2|0"}},
		{"one snapshot", "UPDATE t SET n = n + 1 WHERE k = 1", "COMMIT", "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT n FROM t", "UPDATE t SET n = n + 10 WHERE k = 1", "40001", []string{"1|1", "2|0"}},
		{"one snapshot, after ROLLBACK", "UPDATE t SET n = n + 1 WHERE k = 1", "ROLLBACK", "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT n FROM t", "UPDATE t SET n = n + 10 WHERE k = 1", "", []string{"1|10", "2|0"}},
		{"serializable", "UPDATE t SET n = n + 1 WHERE k = 1", "COMMIT", "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT n FROM t", "UPDATE t SET n = n + 10 WHERE k = 1", "40001", []string{"1|1", "2|0"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			exec(t, s, "DELETE FROM t; INSERT INTO t VALUES (1, 0), (2, 0)")
			exec(t, first, "BEGIN; "+c.first)
			if c.begin != "" {
				exec(t, second, c.begin)
			}
			ended := waiting(second, c.second)
			waitUntil(t, "it waits", func() bool { return e.RowLocks().Waiting == 1 })
			exec(t, first, c.end)
			err := <-ended
			if c.state != "" {
				requireState(t, c.state, err)
			} else {
				require.NoError(t, err)
			}
			if c.begin != "" {
				exec(t, second, "COMMIT")
			}
			require.ElementsMatch(t, c.want, rows(t, s, "SELECT * FROM t ORDER BY k"))
		})
	}
}

// RK3: of two that wait for each other one fails, and the other goes on when that one has ended.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	e := open(t)
	a, b := session(t, e), session(t, e)
	exec(t, a, "CREATE TABLE t AS SELECT i AS k, 0 AS n FROM range(4) r(i)")
	exec(t, a, "BEGIN; UPDATE t SET n = 1 WHERE k = 0")
	exec(t, b, "BEGIN; UPDATE t SET n = 2 WHERE k = 1")
	ended := waiting(a, "UPDATE t SET n = 1 WHERE k = 1")
	waitUntil(t, "it waits", func() bool { return e.RowLocks().Waiting == 1 })
	_, err := b.Exec(t.Context(), "UPDATE t SET n = 2 WHERE k = 0")
	requireState(t, "40P01", err)
	require.Equal(t, engine.Failed, b.Status())
	exec(t, b, "ROLLBACK")
	require.NoError(t, <-ended)
	exec(t, a, "COMMIT")
	require.Equal(t, []string{"0|1", "1|1", "2|0", "3|0"}, rows(t, a, "SELECT * FROM t ORDER BY k"))
}

// A wait for a row is bounded by lock_timeout, and by what bounds the statement otherwise; the block that it waits for
// ends with its session.
func TestWaitsForRowsEnd(t *testing.T) {
	t.Parallel()
	e := open(t)
	holder, waiter := session(t, e), session(t, e)
	exec(t, holder, "CREATE TABLE t AS SELECT i AS k, 0 AS n FROM range(4) r(i)")
	exec(t, holder, "BEGIN; SAVEPOINT before; UPDATE t SET n = 1 WHERE k < 2")

	exec(t, waiter, "SET lock_timeout = '10ms'")
	_, err := waiter.Exec(t.Context(), "UPDATE t SET n = 2 WHERE k = 0")
	requireState(t, "55P03", err)
	exec(t, waiter, "UPDATE t SET n = 2 WHERE k = 3")
	exec(t, waiter, "RESET lock_timeout")

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := waiter.Exec(ctx, "DELETE FROM t WHERE k = 0")
		ended <- err
	}()
	waitUntil(t, "it waits", func() bool { return e.RowLocks().Waiting == 1 })
	cancel()
	requireState(t, "57014", <-ended)

	exec(t, waiter, "SET statement_timeout = '10ms'")
	_, err = waiter.Exec(t.Context(), "DELETE FROM t WHERE k = 0")
	requireState(t, "57014", err)
	exec(t, waiter, "RESET statement_timeout")

	back := waiting(waiter, "UPDATE t SET n = 3 WHERE k = 0")
	waitUntil(t, "it waits", func() bool { return e.RowLocks().Waiting == 1 })
	exec(t, holder, "ROLLBACK TO before")
	require.NoError(t, <-back, "its rows were let go of")

	exec(t, holder, "UPDATE t SET n = 1 WHERE k = 1")
	back = waiting(waiter, "UPDATE t SET n = 4 WHERE k = 1")
	waitUntil(t, "it waits", func() bool { return e.RowLocks().Waiting == 1 })
	require.NoError(t, holder.Close())
	require.NoError(t, <-back)
	require.Equal(t, []string{"0|3", "1|4", "2|0", "3|2"}, rows(t, waiter, "SELECT * FROM t ORDER BY k"))
}

// A READ COMMITTED block sees with each statement what was committed by then, its own changes with it, and names that
// mean something else; one of a higher level sees what its first statement saw.
func TestWhatBlocksSee(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, other, "CREATE TABLE t AS SELECT i AS k FROM range(3) r(i); CREATE TABLE gone AS SELECT 1 AS k; CREATE VIEW v AS SELECT k FROM t WHERE k > 0")
	exec(t, s, "CREATE TEMPORARY TABLE mine (k int)")
	count := func(from string) string { return rows(t, s, "SELECT count(*) FROM "+from)[0] }
	words := func(from string) string { return rows(t, s, "FROM "+from+" SELECT count(*)")[0] } // DuckDB finds the name
	exec(t, s, "BEGIN")
	require.Equal(t, "3 3 2 1", strings.Join([]string{count("t"), words("t"), words("v"), words("gone")}, " "))
	exec(t, other, "INSERT INTO t VALUES (3), (4)")
	require.Equal(t, "5 5 4", strings.Join([]string{count("t"), words("t"), words("v")}, " "))
	exec(t, s, "INSERT INTO t VALUES (100); INSERT INTO mine VALUES (1); SAVEPOINT p; INSERT INTO t VALUES (101)")
	exec(t, other, "DELETE FROM t WHERE k = 0; INSERT INTO t VALUES (5); CREATE TABLE late AS SELECT 7 AS k; DROP TABLE gone; CREATE OR REPLACE VIEW v AS SELECT k FROM t WHERE k > 3")
	require.Equal(t, []string{"1", "2", "3", "4", "5", "100", "101"}, rows(t, s, "SELECT k FROM t ORDER BY k"))
	require.Equal(t, "7 7 4 1 1", strings.Join([]string{count("t"), words("t"), words("v"), words("late"), words("mine")}, " "))
	_, err := s.Exec(t.Context(), "FROM gone")
	requireState(t, "42P01", err)
	exec(t, s, "ROLLBACK TO p")
	exec(t, other, "VACUUM t; INSERT INTO t VALUES (6)")
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6", "100"}, rows(t, s, "SELECT k FROM t ORDER BY k"))
	exec(t, s, "UPDATE t SET k = k + 1 WHERE k >= 6; COMMIT")
	require.Equal(t, []string{"1", "2", "3", "4", "5", "7", "101"}, rows(t, other, "SELECT k FROM t ORDER BY k"))

	for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} {
		exec(t, s, "BEGIN ISOLATION LEVEL "+level)
		before := count("t")
		exec(t, other, "INSERT INTO t VALUES (0)")
		require.Equal(t, before, count("t"), level)
		exec(t, s, "ROLLBACK")
	}
}

// A cursor of a READ COMMITTED block goes on in the snapshot in which it was opened.
func TestCursorsKeepTheirSnapshot(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, other, "CREATE TABLE t AS SELECT i AS k FROM range(5000) r(i)")
	exec(t, s, "BEGIN; DECLARE c CURSOR FOR SELECT k FROM t ORDER BY k")
	require.Equal(t, []string{"0"}, rows(t, s, "FETCH 1 FROM c"))
	exec(t, other, "DELETE FROM t WHERE k < 4000; VACUUM t")
	require.Equal(t, []string{"1000"}, rows(t, s, "SELECT count(*) FROM t"))
	require.Equal(t, []string{"1", "2"}, rows(t, s, "FETCH 2 FROM c"))
	exec(t, s, "UPDATE t SET k = -k WHERE k = 4000")
	require.Len(t, rows(t, s, "FETCH ALL FROM c"), 4997)
	exec(t, s, "COMMIT")
}

// TR2: a key that another has taken since, or a parent that it has removed, is found at the next statement that sees it.
func TestMovesAreHeldAgainstOthers(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, other, "CREATE TABLE p (k int PRIMARY KEY); CREATE TABLE c (k int REFERENCES p); INSERT INTO p VALUES (1), (2)")
	exec(t, s, "BEGIN; INSERT INTO p VALUES (3)")
	exec(t, other, "INSERT INTO p VALUES (3)")
	_, err := s.Exec(t.Context(), "SELECT 1 FROM p")
	requireState(t, "23505", err)
	exec(t, s, "ROLLBACK; BEGIN; INSERT INTO c VALUES (2)")
	exec(t, other, "DELETE FROM p WHERE k = 2")
	_, err = s.Exec(t.Context(), "SELECT 1 FROM p")
	requireState(t, "23503", err)
	exec(t, s, "ROLLBACK; BEGIN; DELETE FROM p WHERE k = 1")
	exec(t, other, "INSERT INTO c VALUES (1)")
	_, err = s.Exec(t.Context(), "SELECT 1 FROM p")
	requireState(t, "23503", err)
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"1", "3"}, rows(t, s, "SELECT k FROM p ORDER BY k"))

	// Rows that kept their keys are not looked at; those that came beside them are, whichever came first.
	exec(t, other, "CREATE TABLE q (k int PRIMARY KEY, n int, p int REFERENCES p); INSERT INTO q VALUES (1, 0, 1), (2, 0, 1)")
	for i, own := range []string{"UPDATE q SET n = 1 WHERE k = 1; INSERT INTO q VALUES (10, 0, 1)", "INSERT INTO q VALUES (11, 0, 1); UPDATE q SET n = 1 WHERE k = 1"} {
		for _, sees := range []string{"", "SELECT count(*) FROM q"} {
			exec(t, s, "BEGIN; "+own)
			exec(t, other, "INSERT INTO q VALUES (12, 0, 1)")
			if sees != "" {
				exec(t, s, sees)
			}
			exec(t, other, fmt.Sprintf("INSERT INTO q VALUES (%d, 0, 1)", 10+i))
			_, err = s.Exec(t.Context(), "COMMIT")
			requireState(t, "23505", err)
			exec(t, other, "DELETE FROM q WHERE k > 2")
		}
	}
	exec(t, s, "BEGIN; UPDATE q SET n = 1 WHERE k = 1; UPDATE q SET p = 3 WHERE k = 2")
	exec(t, other, "DELETE FROM p WHERE k = 3")
	_, err = s.Exec(t.Context(), "COMMIT")
	requireState(t, "23503", err)
}

// TR3: transfers by READ COMMITTED blocks of many sessions, over few rows, with savepoints and folding beside them: no
// failure but deadlocks, and nothing is lost. Rows are changed in both orders, so that there are some.
func TestTransfersByBlocks(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	const accounts, writers, rounds = 6, 6, 40
	exec(t, s, fmt.Sprintf("CREATE TABLE a (k int PRIMARY KEY, n int); INSERT INTO a SELECT i, 100 FROM range(%d) r(i); CREATE TABLE log (k int REFERENCES a, n int)", accounts))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	deadlocks := make([]int, writers)
	var group errgroup.Group
	for w := range writers {
		s := session(t, e)
		random := rand.New(rand.NewPCG(seed, uint64(w)))
		group.Go(func() error {
			for done := 0; done < rounds; {
				from, to := random.IntN(accounts), random.IntN(accounts)
				err := transfer(s, from, to, 1+random.IntN(5), random.IntN(3) == 0)
				if err == nil {
					done++
					continue
				}
				if _, err := s.Exec(context.Background(), "ROLLBACK"); err != nil {
					return err
				}
				if sqlState(err) != "40P01" {
					return err
				}
				deadlocks[w]++
			}
			return nil
		})
	}
	folding, stop := context.WithCancel(t.Context())
	folder := session(t, e)
	folded := make(chan struct{})
	go func() {
		defer close(folded)
		for folding.Err() == nil {
			_, _ = folder.Exec(folding, "VACUUM a")
			_ = rows(t, s, "SELECT 1")
			time.Sleep(time.Millisecond)
		}
	}()
	err := group.Wait()
	stop()
	<-folded
	require.NoError(t, err)
	t.Log("deadlocks", deadlocks)
	require.Equal(t, []string{fmt.Sprintf("%d|%d", 100*accounts, accounts)}, rows(t, s, "SELECT sum(n), count(*) FROM a"))
	require.Equal(t, []string{fmt.Sprint(2 * writers * rounds)}, rows(t, s, "SELECT count(*) FROM log"))
	require.Empty(t, rows(t, s, "SELECT a.k FROM a LEFT JOIN log USING (k) GROUP BY a.k, a.n HAVING a.n <> 100 + coalesce(sum(log.n), 0)"))
	require.NoError(t, e.CheckSpace(t.Context()))
}

// transfer moves n from one row to another, and writes both down.
func transfer(s *engine.Session, from, to, n int, savepoint bool) error {
	statements := []string{
		"BEGIN",
		fmt.Sprintf("UPDATE a SET n = n - %d WHERE k = %d", n, from),
		fmt.Sprintf("INSERT INTO log VALUES (%d, %d)", from, -n),
	}
	if savepoint {
		statements = append(statements, "SAVEPOINT p", fmt.Sprintf("UPDATE a SET n = 0 WHERE k = %d", to), "ROLLBACK TO p")
	}
	statements = append(statements,
		fmt.Sprintf("UPDATE a SET n = n + %d WHERE k = %d", n, to),
		fmt.Sprintf("INSERT INTO log VALUES (%d, %d)", to, n),
		"COMMIT")
	for _, text := range statements {
		if _, err := s.Exec(context.Background(), text); err != nil {
			return err
		}
	}
	return nil
}

// RK5: a block of many statements has one claim of a table, and one more for each savepoint between them.
func TestClaimsAreFew(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS k, 0 AS n FROM range(1000) r(i); BEGIN")
	update := func(from, to int) {
		for k := from; k < to; k++ {
			exec(t, s, fmt.Sprintf("UPDATE t SET n = n + 1 WHERE k = %d", k))
		}
	}
	update(0, 50)
	require.Equal(t, 1, e.RowLocks().Claims)
	exec(t, s, "SAVEPOINT p")
	update(50, 100)
	require.Equal(t, 2, e.RowLocks().Claims)
	exec(t, s, "ROLLBACK TO p")
	exec(t, other, "SET lock_timeout = '1ms'; UPDATE t SET n = 7 WHERE k = 60")
	_, err := other.Exec(t.Context(), "UPDATE t SET n = 7 WHERE k = 30")
	requireState(t, "55P03", err)
	exec(t, s, "RELEASE p")
	update(100, 110)
	require.Equal(t, 1, e.RowLocks().Claims)
	exec(t, s, "COMMIT")
	require.Zero(t, e.RowLocks())
	require.Equal(t, []string{"67|60"}, rows(t, s, "SELECT sum(n), count(*) - 1 FROM t WHERE n > 0"))
}

// E6: a wait for a row ends with its session, and with the engine.
func TestCloseWhileWaiting(t *testing.T) {
	t.Parallel()
	e := open(t)
	holder, waiter, last := session(t, e), session(t, e), session(t, e)
	exec(t, holder, "CREATE TABLE t AS SELECT 1 AS k; BEGIN; DELETE FROM t")
	waits := func() bool { return e.RowLocks().Waiting == 1 }
	ended := waiting(waiter, "DELETE FROM t")
	waitUntil(t, "it waits", waits)
	require.NoError(t, waiter.Close())
	require.ErrorIs(t, <-ended, engine.ErrSessionClosed)
	ended = waiting(last, "DELETE FROM t")
	waitUntil(t, "it waits", waits)
	require.NoError(t, e.Close())
	require.ErrorIs(t, <-ended, engine.ErrClosed)
}
