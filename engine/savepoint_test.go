package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

func fails(t testing.TB, s *engine.Session, state, sql string) {
	t.Helper()
	_, err := s.Exec(context.Background(), sql)
	require.Equal(t, state, sqlState(err), "%s: %v", sql, err)
}

// aborts fails while it runs, which aborts DuckDB's transaction.
const aborts = "SELECT CAST(word AS INTEGER) FROM (VALUES ('no number')) AS w(word)"

// E4: what is written after a savepoint is given back by ROLLBACK TO, at once and to the byte.
func TestRollbackToGivesMemoryBack(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, 'word ' || i AS w FROM range(1000) r(i)")
	used := func() int64 { return e.RegionStats().Used }
	committed := used()
	exec(t, s, "BEGIN; INSERT INTO t SELECT i, 'a' FROM range(100) r(i); SAVEPOINT one")
	atOne := used()
	require.Greater(t, atOne, committed)
	writes := []string{
		"INSERT INTO t SELECT i, 'b' FROM range(5000) r(i)", "UPDATE t SET w = w || '!' WHERE a % 2 = 0", "DELETE FROM t WHERE a > 10",
		"CREATE TABLE u AS SELECT * FROM t", "CREATE OR REPLACE TABLE t AS SELECT 1 AS other", "TRUNCATE t", "DROP TABLE t",
	}
	for _, ending := range []string{"", "; " + aborts, "; SELECT * FROM nowhere"} {
		for _, sql := range writes {
			exec(t, s, sql)
			if ending != "" {
				_, err := s.Exec(context.Background(), ending[2:])
				require.Error(t, err)
				fails(t, s, "25P02", "SELECT 1")
			}
			exec(t, s, "ROLLBACK TO one")
			require.Equal(t, atOne, used(), sql+ending)
			require.Equal(t, []string{"1100|100"}, rows(t, s, "SELECT count(*), count(*) FILTER (w = 'a') FROM t"), sql+ending)
			require.Equal(t, []string{"1100"}, rows(t, s, "FROM t SELECT count(*)"), sql+ending)
			fails(t, s, "42P01", "FROM u")
			exec(t, s, "ROLLBACK TO one")
		}
	}
	exec(t, s, "SAVEPOINT two; INSERT INTO t SELECT i, 'c' FROM range(100) r(i); RELEASE two; INSERT INTO t VALUES (1, 'd')")
	exec(t, s, "ROLLBACK TO one; COMMIT")
	require.Equal(t, []string{"1100"}, rows(t, s, "SELECT count(*) FROM t"))
	require.NoError(t, e.CheckSpace(context.Background()))
	exec(t, s, "BEGIN; SAVEPOINT z; CREATE TABLE v AS SELECT * FROM t; ROLLBACK TO z; DROP TABLE t; ROLLBACK")
	require.Equal(t, []string{"1100"}, rows(t, s, "SELECT count(*) FROM t"))
	require.NoError(t, e.CheckSpace(context.Background()))
}

// An open result that reads what was taken back keeps the memory that its reader looks at, and gives no further row.
func TestRollbackToUnderAnOpenResult(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, backend := range []string{"compute", "duckdb"} {
		e := open(t)
		s := session(t, e)
		exec(t, s, "CREATE TABLE t (a BIGINT); BEGIN; SAVEPOINT one")
		before := e.RegionStats().Used
		for i := range 3 {
			exec(t, s, fmt.Sprintf("INSERT INTO t SELECT i FROM range(%d, %d) r(i)", i*1000, i*1000+1000))
		}
		written := e.RegionStats().Used
		exec(t, s, "SET csm.backend = "+backend)
		st, err := s.Prepare(ctx, "SELECT a FROM t")
		require.NoError(t, err)
		young, err := st.Execute(ctx, nil)
		require.NoError(t, err)
		batch, err := young.Next(ctx)
		require.NoError(t, err)
		exec(t, s, "ROLLBACK TO one")
		require.Equal(t, written, e.RegionStats().Used, "the batch is in a reader's hands")
		exec(t, s, "CREATE TABLE other AS SELECT -i AS a FROM range(5000) r(i)") // would take freed memory
		require.Equal(t, "0", batch.Column(0).ValueStr(0))
		require.Equal(t, "999", batch.Column(0).ValueStr(999))
		batch.Release()
		_, err = young.Next(ctx)
		require.Equal(t, "34000", sqlState(err))
		require.NoError(t, young.Close())
		require.NoError(t, st.Close())
		exec(t, s, "ROLLBACK TO one")
		require.Equal(t, before, e.RegionStats().Used)

		exec(t, s, "INSERT INTO t SELECT i FROM range(10) r(i); SAVEPOINT two; SET csm.backend = "+backend)
		st, err = s.Prepare(ctx, "SELECT a FROM t")
		require.NoError(t, err)
		exec(t, s, "ROLLBACK TO two")
		old, err := st.Execute(ctx, nil)
		require.NoError(t, err)
		exec(t, s, "SAVEPOINT three; DELETE FROM t; ROLLBACK TO three")
		result := 0
		for {
			batch, err := old.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, "it began before the savepoint")
			result += int(batch.NumRows())
			batch.Release()
		}
		require.Equal(t, 10, result)
		require.NoError(t, errors.Join(old.Close(), st.Close()))
		exec(t, s, "COMMIT")
		require.NoError(t, e.CheckSpace(ctx))
	}
}

// Cursors that were open at the savepoint stay, with what they had read; those since are gone.
func TestCursorsAndSavepoints(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a FROM range(6) r(i); BEGIN; DECLARE old CURSOR FOR SELECT a FROM t")
	require.Equal(t, []string{"0", "1"}, rows(t, s, "FETCH 2 FROM old"))
	exec(t, s, "SAVEPOINT one; INSERT INTO t VALUES (100); DECLARE young CURSOR FOR SELECT a FROM t")
	require.Equal(t, []string{"2"}, rows(t, s, "FETCH old"))
	require.Equal(t, []string{"0"}, rows(t, s, "FETCH young"))
	fails(t, s, "22P02", aborts)
	exec(t, s, "ROLLBACK TO one")
	require.Equal(t, []string{"3", "4", "5"}, rows(t, s, "FETCH ALL FROM old"))
	fails(t, s, "34000", "FETCH young")
	exec(t, s, "ROLLBACK TO one; DECLARE young CURSOR FOR SELECT a FROM t; CLOSE old; ROLLBACK TO one")
	fails(t, s, "34000", "FETCH old") // CLOSE is not taken back
	exec(t, s, "ROLLBACK")
}

// SET is undone by ROLLBACK TO, as by ROLLBACK; SET LOCAL by COMMIT, too.
func TestSettingsAndSavepoints(t *testing.T) {
	s := session(t, open(t))
	at := func(zone, path, application string) {
		t.Helper()
		require.Equal(t, []string{zone}, rows(t, s, "SHOW timezone"))
		require.Equal(t, []string{path}, rows(t, s, "SHOW search_path"))
		require.Equal(t, []string{application}, rows(t, s, "SHOW application_name"))
		instant := map[string]string{"UTC": "2024-01-01 00:00:00+00", "Asia/Tokyo": "2024-01-01 09:00:00+09", "America/Lima": "2023-12-31 19:00:00-05"}[zone]
		require.Equal(t, []string{instant}, rows(t, s, "SELECT TIMESTAMPTZ '2024-01-01 00:00:00+00'::text"), "DuckDB follows")
	}
	exec(t, s, "SET timezone = 'UTC'; CREATE SCHEMA aside; BEGIN; SET timezone = 'Asia/Tokyo'; SAVEPOINT one")
	exec(t, s, "SET search_path = aside; SET LOCAL timezone = 'America/Lima'; SET application_name = 'x'")
	at("America/Lima", "aside", "x")
	fails(t, s, "22P02", aborts)
	exec(t, s, "ROLLBACK TO one")
	at("Asia/Tokyo", "public", "")
	exec(t, s, "SET LOCAL timezone = 'America/Lima'; SAVEPOINT two; SET application_name = 'y'; SET timezone = 'UTC'; ROLLBACK TO two; SET application_name = 'z'; COMMIT")
	at("Asia/Tokyo", "public", "z")
	exec(t, s, "BEGIN; SET timezone = 'UTC'; SET LOCAL search_path = aside; ROLLBACK")
	at("Asia/Tokyo", "public", "z")
	exec(t, s, "BEGIN; RESET ALL; SAVEPOINT one; SET timezone = 'America/Lima'; RELEASE one")
	at("America/Lima", "public", "")
	exec(t, s, "COMMIT")
	at("America/Lima", "public", "")
}

// Temporary objects follow whole transactions only: where they cannot go back the statement says so, and nothing else suffers.
func TestTemporaryObjectsAndSavepoints(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TEMP TABLE kept AS SELECT 1 AS a; CREATE TABLE t AS SELECT 1 AS a")

	// Nothing temporary was changed: whatever aborted the transaction, all of it is usable again.
	exec(t, s, "BEGIN; CREATE TABLE mine AS SELECT 5 AS a; SAVEPOINT one")
	fails(t, s, "22P02", aborts)
	exec(t, s, "ROLLBACK TO one")
	require.Equal(t, []string{"1"}, rows(t, s, "FROM kept"))
	require.Equal(t, []string{"5"}, rows(t, s, "FROM mine"))
	exec(t, s, "INSERT INTO kept SELECT a FROM mine; COMMIT")
	require.Equal(t, []string{"1", "5"}, rows(t, s, "SELECT a FROM kept ORDER BY a"))

	// Changed before the savepoint: a statement refused before it runs aborts nothing.
	exec(t, s, "BEGIN; INSERT INTO kept VALUES (6); SAVEPOINT one; INSERT INTO t VALUES (2)")
	fails(t, s, "42P01", "SELECT * FROM nowhere")
	exec(t, s, "ROLLBACK TO one; COMMIT")
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(*) FROM kept"))
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT count(*) FROM t"))

	// Changed before, and aborted; or changed since.
	for _, statements := range []string{"DELETE FROM kept; SAVEPOINT one; INSERT INTO t VALUES (3)", "SAVEPOINT one; CREATE TEMP TABLE young AS SELECT 1 AS a; INSERT INTO t VALUES (3)"} {
		exec(t, s, "BEGIN; "+statements)
		fails(t, s, "22P02", aborts)
		fails(t, s, "0A000", "ROLLBACK TO one")
		require.Equal(t, engine.Failed, s.Status())
		fails(t, s, "25P02", "SELECT 1")
		exec(t, s, "ROLLBACK")
		require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(*) FROM kept"))
		require.Equal(t, []string{"1"}, rows(t, s, "SELECT count(*) FROM t"))
	}
	exec(t, s, "BEGIN; SAVEPOINT one; DELETE FROM kept")
	fails(t, s, "0A000", "ROLLBACK TO one")
	require.Equal(t, engine.Failed, s.Status())
	exec(t, s, "ROLLBACK; BEGIN; SAVEPOINT one; DELETE FROM kept; RELEASE one; COMMIT")
	require.Empty(t, rows(t, s, "FROM kept"))
	require.NoError(t, e.CheckSpace(context.Background()))
}

// E1: the snapshot is still the block's after DuckDB's transaction had to begin again.
func TestTheSnapshotOutlivesAnError(t *testing.T) {
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE gone AS SELECT 2 AS a; CREATE VIEW v AS SELECT a FROM t; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM t; SAVEPOINT one")
	exec(t, other, "DROP TABLE gone; CREATE OR REPLACE VIEW v AS SELECT 'late' AS l; INSERT INTO t VALUES (9); CREATE TABLE late AS SELECT 1 AS a")
	fails(t, s, "22P02", aborts)
	exec(t, s, "ROLLBACK TO one")
	for range 2 {
		for sql, want := range map[string]string{"FROM t": "1", "SELECT * FROM t": "1", "FROM gone": "2", "SELECT * FROM gone": "2", "FROM v": "1", "SELECT * FROM v": "1"} {
			require.Equal(t, []string{want}, rows(t, s, sql), sql)
		}
		exec(t, s, "CREATE TABLE mine AS FROM gone; FROM mine; ROLLBACK TO one")
	}
	fails(t, s, "42P01", "FROM late")
	exec(t, s, "ROLLBACK TO one; COMMIT")
	require.Equal(t, []string{"late"}, rows(t, s, "FROM v"))
}

func TestSavepointErrors(t *testing.T) {
	s := session(t, open(t))
	for _, sql := range []string{"SAVEPOINT a", "RELEASE a", "ROLLBACK TO a"} {
		fails(t, s, "25P01", sql)
	}
	s.BeginImplicit()
	fails(t, s, "25P01", "SAVEPOINT a")
	require.NoError(t, s.EndImplicit(context.Background(), true))
	for _, sql := range []string{"RELEASE a", "ROLLBACK TO a"} {
		exec(t, s, "BEGIN; SAVEPOINT b")
		fails(t, s, "3B001", sql)
		fails(t, s, "25P02", "RELEASE b")
		require.Equal(t, engine.Failed, s.Status())
		exec(t, s, "ROLLBACK TO b")
		require.Equal(t, engine.Active, s.Status())
		exec(t, s, "RELEASE b")
		fails(t, s, "3B001", "ROLLBACK TO b")
		require.Equal(t, "ROLLBACK", exec(t, s, "COMMIT").Tag)
	}
	exec(t, s, "BEGIN")
	for range 1 << 12 {
		exec(t, s, "SAVEPOINT a")
	}
	fails(t, s, "53400", "SAVEPOINT a")
	exec(t, s, "ROLLBACK")
}
