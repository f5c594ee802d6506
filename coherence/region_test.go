//go:build linux

package coherence_test

import (
	"context"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

var (
	_ coherence.Memory  = (*memregion.Lent)(nil)
	_ coherence.Durable = (*memregion.Lent)(nil)
)

// TestOnARealRegion drives a lent file with this CPU's flushes paid, kills the lender's memory of it, and adopts.
func TestOnARealRegion(t *testing.T) {
	lines, err := coherence.NewCPULines()
	if err != nil {
		t.Skip(err)
	}
	ctx := context.Background()
	spec := memregion.Spec{ID: 9, Base: 0x1f00_0000_0000, Capacity: 64 << 20, Fabric: memregion.FabricFile, Path: filepath.Join(t.TempDir(), "region")}
	lent, err := memregion.Lend(ctx, spec, memregion.LendOptions{})
	require.NoError(t, err)
	counters := &coherence.Counters{}
	config := coherence.HomeConfig{
		Region: spec.ID, Memory: lent, Protect: lent.Protect, Lines: lines, Domain: "home", Class: coherence.Incoherent,
		Capacity: spec.Capacity, Counters: counters,
	}
	h, err := coherence.NewHome(config)
	require.NoError(t, err)

	g, err := h.Grant("t", "home", 3<<20)
	require.NoError(t, err)
	copy(g.Bytes(), value(1, 0, 4096))
	require.NoError(t, g.Shrink(1<<20))
	require.NoError(t, g.Clean())
	require.NoError(t, g.Seal(coherence.Seal{Length: 4096, Checksum: 5}))
	require.NoError(t, h.Publish(g.Generation()))
	require.Equal(t, uint64(3<<20), counters.FlushedBytes.Load(), "the tail once, the rest once")
	require.Equal(t, uint64(3<<20/lines.LineSize()), counters.FlushedLines.Load())
	require.Zero(t, counters.Unprotected.Load())
	x := h.Generation(g.Generation())

	func() { // C2: a stray store faults
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		require.Panics(t, func() { h.Bytes(x.Range)[0] = 1 })
	}()
	require.NoError(t, lent.Close())

	lent, err = memregion.Adopt(ctx, spec, []memregion.Owned{{Range: x.Range, Owner: "t"}}, memregion.LendOptions{})
	require.NoError(t, err)
	config.Memory, config.Protect, config.FirstGeneration = lent, lent.Protect, g.Generation()+1
	h, err = coherence.NewHome(config)
	require.NoError(t, err)
	require.NoError(t, h.Adopt("t", g.Generation(), x.Range, x.Seal))
	require.NoError(t, h.Pin("home", []coherence.Generation{g.Generation()}))
	reader := coherence.NewReader(coherence.Incoherent, lines, counters)
	data := h.Bytes(x.Range)[:x.Seal.Length]
	require.NoError(t, reader.Acquire(ctx, spec.ID, g.Generation(), data, func() error {
		if string(data) != string(value(1, 0, 4096)) {
			return coherence.ErrChecksum
		}
		return nil
	}))
	require.NoError(t, h.Unpin("home", []coherence.Generation{g.Generation()}))
	next, err := h.Grant("t", "home", 1)
	require.NoError(t, err)
	require.Greater(t, next.Generation(), g.Generation(), "no number comes twice")
	require.NoError(t, next.Abort())
	require.NoError(t, h.Retire(g.Generation()))
	require.Empty(t, lent.Extents())
	require.NoError(t, lent.Verify())
	require.NoError(t, lent.Close())
}
