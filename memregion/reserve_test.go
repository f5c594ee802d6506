package memregion_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/memregion"
)

// TestFreedMemoryGoesBack attacks M10, seen with the file system's own eyes.
func TestFreedMemoryGoesBack(t *testing.T) {
	for name, plan := range map[string]func(testing.TB, int64) memregion.Spec{"file": fileSpec, "shm": shmSpec} {
		t.Run(name, func(t *testing.T) {
			l := lend(t, plan(t, 64*mebibyte), memregion.LendOptions{GrowthStep: mebibyte, RecycleLimit: 4 * mebibyte})
			require.Zero(t, l.Stats().FileAllocated, "an idle region holds nothing")
			var ranges []memregion.Range
			for range 16 {
				r := allocate(t, l, mebibyte)
				fill(l.Bytes(r), 9)
				ranges = append(ranges, r)
			}
			require.EqualValues(t, 16*mebibyte, l.Stats().Backed)
			require.GreaterOrEqual(t, l.Stats().FileAllocated, int64(16*mebibyte))
			for _, r := range ranges {
				require.NoError(t, l.Free("t", r))
				require.LessOrEqual(t, l.Stats().Idle, int64(4*mebibyte))
			}
			require.LessOrEqual(t, l.Stats().FileAllocated, int64(4*mebibyte)+64<<10)
			require.Positive(t, l.Stats().Idle, "some is kept for recycling")
			require.NoError(t, l.Trim())
			require.LessOrEqual(t, l.Stats().FileAllocated, int64(64<<10))

			r := allocate(t, l, 2*mebibyte) // punched pages are reserved again (M5)
			require.GreaterOrEqual(t, l.Stats().FileAllocated, int64(2*mebibyte))
			require.NoError(t, l.Free("t", r))
		})
	}
}

// TestRest attacks M10: what is not allocated any more goes back by halves, and what is recycled all the time does not.
func TestRest(t *testing.T) {
	for name, plan := range map[string]func(testing.TB, int64) memregion.Spec{"file": fileSpec, "shm": shmSpec} {
		t.Run(name, func(t *testing.T) {
			l := lend(t, plan(t, 64*mebibyte), memregion.LendOptions{GrowthStep: mebibyte, RecycleLimit: 32 * mebibyte})
			kept := allocate(t, l, mebibyte)
			fill(l.Bytes(kept), 7)
			free := func() { require.NoError(t, l.Free("t", allocate(t, l, 16*mebibyte))) }
			for range 3 {
				free()
				require.NoError(t, l.Rest())
				require.EqualValues(t, 16*mebibyte, l.Stats().Idle, "there was an allocation meanwhile")
			}
			for _, want := range []int64{8, 4, 2, 1, 1} {
				if name == "file" {
					want = 16 // which is no memory
				}
				require.NoError(t, l.Rest())
				require.EqualValues(t, want*mebibyte, l.Stats().Idle)
				require.NoError(t, l.Verify())
			}
			if name == "shm" {
				require.LessOrEqual(t, l.Stats().FileAllocated, int64(2*mebibyte)+64<<10)
			}
			requireFilled(t, l.Bytes(kept), 7)
			free()
		})
	}
}

// TestGrowthSteps: many small extents cost few reservations.
func TestGrowthSteps(t *testing.T) {
	l := lend(t, fileSpec(t, 10*mebibyte), memregion.LendOptions{GrowthStep: 4 * mebibyte})
	calls := 0
	memregion.InjectFaults(l, memregion.Faults{Reserve: func(r memregion.Range, real func(memregion.Range) error) error {
		calls++
		return real(r)
	}})
	for range 10 * mebibyte / (128 << 10) {
		allocate(t, l, 128<<10)
	}
	require.Equal(t, 3, calls, "4 + 4 + 2 MiB: the last step ends at the capacity")
	require.Zero(t, l.Stats().Idle)
	_, err := l.Allocate("t", 1)
	require.ErrorIs(t, err, memregion.ErrRegionFull)
}

// TestGrowthStepsGrow: a region that holds little costs little, one that holds much grows in large steps.
func TestGrowthStepsGrow(t *testing.T) {
	l := lend(t, fileSpec(t, 160*mebibyte), memregion.LendOptions{})
	var steps []int64
	memregion.InjectFaults(l, memregion.Faults{Reserve: func(r memregion.Range, real func(memregion.Range) error) error {
		steps = append(steps, r.Length/mebibyte)
		return real(r)
	}})
	for range 160 {
		allocate(t, l, mebibyte)
	}
	require.Equal(t, []int64{4, 4, 8, 16, 32, 64, 32}, steps, "the last step ends at the capacity")
}

// TestIdleMemoryMakesRoom: the fabric has no room, but the region holds idle memory at another place.
func TestIdleMemoryMakesRoom(t *testing.T) {
	l := lend(t, fileSpec(t, 32*mebibyte), memregion.LendOptions{GrowthStep: mebibyte, RecycleLimit: 8 * mebibyte})
	room := int64(6 * mebibyte)
	memregion.InjectFaults(l, memregion.Faults{
		Reserve: func(r memregion.Range, real func(memregion.Range) error) error {
			if r.Length > room {
				return unix.ENOSPC
			}
			room -= r.Length
			return real(r)
		},
		Punch: func(r memregion.Range, real func(memregion.Range) error) error {
			if r.Offset == 0 { // elsewhere it undoes a failed reservation, which took nothing
				room += r.Length
			}
			return real(r)
		},
	})
	hole := allocate(t, l, 4*mebibyte)
	allocate(t, l, mebibyte) // keeps the hole apart from the top
	require.NoError(t, l.Free("t", hole))
	r := allocate(t, l, 5*mebibyte) // does not fit the hole; needs its memory
	fill(l.Bytes(r), 1)
	require.NoError(t, l.Verify())
}

func TestShrinkGivesBack(t *testing.T) {
	l := lend(t, fileSpec(t, 16*mebibyte), memregion.LendOptions{GrowthStep: page, RecycleLimit: -1})
	r := allocate(t, l, 4*mebibyte)
	fill(l.Bytes(r), 5)
	kept, err := l.Shrink("t", r, mebibyte)
	require.NoError(t, err)
	requireFilled(t, l.Bytes(kept), 5)
	require.EqualValues(t, mebibyte, l.Stats().Backed, "the rest is punched at once without a recycle limit")
	require.ErrorIs(t, l.Free("t", r), memregion.ErrNotAllocated)
	_, err = l.Shrink("other", kept, page)
	require.ErrorIs(t, err, memregion.ErrNotOwner)
	require.NoError(t, l.Free("t", kept))
	require.Zero(t, l.Stats().Backed)
}

// TestSmallTmpfsFull is the real thing for M5 and M6: the fabric runs full at allocation, not at the first store.
func TestSmallTmpfsFull(t *testing.T) {
	directory := t.TempDir()
	if err := unix.Mount("tmpfs", directory, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("needs the right to mount a small tmpfs (TestFabricFull simulates one): %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(directory, unix.MNT_DETACH)) })
	spec := fileSpec(t, 8*mebibyte)
	spec.Fabric, spec.Path = memregion.FabricShm, filepath.Join(directory, "region")
	l := lend(t, spec, memregion.LendOptions{GrowthStep: 4 * mebibyte})
	require.NoError(t, os.WriteFile(filepath.Join(directory, "neighbour"), make([]byte, 3*mebibyte), 0o600))
	r := allocate(t, l, 4*mebibyte)
	second := allocate(t, l, mebibyte/2) // a whole step does not fit any more, the extent does
	_, err := l.Allocate("t", mebibyte)
	requireFabricFull(t, err, spec)
	fill(l.Bytes(r), 1)
	fill(l.Bytes(second), 2)
	require.NoError(t, l.Verify())
	require.NoError(t, os.Remove(filepath.Join(directory, "neighbour")))
	third := allocate(t, l, mebibyte)
	fill(l.Bytes(third), 3)
	requireFilled(t, l.Bytes(r), 1)
	requireFilled(t, l.Bytes(second), 2)
}

func requireFabricFull(t testing.TB, err error, spec memregion.Spec) {
	t.Helper()
	require.ErrorIs(t, err, memregion.ErrRegionFull)
	require.ErrorContains(t, err, string(spec.Fabric))
	require.ErrorContains(t, err, spec.Path)
	var state interface{ SQLState() string }
	require.ErrorAs(t, err, &state)
	require.Equal(t, "53200", state.SQLState())
}

// TestFabricFull: a full fabric refuses steps and extents; nothing leaks, and idle memory elsewhere in the region is used up first.
func TestFabricFull(t *testing.T) {
	spec := fileSpec(t, 32*mebibyte)
	l := lend(t, spec, memregion.LendOptions{GrowthStep: 4 * mebibyte})
	room := int64(6 * mebibyte)
	memregion.InjectFaults(l, memregion.Faults{
		Reserve: func(r memregion.Range, real func(memregion.Range) error) error {
			if l := r.Length; l > room {
				// Half of it is reserved before the file system gives up, as ext4 does it.
				return errors.Join(real(memregion.Range{Offset: r.Offset, Length: l / 2}), unix.ENOSPC)
			}
			room -= r.Length
			return real(r)
		},
		Punch: func(r memregion.Range, real func(memregion.Range) error) error { return real(r) },
	})
	small := allocate(t, l, page) // takes a step of 4 MiB, 2 MiB are left
	before := l.Stats()
	_, err := l.Allocate("t", 8*mebibyte)
	requireFabricFull(t, err, spec)
	after := l.Stats()
	require.Equal(t, before.AllocatorStats, after.AllocatorStats)
	require.EqualValues(t, page, after.Backed, "idle memory was given back to a full fabric")
	require.LessOrEqual(t, after.FileAllocated, int64(page)+64<<10, "what was half reserved is given back")
	require.NoError(t, l.Verify())
	room = 8*mebibyte - page
	allocate(t, l, 8*mebibyte-page)
	require.NoError(t, l.Free("t", small))
}

// TestPunchRefused: a file system that cannot punch costs memory, not correctness.
func TestPunchRefused(t *testing.T) {
	l := lend(t, fileSpec(t, 16*mebibyte), memregion.LendOptions{GrowthStep: mebibyte, RecycleLimit: mebibyte})
	memregion.InjectFaults(l, memregion.Faults{
		Punch: func(memregion.Range, func(memregion.Range) error) error { return unix.EOPNOTSUPP },
	})
	r := allocate(t, l, 4*mebibyte)
	require.NoError(t, l.Free("t", r))
	require.EqualValues(t, 4*mebibyte, l.Stats().Idle)
	require.Positive(t, l.Stats().PunchFailures)
	require.ErrorIs(t, l.Trim(), unix.EOPNOTSUPP)
	require.Equal(t, r, allocate(t, l, 4*mebibyte), "recycled")
}

func TestReserveUnsupported(t *testing.T) {
	l := lend(t, fileSpec(t, 16*mebibyte), memregion.LendOptions{})
	memregion.InjectFaults(l, memregion.Faults{
		Reserve: func(memregion.Range, func(memregion.Range) error) error { return unix.EOPNOTSUPP },
	})
	_, err := l.Allocate("t", page)
	require.ErrorIs(t, err, memregion.ErrUnsupported)
	require.NotErrorIs(t, err, memregion.ErrRegionFull)
	require.Zero(t, l.Stats().Extents)
}
