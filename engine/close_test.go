package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// work is what a user does with an engine, over and over, until it fails.
type work func(ctx context.Context, s *engine.Session) error

func asking(sql ...string) work {
	return func(ctx context.Context, s *engine.Session) error {
		for _, text := range sql {
			r, err := s.Query(ctx, text)
			if err != nil {
				return err
			}
			err = readAll(r)
			r.Release()
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// readAll looks at every value.
func readAll(r array.RecordReader) error {
	for r.Next() {
		b := r.RecordBatch()
		for _, column := range b.Columns() {
			for i := range column.Len() {
				if i%997 == 0 {
					_ = column.ValueStr(i)
				}
			}
		}
	}
	return r.Err()
}

// fetching has a cursor open, and rows of it.
func fetching(ctx context.Context, s *engine.Session) error {
	if _, err := s.Exec(ctx, "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t, range(50)"); err != nil {
		return err
	}
	for range 5 {
		if err := asking("FETCH 1000 FROM c")(ctx, s); err != nil {
			return err
		}
	}
	_, err := s.Exec(ctx, "COMMIT")
	return err
}

// preparing has a statement, and several results of it, and closes some.
func preparing(ctx context.Context, s *engine.Session) error {
	st, err := s.Prepare(ctx, "SELECT i, body FROM t WHERE i % $1::bigint = 0")
	if err != nil {
		return err
	}
	for n := range 3 {
		rows, err := st.Execute(ctx, []any{int64(n + 2)})
		if err != nil {
			return err
		}
		batch, err := rows.Next(ctx)
		if err != nil {
			return errors.Join(err, rows.Close())
		}
		_ = s.Status()
		if err := rows.Recheck(); err != nil {
			batch.Release()
			return err
		}
		batch.Release()
		if n == 1 {
			if err := rows.Close(); err != nil {
				return err
			}
		}
	}
	return st.Close()
}

// leaving begins results in place and closes nothing.
func leaving(ctx context.Context, s *engine.Session) error {
	if _, err := s.Exec(ctx, "SET csm.backend = compute"); err != nil {
		return err
	}
	st, err := s.Prepare(ctx, "SELECT i, body FROM t")
	if err != nil {
		return err
	}
	rows, err := st.Execute(ctx, nil)
	if err != nil {
		return err
	}
	batch, err := rows.Next(ctx)
	if err == nil {
		batch.Release()
	}
	return err
}

func copying(ctx context.Context, s *engine.Session) error {
	st, err := s.Prepare(ctx, "COPY copied FROM STDIN")
	if err != nil {
		return err
	}
	defer st.Close()
	left := 5_000
	_, err = st.CopyIn(ctx, func() ([][]byte, error) {
		if left--; left < 0 {
			return nil, io.EOF
		}
		return [][]byte{[]byte("7"), []byte("seven")}, nil
	})
	return err
}

// everything that users do at once with an engine that may write.
func everything(e *engine.Engine, file string) map[string]work {
	return map[string]work{
		"aggregates":  asking("SET csm.backend = duckdb", "SELECT label, count(*), sum(i), max(body) FROM t GROUP BY label", "SELECT count(*) FROM t a JOIN t b USING (i) WHERE b.mixed > 5"),
		"streams":     asking("SET csm.backend = duckdb", "SELECT * FROM t", "SELECT body FROM t ORDER BY mixed DESC"),
		"kernels":     asking("SET csm.backend = compute", "SELECT * FROM t", "SELECT i, body FROM t WHERE i > 1000 AND part > 7", "SELECT count(label) AS n, count(*), min(body) AS least FROM t"),
		"cursors":     fetching,
		"preparing":   preparing,
		"leaving":     leaving,
		"own objects": asking("CREATE TEMPORARY TABLE IF NOT EXISTS own (a int)", "INSERT INTO own SELECT i FROM t LIMIT 100", "DELETE FROM own"),
		"writing":     asking("CREATE OR REPLACE TABLE w AS SELECT * FROM t", "INSERT INTO w SELECT * FROM t", "UPDATE w SET i = i + 1 WHERE i % 2 = 0", "DROP TABLE w"),
		"copying":     copying,
		"loading": func(ctx context.Context, _ *engine.Session) error {
			_, err := e.Load(ctx, noderpc.LoadRequest{
				Table: catalog.TableName{Name: "loaded"}, Files: []string{file}, Options: noderpc.LoadOptions{Mode: noderpc.LoadReplace},
			}, nil)
			return err
		},
		"generating": func(ctx context.Context, _ *engine.Session) error {
			return e.LoadTPCH(ctx, noderpc.TPCHRequest{ScaleFactor: 0.001, Replace: true}, nil)
		},
		"looking": func(ctx context.Context, _ *engine.Session) error {
			_ = e.Status(noderpc.Frontend{})
			other, err := e.Session(engine.SessionOptions{})
			if err != nil {
				return err
			}
			return errors.Join(e.VerifyChecksums(ctx), other.Close())
		},
	}
}

// reading is what a borrower may do.
func reading(e *engine.Engine) map[string]work {
	all := everything(e, "")
	for _, name := range []string{"writing", "copying", "loading", "generating"} {
		delete(all, name)
	}
	return all
}

// crowd lets every work run in a goroutine of its own, has do done to them once each has come round, and gives their errors.
func crowd(t *testing.T, e *engine.Engine, works map[string]work, do func(sessions []*engine.Session)) map[string]error {
	t.Helper()
	var mu sync.Mutex
	failed := map[string]error{}
	var group, round sync.WaitGroup
	var sessions []*engine.Session
	for name, work := range works {
		s, err := e.Session(engine.SessionOptions{})
		require.NoError(t, err)
		sessions = append(sessions, s)
		round.Add(1)
		group.Go(func() {
			arrived := sync.OnceFunc(round.Done)
			defer arrived()
			for {
				if err := work(context.Background(), s); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed[name] = err
					return
				}
				arrived()
			}
		})
	}
	round.Wait()
	do(sessions)
	group.Wait()
	return failed
}

// TestCloseWhileInUse attacks E6: an engine is closed in the middle of all that can be done with it. Nothing crashes, everything ends,
// and every error says why.
func TestCloseWhileInUse(t *testing.T) {
	t.Parallel()
	for round := range closings() {
		config := engine.Config{
			Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 512 << 20, MemoryBytes: 512 << 20, Threads: 2, Log: slog.New(slog.DiscardHandler),
		}
		e, err := engine.Open(context.Background(), config)
		require.NoError(t, err)
		file := prepareCrowd(t, e)
		region := e.RegionSpec().Path
		failed := crowd(t, e, everything(e, file), func([]*engine.Session) {
			require.NoError(t, closeTwice(e))
			require.False(t, mappedHere(t, region), "round %d: the region is still mapped", round)
		})
		for name, err := range failed {
			require.ErrorIs(t, err, engine.ErrClosed, "round %d: %s", round, name)
		}
		requireClosed(t, e)
		e, err = engine.Open(context.Background(), config) // what was committed is there, and nothing else
		require.NoError(t, err)
		require.Equal(t, []string{"1|80000|true"}, rows(t, session(t, e), taggedQuery("t")))
		require.NoError(t, e.VerifyChecksums(context.Background()))
		require.NoError(t, e.Close())
	}
}

// closings is how often engines are closed in the middle; every time catches other things.
func closings() int { return testsuite.Effort() }

// prepareCrowd makes what everything works on; the file holds rows to load.
func prepareCrowd(t *testing.T, e *engine.Engine) (file string) {
	t.Helper()
	s := session(t, e)
	exec(t, s, tagged("t", 1, 10_000)+strings.Repeat("; INSERT INTO t SELECT * FROM t", 3)) // in four chunks
	exec(t, s, "CREATE TABLE copied (a int, b text)")
	file = filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(file, []byte("a,b\n"+strings.Repeat("1,one\n2,two\n", 5_000)), 0o600))
	return file
}

// closeTwice closes an engine from two goroutines.
func closeTwice(e *engine.Engine) error {
	other := make(chan error)
	go func() { other <- e.Close() }()
	return errors.Join(e.Close(), <-other)
}

// requireClosed asks an engine that is closed for everything.
func requireClosed(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx := context.Background()
	_, opened := e.Session(engine.SessionOptions{})
	_, loaded := e.Load(ctx, noderpc.LoadRequest{}, nil)
	_, described := e.Service(noderpc.Frontend{}).Describe(ctx)
	for what, err := range map[string]error{
		"session": opened, "load": loaded, "describe": described, "verify": e.VerifyChecksums(ctx), "generate": e.LoadTPCH(ctx, noderpc.TPCHRequest{}, nil),
	} {
		require.ErrorIs(t, err, engine.ErrClosed, what)
		require.Equal(t, "57P03", sqlState(err), what)
	}
	require.Empty(t, e.Status(noderpc.Frontend{}).Tables)
	require.NoError(t, e.Close())
}

// mappedHere reports whether this process maps a file.
func mappedHere(t *testing.T, path string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Contains(string(maps), path)
}

// TestCloseWhileBorrowed is the same for an engine that is attached to another one, which goes on.
func TestCloseWhileBorrowed(t *testing.T) {
	t.Parallel()
	node := open(t, func(c *engine.Config) { c.Log = slog.New(slog.DiscardHandler) })
	prepareCrowd(t, node)
	socket := filepath.Join(t.TempDir(), "csmsql.sock")
	stop, err := serve(node, socket)
	require.NoError(t, err)
	stop = sync.OnceValue(stop)
	defer stop()
	for range closings() {
		e, err := engine.AttachWith(context.Background(), socket, engine.Config{MemoryBytes: 256 << 20, Threads: 2})
		require.NoError(t, err)
		for name, err := range crowd(t, e, reading(e), func([]*engine.Session) { require.NoError(t, closeTwice(e)) }) {
			require.ErrorIs(t, err, engine.ErrClosed, name)
		}
		_, err = e.Session(engine.SessionOptions{})
		require.ErrorIs(t, err, engine.ErrClosed)
	}
	require.NoError(t, stop())
	require.NoError(t, node.CheckSpace(context.Background()), "a borrower that was closed left a lease")
}

// TestSessionCloseWhileInUse: sessions are closed while they are used; the engine and the other sessions go on.
func TestSessionCloseWhileInUse(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.RegionBytes, c.Log = 512<<20, slog.New(slog.DiscardHandler) })
	prepareCrowd(t, e)
	works := reading(e)
	works["writing"], works["copying"] = everything(e, "")["writing"], copying
	delete(works, "looking") // it has a session of its own
	for range closings() {
		failed := crowd(t, e, works, func(sessions []*engine.Session) {
			for _, s := range sessions {
				require.NoError(t, s.Close())
				require.NoError(t, s.Close())
				_, err := s.Query(context.Background(), "SELECT 1")
				require.ErrorIs(t, err, engine.ErrSessionClosed)
				require.Equal(t, engine.Idle, s.Status())
			}
		})
		for name, err := range failed {
			require.ErrorIs(t, err, engine.ErrSessionClosed, name)
			require.Equal(t, "08003", sqlState(err), name)
		}
	}
	require.Equal(t, []string{"1|80000|true"}, rows(t, session(t, e), taggedQuery("t")))
	require.NoError(t, e.CheckSpace(context.Background()))
}

// TestCloseEndsWhatRunsForEver: Close needs no help of a caller that waits for an answer that never comes.
func TestCloseEndsWhatRunsForEver(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	failed := make(chan error, 1)
	go func() {
		_, err := s.Exec(context.Background(), "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range = -1")
		failed <- err
	}()
	require.Eventually(t, func() bool { return len(e.Status(noderpc.Frontend{}).Leases) > 0 }, 20*time.Second, time.Millisecond)
	require.NoError(t, e.Close())
	err := <-failed
	require.ErrorIs(t, err, engine.ErrClosed)
	require.Contains(t, []string{"57P01", "57P03"}, sqlState(err), "57P03: it held a snapshot to be planned, and was not running yet")
}

// TestOpenRowsEndWithTheEngine: open rows that are not read do not block Close, and end with an error that cannot be
// taken for the end of the result.
func TestOpenRowsEndWithTheEngine(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"duckdb", "compute"} {
		e := open(t)
		exec(t, session(t, e), tagged("t", 1, 300_000))
		s := session(t, e)
		exec(t, s, "SET csm.backend = "+backend)
		r, err := s.Query(context.Background(), "SELECT i FROM t")
		require.NoError(t, err)
		require.True(t, r.Next())
		other := session(t, e)
		exec(t, other, "SET csm.backend = "+backend+"; BEGIN; DECLARE c CURSOR FOR SELECT i FROM t")
		st, err := other.Prepare(context.Background(), "FETCH 10 FROM c")
		require.NoError(t, err)
		fetched, err := st.Execute(context.Background(), nil)
		require.NoError(t, err)

		require.NoError(t, e.Close())
		require.False(t, r.Next())
		require.ErrorIs(t, r.Err(), engine.ErrClosed)
		r.Release()
		_, err = fetched.Next(context.Background())
		require.ErrorIs(t, err, engine.ErrClosed)
		require.ErrorIs(t, fetched.Recheck(), engine.ErrClosed)
		require.NoError(t, errors.Join(fetched.Close(), st.Close(), other.Close()))
		_, err = st.Execute(context.Background(), nil)
		require.ErrorIs(t, err, engine.ErrClosed)
	}
}

// TestBatchesOutliveEverything attacks E7: a batch that was retained keeps its bytes in place while the engine goes on,
// and stays readable when its rows, its session and its engine are gone. When it is released nothing is left.
func TestBatchesOutliveEverything(t *testing.T) {
	t.Parallel()
	var warned atomic.Bool
	e := open(t, func(c *engine.Config) { c.Log = slog.New(warning{&warned}) })
	writer := session(t, e)
	exec(t, writer, tagged("t", 1, 400_000))
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	exec(t, s, "SET csm.backend = compute")
	var kept []arrow.RecordBatch
	r, err := s.Query(context.Background(), "SELECT i, body, mixed, part FROM t")
	require.NoError(t, err)
	for r.Next() {
		b := r.RecordBatch()
		kept = append(kept, b.NewSlice(0, b.NumRows()/2))
	}
	require.NoError(t, r.Err())
	r.Release()
	require.NoError(t, s.Close())
	check := func() {
		for _, b := range kept {
			for row := 0; row < int(b.NumRows()); row += 997 {
				require.Equal(t, fmt.Sprintf("row %s of the table with the tag 1", b.Column(0).ValueStr(row)), b.Column(1).ValueStr(row))
				i, err := strconv.ParseInt(b.Column(0).ValueStr(row), 10, 64)
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(i*31+17), b.Column(2).ValueStr(row))
				if part := b.Column(3); i%7 == 0 {
					require.True(t, part.IsNull(row))
				} else { // floating point numbers are stored as they are: others may be decoded, and so copies
					require.InDelta(t, float64(i)/4, part.(*array.Float64).Value(row), 0)
				}
			}
		}
	}
	one := e.RegionStats().Used
	for tag := 2; tag < 6; tag++ { // which would use the memory again if it could
		exec(t, writer, tagged("t", tag, 400_000))
	}
	require.Eventually(t, func() bool { return e.RegionStats().Used <= one*5/2 }, time.Minute, 10*time.Millisecond, "what has no reader goes back")
	check()
	require.Greater(t, len(kept), 1)
	kept[0].Release()
	kept = kept[1:]

	region := e.RegionSpec().Path
	require.NoError(t, e.Close())
	require.True(t, warned.Load(), "no warning")
	check()
	require.True(t, mappedHere(t, region))
	for _, b := range kept {
		b.Release()
	}
	require.False(t, mappedHere(t, region), "the last batch is released and the region is mapped")
}

// TestRowsOfOwnChangesEndWithTheBlock: results that are read in place from what a block wrote do not go on in memory that was given back.
func TestRowsOfOwnChangesEndWithTheBlock(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "BEGIN; "+tagged("own", 1, 600_000)+"; SET csm.backend = compute")
	r, err := s.Query(context.Background(), "SELECT tag, i, mixed, body, label FROM own")
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next())
	exec(t, s, "ROLLBACK; RESET csm.backend; "+tagged("other", 2, 600_000))
	require.False(t, r.Next())
	require.Equal(t, "34000", sqlState(r.Err()))
	require.Equal(t, []string{"600000"}, rows(t, s, "SELECT count(*) FROM other"))

	exec(t, s, "BEGIN; "+tagged("own", 1, 600_000)+"; SET csm.backend = compute")
	c, err := s.Query(context.Background(), "SELECT tag, i, mixed, body, label FROM own")
	require.NoError(t, err)
	defer c.Release()
	require.True(t, c.Next())
	exec(t, s, "COMMIT; RESET csm.backend; DROP TABLE own; "+tagged("other", 3, 600_000))
	n, err := sameTag(c)
	require.NoError(t, errors.Join(err, c.Err()))
	require.Equal(t, 600_000, n)
}

// warning notes that something was logged above level info.
type warning struct{ seen *atomic.Bool }

func (w warning) Enabled(_ context.Context, level slog.Level) bool { return level > slog.LevelInfo }
func (w warning) WithAttrs([]slog.Attr) slog.Handler               { return w }
func (w warning) WithGroup(string) slog.Handler                    { return w }
func (w warning) Handle(context.Context, slog.Record) error        { w.seen.Store(true); return nil }

// TestEveryResultLetsGo: whatever the kernels make of chunks in place, when the result is released nothing of the chunks is held.
func TestEveryResultLetsGo(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, tagged("t", 1, 150_000)+"; INSERT INTO t SELECT * FROM t LIMIT 10; SET csm.backend = compute")
	exec(t, s, "CREATE TABLE types AS SELECT i, i % 2 = 0 AS b, CAST(i AS decimal(9,2)) AS d, CAST(i AS decimal(18,2)) AS e, [i, NULL] AS l, {'a': i, 'b': 'x' || i} AS r, CAST('2020-01-01' AS date) AS day FROM range(1000) q(i)")
	for _, sql := range []string{
		"SELECT * FROM t", "SELECT * FROM t LIMIT 7 OFFSET 100000", "SELECT body, label, i FROM t WHERE i > 5000", "SELECT i + 1, label FROM t WHERE part IS NULL",
		"SELECT count(label) AS n, count(*), max(body) AS most FROM t", "SELECT * FROM t WHERE i < 0", "SELECT * FROM types", "SELECT i, b, d, e, day FROM types WHERE b AND i > 3", "SELECT l, r FROM types LIMIT 3",
	} {
		for _, whole := range []bool{true, false} {
			r, err := s.Query(context.Background(), sql)
			require.NoError(t, err, sql)
			for r.Next() && whole {
			}
			require.NoError(t, r.Err(), sql)
			r.Release()
			require.Empty(t, e.Status(noderpc.Frontend{}).Leases, "%s keeps its lease", sql)
		}
	}
	exec(t, s, "DROP TABLE t, types")
	require.Zero(t, e.RegionStats().Used)
}
