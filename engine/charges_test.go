package engine_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// copyRows copies n rows of one value each into table, and calls each before every row.
func copyRows(t testing.TB, s *engine.Session, table string, n int, value []byte, each func(row int)) error {
	t.Helper()
	st, err := s.Prepare(t.Context(), "COPY "+table+" FROM STDIN")
	require.NoError(t, err)
	defer st.Close()
	row := 0
	_, err = st.CopyIn(t.Context(), func() ([][]byte, error) {
		if each(row); row == n {
			return nil, io.EOF
		}
		row++
		return [][]byte{value}, nil
	})
	return err
}

// COPY gathers by bytes: 1,500 rows of 100 kB, which were one batch, need no more memory than short ones. What is gathered lies outside of
// Go's heap, and its allocator says how much that is.
func TestCopyGathersByBytes(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.MemoryBytes = 128 << 20; c.RegionBytes = 512 << 20 })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (b TEXT)")
	before, most, charged := engine.OutsideBytes(), int64(0), int64(0)
	require.NoError(t, copyRows(t, s, "t", 1500, bytes.Repeat([]byte("x"), 100_000), func(int) {
		most, charged = max(most, engine.OutsideBytes()-before), max(charged, e.Memory().Used)
	}))
	require.Less(t, most, int64(40<<20), "150 MB were copied")
	require.Greater(t, most, int64(1<<20), "this is where rows are gathered")
	require.GreaterOrEqual(t, charged, most/2, "what grows doubles")
	require.Zero(t, e.Memory().Used)
	require.Equal(t, []string{"1500|150000000"}, rows(t, s, "SELECT count(*), sum(length(b))::BIGINT FROM t"))
}

// What a COPY gathers is charged to its session, shown, and given back however it ends.
func TestCopyIsCharged(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, err := e.Session(engine.SessionOptions{ProcessID: 77, User: "copier"})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	other := session(t, e)
	exec(t, s, "CREATE TABLE t (b TEXT)")
	const shown = "SELECT session, \"user\", bytes BETWEEN 2000000 AND 2100000 FROM csm.memory WHERE kind = 'copy'"
	value := bytes.Repeat([]byte("x"), 1_000_000)
	require.NoError(t, copyRows(t, s, "t", 1, value, func(row int) {
		if row == 1 {
			require.Equal(t, []string{"77|copier|true"}, rows(t, other, shown))
		}
	}))
	require.Empty(t, rows(t, other, shown))

	exec(t, s, "SET csm.session_memory = '1MB'")
	err = copyRows(t, s, "t", 1, value, func(int) {})
	requireState(t, "54000", err)
	exec(t, s, "RESET csm.session_memory")
	require.NoError(t, copyRows(t, s, "t", 1, value, func(int) {}))
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT count(*) FROM t"))
	exec(t, s, "DISCARD PLANS")
	require.Zero(t, e.Memory().Used)
}

// The setting is the session's, goes with ROLLBACK, and is what the session begins with if its client says so.
func TestShareOfSession(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, err := e.Session(engine.SessionOptions{Settings: map[string]string{"csm.session_memory": "1MB"}})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	exec(t, s, "CREATE TABLE t (b TEXT)")
	takes := func() bool { return copyRows(t, s, "t", 1, bytes.Repeat([]byte("x"), 1_000_000), func(int) {}) == nil }
	require.False(t, takes())
	exec(t, s, "SET csm.session_memory = '4MB'")
	require.True(t, takes())
	exec(t, s, "BEGIN")
	exec(t, s, "SET csm.session_memory = 16")
	exec(t, s, "ROLLBACK")
	require.True(t, takes())
	exec(t, s, "RESET csm.session_memory")
	require.False(t, takes())
}

// Memory that belongs to no session is shown, too.
func TestMemoryOfTheProcess(t *testing.T) {
	s := session(t, open(t))
	require.Equal(t, []string{"duckdb|true", "go|true"}, rows(t, s, fmt.Sprintf("SELECT kind, bytes > %d FROM csm.memory WHERE session IS NULL ORDER BY 1", 1<<20)))
}

// Prepared statements are bounded by bytes. Plans that are not in use are dropped first, and made again when needed;
// then the next statement is refused.
func TestStatementsAreCharged(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i, 'v' || i AS v FROM range(10) r(i)")
	require.Zero(t, e.Memory().Used, "nothing is kept of statements that are done")
	exec(t, s, "SET csm.session_memory = '1MB'")

	var statements []*engine.Statement
	var err error
	for err == nil && len(statements) < 1000 {
		var st *engine.Statement
		if st, err = s.Prepare(t.Context(), fmt.Sprintf("SELECT v, max(i) OVER (ORDER BY i) + %d FROM t WHERE i = $1", len(statements))); err == nil {
			statements = append(statements, st)
		}
	}
	requireState(t, "53200", err)
	require.Greater(t, len(statements), 30)
	require.LessOrEqual(t, e.Memory().Used, int64(1<<20))
	require.Nil(t, engine.PlanOf(statements[0]), "its plan went first")
	require.NoError(t, statements[len(statements)-1].Close())

	for i, st := range statements[:len(statements)-1] {
		r, err := st.Query(t.Context(), 3)
		require.NoError(t, err)
		got, err := linesOf(r)
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprintf("v3|%d", 3+i)}, got)
		require.NotNil(t, engine.PlanOf(st))
	}
	_, err = statements[0].Query(t.Context())
	requireState(t, "08P01", err)
	exec(t, s, "DROP TABLE t")
	exec(t, s, "CREATE TABLE t AS SELECT 3 i, 5 v")
	_, err = statements[0].Query(t.Context(), 3)
	requireState(t, "0A000", err)
	for _, st := range statements {
		require.NoError(t, st.Close())
	}
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM csm.memory WHERE kind = 'copy'"))
	exec(t, s, "DISCARD ALL")
	require.Zero(t, e.Memory().Used)
}

// What PREPARE names is charged, until it is forgotten by whichever of three ways.
func TestNamedStatementsAreCharged(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "SET csm.session_memory = '1MB'")
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		_, err = s.Exec(t.Context(), fmt.Sprintf("PREPARE p%d AS SELECT 1, '%s'", i, bytes.Repeat([]byte("x"), 10_000)))
	}
	requireState(t, "53200", err)
	exec(t, s, "DISCARD PLANS") // the one of the statement that was refused
	held := e.Memory().Used
	require.Greater(t, held, int64(500<<10))
	rest := int64(1<<20) - held
	require.NoError(t, s.Take("message", rest))
	require.Error(t, s.Take("message", 1))
	exec(t, s, "DEALLOCATE p0")
	s.ForgetNamed("p1")
	s.Give("message", rest)
	require.Less(t, e.Memory().Used, held-20_000)
	require.Len(t, rows(t, s, "EXECUTE p2"), 1)
	exec(t, s, "DEALLOCATE ALL")
	exec(t, s, "RESET csm.session_memory")
	require.Zero(t, e.Memory().Used)
}

// Plans that are kept for their texts are charged, and make room for anything else.
func TestKeptPlansMakeRoom(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (i int)")
	for i := range 20 {
		rows(t, s, fmt.Sprintf("SELECT count(*) + %d FROM t", i))
	}
	kept, _, _ := engine.KeptPlans(s)
	require.Equal(t, 20, kept)
	held := e.Memory().Used
	require.Greater(t, held, int64(20*16<<10))
	exec(t, s, "SET csm.session_memory = '1MB'")
	for i := range 60 {
		rows(t, s, fmt.Sprintf("SELECT count(*) + %d FROM t", i))
	}
	require.LessOrEqual(t, e.Memory().Used, int64(1<<20))
	require.NoError(t, s.Take("message", 1000_000))
	kept, _, _ = engine.KeptPlans(s)
	require.Less(t, kept, 3)
	s.Give("message", 1000_000)
}

// A plan that is made again without memory for it is refused, and its statement has none: no room is made for it.
func TestReplanWithoutMemory(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i, 'v' || i AS v FROM range(10) r(i)")
	exec(t, s, "SET csm.session_memory = '1MB'")
	st, err := s.Prepare(t.Context(), "SELECT v, max(i) OVER (ORDER BY i) FROM t WHERE i = $1")
	require.NoError(t, err)
	defer st.Close()
	free := int64(1<<20) - e.Memory().Used
	require.NoError(t, s.Take("message", free+1), "its plan goes")
	require.Nil(t, engine.PlanOf(st))
	rest := int64(1<<20) - e.Memory().Used
	require.NoError(t, s.Take("message", rest))
	_, err = st.Query(t.Context(), 3)
	requireState(t, "53200", err)
	s.Give("message", free+1+rest)
	r, err := st.Query(t.Context(), 3)
	require.NoError(t, err)
	got, err := linesOf(r)
	require.NoError(t, err)
	require.Equal(t, []string{"v3|3"}, got)
}

// A statement that is prepared again is charged once, whatever it is, also after it could not be prepared again.
func TestPreparedAgainIsChargedOnce(t *testing.T) {
	e := open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres })
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (k int, x int); INSERT INTO t VALUES (1, 7)")
	exec(t, s, "CREATE FUNCTION f(n int) RETURNS int RETURN n + 1")
	for _, sql := range []string{
		"SELECT k, sum(k) OVER (ORDER BY k) FROM t WHERE x / 2 > 3", "SELECT f(k), sum(k) OVER (ORDER BY k) FROM t",
		"UPDATE t SET k = k + 1 WHERE x / 2 > 3", "INSERT INTO t SELECT k, 7 FROM t WHERE x / 2 > 30", "SELECT f(1)",
		"WITH d AS (DELETE FROM t WHERE x / 2 > 30 RETURNING k) SELECT count(*) FROM d",
	} {
		st, err := s.Prepare(t.Context(), sql)
		require.NoError(t, err)
		run := func() error {
			_, err := st.Exec(t.Context())
			return err
		}
		used := func() int64 { // without the plans that the sessions keep of other statements
			exec(t, s, "DISCARD PLANS")
			exec(t, other, "DISCARD PLANS")
			return e.Memory().Used
		}
		require.NoError(t, run(), sql)
		held := used()
		require.Positive(t, held, sql)
		for i, by := range []string{"numeric(6, 2)", "int", "bigint"} {
			exec(t, other, "ALTER TABLE t ALTER x TYPE "+by)
			exec(t, other, fmt.Sprintf("CREATE OR REPLACE FUNCTION f(n int) RETURNS int RETURN n + %d", i+2))
			require.NoError(t, run(), sql)
			require.LessOrEqual(t, used(), held+held/3, "%s: its text may have become longer", sql)
		}
		exec(t, other, "DROP FUNCTION f; DROP TABLE t")
		require.Error(t, run(), sql)
		require.LessOrEqual(t, used(), held+held/3, sql)
		require.NoError(t, st.Close())
		require.Zero(t, used(), sql)
		exec(t, s, "CREATE TABLE t (k int, x int); INSERT INTO t VALUES (1, 7)")
		exec(t, s, "CREATE FUNCTION f(n int) RETURNS int RETURN n + 1")
	}
}

// What RETURNING keeps is charged until its rows are closed, whichever statement it belongs to; more than there is is refused, and nothing is written.
func TestReturningIsCharged(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.MemoryBytes = 256 << 20; c.RegionBytes = 512 << 20 })
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (i INT, v TEXT)")
	exec(t, s, "CREATE TEMP TABLE p (i INT, v TEXT)")
	const many, few = "SELECT i, repeat('x', 1000) FROM range(80000) r(i)", "SELECT i, repeat('x', 1000) FROM range(3000) r(i)"
	for _, table := range []string{"t", "p"} {
		_, err := s.Exec(t.Context(), "INSERT INTO "+table+" "+many+" RETURNING *")
		requireState(t, "53200", err)
		require.Contains(t, err.Error(), "RETURNING")
		require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM "+table))
		for _, sql := range []string{
			"INSERT INTO " + table + " " + few + " RETURNING *", "UPDATE " + table + " SET i = i + 1 RETURNING v", "DELETE FROM " + table + " WHERE i > 0 RETURNING v",
		} {
			st, err := s.Prepare(t.Context(), sql)
			require.NoError(t, err)
			result, err := st.Execute(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, []string{"true"}, rows(t, other, "SELECT bytes BETWEEN 3000000 AND 12000000 FROM csm.memory WHERE kind = 'returning'"), sql)
			require.NoError(t, result.Close())
			require.NoError(t, st.Close())
			require.Empty(t, rows(t, other, "SELECT bytes FROM csm.memory WHERE kind = 'returning'"), sql)
		}
	}
}

// An open session is charged: when there is no room for one more it is refused with an error.
func TestSessionsAreCharged(t *testing.T) {
	e := open(t, func(c *engine.Config) { c.MemoryBytes = 64 << 20 })
	first := session(t, e)
	require.Equal(t, []string{fmt.Sprint(engine.SessionBytes)}, rows(t, first, "SELECT bytes FROM csm.memory WHERE kind = 'session'"))
	var list []*engine.Session
	var err error
	most := (16 << 20) / engine.SessionBytes // half of what clients have: the rest is for what they do
	for len(list) <= most {
		var s *engine.Session
		if s, err = e.Session(engine.SessionOptions{}); err != nil {
			break
		}
		list = append(list, s)
	}
	requireState(t, "53200", err)
	require.Greater(t, len(list), most-10)
	require.Less(t, len(list), most)
	require.Equal(t, []string{"1"}, rows(t, first, "SELECT count(*) FROM range(1)"), "who is there is served")
	for _, s := range list {
		require.NoError(t, s.Close())
	}
	require.Equal(t, []string{"1"}, rows(t, first, "SELECT count(*) FROM csm.memory WHERE kind = 'session'"))
}

// What a session is charged for is no less than what it takes.
func TestSessionsTakeWhatTheyAreCharged(t *testing.T) {
	e := open(t)
	const many = 200
	ask := func() int64 {
		debug.FreeOSMemory()
		ofC, ofGo := duckdb.ProcessMemory()
		return ofC + ofGo
	}
	for range 20 {
		rows(t, session(t, e), "SELECT count(*) FROM range(3)")
	}
	before := ask()
	for range many {
		rows(t, session(t, e), "SELECT count(*) FROM range(3)")
	}
	took := (ask() - before) / many
	t.Logf("a session takes %d bytes", took)
	require.Less(t, took, int64(engine.SessionBytes))
}
