package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
)

// onNodeAndCluster runs a test with two sessions of one node, and with one session of each of two nodes.
func onNodeAndCluster(t *testing.T, test func(t *testing.T, one, other *engine.Session)) {
	t.Run("one node", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		test(t, session(t, e), session(t, e))
	})
	t.Run("two nodes", func(t *testing.T) {
		t.Parallel()
		c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) { config.Fabric = memregion.FabricShm }}, 2)
		test(t, c.session(0), c.session(1))
	})
}

// K11. Each reads what the other writes: in one order or the other they could not both have done it.
func TestWriteSkew(t *testing.T) {
	t.Parallel()
	onNodeAndCluster(t, func(t *testing.T, one, other *engine.Session) {
		exec(t, one, "CREATE TABLE x AS SELECT 50 AS v; CREATE TABLE y AS SELECT 50 AS v; CREATE VIEW sums AS SELECT (SELECT sum(v) FROM x) + (SELECT sum(v) FROM y) AS v; CREATE TABLE z (v int)")
		exec(t, one, "PREPARE ask AS SELECT v FROM sums")
		for level, fails := range map[string]bool{"REPEATABLE READ": false, "SERIALIZABLE": true} {
			for i, read := range []string{
				"SELECT (SELECT sum(v) FROM x) + (SELECT sum(v) FROM y)", "SELECT v FROM sums", "FROM sums", "EXECUTE ask", "SET csm.backend = compute; SELECT v FROM y; RESET csm.backend",
				"DECLARE c CURSOR FOR SELECT v FROM y", "CREATE TEMP TABLE own AS SELECT v FROM y", "INSERT INTO x SELECT v FROM y WHERE v < 0",
				"COPY (SELECT v FROM y) TO STDOUT", "SELECT count(*) FROM pg_tables", "UPDATE x SET v = v WHERE v IN (SELECT v FROM y)",
			} {
				if i > 8 && !fails {
					continue // writes x, too
				}
				name := fmt.Sprintf("%s, %s", level, read)
				exec(t, other, "DISCARD TEMP")
				exec(t, one, "DISCARD TEMP")
				if read == "EXECUTE ask" {
					exec(t, one, "EXECUTE ask") // its plan is there before the block
				}
				exec(t, one, "BEGIN ISOLATION LEVEL "+level+"; "+read)
				exec(t, other, "BEGIN ISOLATION LEVEL "+level+"; SELECT v FROM x; UPDATE y SET v = v - 60; COMMIT")
				exec(t, one, "UPDATE x SET v = v - 60")
				_, err := one.Exec(context.Background(), "COMMIT")
				if fails {
					require.Equal(t, "40001", sqlState(err), name)
				} else {
					require.NoError(t, err, name)
				}
			}
		}
		// What it did not read it does not depend on.
		exec(t, one, "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM x")
		exec(t, other, "INSERT INTO y VALUES (1)")
		exec(t, one, "INSERT INTO z VALUES (1); COMMIT")
		// Appends to one table that neither has read would commute; blind writes of it still conflict, as ever.
		exec(t, one, "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM y")
		exec(t, other, "INSERT INTO y VALUES (1)")
		exec(t, one, "COMMIT") // it wrote nothing
	})
}

// The anomaly of Fekete, O'Neil and O'Neil (2004): two writers that a serial order could hold, and a reader that saw the other order.
func TestReadOnlyAnomaly(t *testing.T) {
	t.Parallel()
	onNodeAndCluster(t, func(t *testing.T, one, other *engine.Session) {
		exec(t, one, "CREATE TABLE checking AS SELECT 0 AS v; CREATE TABLE savings AS SELECT 0 AS v")
		exec(t, one, "BEGIN ISOLATION LEVEL SERIALIZABLE")
		require.Equal(t, []string{"0|0"}, rows(t, one, "SELECT c.v, s.v FROM checking c, savings s"))
		exec(t, other, "BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE savings SET v = v + 20; COMMIT")
		exec(t, other, "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE")
		require.Equal(t, []string{"0|20"}, rows(t, other, "SELECT c.v, s.v FROM checking c, savings s"))
		exec(t, other, "COMMIT")
		exec(t, one, "UPDATE checking SET v = v - 11") // with a penalty, because it saw no savings
		requireState(t, "40001", failing(one, "COMMIT"))
		require.Equal(t, engine.Idle, one.Status())
	})
}

// What a serializable transaction did not find it depends on, too.
func TestSerializableNames(t *testing.T) {
	t.Parallel()
	onNodeAndCluster(t, func(t *testing.T, one, other *engine.Session) {
		exec(t, one, "CREATE SCHEMA a; CREATE TABLE t AS SELECT 1 AS v; CREATE TABLE z (v int); SET search_path = a, public")
		for i, change := range []string{"CREATE TABLE a.t AS SELECT 2 AS v", "CREATE SCHEMA b", "CREATE VIEW w AS SELECT 1 AS v", "DROP TABLE a.t", "ALTER TABLE t RENAME TO u"} {
			exec(t, one, "SET default_transaction_isolation = serializable; BEGIN; SELECT v FROM t")
			exec(t, other, change)
			exec(t, one, "INSERT INTO z VALUES (1)")
			require.Equal(t, "40001", sqlState(failing(one, "COMMIT")), "%d: %s", i, change)
		}
	})
}
