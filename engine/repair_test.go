package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// complete waits until every chunk of some tables has as many replicas as it is to have.
func (c *cluster) complete(s *engine.Session, tables ...string) {
	for _, name := range tables {
		waitUntil(c.t, name+" is complete", func() bool {
			return rows(c.t, s, "SELECT incomplete FROM csm.tables WHERE name = '"+name+"'")[0] == "0"
		})
	}
}

// asItWas waits until every chunk has just as many replicas as it is to have, all of them there.
func (c *cluster) asItWas(s *engine.Session, replicas int, tables ...string) {
	for _, name := range tables {
		waitUntil(c.t, name+" is as it was", func() bool {
			return rows(c.t, s, fmt.Sprintf("SELECT count(*) FROM csm.chunks WHERE name = '%s' AND (replicas <> %d OR others LIKE '%%(%%')", name, replicas))[0] == "0"
		})
		c.complete(s, name)
		c.requireReplicas(s, name, replicas)
	}
}

// A node is gone for long: what it had is rebuilt among the others, and when one more goes nothing is missing. When
// they are back, the rebuilt replicas are released, and everything lies as it did.
func TestRepair(t *testing.T) {
	t.Parallel()
	c := newRepairingCluster(t, 4, 200*time.Millisecond)
	s := c.session(0)
	tables := map[string]string{"l": "node(n2)", "r": "rows", "h": "hash(a)", "x": "hash(a) on (n3, n2)"}
	names := []string{"l", "r", "h", "x"}
	want := map[string]string{}
	for _, name := range names {
		exec(t, s, "CREATE TABLE "+name+" WITH (placement = '"+tables[name]+"', replicas = 2) AS "+fmt.Sprintf(someRows, 0, 6000))
		exec(t, s, "INSERT INTO "+name+" "+fmt.Sprintf(someRows, 6000, 8000))
		want[name] = sumOf(t, s, name)
	}
	exec(t, s, "CREATE TABLE one AS SELECT 1 AS a")
	before := strings.Join(rows(t, s, "SELECT name, chunk, node, others, region, generation FROM csm.chunks ORDER BY ALL"), "\n")
	ask := func(at ...int) {
		for _, i := range at {
			one := c.session(i)
			for _, how := range []string{"off", "always"} {
				exec(t, one, "SET csm.distribute = '"+how+"'")
				for _, name := range names {
					require.Equal(t, want[name], sumOf(t, one, name), "%s at n%d", name, i)
				}
				require.Equal(t, []string{"8000"}, rows(t, one, "SELECT count(y.d) FROM h x JOIN x y ON x.a = y.a"))
			}
		}
	}
	c.stop(2)
	c.requireGone("n2")
	c.complete(s, names...)
	require.NotEqual(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM csm.chunks WHERE node = 'n2'"), "the first replica says whose part it is, there or not")
	ask(0, 1, 3)
	c.requireSpace()
	c.stop(3)
	c.requireGone("n3")
	c.complete(s, names...)
	ask(0, 1)
	c.requireSpace()
	exec(t, s, "INSERT INTO r "+fmt.Sprintf(someRows, 0, 10)) // goes on
	exec(t, s, "DELETE FROM one")
	c.nodes[3] = c.open(3)
	c.nodes[2] = c.open(2)
	want["r"] = sumOf(t, s, "r")
	c.asItWas(s, 2, names...)
	ask(0, 1, 2, 3)
	c.requireSpace()
	exec(t, s, "CREATE OR REPLACE TABLE r AS SELECT 1 AS a")
	after := strings.Join(rows(t, s, "SELECT name, chunk, node, others, region, generation FROM csm.chunks WHERE name <> 'r' AND name <> 'one' ORDER BY ALL"), "\n")
	for _, line := range strings.Split(after, "\n") {
		require.Contains(t, before, line, "nothing was copied that was there")
	}
}

// What is damaged is rebuilt from what is whole, by the node that found it; so is what was lost with a region's file.
func TestRepairOfDamage(t *testing.T) {
	t.Parallel()
	c := newRepairingCluster(t, 2, 20*time.Second) // nothing is rebuilt while a node starts
	s := c.session(0)
	exec(t, s, "CREATE TABLE t WITH (placement = 'node(n1)', replicas = 2) AS "+fmt.Sprintf(someRows, 0, 3000))
	want := sumOf(t, s, "t")
	spec := c.nodes[1].RegionSpec()
	extents, err := c.nodes[1].LiveExtents(t.Context())
	require.NoError(t, err)
	c.stop(1)
	file, err := os.OpenFile(spec.Path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	flipped := 0
	for _, x := range extents {
		if x.Region == spec.ID {
			flip(t, file, x.Range.Offset, 1)
			flipped++
		}
	}
	require.NotZero(t, flipped)
	log := &logLines{}
	c.log = slog.New(slog.NewTextHandler(log, nil))
	c.nodes[1] = c.open(1)
	generation := rows(t, s, "SELECT generation FROM csm.chunks WHERE name = 't'")
	require.Equal(t, want, sumOf(t, c.session(1), "t"))
	require.Equal(t, 1, log.count("a replica is damaged"))
	waitUntil(t, "it is rebuilt", func() bool {
		got := rows(t, s, "SELECT generation FROM csm.chunks WHERE name = 't'")
		return got[0] != generation[0] && log.count("replicas were put right") > 0 // which is said after the commit
	})
	figures := c.nodes[1].Figures()
	require.EqualValues(t, 1, figures.ReplicasPassedOver)
	require.EqualValues(t, 1, figures.ReplicasRepaired)
	c.requireReplicas(s, "t", 2)
	c.requireSpace()
	c.stop(0)
	c.requireGone("n0")
	require.Equal(t, want, sumOf(t, c.session(1), "t"))
	c.nodes[0] = c.open(0)
	s = c.session(0)
	c.asItWas(s, 2, "t")

	c.stop(1)
	require.NoError(t, os.Remove(spec.Path))
	c.nodes[1] = c.open(1)
	require.Equal(t, want, sumOf(t, c.session(1), "t"))
	c.asItWas(s, 2, "t")
	require.NotEqual(t, spec.ID, c.nodes[1].RegionSpec().ID)
	require.Equal(t, []string{fmt.Sprintf("n1|n0|%d", c.nodes[1].RegionSpec().ID)}, rows(t, s, "SELECT node, others, region FROM csm.chunks WHERE name = 't'"))
	c.requireSpace()
}

// A session writes to the table all the time while it is repaired and while its node comes and goes: both make
// progress, and no row is lost.
func TestRepairUnderWrites(t *testing.T) {
	t.Parallel()
	c := newRepairingCluster(t, 3, 100*time.Millisecond)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t (a BIGINT) WITH (placement = 'rows', replicas = 2)")
	exec(t, s, "INSERT INTO t SELECT range FROM range(20000)")
	writing, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var written int64
	group.Go(func() {
		w := c.session(1)
		for writing.Err() == nil {
			_, err := w.Exec(context.Background(), "INSERT INTO t VALUES (1), (2)")
			if err == nil {
				written += 2
				continue
			}
			if state := sqlState(err); !slices.Contains([]string{"40001", "58000", "08006", "08001"}, state) {
				t.Errorf("an insert: %s %v", state, err)
				return
			}
		}
	})
	for range 2 {
		c.stop(2)
		c.requireGone("n2")
		c.complete(s, "t")
		c.nodes[2] = c.open(2)
		waitUntil(t, "n2 has its part again", func() bool {
			return rows(t, s, "SELECT count(*) FROM csm.chunks WHERE name = 't' AND replicas <> 2")[0] == "0"
		})
	}
	stop()
	group.Wait()
	c.asItWas(s, 2, "t")
	require.Equal(t, []string{fmt.Sprint(20000 + written)}, rows(t, s, "SELECT count(*) FROM t"))
	require.Equal(t, []string{fmt.Sprint(20000 + written)}, rows(t, c.session(2), "SELECT count(a) FROM t"))
	c.requireSpace()
}

// The next node has no room: the one behind it takes the replicas; where none has room, nothing is lost, and they are made when there is.
func TestRepairWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	c := newRepairingCluster(t, 4, 100*time.Millisecond)
	s := c.session(0)
	exec(t, s, "CREATE TABLE filler WITH (placement = 'node(n3)') AS SELECT range AS a FROM range(6500000)")
	exec(t, s, "CREATE TABLE t WITH (placement = 'node(n1)', replicas = 2) AS SELECT range AS a FROM range(2000000)")
	require.Equal(t, []string{"n1|n2"}, rows(t, s, "SELECT DISTINCT node, others FROM csm.chunks WHERE name = 't'"))
	c.stop(2)
	c.requireGone("n2")
	c.complete(s, "t")
	require.Equal(t, []string{"n2 (not there), n0"}, rows(t, s, "SELECT DISTINCT others FROM csm.chunks WHERE name = 't'"))
	require.Equal(t, []string{"1999999000000"}, rows(t, s, "SELECT sum(a)::BIGINT FROM t"))
	exec(t, s, "CREATE TABLE more WITH (placement = 'node(n1)') AS SELECT range AS a FROM range(3000000)")
	c.stop(0)
	c.requireGone("n0")
	one := c.session(1)
	require.Equal(t, []string{"1999999000000"}, rows(t, one, "SELECT sum(a)::BIGINT FROM t"))
	exec(t, one, "DROP TABLE filler")
	c.complete(one, "t")
	c.nodes[2], c.nodes[0] = c.open(2), c.open(0)
	c.asItWas(one, 2, "t")
	c.requireSpace()
}
