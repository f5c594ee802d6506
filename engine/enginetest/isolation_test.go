package enginetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func (l *lent) fails(t testing.TB, state, sql string) {
	t.Helper()
	o := l.query(sql, nil)
	require.Equal(t, state, o.state, "%s: %s", sql, o.message)
}

// forms ask for the number of rows of a table or view: as PostgreSQL reads it, so that the scan is spliced in, and in words that
// only DuckDB understands, so that the name goes through the mirror.
func forms(name string) []string {
	return []string{"SELECT count(*) AS n FROM " + name, "FROM " + name + " SELECT count(*) AS n"}
}

func (l *lent) counts(t testing.TB, name, n string) {
	t.Helper()
	for _, sql := range forms(name) {
		require.Equal(t, []string{n}, l.ask(t, sql), sql)
	}
}

// E1: a block of REPEATABLE READ sees the snapshot of its first statement, with its own changes.
func TestABlockSeesItsSnapshot(t *testing.T) {
	e := openEngine(t)
	reader, writer := openSession(t, e), openSession(t, e)
	writer.must(t, "CREATE TABLE t AS SELECT i AS a FROM range(3) AS g(i); CREATE VIEW v AS SELECT * FROM t WHERE a > 0; CREATE TABLE gone AS SELECT 1 AS x; CREATE TABLE other AS SELECT 1 AS a")
	reader.must(t, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	reader.counts(t, "t", "3")
	prepared, err := reader.session.Prepare(context.Background(), "SELECT count(*) AS n FROM v")
	require.NoError(t, err)
	defer prepared.Close()
	writer.must(t, "INSERT INTO t VALUES (10), (11)")
	writer.must(t, "DROP TABLE gone")
	writer.must(t, "CREATE OR REPLACE TABLE other AS SELECT 'x' AS b, 2 AS c")
	writer.must(t, "CREATE TABLE late AS SELECT 1 AS a")
	writer.counts(t, "t", "5")
	for range 2 {
		reader.counts(t, "t", "3")
		reader.counts(t, "v", "2")
		require.Equal(t, []string{"2"}, collected(prepared.Query(context.Background())).rows)
		reader.counts(t, "gone", "1")
		require.Equal(t, []string{"1"}, reader.ask(t, "SELECT a FROM other"))
		require.Equal(t, []string{"1"}, reader.ask(t, "FROM other SELECT a"))
	}
	reader.fails(t, "42P01", "SELECT * FROM late")
	reader.must(t, "ROLLBACK")
	reader.counts(t, "t", "5")
	reader.counts(t, "v", "4")
	reader.fails(t, "42P01", "SELECT * FROM gone")
	require.Equal(t, []string{"x | 2"}, reader.ask(t, "FROM other"))
	require.Equal(t, []string{"4"}, collected(prepared.Query(context.Background())).rows)
}

// E1, E4: what a block did is seen by itself at once, by others after COMMIT, by none after ROLLBACK.
func TestABlocksOwnChanges(t *testing.T) {
	e := openEngine(t)
	s, other := openSession(t, e), openSession(t, e)
	s.must(t, "CREATE TABLE t AS SELECT i AS a, 'w' || (i % 2) AS w FROM range(4) AS g(i); CREATE VIEW v AS SELECT * FROM t")
	for _, end := range []string{"ROLLBACK", "COMMIT"} {
		s.must(t, "BEGIN")
		s.must(t, "INSERT INTO t VALUES (100, 'new')")
		s.counts(t, "t", "5")
		s.counts(t, "v", "5")
		require.Equal(t, []string{"100"}, s.ask(t, "SELECT a FROM t WHERE w = 'new' AND a > 50"))
		s.must(t, "DELETE FROM t WHERE a < 2")
		s.counts(t, "t", "3")
		s.must(t, "UPDATE t SET w = 'changed' WHERE a = 2")
		require.Equal(t, []string{"2"}, s.ask(t, "SELECT a FROM t WHERE w = 'changed'"))
		s.must(t, "CREATE TABLE mine (a INTEGER); INSERT INTO mine VALUES (1)")
		require.Equal(t, []string{"1"}, s.ask(t, "SELECT count(*) AS n FROM mine"))
		s.must(t, "CREATE SCHEMA aside; CREATE TABLE aside.t AS SELECT 7 AS z")
		require.Equal(t, []string{"1"}, s.ask(t, "SELECT count(*) AS n FROM aside.t"))
		s.must(t, "CREATE VIEW w AS SELECT z FROM aside.t")
		other.counts(t, "t", "4")
		other.fails(t, "42P01", "SELECT * FROM mine")
		other.must(t, "SELECT 1")
		s.must(t, end)
	}
	other.counts(t, "t", "3")
	other.counts(t, "mine", "1")
	other.counts(t, "w", "1")
	s.counts(t, "aside.t", "1")
}

// E1: a table recreated in a block has its new columns there.
func TestReplacingInABlock(t *testing.T) {
	e := openEngine(t)
	s := openSession(t, e)
	s.must(t, "CREATE TABLE t AS SELECT 1 AS a")
	s.must(t, "BEGIN; CREATE OR REPLACE TABLE t AS SELECT 'x' AS b, 2 AS c")
	require.Equal(t, []string{"x | 2"}, s.ask(t, "SELECT * FROM t"))
	require.Equal(t, []string{"x | 2"}, s.ask(t, "FROM t"))
	s.must(t, "DROP TABLE t")
	s.fails(t, "42P01", "SELECT * FROM t")
	s.must(t, "ROLLBACK")
	require.Equal(t, []string{"1"}, s.ask(t, "FROM t"))
}

// E1: a transaction that writes what another one has written meanwhile fails, and nothing of it stays.
func TestConflictingWriters(t *testing.T) {
	e := openEngine(t)
	a, b := openSession(t, e), openSession(t, e)
	a.must(t, "CREATE TABLE t AS SELECT 1 AS x")
	a.must(t, "BEGIN")
	b.must(t, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	b.counts(t, "t", "1")
	a.must(t, "DELETE FROM t")
	a.must(t, "COMMIT")
	b.fails(t, "40001", "UPDATE t SET x = 2")
	b.must(t, "ROLLBACK")
	b.counts(t, "t", "0")
}

// Temporary tables are private and hide tables of the same name.
func TestTemporaryTables(t *testing.T) {
	e := openEngine(t)
	s, other := openSession(t, e), openSession(t, e)
	s.must(t, "CREATE TABLE t AS SELECT i AS a FROM range(3) AS g(i)")
	s.must(t, "CREATE TEMP TABLE t AS SELECT i AS a FROM range(7) AS g(i)")
	s.counts(t, "t", "7")
	s.counts(t, "public.t", "3")
	other.counts(t, "t", "3")
	s.must(t, "INSERT INTO t VALUES (1)")
	s.counts(t, "t", "8")
	other.counts(t, "t", "3")
	s.must(t, "DELETE FROM t WHERE a = 1")
	s.counts(t, "t", "6")
	require.Equal(t, []string{"2"}, s.ask(t, "SELECT count(*) AS n FROM t JOIN public.t AS p USING (a)"))
	s.must(t, "DROP TABLE t")
	s.counts(t, "t", "3")
	other.fails(t, "42P01", "SELECT * FROM temp.t")
}

// Names are found along the search path, also by statements that were prepared under another one.
func TestSearchPath(t *testing.T) {
	e := openEngine(t)
	s := openSession(t, e)
	s.must(t, "CREATE SCHEMA one; CREATE SCHEMA two; CREATE TABLE one.t AS SELECT 1 AS a; CREATE TABLE two.t AS SELECT 2 AS a; CREATE TABLE t AS SELECT 0 AS a")
	prepared, err := s.session.Prepare(context.Background(), "SELECT a FROM t")
	require.NoError(t, err)
	defer prepared.Close()
	for _, step := range []struct{ path, want string }{{"one", "1"}, {"two, one", "2"}, {"nowhere, one", "1"}, {"public", "0"}} {
		s.must(t, "SET search_path = "+step.path)
		require.Equal(t, []string{step.want}, s.ask(t, "SELECT a FROM t"), step.path)
		require.Equal(t, []string{step.want}, s.ask(t, "FROM t"), step.path)
		require.Equal(t, []string{step.want}, collected(prepared.Query(context.Background())).rows, step.path)
	}
	s.must(t, "SET search_path = one")
	s.must(t, "DROP TABLE t")
	s.fails(t, "42P01", "SELECT a FROM t")
	require.Equal(t, []string{"0"}, s.ask(t, "SELECT a FROM public.t"))
	s.must(t, "DROP SCHEMA two CASCADE")
	s.fails(t, "42P01", "SELECT a FROM two.t")
}

// A query of a view over a table that is gone fails, and works again when the table is back.
func TestViewsOverDroppedTables(t *testing.T) {
	e := openEngine(t)
	s, other := openSession(t, e), openSession(t, e)
	s.must(t, "CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT a FROM t; CREATE VIEW w AS SELECT a FROM v")
	o := s.exec("DROP TABLE t")
	if o.state != "" {
		require.Equal(t, "2BP01", o.state)
		s.must(t, "DROP TABLE t CASCADE")
		return
	}
	for _, l := range []*lent{s, other} {
		o := l.query("SELECT * FROM v", nil)
		require.Contains(t, []string{"42P01"}, o.state, o.message)
		require.Equal(t, []string{"1"}, l.ask(t, "SELECT 1 AS one"))
	}
	s.must(t, "CREATE TABLE t AS SELECT 2 AS a")
	require.Equal(t, []string{"2"}, other.ask(t, "SELECT * FROM w"))
	s.must(t, "DROP TABLE t; CREATE TABLE t AS SELECT 'x' AS a")
	require.Contains(t, []string{"", "42804", "42P10", "0A000"}, other.query("SELECT * FROM w", nil).state)
	require.Equal(t, []string{"x"}, other.ask(t, "SELECT a FROM t"))
}
