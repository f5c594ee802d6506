package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
)

// fileAsDevice is a file in memory that stands for a device of so many bytes.
func fileAsDevice(t *testing.T, size int64) string {
	path := filepath.Join(shmDirectory(t), "device")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, size))
	return path
}

// A node whose region is a range of a device: with real flushes where it is said to be incoherent. Its next life finds the tables; it is not started
// over another place; and the device stays.
func TestRegionOnADevice(t *testing.T) {
	t.Parallel()
	for property, pays := range map[string]bool{"": false, ",incoherent": true, ",home-snoop": true} {
		t.Run("device"+property, func(t *testing.T) {
			path := fileAsDevice(t, 64<<20)
			config := engine.Config{Directory: t.TempDir(), MemoryBytes: 256 << 20, Fabric: memregion.FabricKind("device:" + path + "@16MiB" + property)}
			e, err := engine.Open(context.Background(), config)
			require.NoError(t, err)
			require.Equal(t, []int64{16 << 20, 48 << 20}, []int64{e.RegionSpec().Start, e.RegionSpec().Capacity}, "what is left of the device")
			s := session(t, e)
			exec(t, s, "CREATE TABLE t AS SELECT i AS a, 'row ' || i AS b FROM range(20000) r(i)")
			const ask = "SELECT count(*), sum(a)::BIGINT, max(b) FROM t"
			want := []string{"20000|199990000|row 9999"}
			require.Equal(t, want, rows(t, s, ask))
			require.Equal(t, want, rows(t, s, ask))
			if pays {
				extents := extentsOf(t, e, "public.t")
				require.Equal(t, []uint64{extents, extents}, flushes(e, coherence.StepClean, coherence.StepAcquire))
			} else {
				require.Equal(t, []uint64{0, 0}, flushes(e, coherence.StepClean, coherence.StepAcquire))
			}
			require.NoError(t, e.CheckSpace(context.Background()))
			require.NoError(t, e.Close())

			for _, other := range []string{"shm", "device:" + path + "@8MiB" + property, "device:" + fileAsDevice(t, 64<<20) + property} {
				elsewhere := config
				elsewhere.Fabric = memregion.FabricKind(other)
				e, err := engine.Open(context.Background(), elsewhere)
				if other == "shm" && !pays { // it is as coherent, and the catalog knows where
					require.NoError(t, err)
					require.NoError(t, e.Close())
					continue
				}
				require.Equal(t, "55000", sqlState(err), "%s: %v", other, err)
			}
			config.RegionBytes = 100 << 20
			_, err = engine.Open(context.Background(), config)
			require.Equal(t, "55000", sqlState(err), "it does not grow: %v", err)
			if !pays {
				unnamed := config
				unnamed.Fabric = memregion.FabricShm
				_, err = engine.Open(context.Background(), unnamed)
				require.Equal(t, "55000", sqlState(err), "nor where the fabric was left out: %v", err)
			}
			config.RegionBytes, config.VerifyAtStart = 0, true
			e, err = engine.Open(context.Background(), config)
			require.NoError(t, err)
			require.Equal(t, want, rows(t, session(t, e), ask))
			require.NoError(t, e.Close())
			_, err = os.Stat(path)
			require.NoError(t, err)
		})
	}
	for text, state := range map[string]string{"device:relative": "22023", "device:" + filepath.Join(t.TempDir(), "none"): "58030"} {
		_, err := engine.Open(context.Background(), engine.Config{Fabric: memregion.FabricKind(text)})
		require.Equal(t, state, sqlState(err), "%s: %v", text, err)
	}
}

// Nodes of a cluster share one device, each with a range of its own, write into each other's and read in place.
func TestNodesShareADevice(t *testing.T) {
	t.Parallel()
	path := fileAsDevice(t, 96<<20)
	c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) {
		config.Fabric, config.RegionBytes = memregion.FabricKind("device:"+path+",home-snoop"), 32<<20
	}}, 3)
	for i, e := range c.nodes {
		require.Equal(t, path, e.RegionSpec().Path)
		require.EqualValues(t, int64(i)*32<<20, e.RegionSpec().Start)
	}
	s := c.session(1)
	exec(t, s, "CREATE TABLE t (k BIGINT, v TEXT) WITH (placement = 'hash(k)')")
	exec(t, s, "INSERT INTO t SELECT i, 'value ' || i FROM range(30000) r(i)")
	for i := range c.nodes {
		other := c.session(i)
		exec(t, other, "SET csm.distribute = 'always'")
		require.Equal(t, []string{"30000|449985000"}, rows(t, other, "SELECT count(DISTINCT v), sum(k)::BIGINT FROM t"))
		require.Positive(t, flushes(c.nodes[i], coherence.StepAcquire)[0], i)
	}
	require.Positive(t, flushes(c.nodes[0], coherence.StepHomeClean)[0], "n1 wrote there")
	c.requireSpace()
	_, err := engine.Open(t.Context(), engine.Config{Directory: t.TempDir(), Fabric: memregion.FabricKind("device:" + path + "@4MiB"), RegionBytes: 1 << 20})
	require.ErrorIs(t, err, memregion.ErrLentElsewhere, "another catalog does not know the cluster's regions; their locks do")
}
