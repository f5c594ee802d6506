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
