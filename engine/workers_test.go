package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

// crashing is a segmentation fault in DuckDB, where it is not refused.
const crashing = `SELECT switch(js, map{1: NULL}, ROW(1, 'a')) FROM (VALUES ('{}'::json)) t(js)`

// given counts the orders that an engine's workers got.
func given(e *engine.Engine) (n int64) {
	for _, w := range e.Workers() {
		n += w.Statements
	}
	return n
}

func crashed(e *engine.Engine) (n int64) {
	for _, w := range e.Workers() {
		n += w.Crashes
	}
	return n
}

func stateOf(err error) string {
	var known interface{ SQLState() string }
	if errors.As(err, &known) {
		return known.SQLState()
	}
	return ""
}

// What goes to a worker, and what stays: in either place the answer is the same, which is asked for outside of a
// transaction block and in one.
func TestQueriesGoToWorkersOrStay(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 1)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (i bigint, s text, u uuid, j json, d decimal(10,2), ts timestamptz, b bytea, l int[])")
	exec(t, s, `INSERT INTO t SELECT i, 's' || i, CAST('00000000-0000-0000-0000-00000000000' || (i % 10) AS uuid), '{"a": 1}', i, TIMESTAMPTZ '2024-05-06 07:08:09+00',
		'\x00ff', [i::int, NULL] FROM range(3000) r(i)`)
	exec(t, s, "CREATE VIEW plain AS SELECT i, upper(s) AS s FROM t")
	exec(t, s, "CREATE VIEW over_plain AS SELECT * FROM plain")
	exec(t, s, "CREATE VIEW who AS SELECT current_user AS me")
	exec(t, s, "CREATE VIEW over_who AS SELECT * FROM who")
	exec(t, s, "CREATE VIEW tables AS SELECT name FROM csm.tables")
	exec(t, s, "CREATE SCHEMA other")
	exec(t, s, "CREATE TABLE other.t AS SELECT 'the other' AS s")
	for _, c := range []struct {
		sql  string
		goes bool
		args []any
	}{
		{sql: "SELECT upper('a'), 1.5::decimal(5,2), NULL::int", goes: true},
		{sql: "SELECT count(*), sum(i), min(s), max(d) FROM t WHERE i % 3 = 1", goes: true},
		{sql: "SELECT i % 7 AS g, count(DISTINCT s) FROM t GROUP BY g ORDER BY g", goes: true},
		{sql: "SELECT i, s, u, j, d, ts, b, l FROM t WHERE s LIKE 's1%' ORDER BY i", goes: true},
		{sql: "WITH x AS (SELECT i FROM t LIMIT 5) SELECT sum(i) FROM x", goes: true},
		{sql: "VALUES (1, 'a'), (2, 'b')", goes: true},
		{sql: "FROM t SELECT max(i), list(i ORDER BY i)[1:3]", goes: true},
		{sql: "SELECT sum(i) FROM plain WHERE s > 'S2'", goes: true},
		{sql: "SELECT sum(i) FROM over_plain WHERE s > 'S2'", goes: true},
		{sql: "SELECT sum(i + 1) FROM t WHERE i < $1 AND s <> $2", goes: true, args: []any{50, "s3"}},
		{sql: "SELECT sum(i) FROM t WHERE i < $1", args: []any{50}},
		{sql: "SELECT count(*) FROM t WHERE b = $1", goes: true, args: []any{`\x00ff`}},
		{sql: "SELECT $1 || 'x'", goes: true, args: []any{"a"}},
		{sql: "SELECT {'u': u, 'l': [j]}, map {'k': u} FROM t ORDER BY i LIMIT 3", goes: true},
		{sql: "SELECT i FROM range($1) r(i)", goes: true, args: []any{5}},
		{sql: "PIVOT (SELECT i % 2 AS g, i % 3 AS h FROM t) ON h IN (0, 1, 2) USING count(*) GROUP BY g ORDER BY g", goes: true},
		{sql: `SELECT "user" FROM (VALUES (upper('x'))) v("user")`, goes: true},
		{sql: "SELECT 1"},
		{sql: "SELECT i, d FROM t WHERE i < 100"},
		{sql: "SELECT count(*) FROM t"},
		{sql: "SELECT current_user, upper('a')"},
		{sql: "SELECT me || 'x' FROM over_who"},
		{sql: "SELECT name || '.' FROM tables ORDER BY name"},
		{sql: "SELECT relname || '.' FROM pg_class WHERE relname = 't'"},
		{sql: "SELECT current_setting('search_path') || '.'"},
		{sql: "SELECT name || '.' FROM csm.tables ORDER BY name"},
		{sql: "SELECT table_name || '.' FROM information_schema.tables WHERE table_name = 't'"},
		{sql: "EXPLAIN SELECT sum(i) FROM t"},
		{sql: "SHOW search_path"},
	} {
		before := given(e)
		out := rows(t, s, c.sql, c.args...)
		require.Equal(t, c.goes, given(e) > before, "%s", c.sql)
		exec(t, s, "BEGIN")
		before = given(e)
		require.Equal(t, rows(t, s, c.sql, c.args...), out, "%s", c.sql)
		exec(t, s, "COMMIT")
		require.Equal(t, before, given(e), "%s, in a block", c.sql)
	}
	require.Zero(t, crashed(e))
}

// A session that has something of its own runs its queries in the node, from then on.
func TestSessionsWithSomethingOfTheirOwnStay(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 1)
	exec(t, session(t, e), "CREATE TABLE t AS SELECT i FROM range(10) r(i)")
	ask := "SELECT sum(i)::text || 'x' FROM t"
	for _, first := range []string{"CREATE TEMP TABLE t AS SELECT 5 AS i", "SELECT setseed(0.5)", "SET csm.backend = 'compute'"} {
		s := session(t, e)
		require.Equal(t, []string{"45x"}, rows(t, s, ask))
		st, err := s.Prepare(context.Background(), ask) // before
		require.NoError(t, err)
		exec(t, s, first)
		before := given(e)
		_, err = tryRows(s, ask)
		if strings.Contains(first, "compute") {
			require.Equal(t, "0A000", stateOf(err))
		} else {
			require.NoError(t, err)
			r, err := st.Query(context.Background())
			require.NoError(t, err)
			got, err := linesOf(r)
			require.NoError(t, err)
			want := "45x"
			if strings.Contains(first, "TEMP") {
				want = "5x"
			}
			require.Equal(t, []string{want}, got)
		}
		require.Equal(t, before, given(e), first)
	}
}

// What a session is set to goes with its queries; what another one is set to does not.
func TestSettingsGoWithQueries(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 1)
	first, second := session(t, e), session(t, e)
	exec(t, first, "CREATE TABLE t AS SELECT 'of public' AS s")
	exec(t, first, "CREATE SCHEMA other")
	exec(t, first, "CREATE TABLE other.t AS SELECT 'of other' AS s")
	exec(t, first, "SET TimeZone = 'Asia/Tokyo'")
	exec(t, second, "SET search_path = other, public")
	zone := "SELECT strftime(TIMESTAMPTZ '2024-05-06 23:00:00+00', '%d') || s FROM t"
	for range 3 {
		require.Equal(t, []string{"07of public"}, rows(t, first, zone))
		require.Equal(t, []string{"06of other"}, rows(t, second, zone))
	}
	exec(t, first, "SET search_path = other")
	require.Equal(t, []string{"07of other"}, rows(t, first, zone))
	exec(t, first, "SET csm.disable = 'enum, keys'")
	require.Equal(t, []string{"07of other"}, rows(t, first, zone))
	require.Positive(t, given(e))
}

// A worker sees what was committed before the statement began, its session's own and others'.
func TestWorkersSeeWhatWasCommitted(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 2)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (i int)")
	for i := range 30 {
		exec(t, s, "INSERT INTO t VALUES ($1)", i)
		require.Equal(t, []string{fmt.Sprintf("%d rows", i+1)}, rows(t, s, "SELECT count(i) || ' rows' FROM t"))
		require.Equal(t, []string{fmt.Sprintf("%d rows", i+1)}, rows(t, other, "SELECT count(i) || ' rows' FROM t"))
	}
	st, err := s.Prepare(context.Background(), "SELECT t.*, upper('x') FROM t WHERE i = 3")
	require.NoError(t, err)
	exec(t, s, "DROP TABLE t")
	exec(t, s, "CREATE TABLE t AS SELECT i, i AS more FROM range(30) r(i)")
	_, err = st.Query(context.Background())
	require.Equal(t, "0A000", stateOf(err))
	require.ErrorContains(t, err, "cached plan must not change result type")
	// A block that sees one snapshot sees it in the workers, too; of one that does not each statement sees its own.
	exec(t, s, "SET default_transaction_isolation = 'repeatable read'")
	s.BeginImplicit()
	require.Equal(t, []string{"30 rows"}, rows(t, s, "SELECT count(i) || ' rows' FROM t"))
	exec(t, other, "DELETE FROM t")
	before := given(e)
	require.Equal(t, []string{"30 rows"}, rows(t, s, "SELECT count(i) || ' rows' FROM t"))
	require.Greater(t, given(e), before)
	require.NoError(t, s.EndImplicit(context.Background(), false))
	exec(t, s, "RESET default_transaction_isolation")
	s.BeginImplicit()
	require.Equal(t, []string{"0 rows"}, rows(t, s, "SELECT count(i) || ' rows' FROM t"))
	exec(t, other, "INSERT INTO t VALUES (1)")
	require.Equal(t, []string{"1 rows"}, rows(t, s, "SELECT count(i) || ' rows' FROM t"))
	require.NoError(t, s.EndImplicit(context.Background(), false))
}

// Errors of workers are those of the node: state, position, hint.
func TestErrorsOfWorkersAreThoseOfTheNode(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 1)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i FROM range(10) r(i)")
	for _, sql := range []string{
		"SELECT sum(j) FROM t", "SELECT uper('a')", "SELECT CAST('x' || i AS int) FROM t", "SELECT 1 + FROM t", "SELECT sum(i FROM t", "SELECT * FROM nothing WHERE upper('a') = 'A'",
		"SELECT read_text('/etc/passwd')", "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM read_text('" + filepath.Join(e.Directory(), "csmsql.sock") + "')", "SELECT error('raised')",
	} {
		exec(t, s, "ROLLBACK")
		_, gone := tryRows(s, sql)
		require.Error(t, gone, sql)
		exec(t, s, "BEGIN")
		_, stayed := tryRows(s, sql)
		var want, got *engine.Error
		if !errors.As(stayed, &want) {
			require.Equal(t, stateOf(stayed), stateOf(gone), sql)
			continue
		}
		require.ErrorAs(t, gone, &got, sql)
		want.Cause, got.Cause = nil, nil
		require.Equal(t, want, got, sql)
	}
	exec(t, s, "ROLLBACK")
	require.Positive(t, given(e))
}

// A crash of DuckDB costs one statement: its connection lives, and the answers of those beside stay right.
func TestACrashOfDuckDBCostsOneStatement(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 2)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i, i % 10 AS g FROM range(20000) r(i)")
	var over atomic.Bool
	var group sync.WaitGroup
	asked := make([]int, 2)
	for c := range asked {
		beside := session(t, e)
		group.Go(func() {
			for !over.Load() || asked[c] == 0 {
				got, err := tryRows(beside, "SELECT g, sum(i) FROM t WHERE g < 2 GROUP BY g ORDER BY g")
				if err != nil || strings.Join(got, " ") != "0|19990000 1|19992000" {
					t.Errorf("%v %v", got, err)
				}
				asked[c]++
			}
		})
	}
	const crashes = 50
	for range crashes {
		_, err := tryRows(s, crashing)
		require.Equal(t, "58000", stateOf(err), "%v", err)
		require.ErrorContains(t, err, "SIGSEGV")
	}
	over.Store(true)
	group.Wait()
	require.Equal(t, []string{"199990000 all"}, rows(t, s, "SELECT sum(i) || ' all' FROM t"))
	require.Eventually(t, func() bool { return crashed(e) == crashes }, 20*time.Second, time.Millisecond)
	t.Logf("beside: %v answers", asked)
	requireNothingHeld(t, e, s)
}

// requireNothingHeld: what was leased for statements that are gone is given back, and with the table its memory.
func requireNothingHeld(t *testing.T, e *engine.Engine, s *engine.Session) {
	t.Helper()
	exec(t, s, "DROP TABLE t")
	require.Eventually(t, func() bool {
		return len(e.Status(noderpc.Frontend{}).Leases) == 0 && e.RegionStats().Used == 0
	}, 20*time.Second, time.Millisecond)
}

// A worker that something kills is no different.
func TestAWorkerThatIsKilledCostsOneStatement(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 1)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i FROM range(200000) r(i)")
	require.Equal(t, []string{"200000 all"}, rows(t, s, "SELECT count(i) || ' all' FROM t"))
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT} {
		r, err := s.Query(context.Background(), "SELECT i, repeat('x', 1000) FROM t") // its worker waits for its reader
		require.NoError(t, err)
		require.True(t, r.Next())
		require.NoError(t, syscall.Kill(e.Workers()[0].Process, signal))
		for r.Next() {
		}
		require.Equal(t, "58000", stateOf(r.Err()), "%v", r.Err())
		r.Release()
		require.Equal(t, []string{"200000 all"}, rows(t, s, "SELECT count(i) || ' all' FROM t"))
	}
	requireNothingHeld(t, e, s)
}

// A statement that ends is one whose worker listens, or dies: inside one value of a long text, while planning.
func TestCancelEndsWhatDoesNotListen(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 1)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT repeat('ab', 100000) AS a, repeat('bca', 100000) AS b")
	for _, sql := range []string{
		"SELECT levenshtein(a, b) FROM t", "SELECT damerau_levenshtein(a, b) FROM t",
		"SELECT levenshtein(repeat('ab', 100000), repeat('bca', 100000))", // while planning
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		r, err := s.Query(ctx, sql)
		if err == nil {
			for r.Next() {
			}
			err = r.Err()
			r.Release()
		}
		cancel()
		require.Equal(t, "57014", stateOf(err), "%s: %v", sql, err)
		require.Equal(t, []string{"one"}, rows(t, s, "SELECT lower('ONE')"))
	}
	require.Zero(t, crashed(e))
	require.Positive(t, e.Workers()[0].Kills)
	requireNothingHeld(t, e, s)
}

// A session's result that streams does not keep the session's next statement out, with one worker for all.
func TestAResultIsParkedForTheNextStatement(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 1)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i FROM range(100000) r(i)")
	r, err := s.Query(context.Background(), "SELECT i, upper('x') FROM t")
	require.NoError(t, err)
	require.True(t, r.Next())
	first := r.RecordBatch().NumRows()
	require.Equal(t, []string{"one"}, rows(t, s, "SELECT lower('ONE')"))
	n := first
	for r.Next() {
		n += r.RecordBatch().NumRows()
	}
	require.NoError(t, r.Err())
	r.Release()
	require.Equal(t, int64(100000), n)
	// An unread result of another session does not keep it out either.
	slow := session(t, e)
	r, err = slow.Query(context.Background(), "SELECT i, repeat('x', 100) FROM t")
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, rows(t, s, "SELECT lower('ONE')"))
	n = 0
	for r.Next() {
		n += r.RecordBatch().NumRows()
	}
	require.NoError(t, r.Err())
	r.Release()
	require.Equal(t, int64(100000), n)
}

func TestAnEngineWithWorkersIsClosedWhileTheyRun(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 1)
	s, waits := session(t, e), session(t, e)
	failed := make(chan error, 2)
	for _, x := range []*engine.Session{s, waits} {
		go func() {
			_, err := tryRows(x, "SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(1000000) b(i)")
			failed <- err
		}()
	}
	require.Eventually(t, func() bool { return e.Workers()[0].Busy }, 20*time.Second, time.Millisecond)
	pid := e.Workers()[0].Process
	require.NoError(t, e.Close())
	for range 2 {
		require.ErrorIs(t, <-failed, engine.ErrClosed)
	}
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	_, err := os.Stat(filepath.Join(e.Directory(), "workers"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWhatWorkersCannotBeIsRefused(t *testing.T) {
	workers := engine.Workers{Count: 2, Command: []string{"/proc/self/exe"}, Socket: "/nowhere"}
	config := engine.Config{Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 64 << 20, MemoryBytes: 512 << 20, Threads: 1, Workers: workers}
	_, err := engine.Open(context.Background(), config)
	require.Equal(t, "22023", stateOf(err), "%v", err)
	require.ErrorContains(t, err, "2 workers and the node cannot share 512 MiB")
	_, err = engine.AttachWith(context.Background(), "/nowhere", engine.Config{Workers: workers})
	require.Equal(t, "0A000", stateOf(err))
	config.MemoryBytes, config.Node = 1<<30, "n0"
	config.Cluster = &engine.Cluster{Endpoints: []string{"unix://" + filepath.Join(t.TempDir(), "none")}, Address: "/nowhere"}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // there is no cluster to join
	defer cancel()
	_, err = engine.Open(ctx, config)
	require.Equal(t, "0A000", stateOf(err), "%v", err)
	require.ErrorContains(t, err, "a node of a cluster has no workers")
	config.Cluster, config.Workers.Socket = nil, ""
	_, err = engine.Open(t.Context(), config)
	require.ErrorContains(t, err, "workers need a command and the socket of the node")
}

// A node and its workers together have what the node was given, and no more.
func TestWorkersHaveSharesOfTheNode(t *testing.T) {
	t.Parallel()
	for _, count := range []int{0, 1, 2, 7} {
		w := engine.Workers{Count: count}
		own, each, ownSpill, eachSpill, err := engine.SharesOfWorkers(w, 4<<30+1, 3<<30+5)
		require.NoError(t, err)
		if count == 0 {
			require.Equal(t, []int64{4<<30 + 1, 0, 3<<30 + 5}, []int64{own, each, ownSpill})
			continue
		}
		n := int64(count)
		require.Equal(t, int64(4<<30+1), own+n*(each+engine.WorkerBeside))
		require.Less(t, own-each-engine.WorkerBeside, n+1, "equal shares")
		require.Equal(t, int64(3<<30+5), ownSpill+n*eachSpill)
		require.Less(t, ownSpill-eachSpill, n+1)
	}
	e := openWithWorkers(t, 1, func(c *engine.Config) { c.SpillBytes = 6 << 30 })
	memory, spill, err := e.StartOf(5)
	require.NoError(t, err)
	require.Equal(t, []int64{256<<20 - engine.WorkerBeside, 3 << 30}, []int64{memory, spill})
	require.EqualValues(t, 256<<20, e.MemoryBytes())
	require.Equal(t, []string{"3.0 GiB"}, rows(t, session(t, e), "SELECT value FROM duckdb_settings() WHERE name = 'max_temp_directory_size'"))
}

// What a worker that was killed has spilled goes before the next one takes its place.
func TestWhatAKilledWorkerSpilledGoes(t *testing.T) {
	t.Parallel()
	e := openWithWorkers(t, 1)
	s := session(t, e)
	require.Equal(t, []string{"one"}, rows(t, s, "SELECT lower('ONE')"))
	left := filepath.Join(e.Directory(), "workers", "0", "spill", "duckdb_temp_storage_DEFAULT-0.tmp")
	require.NoError(t, os.WriteFile(left, []byte("rows"), 0o600))
	require.NoError(t, syscall.Kill(e.Workers()[0].Process, syscall.SIGKILL))
	require.Eventually(t, func() bool { return crashed(e) == 1 }, 20*time.Second, time.Millisecond)
	require.Equal(t, []string{"two"}, rows(t, s, "SELECT lower('TWO')"))
	require.NoFileExists(t, left)
}

// A snapshot is written for workers once, however many of them ask for it.
func TestSnapshotsAreWrittenForWorkersOnce(t *testing.T) {
	e := openWithWorkers(t, 1)
	s := session(t, e)
	record := func() []byte {
		record, err := s.RecordFor(t.Context())
		require.NoError(t, err)
		return record
	}
	exec(t, s, "CREATE TABLE t (i int)")
	first := record()
	require.Same(t, &first[0], &record()[0])
	exec(t, s, "INSERT INTO t VALUES (1)")
	second := record()
	require.NotEqual(t, first, second)
	require.Same(t, &second[0], &record()[0])
}

func TestQueriesOfWorkersAreRemembered(t *testing.T) {
	e := openWithWorkers(t, 1)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i FROM range(1000) r(i)")
	rows(t, s, "SELECT sum(i * i) FROM t")
	_, err := tryRows(s, "SELECT error('raised')")
	require.Error(t, err)
	require.Equal(t, []string{"SELECT sum(i * i) FROM t|1|true|0"}, rows(t, s, "SELECT query, rows, bytes_local > 0, bytes_remote FROM csm.queries WHERE query LIKE '%sum(i * i)%' AND query NOT LIKE '%csm%'"))
}
