package engine_test

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// open starts a small node that is gone with the test.
func open(t testing.TB, change ...func(*engine.Config)) *engine.Engine {
	t.Helper()
	config := engine.Config{Dialect: engine.DialectDuckDB, Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 256 << 20, MemoryBytes: 512 << 20, Threads: 2}
	for _, c := range change {
		c(&config)
	}
	serving := func(*engine.Engine) {}
	if n, _ := strconv.Atoi(os.Getenv(workersVariable)); n > 0 && config.Workers.Count == 0 && config.Cluster == nil && config.MemoryBytes == 512<<20 {
		var workers func(*engine.Config)
		workers, serving = withWorkers(t, n)
		workers(&config)
		config.MemoryBytes = max(config.MemoryBytes, int64(n+1)*256<<20)
	}
	e, err := engine.Open(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	serving(e)
	return e
}

// openWithWorkers is open of an engine whose queries run in workers, which refuse nothing that DuckDB crashes in.
func openWithWorkers(t testing.TB, count int, change ...func(*engine.Config)) *engine.Engine {
	t.Helper()
	workers, serving := withWorkers(t, count)
	e := open(t, append(change, func(c *engine.Config) { c.MemoryBytes, c.Log = int64(count+1)*256<<20, slog.New(slog.DiscardHandler) }, workers)...)
	serving(e)
	return e
}

func session(t testing.TB, e *engine.Engine) *engine.Session {
	t.Helper()
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// rows asks and returns the rows as text, columns separated by |.
func rows(t testing.TB, s *engine.Session, sql string, args ...any) []string {
	t.Helper()
	out, err := tryRows(s, sql, args...)
	require.NoError(t, err, sql)
	return out
}

func tryRows(s *engine.Session, sql string, args ...any) ([]string, error) {
	r, err := s.Query(context.Background(), sql, args...)
	if err != nil {
		return nil, err
	}
	return linesOf(r)
}

func linesOf(r array.RecordReader) (out []string, err error) {
	defer r.Release()
	for r.Next() {
		b := r.RecordBatch()
		for i := range int(b.NumRows()) {
			cells := make([]string, b.NumCols())
			for c := range cells {
				cells[c] = strings.Clone(b.Column(c).ValueStr(i))
			}
			out = append(out, strings.Join(cells, "|"))
		}
	}
	return out, r.Err()
}

func exec(t testing.TB, s *engine.Session, sql string, args ...any) engine.Result {
	t.Helper()
	result, err := s.Exec(context.Background(), sql, args...)
	require.NoError(t, err, sql)
	return result
}

func TestTablesFromBirthToDeath(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (a int, b text NOT NULL, c decimal(10,2) DEFAULT 1.5)")
	require.Equal(t, "INSERT 0 2", exec(t, s, "INSERT INTO t VALUES (1, 'one', 2.25), (2, 'a string that is longer than twelve', NULL)").Tag)
	exec(t, s, "INSERT INTO t (b, a) SELECT 'n' || i, i FROM range(3, 6) r(i)")
	require.Equal(t, []string{"1|one|2.25", "2|a string that is longer than twelve|(null)", "3|n3|1.5", "4|n4|1.5", "5|n5|1.5"}, rows(t, s, "SELECT * FROM t ORDER BY a"))
	require.Equal(t, []string{"5"}, rows(t, s, "SELECT count(*) FROM t"))
	require.Equal(t, []string{"3"}, rows(t, s, "FROM t SELECT count(*) WHERE a > 2"))
	exec(t, s, "CREATE TABLE u AS SELECT a % 2 AS odd, count(*) AS n, sum(c) AS s FROM t GROUP BY ALL")
	require.Equal(t, []string{"0|2|1.5", "1|3|5.25"}, rows(t, s, "SELECT * FROM u ORDER BY odd"))
	exec(t, s, "CREATE VIEW v AS SELECT b FROM t WHERE a = 1")
	require.Equal(t, []string{"one"}, rows(t, s, "SELECT * FROM v"))
	other := session(t, e)
	require.Equal(t, []string{"one"}, rows(t, other, "SELECT * FROM v"))
	exec(t, other, "TRUNCATE t")
	require.Empty(t, rows(t, s, "SELECT * FROM v"))
	exec(t, s, "DROP VIEW v; DROP TABLE t, u")
	_, err := tryRows(s, "SELECT * FROM t")
	require.ErrorContains(t, err, "t")
}

func TestUpdateAndDeleteWriteANewVersion(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, 'v' || i AS b FROM range(10) r(i)")
	require.Equal(t, "DELETE 3", exec(t, s, "DELETE FROM t WHERE a >= $1 AND b <> 'v9'", int64(6)).Tag)
	require.Equal(t, "UPDATE 2", exec(t, s, "UPDATE t AS x SET b = x.b || '!' WHERE a < 2").Tag)
	require.Equal(t, "UPDATE 0", exec(t, s, "UPDATE t SET a = a + 1 WHERE a > 100").Tag)
	require.Equal(t, []string{"0|v0!", "1|v1!", "2|v2", "9|v9"}, rows(t, s, "SELECT * FROM t WHERE a < 3 OR a > 8 ORDER BY a"))
	require.Equal(t, "DELETE 7", exec(t, s, "DELETE FROM t").Tag)
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM t"))
}
