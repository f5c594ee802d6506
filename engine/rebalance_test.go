package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
)

// bytesAt are the bytes of all tables at each node, all replicas.
func bytesAt(t testing.TB, e *engine.Engine) map[string]int64 {
	t.Helper()
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	defer s.Close()
	exec(t, s, "SELECT count(*) FROM csm.tables") // so that the node has heard of every commit
	status, err := e.ClusterStatus(t.Context())
	require.NoError(t, err)
	bytes := map[string]int64{}
	for _, n := range status.Nodes {
		bytes[n.Name] = n.Bytes
	}
	return bytes
}

func chunksStay(_ int, config *engine.Config) { config.NoCompaction = true }

// A node that joins is filled beside readers and a writer: afterwards no node has 10 % more than another, every placement
// holds, and every answer is what it was. A second run has nothing to do.
func TestRebalance(t *testing.T) {
	t.Parallel()
	c := startCluster(&cluster{t: t, change: chunksStay}, 2)
	s := c.session(0)
	rebalance := func(by int) noderpc.LoadResult {
		t.Helper()
		moved, err := c.nodes[by].Rebalance(t.Context(), nil)
		require.NoError(t, err)
		return moved
	}
	tables := map[string]string{
		"l": "local", "r": "rows", "n": "node(n1)", "h": "hash(a)", "x": "rows(n0, n1)", "two": "rows", "k": "local",
	}
	want := map[string]string{}
	for name, placement := range tables {
		replicas := 1
		if name == "two" {
			replicas = 2
		}
		exec(t, s, fmt.Sprintf("CREATE TABLE %s (a INTEGER, b TEXT, d DECIMAL(10, 2), l BIGINT[]) WITH (placement = '%s', replicas = %d)", name, placement, replicas))
		for i := range 12 { // a chunk each
			at := i % 2
			if name == "k" {
				at = 1
			}
			exec(t, c.session(at), "INSERT INTO "+name+" "+fmt.Sprintf(someRows, i*3000, (i+1)*3000))
		}
		want[name] = sumOf(t, s, name)
	}
	exec(t, s, "CREATE TABLE w (a BIGINT)")
	rebalance(0)
	require.Zero(t, rebalance(1))
	fixed := func(name string) string {
		return strings.Join(rows(t, s, "SELECT node, count(*) FROM csm.chunks WHERE name = '"+name+"' GROUP BY ALL ORDER BY ALL"), " ")
	}
	placed := map[string]string{"n": fixed("n"), "h": fixed("h")}
	c.nodes = append(c.nodes, c.open(2))
	require.Zero(t, bytesAt(t, c.nodes[0])["n2"])

	running, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	written := 0
	writer, reader := c.session(1), c.session(0)
	failed := make(chan error, 2)
	group.Go(func() {
		for ; running.Err() == nil; written++ {
			if _, err := writer.Exec(t.Context(), fmt.Sprintf("INSERT INTO w VALUES (%d)", written)); err != nil {
				failed <- err
				return
			}
		}
	})
	group.Go(func() {
		for running.Err() == nil {
			got, err := tryRows(reader, "SELECT count(*), sum(hash(a, b, d, l)::HUGEINT)::VARCHAR FROM l")
			if err == nil && got[0] != want["l"] {
				err = fmt.Errorf("%s was read, right is %s", got[0], want["l"])
			}
			if err != nil {
				failed <- err
				return
			}
		}
	})
	last := map[string]noderpc.Progress{}
	var mu sync.Mutex
	moved, err := c.nodes[0].Rebalance(t.Context(), func(p noderpc.Progress) {
		mu.Lock()
		defer mu.Unlock()
		last[p.Step] = p
	})
	stop()
	group.Wait()
	close(failed)
	require.NoError(t, err)
	for err := range failed {
		require.NoError(t, err)
	}
	require.Positive(t, moved.Chunks)
	require.Positive(t, moved.Rows)
	require.Positive(t, last["public.l"].RowsTotal)
	require.Equal(t, last["public.l"].RowsTotal, last["public.l"].Rows)

	requireEven(t, bytesAt(t, c.nodes[0]))
	for name := range tables {
		require.Equal(t, want[name], sumOf(t, c.session(2), name), name)
	}
	require.Equal(t, []string{fmt.Sprint(written)}, rows(t, s, "SELECT count(DISTINCT a) FROM w"))
	for name, nodes := range placed {
		require.Equal(t, nodes, fixed(name), "%s stays", name)
	}
	require.NotContains(t, fixed("x"), "n2")
	c.requireReplicas(s, "two", 2)
	require.Positive(t, len(rows(t, s, "FROM csm.chunks WHERE name = 'r' AND node = 'n2'")), "each table is spread")
	rebalance(0) // the writer went on when it had ended
	require.Zero(t, rebalance(2))
	c.requireSpace()
}

func requireEven(t testing.TB, bytes map[string]int64) {
	t.Helper()
	least, most := int64(1<<62), int64(0)
	for _, b := range bytes {
		least, most = min(least, b), max(most, b)
	}
	require.Less(t, float64(most), 1.1*float64(least), "%v", bytes)
}

// A rebalance that ends early has moved something, and the next one moves the rest.
func TestRebalanceGoesOn(t *testing.T) {
	t.Parallel()
	c := startCluster(&cluster{t: t, change: chunksStay}, 1)
	s := c.session(0)
	for i := range 3 {
		exec(t, s, fmt.Sprintf("CREATE TABLE t%d AS ", i)+fmt.Sprintf(someRows, 0, 3000))
		for k := range 5 {
			exec(t, s, fmt.Sprintf("INSERT INTO t%d ", i)+fmt.Sprintf(someRows, (k+1)*3000, (k+2)*3000))
		}
	}
	want := sumOf(t, s, "t1")
	c.nodes = append(c.nodes, c.open(1))
	before := bytesAt(t, c.nodes[0])
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.onFault(func(_ int, point faults.Point) {
		if point == faults.MoveStep {
			cancel()
		}
	})
	_, err := c.nodes[1].Rebalance(ctx, nil)
	c.onFault(nil)
	require.ErrorIs(t, err, context.Canceled)
	between := bytesAt(t, c.nodes[0])
	require.Positive(t, between["n1"])
	require.Less(t, between["n1"], before["n0"]/3, "one table's chunks have moved")
	moved, err := c.nodes[1].Rebalance(t.Context(), nil)
	require.NoError(t, err)
	require.Positive(t, moved.Chunks)
	requireEven(t, bytesAt(t, c.nodes[0]))
	require.Equal(t, want, sumOf(t, s, "t1"))
	c.requireSpace()
}

// What nothing can be moved to, or from, is said.
func TestRebalanceWithWhom(t *testing.T) {
	t.Parallel()
	alone, err := engine.Open(t.Context(), engine.Config{RegionBytes: 8 << 20, MemoryBytes: 256 << 20, Threads: 1})
	require.NoError(t, err)
	defer alone.Close()
	refused := func(e *engine.Engine, state, text string) {
		t.Helper()
		_, err := e.Rebalance(t.Context(), nil)
		requireRefused(t, state, err)
		require.ErrorContains(t, err, text)
	}
	refused(alone, "55000", "belongs to no cluster")
	c := newCluster(t, 1)
	refused(c.nodes[0], "55000", `only node "n0" takes rows`)
	c.nodes = append(c.nodes, c.open(1))
	exec(t, c.session(0), "CREATE TABLE t AS "+fmt.Sprintf(someRows, 0, 3000))
	exec(t, c.session(0), "INSERT INTO t "+fmt.Sprintf(someRows, 3000, 6000))
	require.NoError(t, c.nodes[0].Drain(t.Context(), "n1", nil))
	refused(c.nodes[1], "55000", `only node "n0" takes rows: there are no two nodes to move chunks between (node "n1" is draining)`)
	require.NoError(t, c.nodes[0].Undrain(t.Context(), "n1"))
	c.stops[1]() // it lives, and is not heard
	refused(c.nodes[0], "08006", `node "n1"`)
	require.Zero(t, bytesAt(t, c.nodes[0])["n1"], "nothing has moved")
}
