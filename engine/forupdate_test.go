package engine_test

import (
	"context"

	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/account"
)

// locksAnswer is what a statement gave that may have to wait.
type locksAnswer struct {
	rows []string
	err  error
}

func awaiting(s *engine.Session, sql string) <-chan locksAnswer {
	answer := make(chan locksAnswer, 1)
	go func() {
		rows, err := tryRows(s, sql)
		answer <- locksAnswer{rows, err}
	}()
	return answer
}

// FU2, TR5: what a SELECT … FOR UPDATE gives whose rows another transaction has.
func TestForUpdateWaits(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, first, second := session(t, e), session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, n int)")
	const one, all = "SELECT * FROM t WHERE k = 1 FOR UPDATE", "SELECT * FROM t ORDER BY k FOR UPDATE"
	const repeatable, serializable = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT n FROM t", "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT n FROM t"
	for _, c := range []struct {
		what                string
		first, end          string
		begin, query, state string
		want                []string
	}{
		{"a changed row", "UPDATE t SET n = n + 1 WHERE k = 1", "COMMIT", "BEGIN", one, "", []string{"1|1"}},
		{"a row that was not changed after all", "UPDATE t SET n = n + 1 WHERE k = 1", "ROLLBACK", "BEGIN", one, "", []string{"1|0"}},
		{"a row that is gone", "DELETE FROM t WHERE k = 1", "COMMIT", "BEGIN", all, "", []string{"2|0", "3|0"}},
		{"a row that is no longer meant", "UPDATE t SET n = 5 WHERE k = 1", "COMMIT", "BEGIN", "SELECT k FROM t WHERE n = 0 ORDER BY k FOR UPDATE", "", []string{"2", "3"}},
		{"a locked row", "SELECT * FROM t WHERE k = 1 FOR UPDATE", "COMMIT", "BEGIN", all, "", []string{"1|0", "2|0", "3|0"}},
		{"a shared row", "SELECT * FROM t WHERE k = 1 FOR SHARE", "COMMIT", "BEGIN", one, "", []string{"1|0"}},
		{"to share it", "SELECT * FROM t WHERE k = 1 FOR NO KEY UPDATE", "COMMIT", "BEGIN", "SELECT * FROM t WHERE k = 1 FOR KEY SHARE", "", []string{"1|0"}},
		{"the next row", "DELETE FROM t WHERE k = 1", "COMMIT", "BEGIN", "SELECT k FROM t ORDER BY k LIMIT 1 FOR UPDATE", "", []string{"2"}},
		{"a statement alone", "UPDATE t SET n = n + 1 WHERE k = 1", "COMMIT", "", one, "", []string{"1|1"}},
		{"one snapshot", "UPDATE t SET n = n + 1 WHERE k = 1", "COMMIT", repeatable, one, "40001", nil},
		{"one snapshot, after ROLLBACK", "UPDATE t SET n = n + 1 WHERE k = 1", "ROLLBACK", repeatable, one, "", []string{"1|0"}},
		{"one snapshot, locked", "SELECT * FROM t WHERE k = 1 FOR UPDATE", "COMMIT", repeatable, one, "", []string{"1|0"}},
		{"serializable", "DELETE FROM t WHERE k = 1", "COMMIT", serializable, one, "40001", nil},
		{"a join", "UPDATE t SET n = 1 WHERE k = 2", "COMMIT", "BEGIN", "SELECT a.k, b.n FROM t a JOIN t b ON a.k + 1 = b.k WHERE a.k = 1 FOR UPDATE OF b", "", []string{"1|1"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			exec(t, s, "DELETE FROM t; INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)")
			exec(t, first, "BEGIN; "+c.first)
			if c.begin != "" {
				exec(t, second, c.begin)
			}
			answers := awaiting(second, c.query)
			waitUntil(t, "it waits", func() bool { return e.RowLocks().Waiting == 1 })
			exec(t, first, c.end)
			answer := <-answers
			if c.state != "" {
				requireState(t, c.state, answer.err)
				exec(t, second, "ROLLBACK")
				return
			}
			require.NoError(t, answer.err)
			require.Equal(t, c.want, answer.rows)
			if c.begin == "" {
				require.Zero(t, e.RowLocks().Claims)
				return
			}
			// Now the row is locked: no other session changes it before COMMIT.
			changed := waiting(s, "UPDATE t SET n = n + 100")
			if strings.Contains(c.query, "t") && len(c.want) > 0 {
				waitUntil(t, "its rows are locked", func() bool { return e.RowLocks().Waiting == 1 })
			}
			exec(t, second, "COMMIT")
			require.NoError(t, <-changed)
			require.Zero(t, e.RowLocks().Claims)
		})
	}
}

// What does not wait: others' rows, other rows, shared ones, a plain SELECT; NOWAIT and SKIP LOCKED (FU1).
func TestForUpdateDoesNotWait(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (k int, n int); INSERT INTO t SELECT i, i FROM range(6) r(i); INSERT INTO t SELECT i, i FROM range(6, 10) r(i)")
	exec(t, s, "BEGIN; SELECT * FROM t WHERE k % 3 = 0 FOR UPDATE; SELECT * FROM t WHERE k = 1 FOR SHARE; UPDATE t SET n = 10 WHERE k = 8")
	exec(t, other, "BEGIN")
	for sql, want := range map[string][]string{
		"SELECT k FROM t WHERE k < 2 ORDER BY k":                                                   {"0", "1"},
		"SELECT k FROM t WHERE k = 2 FOR UPDATE":                                                   {"2"},
		"SELECT k FROM t WHERE k = 1 FOR SHARE":                                                    {"1"},
		"SELECT k FROM t ORDER BY k LIMIT 2 FOR UPDATE SKIP LOCKED":                                {"2", "4"},
		"SELECT k FROM t ORDER BY k LIMIT 2 FOR SHARE SKIP LOCKED":                                 {"1", "2"},
		"SELECT k FROM t ORDER BY k OFFSET 1 FOR UPDATE SKIP LOCKED":                               {"4", "5", "7"},
		"SELECT k FROM t ORDER BY k FETCH FIRST 2 ROWS ONLY FOR UPDATE SKIP LOCKED":                {"2", "4"},
		"SELECT a.k, b.k FROM t a JOIN t b ON b.k = a.k + 1 FOR UPDATE OF b SKIP LOCKED":           {"1|2", "3|4", "4|5", "6|7"},
		"SELECT a.k, b.k FROM t a, t b WHERE b.k = a.k + 1 FOR UPDATE SKIP LOCKED":                 {"4|5"},
		"SELECT k FROM t WHERE k = (SELECT max(k) FROM t) - 2 FOR UPDATE NOWAIT":                   {"7"},
		"WITH w AS (SELECT 4 AS k) SELECT t.k FROM t, w WHERE t.k = w.k FOR UPDATE NOWAIT":         {"4"},
		"SELECT t.k FROM t LEFT JOIN (SELECT 9 AS k) s ON s.k = t.k WHERE t.k = 4 FOR UPDATE OF t": {"4"},
	} {
		require.ElementsMatch(t, want, rows(t, other, sql), sql)
	}
	for _, sql := range []string{
		"SELECT * FROM t FOR UPDATE NOWAIT", "SELECT * FROM t WHERE k = 8 FOR SHARE NOWAIT", "SELECT * FROM t WHERE k = 1 FOR NO KEY UPDATE NOWAIT",
	} {
		exec(t, other, "ROLLBACK; BEGIN")
		_, err := other.Exec(t.Context(), sql)
		requireState(t, "55P03", err)
		require.ErrorContains(t, err, `could not obtain lock on row in relation "t"`)
	}
	exec(t, other, "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM t")
	exec(t, s, "COMMIT; UPDATE t SET n = 20 WHERE k = 2; VACUUM t; BEGIN; SELECT * FROM t WHERE k = 5 FOR UPDATE")
	require.Equal(t, []string{"4"}, rows(t, other, "SELECT k FROM t WHERE k > 2 AND k < 6 AND k % 3 > 0 FOR UPDATE SKIP LOCKED"), "a later version holds it")
	_, err := other.Exec(t.Context(), "SELECT * FROM t WHERE k = 2 FOR UPDATE SKIP LOCKED")
	requireState(t, "40001", err)
	exec(t, other, "ROLLBACK")
}

// Locks end with ROLLBACK TO, are waited for as long as lock_timeout says, and a waiting statement can be cancelled.
func TestLocksEnd(t *testing.T) {
	t.Parallel()
	e := open(t)
	holder, waiter := session(t, e), session(t, e)
	exec(t, holder, "CREATE TABLE t AS SELECT i AS k FROM range(4) r(i)")
	exec(t, holder, "BEGIN; SELECT * FROM t WHERE k = 3 FOR UPDATE; SAVEPOINT p; SELECT * FROM t WHERE k < 2 FOR UPDATE")
	exec(t, waiter, "SET lock_timeout = '10ms'")
	_, err := waiter.Exec(t.Context(), "SELECT * FROM t FOR UPDATE")
	requireState(t, "55P03", err)
	exec(t, waiter, "RESET lock_timeout")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := waiter.Exec(ctx, "SELECT * FROM t FOR UPDATE")
		failed <- err
	}()
	waitUntil(t, "it waits", func() bool { return e.RowLocks().Waiting == 1 })
	cancel()
	requireState(t, "57014", <-failed)

	answer := awaiting(waiter, "SELECT * FROM t WHERE k = 0 FOR UPDATE")
	waitUntil(t, "it waits", func() bool { return e.RowLocks().Waiting == 1 })
	exec(t, holder, "ROLLBACK TO p")
	require.Equal(t, locksAnswer{rows: []string{"0"}}, <-answer)
	_, err = waiter.Exec(t.Context(), "SELECT * FROM t WHERE k = 3 FOR UPDATE NOWAIT")
	requireState(t, "55P03", err)

	exec(t, waiter, "BEGIN; SELECT * FROM t WHERE k = 0 FOR UPDATE")
	answer = awaiting(waiter, "SELECT * FROM t WHERE k = 3 FOR UPDATE")
	waitUntil(t, "it waits", func() bool { return e.RowLocks().Waiting == 1 })
	_, err = holder.Exec(t.Context(), "SELECT * FROM t WHERE k = 0 FOR SHARE")
	requireState(t, "40P01", err)
	require.NoError(t, holder.Close())
	require.Equal(t, locksAnswer{rows: []string{"3"}}, <-answer)
	exec(t, waiter, "COMMIT")
	require.Equal(t, 0, e.RowLocks().Claims)
}

// FU1, FU2: workers take tasks from a queue, each task is done by one of them and none is lost, while some give up, the
// table is folded, and tasks come.
func TestQueue(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	const tasks, workers = 240, 8
	exec(t, s, fmt.Sprintf("CREATE TABLE q (k int PRIMARY KEY, what text); INSERT INTO q SELECT i, 'task ' || i FROM range(%d) r(i)", tasks/2))
	var mu sync.Mutex
	done := map[string]int{}
	var group errgroup.Group
	for w := range workers {
		s := session(t, e)
		group.Go(func() error {
			for round := 1; ; round++ {
				if _, err := s.Exec(t.Context(), "BEGIN"); err != nil {
					return err
				}
				got, err := tryRows(s, "SELECT k FROM q ORDER BY k LIMIT 1 FOR UPDATE SKIP LOCKED")
				if err != nil {
					return fmt.Errorf("worker %d: %w", w, err)
				}
				if len(got) == 0 {
					if _, err := s.Exec(t.Context(), "COMMIT"); err != nil {
						return err
					}
					mu.Lock()
					over := len(done) == tasks
					mu.Unlock()
					if over {
						return nil
					}
					continue
				}
				end := "COMMIT"
				if (round+w)%5 == 0 {
					end = "ROLLBACK"
				}
				result, err := s.Exec(t.Context(), "DELETE FROM q WHERE k = "+got[0])
				if err == nil && result.RowsAffected != 1 {
					return fmt.Errorf("worker %d deleted %d rows of task %s", w, result.RowsAffected, got[0])
				}
				if err == nil {
					_, err = s.Exec(t.Context(), end)
				}
				if err != nil {
					return fmt.Errorf("worker %d: %w", w, err)
				}
				if end == "COMMIT" {
					mu.Lock()
					done[got[0]]++
					mu.Unlock()
				}
			}
		})
	}
	group.Go(func() error {
		for k := tasks / 2; k < tasks; k++ {
			if _, err := s.Exec(t.Context(), fmt.Sprintf("INSERT INTO q VALUES (%d, 'late')", k)); err != nil {
				return err
			}
			if k%20 == 0 {
				if _, err := s.Exec(t.Context(), "VACUUM q"); err != nil {
					return err
				}
			}
		}
		return nil
	})
	require.NoError(t, group.Wait())
	require.Len(t, done, tasks)
	for k, n := range done {
		require.Equal(t, 1, n, "task %s", k)
	}
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM q"))
	require.Zero(t, e.RowLocks())
}

// FU5: the result is the plain SELECT's, whatever the query calls things.
func TestForUpdateShowsNoNumbers(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE t (k int, n int); CREATE TABLE csm_row0 (csm_row0 int, k int); CREATE SCHEMA x; CREATE TABLE x.t (k int, "From" text);
		INSERT INTO t SELECT i, i * 10 FROM range(3) r(i); INSERT INTO csm_row0 SELECT i, i FROM range(3) r(i); INSERT INTO x.t SELECT i, 'a' FROM range(3) r(i);
		CREATE TEMPORARY TABLE mine (k int); INSERT INTO mine VALUES (1)`)
	for _, query := range []string{
		"SELECT * FROM t", "SELECT t.* FROM t", "SELECT *, k + 1 FROM t", "TABLE t", "SELECT t FROM t", "SELECT T FROM t", "SELECT count(*) OVER () IS NULL FROM t LIMIT 0",
		"SELECT * FROM csm_row0", "SELECT csm_row0 FROM csm_row0", "SELECT * FROM t JOIN x.t AS u USING (k)", "SELECT * FROM t NATURAL JOIN x.t u", "SELECT * FROM t, x.t u WHERE t.k = u.k",
		"SELECT public.t.k, t.* FROM public.t CROSS JOIN x.t AS u WHERE public.t.k = u.k", "SELECT x.t.\"From\" FROM x.t WHERE x.t.k > 0", "SELECT k IS DISTINCT FROM n, 'from' AS \"select\" FROM t -- from\n", "SELECT a.k AS from_, b.* FROM t a JOIN t b ON a.k = b.k",
		"SELECT k, (SELECT count(*) FROM t) FROM t WHERE k IN (SELECT k FROM x.t)", "SELECT * FROM mine, t WHERE t.k = mine.k", "SELECT * FROM mine",
		"WITH t AS (SELECT 1 AS k) SELECT * FROM t, x.t AS u WHERE u.k = t.k", "SELECT k AS \"csm_row\" FROM t", "SELECT upper('x') FROM t WHERE k = 0", "SELECT 1, 'x', now() IS NULL",
		"SELECT * FROM t ORDER BY 2 DESC, 1 LIMIT 2 OFFSET 1", "SELECT * FROM t AS a(b, c)", "SELECT k FROM t WHERE t IS NOT NULL", "SELECT * FROM generate_series(1, 2) g(i) JOIN t ON g.i = t.k",
	} {
		plain, err := s.Prepare(t.Context(), query)
		require.NoError(t, err, query)
		want := rows(t, s, query)
		locking, err := s.Prepare(t.Context(), query+" FOR UPDATE")
		if err != nil {
			requireState(t, "0A000", err)
			t.Log(query, err)
			require.NoError(t, plain.Close())
			continue
		}
		require.True(t, plain.Schema().Equal(locking.Schema()), "%s: %v, and not %v", query, locking.Schema(), plain.Schema())
		got := rows(t, s, query+" FOR UPDATE")
		if !strings.Contains(query, "ORDER BY") {
			slices.Sort(got)
			slices.Sort(want)
		}
		require.Equal(t, want, got, query)
		require.NoError(t, plain.Close())
		require.NoError(t, locking.Close())
	}
}

// A prepared statement locks what its parameters say, also after others have changed the table; so do EXECUTE, a cursor
// and the driver.
func TestForUpdatePrepared(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, n int); INSERT INTO t SELECT i, 0 FROM range(4) r(i)")
	st, err := s.Prepare(t.Context(), "SELECT n FROM t WHERE k = $1 FOR UPDATE")
	require.NoError(t, err)
	locked := func(k int) {
		t.Helper()
		_, err := other.Exec(t.Context(), fmt.Sprintf("SELECT * FROM t WHERE k = %d FOR SHARE NOWAIT", k))
		requireState(t, "55P03", err)
		exec(t, s, "ROLLBACK")
		exec(t, other, fmt.Sprintf("SELECT * FROM t WHERE k = %d FOR SHARE NOWAIT; UPDATE t SET n = n + 1 WHERE k = %[1]d", k))
	}
	for round := range 3 {
		exec(t, s, "BEGIN")
		rows, err := st.Execute(t.Context(), []any{int64(2)})
		require.NoError(t, err)
		batch, err := rows.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(round), batch.Column(0).ValueStr(0))
		batch.Release()
		require.NoError(t, rows.Close())
		locked(2)
	}
	exec(t, s, "PREPARE p (int) AS SELECT n FROM t WHERE k = $1 FOR NO KEY UPDATE; BEGIN")
	require.Equal(t, []string{"0"}, rows(t, s, "EXECUTE p(1)"))
	locked(1)
	exec(t, s, "BEGIN; DECLARE c CURSOR FOR SELECT k FROM t ORDER BY k FOR UPDATE")
	require.Equal(t, []string{"0", "1"}, rows(t, s, "FETCH 2 FROM c"))
	locked(3)
	exec(t, s, "BEGIN READ ONLY")
	for _, sql := range []string{"SELECT * FROM t FOR UPDATE", "EXECUTE p(1)", "SELECT * FROM t FOR KEY SHARE"} {
		_, err = s.Exec(t.Context(), sql)
		requireState(t, "25006", err)
		exec(t, s, "ROLLBACK; BEGIN READ ONLY")
	}
	exec(t, s, "ROLLBACK")

}

// TR5, K13: a locked row that another node changes, or that a TRUNCATE takes away, is an error of the next statement
// that sees it, or of COMMIT. A row that was only moved, or changed rows beside it, are no error.
func TestLocksThatAreBroken(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, other := c.session(0), c.session(1)
	exec(t, s, "CREATE TABLE t (k int, n int); CREATE TABLE u (k int); INSERT INTO t SELECT i, 0 FROM range(4) r(i); INSERT INTO t SELECT i, 0 FROM range(4, 8) r(i)")
	const repeatable = "BEGIN ISOLATION LEVEL REPEATABLE READ; "
	for _, x := range []struct {
		what, begin, theirs, then, state string
	}{
		{"changed elsewhere", "BEGIN; ", "UPDATE t SET n = n + 1 WHERE k = 1", "INSERT INTO u VALUES (1)", "40001"},
		{"changed elsewhere, one snapshot", repeatable, "UPDATE t SET n = n + 1 WHERE k = 1", "INSERT INTO u VALUES (1)", "40001"},
		{"the table is written, too", repeatable, "UPDATE t SET n = n + 1 WHERE k = 1", "UPDATE t SET n = 5 WHERE k = 3", "40001"},
		{"only locked", repeatable, "UPDATE t SET n = n + 1 WHERE k = 1", "SELECT 1", "40001"},
		{"another row", repeatable, "UPDATE t SET n = n + 1 WHERE k = 2", "INSERT INTO u VALUES (2)", ""},
		{"another row, and it moves", "BEGIN; ", "UPDATE t SET n = n + 1 WHERE k = 2", "INSERT INTO u VALUES (2); SELECT * FROM t", ""},
		{"folded", repeatable, "INSERT INTO t VALUES (8, 0); VACUUM t", "UPDATE t SET n = 6 WHERE k = 1", ""},
		{"folded, and it moves", "BEGIN; ", "INSERT INTO t VALUES (9, 0); VACUUM t", "SELECT * FROM t; INSERT INTO u VALUES (3)", ""},
		{"truncated here", repeatable, "here", "INSERT INTO u VALUES (4)", "40001"},
	} {
		t.Run(x.what, func(t *testing.T) {
			before := rows(t, s, "SELECT count(*) FROM u")
			exec(t, s, x.begin+"SELECT * FROM t WHERE k = 1 FOR UPDATE")
			if x.theirs == "here" {
				exec(t, c.session(0), "TRUNCATE t")
			} else {
				exec(t, other, x.theirs)
			}
			rows(t, c.session(0), "SELECT count(*) FROM t") // its node knows by now, and so does a lock
			_, err := s.Exec(t.Context(), x.then)
			if err == nil {
				_, err = s.Exec(t.Context(), "COMMIT")
			}
			if x.state == "" {
				require.NoError(t, err)
				return
			}
			requireState(t, x.state, err)
			if s.Status() != engine.Idle {
				exec(t, s, "ROLLBACK")
			}
			require.Equal(t, before, rows(t, s, "SELECT count(*) FROM u"))
		})
	}
}

// PT1, PT2: a query within a statement locks its rows before the statement changes some, in one transaction with it.
func TestLockingWithin(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	types := "k int PRIMARY KEY, n numeric(12,3), s text, b bytea, u uuid, at timestamptz, d date, l int[], r double precision, o boolean, i interval"
	row := "'1.500', NULL, '\\x00ff', '00000000-0000-0000-0000-00000000000a', '2026-01-02 03:04:05+00', '2026-01-02', '{1,NULL}', 0.1, true, '1 day'"
	exec(t, s, "CREATE TABLE t ("+types+"); CREATE TABLE copy AS SELECT * FROM t")
	for k := range 4 {
		exec(t, s, fmt.Sprintf("INSERT INTO t VALUES (%d, %s)", k, row))
	}
	exec(t, s, "INSERT INTO copy SELECT * FROM t FOR UPDATE")
	require.Equal(t, rows(t, s, "SELECT * FROM t ORDER BY k"), rows(t, s, "SELECT * FROM copy ORDER BY k"))
	require.Equal(t, rows(t, s, "SELECT * FROM t ORDER BY k"), rows(t, s, "SELECT * FROM (SELECT * FROM t FOR SHARE) s ORDER BY k"))
	require.Zero(t, e.RowLocks().Claims)

	for _, sql := range []string{
		"DELETE FROM copy WHERE k = (SELECT k FROM t WHERE k = 1 FOR UPDATE)", "WITH w AS (SELECT k FROM t WHERE k = 1 FOR UPDATE) UPDATE copy SET s = 'x' FROM w WHERE copy.k = w.k",
		"SELECT count(*) FROM (SELECT 1 FROM t WHERE k = 1 FOR UPDATE) s", "INSERT INTO copy SELECT * FROM t WHERE k = 1 FOR UPDATE", "SELECT * FROM copy WHERE EXISTS (SELECT 1 FROM t WHERE k = 1 FOR UPDATE) FOR SHARE",
		"MERGE INTO copy USING (SELECT k FROM t WHERE k = 1 FOR UPDATE) s ON s.k = copy.k WHEN MATCHED THEN DELETE",
	} {
		exec(t, s, "BEGIN; "+sql)
		_, err := other.Exec(t.Context(), "SELECT * FROM t WHERE k = 1 FOR SHARE NOWAIT")
		requireState(t, "55P03", err)
		require.Equal(t, []string{"0", "2", "3"}, rows(t, other, "SELECT k FROM t ORDER BY k FOR SHARE SKIP LOCKED"), sql)
		exec(t, s, "ROLLBACK")
		require.Zero(t, e.RowLocks().Claims, sql)
	}

	// A waiting statement takes what is there then.
	const take = "DELETE FROM t WHERE k = (SELECT k FROM t ORDER BY k LIMIT 1 FOR UPDATE) RETURNING k"
	exec(t, s, "BEGIN; DELETE FROM t WHERE k = 0")
	answer := awaiting(other, take)
	waitUntil(t, "it waits", func() bool { return e.RowLocks().Waiting == 1 })
	exec(t, s, "COMMIT")
	require.Equal(t, locksAnswer{rows: []string{"1"}}, <-answer)
	exec(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM t")
	exec(t, other, "UPDATE t SET s = 'new' WHERE k = 2")
	_, err := s.Exec(t.Context(), take)
	requireState(t, "40001", err)
	exec(t, s, "ROLLBACK")

	// A prepared statement is run over what its parts give each time, and keeps nothing between.
	st, err := s.Prepare(t.Context(), "UPDATE t SET s = $3 WHERE k IN (SELECT k FROM t WHERE k >= $1 ORDER BY k LIMIT 1 FOR UPDATE) AND $2 RETURNING k, s")
	require.NoError(t, err)
	for _, c := range []struct {
		from int
		yes  bool
		want []string
	}{{0, true, []string{"2|a"}}, {3, true, []string{"3|a"}}, {0, false, nil}, {4, true, nil}, {1, true, []string{"2|a"}}} {
		reader, err := st.Query(t.Context(), c.from, c.yes, "a")
		require.NoError(t, err)
		got, err := linesOf(reader)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		require.Empty(t, rows(t, other, "SELECT kind FROM csm.memory WHERE kind = '"+account.Returning+"'"))
	}
	exec(t, other, "ALTER TABLE t ALTER COLUMN k TYPE bigint")
	_, err = st.Exec(t.Context(), 0, true, "a")
	requireState(t, "0A000", err)
	require.NoError(t, st.Close())
	for _, sql := range []string{"SELECT * FROM (SELECT x FROM t FOR UPDATE) s", "SELECT x FROM (SELECT k FROM t FOR UPDATE) s", "SELECT * FROM copy c WHERE EXISTS (SELECT 1 FROM t WHERE t.k = c.k FOR UPDATE)"} {
		_, err := s.Prepare(t.Context(), sql)
		require.Error(t, err)
	}
}

// FU1, PT1: a queue of one statement: each task is taken once.
func TestQueueOfOneStatement(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	const tasks = 120
	exec(t, s, fmt.Sprintf("CREATE TABLE q AS SELECT i AS k FROM range(%d) r(i)", tasks))
	for _, sql := range []string{
		"DELETE FROM q WHERE k = (SELECT k FROM q ORDER BY k LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING k",
		"WITH w AS (SELECT k FROM q ORDER BY k LIMIT 2 FOR UPDATE SKIP LOCKED) DELETE FROM q USING w WHERE q.k = w.k RETURNING q.k",
	} {
		exec(t, s, fmt.Sprintf("DELETE FROM q; INSERT INTO q SELECT i FROM range(%d) r(i)", tasks))
		var mu sync.Mutex
		var done []string
		var group errgroup.Group
		for range 6 {
			s := session(t, e)
			group.Go(func() error {
				for {
					got, err := tryRows(s, sql)
					if err != nil || len(got) == 0 {
						return err
					}
					mu.Lock()
					done = append(done, got...)
					mu.Unlock()
				}
			})
		}
		require.NoError(t, group.Wait())
		require.Len(t, done, tasks)
		slices.Sort(done)
		require.Len(t, slices.Compact(done), tasks)
	}
}
