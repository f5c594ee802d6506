package engine_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// What takes hours, and is cancelled at some moment of its beginning, where it goes from hand to hand: what is lost between two of them shows,
// because it does not end.

const (
	sweepMost     = 30 * time.Millisecond // up to which moment statements are cancelled
	sweepPatience = 30 * time.Second      // what one that does not hear is given
)

// swept is a statement that takes hours. Those before it are run first, and those after it in any case.
type swept struct {
	before []string
	sql    string
	after  []string
}

const (
	hours    = "FROM range(1000000000000000) r(i) WHERE i % 7 = 8"
	hoursBig = "FROM big a, big b, big c WHERE (a.i * b.i + c.i) % 1000003 = -1"
)

// sweptReads are queries, which every session can run.
var sweptReads = []swept{
	{sql: "SELECT count(*) " + hours}, {sql: "SELECT i FROM range(1000000000000000) r(i)"},
	{sql: "SELECT count(*) " + hoursBig}, {sql: "SELECT a.i " + hoursBig}, {sql: "SELECT a.i, b.i, c.i FROM big a, big b, big c"},
	{sql: "SELECT a.i % 7, max(b.i) " + hoursBig + " GROUP BY ALL ORDER BY 1"},
}

// sweptStatements are of other kinds.
var sweptStatements = []swept{
	{sql: "CREATE TABLE n AS SELECT i, random() " + hours}, {sql: "CREATE TEMP TABLE n AS SELECT i, random() " + hours},
	{sql: "INSERT INTO t SELECT i::int " + hours}, {sql: "DELETE FROM t WHERE i < (SELECT count(*) " + hours + ")"},
	{sql: "UPDATE t SET i = (SELECT count(*) FROM range(1000000000000000) r(k) WHERE k % 7 = t.i + 8)"},
	{sql: "EXPLAIN ANALYZE SELECT count(*) " + hours}, {sql: "COPY t FROM STDIN"},
	{before: []string{"PREPARE p AS SELECT count(*) " + hours}, sql: "EXECUTE p", after: []string{"DEALLOCATE p"}},
	{before: []string{"BEGIN", "DECLARE c CURSOR FOR SELECT a.i FROM big a, big b, big c", "FETCH 10 c"}, sql: "FETCH ALL c", after: []string{"ROLLBACK"}},
	{before: []string{"BEGIN", "INSERT INTO t VALUES (7)"}, sql: "SELECT count(*) " + hoursBig, after: []string{"ROLLBACK"}},
}

// run runs it to its end. A COPY is fed for as long as it reads.
func (w *swept) run(ctx context.Context, s *engine.Session) error {
	if w.sql != "COPY t FROM STDIN" {
		return drained(ctx, s, w.sql)
	}
	st, err := s.Prepare(ctx, w.sql)
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.CopyIn(ctx, func() ([][]byte, error) { return [][]byte{[]byte("1")}, nil })
	return err
}

// sweep cancels a statement at many moments.
func (w *swept) sweep(t *testing.T, s *engine.Session) {
	tries := 4 * testsuite.Effort()
	for i := range tries {
		for _, sql := range w.before {
			exec(t, s, sql)
		}
		moment := time.Duration((float64(i) + rand.Float64()) / float64(tries) * float64(sweepMost))
		ctx, cancel := context.WithCancel(context.Background())
		stop := time.AfterFunc(moment, cancel)
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx, s) }()
		select {
		case err := <-ended:
			requireState(t, "57014", err)
			require.EqualError(t, err, "canceling statement due to user request")
		case <-time.After(sweepPatience):
			stacks := make([]byte, 1<<20)
			require.FailNow(t, "it has not heard", "cancelled after %v: %s\n%s", moment, w.sql, stacks[:runtime.Stack(stacks, true)])
		}
		stop.Stop()
		cancel()
		for _, sql := range w.after {
			exec(t, s, sql)
		}
	}
}

func makeSwept(t *testing.T, s *engine.Session) {
	exec(t, s, "CREATE TABLE t AS SELECT i::int AS i FROM range(3) r(i)")
	exec(t, s, "CREATE TABLE big AS SELECT i FROM range(30000) r(i)")
}

// No moment is too early for a cancel, of whatever kind the statement is and wherever it runs.
func TestCancelsAtEveryMoment(t *testing.T) {
	t.Parallel()
	every := func(t *testing.T, s *engine.Session, lists ...[]swept) {
		for _, list := range lists {
			for _, w := range list {
				t.Run(w.sql, func(t *testing.T) { w.sweep(t, s) })
			}
		}
		require.Equal(t, []string{"0", "1", "2"}, rows(t, s, "SELECT i FROM t ORDER BY i"))
		require.Empty(t, rows(t, s, "SELECT table_name FROM information_schema.tables WHERE table_name = 'n'"))
	}
	t.Run("in the node", func(t *testing.T) {
		s := session(t, open(t))
		makeSwept(t, s)
		every(t, s, sweptReads, sweptStatements)
	})
	t.Run("in a worker", func(t *testing.T) {
		s := session(t, openWithWorkers(t, 1))
		makeSwept(t, s)
		every(t, s, sweptReads)
	})
	t.Run("in another process", func(t *testing.T) {
		e, socket := lend(t)
		makeSwept(t, session(t, e))
		guest, err := engine.AttachWith(t.Context(), socket, engine.Config{MemoryBytes: 256 << 20, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, guest.Close()) })
		every(t, session(t, guest), sweptReads)
	})
	t.Run("on three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		exec(t, c.session(0), "CREATE TABLE t (i INTEGER)")
		exec(t, c.session(0), "CREATE TABLE big (i BIGINT)")
		for i := range 3 {
			exec(t, c.session(i), "INSERT INTO t VALUES ($1)", i)
			exec(t, c.session(i), "INSERT INTO big SELECT range FROM range(10000)")
		}
		s := c.session(1)
		exec(t, s, "SET csm.distribute = 'always'")
		require.Contains(t, explain(t, s, "SELECT count(*) "+hoursBig), "on n2")
		every(t, s, sweptReads)
		for i := range 3 {
			waitUntil(t, "no fragment is left", func() bool {
				return len(rows(t, c.session(i), "SELECT 1 FROM csm.holders WHERE holder LIKE 'fragment%'")) == 0
			})
		}
	})
}

// A result that is still open blocks the session's next statement and is read into memory first, which may take hours.
// Cancelling that statement works, and ends the result.
func TestCancelsWhileAResultStandsInTheWay(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i::text AS i FROM range(3) r(i)")
	for _, sql := range []string{
		"SELECT upper(i) FROM t ORDER BY 1", "SET TimeZone = 'UTC'", "CREATE TEMP TABLE mine (i int)", "UPDATE t SET i = upper(i)", "BEGIN; SELECT upper(i) FROM t", "COMMIT",
	} {
		t.Run(sql, func(t *testing.T) {
			if sql == "COMMIT" {
				exec(t, s, "BEGIN")
			}
			r, err := s.Query(context.Background(), "SELECT i FROM range(1000000000000000) r(i) WHERE i < 1000000 OR i % 7 = 8")
			require.NoError(t, err)
			defer r.Release()
			require.True(t, r.Next())
			ctx, cancel := context.WithCancel(context.Background())
			defer time.AfterFunc(50*time.Millisecond, cancel).Stop()
			ended := make(chan error, 1)
			go func() {
				_, err := s.Exec(ctx, sql)
				ended <- err
			}()
			select {
			case err := <-ended:
				if err != nil { // or it needed no more of its context
					requireState(t, "57014", err)
				}
			case <-time.After(sweepPatience):
				stacks := make([]byte, 1<<20)
				require.FailNow(t, "it has not heard", "%s", stacks[:runtime.Stack(stacks, true)])
			}
			for r.Next() {
			}
			requireState(t, "57014", r.Err())
			exec(t, s, "ROLLBACK")
		})
	}
}
