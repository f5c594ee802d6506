package engine_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

// TestPrefault: a node that starts with Prefault has its tables in its page table before its first query, and one
// without it has not.
func TestPrefault(t *testing.T) {
	config := engine.Config{Directory: t.TempDir(), RegionDirectory: shmDirectory(t), Fabric: "shm", RegionBytes: 64 << 20, MemoryBytes: 256 << 20}
	e, err := engine.Open(context.Background(), config)
	require.NoError(t, err)
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	exec(t, s, "CREATE TABLE t AS SELECT i FROM range(1000000) r(i)")
	exec(t, s, "CREATE TABLE empty (i INTEGER)")
	require.NoError(t, s.Close())
	path := e.Status(noderpc.Frontend{}).Regions[0].Path
	require.NoError(t, e.Close())

	e, err = engine.Open(context.Background(), config)
	require.NoError(t, err)
	require.Less(t, resident(t, path), int64(1<<20))
	require.NoError(t, e.Close())

	config.Prefault = true
	var last noderpc.Progress
	config.Progress = func(p noderpc.Progress) { last = p }
	e, err = engine.Open(context.Background(), config)
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	require.GreaterOrEqual(t, resident(t, path), int64(8_000_000))
	require.Equal(t, "public.t", last.Step)
	require.Equal(t, []int64{1_000_000, 1_000_000}, []int64{last.Rows, last.RowsTotal})

	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	config.Directory = t.TempDir()
	_, err = engine.Open(cancelled, config)
	require.ErrorIs(t, err, context.Canceled)
}

// resident is how much of a file this process has in its page table.
func resident(t *testing.T, path string) (bytes int64) {
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	ours := false
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		switch {
		case strings.Contains(name, " "): // addresses, permissions and so on
			ours = strings.HasSuffix(strings.TrimSpace(line), " "+path)
		case ours && name == "Rss":
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			require.NoError(t, err)
			bytes += kib << 10
		}
	}
	return bytes
}
