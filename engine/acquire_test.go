package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

// reluctant is a node that does not acquire for others while it refuses.
type reluctant struct {
	noderpc.Node
	refuses atomic.Bool
}

func (r *reluctant) Acquire(ctx context.Context, extents []descriptor.Extent) error {
	if r.refuses.Load() {
		return &noderpc.Error{State: "57P03", Message: "the node has other things to do"}
	}
	return r.Node.Acquire(ctx, extents)
}

// A process whose node does not acquire for it has read nothing, and says so: it knows nothing of the bytes, which are not damaged. It reads them when the node does.
func TestANodeThatDoesNotAcquire(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("in race builds processes of one machine have a cache each")
	}
	e := open(t, onFabric("emulated:6"))
	node := &reluctant{Node: e.Service(noderpc.Frontend{})}
	socket := filepath.Join(t.TempDir(), "csmsql.sock")
	stop, err := serveNode(node, socket)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop()) })
	exec(t, session(t, e), "CREATE TABLE t AS SELECT range AS a FROM range(1000)")
	guest, err := engine.AttachWith(t.Context(), socket, engine.Config{MemoryBytes: 64 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, guest.Close()) })
	s := session(t, guest)
	node.refuses.Store(true)
	_, err = tryRows(s, "SELECT sum(a) FROM t")
	require.Equal(t, "57P03", sqlState(err), "%v", err)
	require.ErrorContains(t, err, "other things to do")
	require.NotContains(t, err.Error(), "damaged")
	node.refuses.Store(false)
	require.Equal(t, []string{"499500"}, rows(t, s, "SELECT sum(a) FROM t"))
}

// What was cut off the region's file is not touched: the statement says so, and no page was found gone. So a node goes on writing when the file is whole again.
func TestWhatIsCutOffIsNotTouched(t *testing.T) {
	dir := shmDirectory(t)
	e, err := engine.Open(t.Context(), engine.Config{Directory: dir, RegionDirectory: dir, RegionBytes: 64 << 20, MemoryBytes: 256 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT range AS a FROM range(1000)")
	path := e.RegionSpec().Path
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, 0))
	_, err = tryRows(s, "SELECT sum(a) FROM t")
	require.Equal(t, "58030", sqlState(err), "%v", err)
	require.NoError(t, os.WriteFile(path, content, 0o600)) // the same file, whole again
	exec(t, s, "INSERT INTO t VALUES (1000)")
	require.Equal(t, []string{"500500"}, rows(t, s, "SELECT sum(a) FROM t"))
}

// Pages that were found gone read as zeros in this process. When the file has them again, they are read from there.
func TestWhatWasFoundGoneIsReadAgain(t *testing.T) {
	dir := shmDirectory(t)
	e, err := engine.Open(t.Context(), engine.Config{Directory: dir, RegionDirectory: dir, RegionBytes: 64 << 20, MemoryBytes: 256 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT range AS a FROM range(1000)")
	path := e.RegionSpec().Path
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, 0))
	sum, err := e.Touch(t.Context(), "public.t")
	require.NoError(t, err)
	require.Zero(t, sum)
	require.Positive(t, e.Faults())
	require.NoError(t, os.WriteFile(path, content, 0o600))
	require.Equal(t, []string{"499500"}, rows(t, s, "SELECT sum(a) FROM t"))
}

// No chunk is read from a file that was removed, although this process has a map of it: a process that starts later
// finds nothing. Neither the lender nor another node reads it.
func TestWhatWasRemovedIsNotRead(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	exec(t, c.session(0), "CREATE TABLE t WITH (placement = 'node(n0)') AS SELECT range AS a FROM range(1000)")
	const sum = "SELECT sum(a) FROM t"
	for i := range c.nodes {
		require.Equal(t, []string{"499500"}, rows(t, c.session(i), sum))
	}
	path := c.nodes[0].RegionSpec().Path
	require.NoError(t, os.Remove(path))
	for i := range c.nodes {
		_, err := tryRows(c.session(i), sum)
		require.Equal(t, "58030", sqlState(err), "node %d: %v", i, err)
	}
}

// In a cluster the kernel's events do not say which process altered a file, and are not used. What another node's file
// has lost is not touched all the same.
func TestWhatIsCutOffElsewhereIsNotTouched(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	exec(t, c.session(0), "CREATE TABLE t WITH (placement = 'node(n0)') AS SELECT range AS a FROM range(1000)")
	s := c.session(1)
	require.Equal(t, []string{"499500"}, rows(t, s, "SELECT sum(a) FROM t"))
	path := c.nodes[0].RegionSpec().Path
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, 0))
	_, err = tryRows(s, "SELECT sum(a) FROM t")
	require.Equal(t, "58030", sqlState(err), "%v", err)
	require.Zero(t, c.nodes[1].Faults())
	require.NoError(t, os.WriteFile(path, content, 0o600))
	require.Equal(t, []string{"499500"}, rows(t, s, "SELECT sum(a) FROM t"))
}

// Once pages were found gone no memory is granted there: what is stored in a page of zeros that took the place of one
// lies in no file.
func TestNothingIsGrantedWherePagesAreGone(t *testing.T) {
	dir := shmDirectory(t)
	e, err := engine.Open(t.Context(), engine.Config{Directory: dir, RegionDirectory: dir, RegionBytes: 64 << 20, MemoryBytes: 256 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT range AS a FROM range(1000)")
	path := e.RegionSpec().Path
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, 0))
	_, err = e.Touch(t.Context(), "public.t")
	require.NoError(t, err)
	require.Positive(t, e.Faults())
	require.NoError(t, os.WriteFile(path, content, 0o600))
	granted := e.Counters().Grants.Load()
	_, err = s.Exec(t.Context(), "CREATE TABLE u AS SELECT range AS a FROM range(1000)")
	require.Equal(t, "58030", sqlState(err), "%v", err)
	require.Equal(t, granted, e.Counters().Grants.Load())
}

// A statement that has ended says so of a chunk that it did not get to, and nothing is noted of the chunk's replicas:
// none was passed over.
func TestAReadThatWasCanceledBlamesNoReplica(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	exec(t, c.session(0), "CREATE TABLE t WITH (replicas = 2) AS SELECT range AS a FROM range(1000)")
	e := c.nodes[1] // which has acquired nothing of it
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	err := e.ReadChunks(canceled)
	require.ErrorIs(t, err, context.Canceled)
	var damaged *engine.DamagedError
	require.NotErrorAs(t, err, &damaged)
	require.Zero(t, e.Figures().ReplicasPassedOver)
	require.NoError(t, e.ReadChunks(t.Context()))
}
