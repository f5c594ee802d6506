//go:build linux

package coherence_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/memregion"
)

var (
	_ coherence.Memory  = (*memregion.Lent)(nil)
	_ coherence.Durable = (*memregion.Lent)(nil)

	_ coherence.Tracking = (*memregion.Lent)(nil)
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

// TestWhenALenderHasNothingToDrop: a foreign grant is prepared unless its memory had foreign writers only since the
// last time, and the lender's cache is not snooped (decision 0021).
func TestWhenALenderHasNothingToDrop(t *testing.T) {
	for _, class := range []coherence.Class{coherence.Incoherent, coherence.IncoherentHomeSnoop} {
		spec := memregion.Spec{ID: 9, Base: 0x1f00_0000_0000, Capacity: 64 << 20, Fabric: memregion.FabricFile, Path: filepath.Join(t.TempDir(), "region")}
		lent, err := memregion.Lend(t.Context(), spec, memregion.LendOptions{})
		require.NoError(t, err)
		lines, counters := &loggedLines{}, &coherence.Counters{}
		h, err := coherence.NewHome(coherence.HomeConfig{
			Region: spec.ID, Memory: lent, Lines: lines, Domain: "home", Class: class, Capacity: spec.Capacity, Counters: counters,
			Verify: func([]byte, coherence.Seal) error { return nil },
		})
		require.NoError(t, err)
		foreign := func(between func(memregion.Range)) (prepared int) {
			lines.log = nil
			g, err := h.Grant("t", "alpha", 1<<20)
			require.NoError(t, err)
			log := lines.log
			if between != nil {
				between(g.Range())
			}
			require.NoError(t, h.Cleaned(g.Generation()))
			require.NoError(t, h.SealGeneration(g.Generation(), coherence.Seal{Length: 1 << 20}))
			require.NoError(t, h.Publish(g.Generation()))
			require.NoError(t, h.Retire(g.Generation()))
			if len(log) > 0 {
				_, err := fmt.Sscanf(log[1], "flush %d", &prepared)
				require.NoError(t, err)
				require.Equal(t, []string{"full", fmt.Sprint("flush ", prepared), "full"}, log)
			}
			return prepared
		}
		// Freed memory is poisoned, which is a store, where invariants are checked.
		const whole = 1 << 20
		again, page := 0, memregion.PageSize
		if class == coherence.IncoherentHomeSnoop || invariants.Enabled {
			again, page = whole, whole
		}
		require.Equal(t, whole, foreign(nil), "the kernel has zeroed it")
		require.Equal(t, again, foreign(nil))
		require.Equal(t, again, foreign(h.Touch))
		require.Equal(t, whole, foreign(nil), "the lender copied on behalf of a writer")
		require.Equal(t, again, foreign(nil))

		own, err := h.Grant("t", "home", memregion.PageSize)
		require.NoError(t, err)
		require.Zero(t, own.Range().Offset, "the same memory")
		require.NoError(t, own.Abort())
		require.Equal(t, page, foreign(nil), "one of its pages was stored into")
		require.Equal(t, again, foreign(nil))

		require.NoError(t, lent.Trim())
		require.Equal(t, whole, foreign(nil), "the kernel zeroes it once more")
		gone, err := h.Grant("t", "alpha", 2<<20)
		require.NoError(t, err)
		_, err = h.FenceOff("alpha")
		require.NoError(t, err)
		require.NoError(t, h.Lift(gone.Generation()))
		require.Equal(t, again, foreign(nil), "what a dead writer had lay in its own cache")
		require.NoError(t, lent.Verify())
		unprepared := uint64(5)
		if again > 0 {
			unprepared = 0
		}
		require.Equal(t, unprepared, counters.Unprepared.Load())
		require.NoError(t, lent.Remove())
	}
}
