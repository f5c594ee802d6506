package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/queries"
)

// SQL over memory that is not coherent: package memregion/emulated plays it. Every test of this package runs on it with CSMSQL_TEST_FABRIC=emulated:7;
// those here always do.

// incoherent are the fabrics: of both classes, with lines of both lengths.
var incoherent = []memregion.FabricKind{"emulated:7", "emulated:8,home-snoop,128"}

// eachIncoherent runs test for each.
func eachIncoherent(t *testing.T, test func(t *testing.T, fabric memregion.FabricKind)) {
	for _, fabric := range incoherent {
		t.Run(string(fabric), func(t *testing.T) { test(t, fabric) })
	}
}

func onFabric(fabric memregion.FabricKind) func(*engine.Config) {
	return func(c *engine.Config) { c.Fabric = fabric }
}

// flushes counts the ranges that were flushed so far, of the steps named; no other step was taken.
func flushes(e *engine.Engine, steps ...coherence.Step) (n []uint64) {
	for _, step := range steps {
		n = append(n, e.Counters().FlushesByStep[step].Load())
	}
	return n
}

// A node alone: what it writes is flushed once, what it reads is dropped once, and then never again.
func TestAloneOnIncoherentMemory(t *testing.T) {
	eachIncoherent(t, func(t *testing.T, fabric memregion.FabricKind) {
		e := open(t, onFabric(fabric))
		s := session(t, e)
		exec(t, s, "CREATE TABLE t (a BIGINT, b TEXT)")
		exec(t, s, "INSERT INTO t SELECT i, 'row ' || i FROM range(20000) r(i)")
		require.Equal(t, []uint64{1, 0, 0, 0}, flushes(e, coherence.StepClean, coherence.StepAcquire, coherence.StepPrepare, coherence.StepHomeClean))
		for range 3 {
			require.Equal(t, []string{"20000|199990000|row 9999"}, rows(t, s, "SELECT count(*), sum(a)::BIGINT, max(b) FROM t"))
		}
		require.Equal(t, []uint64{1, 1}, flushes(e, coherence.StepClean, coherence.StepAcquire))
		require.Zero(t, e.Counters().SkippedFlushesByStep[coherence.StepAcquire].Load())
		exec(t, s, "DELETE FROM t WHERE a >= 10")
		require.Equal(t, []string{"10|45|row 9"}, rows(t, s, "SELECT count(*), sum(a)::BIGINT, max(b) FROM t"))
		require.Equal(t, []uint64{2, 2}, flushes(e, coherence.StepClean, coherence.StepAcquire))
	})
}

// A node must be told the fabric of its region, and of its cluster.
func TestAnotherFabricIsRefused(t *testing.T) {
	dir, shm := t.TempDir(), shmDirectory(t)
	config := engine.Config{Directory: dir, RegionDirectory: shm, RegionBytes: 16 << 20, MemoryBytes: 256 << 20, Fabric: "emulated:3,128"}
	e, err := engine.Open(context.Background(), config)
	require.NoError(t, err)
	exec(t, session(t, e), "CREATE TABLE t AS SELECT 1 AS a")
	require.NoError(t, e.Close())
	for _, other := range []memregion.FabricKind{memregion.FabricShm, "emulated:3", "emulated:3,home-snoop,128"} {
		config.Fabric = other
		_, err = engine.Open(context.Background(), config)
		require.Equal(t, "55000", sqlState(err), "%v", err)
		require.ErrorContains(t, err, "emulated,128")
	}
	config.Fabric = "emulated:99,128"
	e, err = engine.Open(context.Background(), config)
	require.NoError(t, err, "the adversary may be another one")
	require.Equal(t, []string{"1"}, rows(t, session(t, e), "FROM t"))
	require.NoError(t, e.Close())
	config.Fabric = "emulated:x"
	_, err = engine.Open(context.Background(), config)
	require.Equal(t, "22023", sqlState(err), "%v", err)
}

// TPC-H on three nodes, each with caches of its own, while others write: right answers. With CSMSQL_EFFORT=10 it is scale factor 0.1.
func TestTPCHOnIncoherentMemory(t *testing.T) {
	sf := 0.01
	if effort, _ := strconv.Atoi(os.Getenv("CSMSQL_EFFORT")); effort >= 10 {
		sf = 0.1
	}
	c := startCluster(&cluster{t: t, change: func(i int, config *engine.Config) {
		config.Fabric, config.RegionBytes = memregion.FabricKind(fmt.Sprintf("emulated:%d", 70+i)), 256<<20
	}}, 3)
	require.NoError(t, c.nodes[1].LoadTPCH(t.Context(), noderpc.TPCHRequest{ScaleFactor: sf, Placement: "rows"}, nil))
	exec(t, c.session(0), "CREATE TABLE d (k INTEGER, a BIGINT) WITH (placement = 'rows')")

	var writers sync.WaitGroup
	stop := make(chan struct{})
	stopWriters := sync.OnceFunc(func() { close(stop); writers.Wait() })
	defer stopWriters()
	for w := range 2 {
		s, other := c.session(w), c.session(2)
		writers.Go(func() {
			for n := 1; ; n++ {
				if err := writeBeside(s, other, w, n); err != nil {
					t.Errorf("writer %d, round %d: %v", w, n, err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i, q := range queries.TPCH() {
		s := c.session(i % 3)
		exec(t, s, "SET csm.distribute = 'always'")
		answer(t, s, sf, q)
	}
	stopWriters()
	for i, e := range c.nodes {
		count := e.Counters()
		require.Positive(t, count.FlushesByStep[coherence.StepPrepare].Load(), "node %d granted memory to others", i)
		require.Positive(t, count.FlushesByStep[coherence.StepClean].Load(), i)
		require.Positive(t, count.FlushesByStep[coherence.StepAcquire].Load(), i)
		require.Zero(t, count.Mismatches.Load(), "no checksum was needed to be right")
	}
}

// writeBeside changes a table of its own and looks at it from another node; and writes into one that is being asked, and takes that back.
func writeBeside(s, other *engine.Session, w, n int) error {
	ctx := context.Background()
	for _, sql := range []string{
		fmt.Sprintf("INSERT INTO d SELECT %d, range FROM range(%d)", w, 1000*n),
		fmt.Sprintf("UPDATE d SET a = a + 1 WHERE k = %d", w),
		"BEGIN", "INSERT INTO lineitem SELECT * FROM lineitem LIMIT 2000", "DELETE FROM orders WHERE o_orderkey % 7 = 0", "ROLLBACK",
	} {
		var failed interface{ SQLState() string }
		for {
			_, err := s.Exec(ctx, sql)
			if errors.As(err, &failed) && failed.SQLState() == "40001" { // the other writer was first
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
			break
		}
	}
	total := int64(1000 * n)
	found, err := tryRows(other, fmt.Sprintf("SELECT count(*), sum(a)::BIGINT FROM d WHERE k = %d", w))
	if want := fmt.Sprintf("%d|%d", total, total*(total+1)/2); err == nil && found[0] != want {
		err = fmt.Errorf("node 2 sees %s and not %s", found[0], want)
	}
	if err != nil {
		return err
	}
	for {
		_, err := s.Exec(ctx, fmt.Sprintf("DELETE FROM d WHERE k = %d", w))
		var failed interface{ SQLState() string }
		if !errors.As(err, &failed) || failed.SQLState() != "40001" {
			return err
		}
	}
}
