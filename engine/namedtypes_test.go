package engine_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// ofMoods makes table p, whose rows have the labels of an enumerated type by the order of their numbers.
func ofMoods(t *testing.T, s *engine.Session) {
	t.Helper()
	exec(t, s, "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
	exec(t, s, "CREATE TABLE p (i int, m mood DEFAULT 'ok', CHECK (m >= 'sad'))")
	exec(t, s, "INSERT INTO p SELECT i, CASE i % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'ok' ELSE 'happy' END FROM range(3000) r(i)")
	exec(t, s, "CREATE VIEW v AS SELECT m, count(*) AS n FROM p WHERE m > 'sad' GROUP BY m")
}

// askMoods asks by the type's order, which is not that of the texts, in several ways.
func askMoods(t *testing.T, s *engine.Session) {
	t.Helper()
	require.Equal(t, []string{"sad|1000", "ok|1000", "happy|1000"}, rows(t, s, "SELECT m, count(*) FROM p GROUP BY m ORDER BY m"))
	require.Equal(t, []string{"happy|1000"}, rows(t, s, "SELECT min(m), count(*) FROM p WHERE m > 'ok'"))
	require.Equal(t, []string{"happy|1000"}, rows(t, s, "SELECT min(m), count(*) FROM p WHERE m > $1", "ok"))
	require.Equal(t, []string{"happy|1000"}, rows(t, s, "FROM p SELECT min(m), count(*) WHERE m > 'ok'"), "a text that only DuckDB's parser reads")
	require.Equal(t, []string{"sad|happy"}, rows(t, s, "SELECT min(m), max(m) FROM p"))
	require.Equal(t, []string{"ok|1000", "happy|1000"}, rows(t, s, "SELECT * FROM v ORDER BY m"))
	require.Equal(t, []string{"happy"}, rows(t, s, "SELECT DISTINCT a.m FROM p a JOIN p b ON a.i = b.i AND a.m = b.m WHERE b.m > 'ok'"))
	require.Equal(t, []string{"2999|happy"}, rows(t, s, "SELECT * FROM p WHERE i = 2999"))
}

func refusesMoods(t *testing.T, s *engine.Session) {
	t.Helper()
	_, err := tryRows(s, "SELECT count(*) FROM p WHERE m = 'angry'")
	require.Equal(t, "22P02", stateOf(err), "%v", err)
	_, err = tryRows(s, "SELECT count(*) FROM p WHERE m = $1", "angry")
	require.Equal(t, "22P02", stateOf(err), "%v", err)
}

// Types are in the catalog: they are there after a restart, for programs that attach, in workers, and in both dialects.
func TestTypesAreEverywhere(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{engine.DialectDuckDB, engine.DialectPostgres} {
		directory, memory := t.TempDir(), shmDirectory(t)
		at := func(c *engine.Config) { c.Directory, c.RegionDirectory, c.Dialect = directory, memory, dialect }
		e := open(t, at)
		ofMoods(t, session(t, e))
		askMoods(t, session(t, e))
		refusesMoods(t, session(t, e))
		stop, err := serve(e, filepath.Join(directory, "csmsql.sock"))
		require.NoError(t, err)
		borrower, err := engine.AttachWith(t.Context(), filepath.Join(directory, "csmsql.sock"), engine.Config{Dialect: dialect})
		require.NoError(t, err)
		askMoods(t, session(t, borrower))
		require.NoError(t, borrower.Close())
		stop()
		require.NoError(t, e.Close())
		askMoods(t, session(t, open(t, at)))
	}
	e := openWithWorkers(t, 1)
	ofMoods(t, session(t, e))
	before := given(e)
	askMoods(t, session(t, e))
	refusesMoods(t, session(t, e))
	require.Greater(t, given(e), before, "workers were asked")
}

// Nodes hear of types and of what becomes of them, and run parts of statements over them.
func TestTypesInACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	here, there := session(t, c.nodes[0]), session(t, c.nodes[1])
	ofMoods(t, here)
	exec(t, here, "ALTER TABLE p SET PLACEMENT 'hash(m)'")
	askMoods(t, there)
	exec(t, there, "ALTER TYPE mood ADD VALUE 'meh' BEFORE 'ok'")
	exec(t, here, "INSERT INTO p VALUES (3000, 'meh')")
	require.Equal(t, []string{"sad", "meh", "ok", "happy"}, rows(t, there, "SELECT DISTINCT m FROM p ORDER BY m"))
	require.Equal(t, []string{"meh|1", "ok|1000", "happy|1000"}, rows(t, here, "SELECT * FROM v ORDER BY m"))
	require.Equal(t, []string{"1001"}, rows(t, there, "SELECT count(*) FROM p WHERE m < 'ok'"))
}

// TestAlteredTypesMeanTheSame attacks EN1: codes that are there mean the same labels in every later state, in rows, in
// former versions, in plans that are kept, and in views.
func TestAlteredTypesMeanTheSame(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	ofMoods(t, s)
	exec(t, s, "ALTER TABLE p SET (retained_versions = 100, retention = '1 hour')")
	require.Equal(t, []string{"happy|1000", "ok|1000", "sad|1000"}, rows(t, s, "SELECT m, count(*) FROM p GROUP BY m ORDER BY m DESC"))
	version := rows(t, s, "SELECT max(version) FROM csm.versions WHERE name = 'p'")[0]
	above, err := s.Prepare(t.Context(), "SELECT count(*) FROM p WHERE m >= $1")
	require.NoError(t, err)
	defer above.Close()
	ask := func(label string) (out []string, err error) {
		r, err := above.Execute(t.Context(), []any{label})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		for {
			batch, err := r.Next(t.Context())
			if err != nil {
				return out, nil //nolint:nilerr // its end
			}
			out = append(out, batch.Column(0).ValueStr(0))
			batch.Release()
		}
	}
	got, err := ask("ok")
	require.NoError(t, err)
	require.Equal(t, []string{"2000"}, got)
	_, err = ask("meh")
	require.Equal(t, "22P02", stateOf(err))

	exec(t, s, "ALTER TYPE mood ADD VALUE 'meh' BEFORE 'ok'; ALTER TYPE mood ADD VALUE 'first' BEFORE 'sad'")
	exec(t, s, "INSERT INTO p VALUES (3000, 'meh')")
	got, err = ask("meh")
	require.NoError(t, err)
	require.Equal(t, []string{"2001"}, got)
	require.Equal(t, []string{"sad", "meh", "ok", "happy"}, rows(t, s, "SELECT DISTINCT m FROM p ORDER BY m"))
	former := fmt.Sprintf("p AT (VERSION => %s)", version)
	require.Equal(t, []string{"sad|1000"}, rows(t, s, "SELECT m, count(*) FROM "+former+" WHERE m < 'meh' GROUP BY m"), "compared by the order of now")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM "+former+" a, p b WHERE a.i = b.i AND a.m <> b.m"))
	exec(t, s, "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'")
	require.Equal(t, []string{"meh|1", "ok|1000", "happy|1000"}, rows(t, s, "SELECT * FROM v ORDER BY m"))
	require.Equal(t, []string{"blue"}, rows(t, s, "SELECT DISTINCT m FROM "+former+" WHERE m < 'meh'"))
	_, err = s.Exec(t.Context(), "INSERT INTO p VALUES (4000, 'first')")
	require.Equal(t, "23514", stateOf(err), "the CHECK has the label's new text")
	exec(t, s, "VACUUM p")
	require.Equal(t, []string{"1000"}, rows(t, s, "SELECT count(*) FROM p WHERE m = 'blue'"))
}

// What DuckDB has of a session's own keeps a type as it was: it is an error, and not another order of its labels.
func TestTemporaryObjectsOfAlteredTypes(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	ofMoods(t, s)
	exec(t, s, "CREATE TEMP TABLE mine AS SELECT * FROM p WHERE m > 'sad' LIMIT 5")
	exec(t, s, "CREATE TEMP VIEW seen AS SELECT * FROM p WHERE m > 'ok'")
	require.Equal(t, []string{"1000"}, rows(t, s, "SELECT count(*) FROM seen"))
	exec(t, s, "UPDATE mine SET i = -1 WHERE m > 'ok'")
	exec(t, s, "ALTER TYPE mood ADD VALUE 'meh' BEFORE 'ok'")
	for _, text := range []string{
		"SELECT count(*) FROM seen", "SELECT * FROM mine, p WHERE mine.m < p.m", "DELETE FROM mine WHERE m > 'ok'", "INSERT INTO p SELECT * FROM mine",
	} {
		_, err := s.Exec(t.Context(), text)
		require.Equal(t, "55000", stateOf(err), "%s: %v", text, err)
	}
	exec(t, s, "DROP VIEW seen; DROP TABLE mine")
	exec(t, s, "CREATE TEMP TYPE own AS ENUM ('x')")
	exec(t, s, "DROP TYPE own")
	_, err := s.Exec(t.Context(), "SELECT 'x'::own")
	require.Error(t, err)
	exec(t, s, "CREATE TEMP TYPE mood AS ENUM ('mine')")
	require.Equal(t, []string{"mine"}, rows(t, s, "SELECT 'mine'::mood"), "a session's own type hides others")
}

// A transaction sees the types that it makes, other sessions only after its commit; what it takes back was never there.
func TestTypesInTransactions(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "BEGIN")
	ofMoods(t, s)
	askMoods(t, s)
	_, err := tryRows(other, "SELECT 'ok'::mood")
	require.Error(t, err)
	exec(t, s, "SAVEPOINT a; ALTER TYPE mood ADD VALUE 'late'; INSERT INTO p VALUES (9000, 'late')")
	require.Equal(t, []string{"9000"}, rows(t, s, "SELECT i FROM p WHERE m > 'happy'"))
	exec(t, s, "ROLLBACK TO a")
	askMoods(t, s)
	_, err = s.Exec(t.Context(), "INSERT INTO p VALUES (9000, 'late')")
	require.Equal(t, "22P02", stateOf(err), "%v", err)
	exec(t, s, "ROLLBACK TO a; COMMIT")
	askMoods(t, other)
	_, err = other.Exec(t.Context(), "INSERT INTO p VALUES (9000, NULL), (9001, 'angry')")
	require.Equal(t, "22P02", stateOf(err), "%v", err)
	askMoods(t, other)
}

// TestTypesChangeBesideWhatNamesThem attacks NT2: a transaction that gives a table a column, a default or a constraint
// of a type, or makes a view that names one, and one that changes the type at the same time do not both commit: the
// table would have the type as it was.
func TestTypesChangeBesideWhatNamesThem(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a column": "ALTER TABLE t ADD COLUMN m mood", "a type": "ALTER TABLE t ALTER a TYPE mood USING a::mood",
		"a default": "ALTER TABLE t ALTER a SET DEFAULT 'ok'::mood", "a constraint": "ALTER TABLE t ADD CHECK (a::mood > 'sad')",
		"a table": "CREATE TABLE u (m mood)", "a query": "CREATE TABLE u AS SELECT 'ok'::mood AS m",
		"a check of text": "CREATE TABLE u (a text CHECK (a::mood > 'sad'))", "a view": "CREATE VIEW w AS SELECT * FROM t WHERE a::mood > 'sad'",
	} {
		for _, change := range []string{"ALTER TYPE mood ADD VALUE 'more'", "ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'", "DROP TYPE mood"} {
			e := open(t)
			s, other := session(t, e), session(t, e)
			exec(t, s, "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (a text); INSERT INTO t VALUES ('ok')")
			exec(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ")
			exec(t, s, text)
			exec(t, other, change)
			_, err := s.Exec(t.Context(), "COMMIT")
			require.Equal(t, "40001", stateOf(err), "%s beside %s: %v", name, change, err)
		}
	}
}
