package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// A region that became too small grows at the next start.
func TestRegionGrowsAtAStart(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	start := func(bytes int64) *engine.Engine {
		e, err := engine.Open(context.Background(), engine.Config{
			Directory: directory, RegionDirectory: directory, Fabric: "file", RegionBytes: bytes, MemoryBytes: 256 << 20,
		})
		require.NoError(t, err)
		return e
	}
	const big = "CREATE TABLE big AS SELECT i, random() x FROM range(2000000) r(i)"
	e := start(4 << 20)
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	exec(t, s, "CREATE TABLE t AS SELECT i FROM range(1000) r(i)")
	_, err = s.Exec(context.Background(), big)
	require.ErrorContains(t, err, "full")
	require.NoError(t, e.Close())
	e = start(256 << 20)
	defer e.Close()
	s = session(t, e)
	exec(t, s, big)
	require.Equal(t, []string{"499500"}, rows(t, s, "SELECT sum(i)::bigint FROM t"))
}
