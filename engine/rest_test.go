package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// A block whose client is silent keeps no memory of what others replace if its statements each see a new snapshot, it
// has changed nothing, and nothing of it is read any more.
func TestASilentBlockKeepsNoMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, begin string
		keeps       bool
	}{
		{"READ COMMITTED", "BEGIN; SELECT count(*) FROM held", false},
		{"READ COMMITTED that failed", "BEGIN; SELECT count(*) FROM held; SELECT * FROM nothing", false},
		{"one snapshot", "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM held", true},
		{"serializable", "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM held", true},
		{"an open cursor", "BEGIN; DECLARE c CURSOR FOR SELECT * FROM held", true},
		{"a closed cursor", "BEGIN; DECLARE c CURSOR FOR SELECT * FROM held; FETCH ALL FROM c; CLOSE c", false},
		{"changed rows", "BEGIN; INSERT INTO held VALUES (2)", true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			e := open(t)
			s, silent := session(t, e), session(t, e)
			exec(t, s, "CREATE TABLE held AS SELECT 1 AS k; CREATE TABLE replaced AS SELECT range AS k FROM range(100000)")
			_, err := silent.Exec(t.Context(), c.begin)
			if silent.Status() == engine.Failed {
				require.Error(t, err)
			} else {
				require.NoError(t, err)
			}
			silent.Rest()
			once := e.RegionStats().Used
			for range 3 {
				exec(t, s, "CREATE OR REPLACE TABLE replaced AS SELECT range AS k FROM range(100000)")
			}
			if c.keeps {
				require.Greater(t, e.RegionStats().Used, 3*once/2)
			} else {
				require.Less(t, e.RegionStats().Used, 3*once/2)
			}
			exec(t, silent, "ROLLBACK")
			require.Less(t, e.RegionStats().Used, 3*once/2)
		})
	}
}

// To its client a block that was silent is the one that it was.
func TestASilentBlockGoesOn(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, silent := session(t, e), session(t, e)
	ask := func(want, sql string) {
		t.Helper()
		require.Equal(t, []string{want}, rows(t, silent, sql))
		silent.Rest()
	}
	run := func(sql string) {
		t.Helper()
		exec(t, silent, sql)
		silent.Rest()
	}
	refused := func(state, sql string) {
		t.Helper()
		_, err := silent.Exec(t.Context(), sql)
		requireState(t, state, err)
		silent.Rest()
	}
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS k; CREATE VIEW v AS SELECT k FROM t")
	run("CREATE TEMPORARY TABLE own (n int); BEGIN; INSERT INTO own VALUES (7)")
	ask("1", "SELECT k FROM t")
	refused("25001", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
	run("ROLLBACK; CREATE TEMPORARY TABLE another (n int); BEGIN")
	ask("1", "SELECT k FROM t")
	exec(t, s, "UPDATE t SET k = 2")
	ask("2", "SELECT k FROM v")
	exec(t, s, "ALTER TABLE t RENAME TO u; CREATE TABLE t AS SELECT 5 AS k") // names mean something else from here on
	ask("5", "SELECT k FROM t")
	ask("2", "SELECT k FROM v")
	run("SAVEPOINT a")
	refused("22P02", "SELECT (k || 'x')::int FROM t") // DuckDB's transaction ends with it
	refused("25P02", "SELECT k FROM t")
	run("ROLLBACK TO a")
	ask("5", "SELECT k FROM t")
	run("UPDATE t SET k = k + 1")
	ask("6", "SELECT k FROM t")
	run("ROLLBACK TO a")
	ask("5", "SELECT k FROM t")
	run("INSERT INTO t VALUES (8)")
	exec(t, s, "INSERT INTO t VALUES (9)")
	ask("5, 8, 9", "SELECT string_agg(k::varchar, ', ' ORDER BY k) FROM t")
	run("COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ")
	ask("3", "SELECT count(*) FROM t")
	exec(t, s, "DELETE FROM t")
	ask("3", "SELECT count(*) FROM t")
	run("COMMIT")
	ask("0", "SELECT count(*) FROM t")
}

// In a cluster it holds nothing of other nodes' memory either (K7).
func TestASilentBlockKeepsNoMemoryOfOthers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, silent := c.session(0), c.session(1)
	exec(t, s, "CREATE TABLE held AS SELECT 1 AS k; CREATE TABLE replaced AS SELECT range AS k FROM range(100000)")
	exec(t, silent, "BEGIN; SELECT count(*) FROM held")
	once := c.nodes[0].RegionStats().Used
	for range 3 {
		exec(t, s, "CREATE OR REPLACE TABLE replaced AS SELECT range AS k FROM range(100000)")
	}
	// What was written and replaced since its snapshot is given back at any time; what that sees is not.
	require.Greater(t, c.nodes[0].RegionStats().Used, 3*once/2, "what the block might ask for, and what replaced it")
	silent.Rest()
	waitUntil(t, "the memory is given back", func() bool { return c.nodes[0].RegionStats().Used < 3*once/2 })
	require.Equal(t, []string{"100000"}, rows(t, silent, "SELECT count(*) FROM replaced"))
}
