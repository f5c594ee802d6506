package engine_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/member"
)

// temporaryRole is a node that keeps its catalog in a directory of its own.
func temporaryRole(c *childSide) error {
	var a nodeArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	e, err := engine.Open(context.Background(), engine.Config{RegionDirectory: a.Directory, RegionBytes: 64 << 20, MemoryBytes: 128 << 20, Threads: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	c.say("ready %s", e.Status(noderpc.Frontend{}).Regions[0].Path)
	c.hear()
	return e.Close()
}

// Regions whose data directory is gone are found, and no others.
func TestAbandonedRegions(t *testing.T) {
	shm, data := shmDirectory(t), filepath.Join(t.TempDir(), "data")
	abandoned := func(data, catalog string) (paths []string) {
		t.Helper()
		found, err := member.Abandoned(shm, data, catalog)
		require.NoError(t, err)
		for _, f := range found {
			paths = append(paths, f.Path)
		}
		return paths
	}
	node := func() (region, catalog string) {
		t.Helper()
		e, err := engine.Open(context.Background(), engine.Config{Directory: data, RegionDirectory: shm, RegionBytes: 64 << 20, MemoryBytes: 128 << 20, Threads: 1})
		require.NoError(t, err)
		st := e.Status(noderpc.Frontend{})
		require.Empty(t, abandoned("", ""), "M7: it is lent")
		require.NoError(t, e.Close())
		return st.Regions[0].Path, st.Node.Catalog
	}
	first, _ := node()
	require.Empty(t, abandoned("", ""), "it may be started again")
	require.NoError(t, os.RemoveAll(data))
	if len(abandoned("", "")) == 0 {
		t.Skip("this system keeps no attributes of files in shared memory")
	}
	require.Equal(t, []string{first}, abandoned("", ""))

	// A new node in the same place: only its catalog shows that the first region is of an earlier one.
	require.NoError(t, os.MkdirAll(data, 0o700))
	require.Empty(t, abandoned("", ""))
	second, catalog := node()
	require.Empty(t, abandoned("", ""))
	require.Equal(t, []string{first}, abandoned(data, catalog))
	require.NoError(t, os.Remove(first))

	// A killed node's temporary directory is there, but no running node knows it.
	t.Setenv("TMPDIR", t.TempDir())
	p := spawn(t, "temporary", nodeArguments{Directory: shm})
	third := p.expect("ready ")
	require.Empty(t, abandoned("", ""))
	p.kill()
	require.Equal(t, []string{third}, abandoned("", ""))
	require.NotEqual(t, second, third)
}
