package memregion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/memregion"
)

func storeFault(memory []byte) error { return memregion.Guarded(func() { memory[0]++ }) }

func TestProtectStopsStores(t *testing.T) {
	l := lend(t, fileSpec(t, 16*mebibyte), memregion.LendOptions{})
	first, middle, second, third := allocate(t, l, page), allocate(t, l, 2*page), allocate(t, l, page), allocate(t, l, page)
	fill(l.Bytes(first), 6)
	require.NoError(t, l.Protect(second, first, middle)) // neighbours in any order
	require.Equal(t, 1, l.Stats().ProtectedRuns)
	require.EqualValues(t, 4*page, l.Stats().Protected)
	require.ErrorContains(t, storeFault(l.Bytes(first)), "read-only")
	require.Error(t, storeFault(l.Bytes(second)))
	require.NoError(t, storeFault(l.Bytes(third)))
	requireFilled(t, l.Bytes(first), 6)

	require.NoError(t, l.Free("t", middle), "freeing unprotects")
	require.Equal(t, 2, l.Stats().ProtectedRuns)
	again := allocate(t, l, 2*page)
	require.Equal(t, middle, again)
	require.NoError(t, storeFault(l.Bytes(again)))
	require.NoError(t, l.Protect(again))
	require.Equal(t, 1, l.Stats().ProtectedRuns)

	require.ErrorIs(t, l.Protect(memregion.Range{Offset: 8 * mebibyte, Length: page}), memregion.ErrNotAllocated)
	require.ErrorIs(t, l.Protect(memregion.Range{Offset: -page, Length: page}), memregion.ErrOutOfRange)
	for _, r := range []memregion.Range{first, middle, second} {
		require.NoError(t, l.Free("t", r))
	}
	require.Zero(t, l.Stats().ProtectedRuns)
	require.Zero(t, l.Stats().Protected)
}

// TestProtectStopsBeforeTheKernelDoes: too many runs are left writable and counted; joining runs is always allowed.
func TestProtectStopsBeforeTheKernelDoes(t *testing.T) {
	l := lend(t, fileSpec(t, 16*mebibyte), memregion.LendOptions{})
	memregion.LimitProtectedRuns(l, 2)
	var ranges []memregion.Range
	for range 7 {
		ranges = append(ranges, allocate(t, l, page))
	}
	require.NoError(t, l.Protect(ranges[0], ranges[2], ranges[4]))
	require.Equal(t, 2, l.Stats().ProtectedRuns)
	require.EqualValues(t, 1, l.Stats().ProtectSkipped)
	require.NoError(t, storeFault(l.Bytes(ranges[4])))
	require.NoError(t, l.Protect(ranges[1]))
	require.Equal(t, 1, l.Stats().ProtectedRuns, "joined")
	require.NoError(t, l.Protect(ranges[4]))
	require.Error(t, storeFault(l.Bytes(ranges[4])))
	require.Equal(t, 2, l.Stats().ProtectedRuns)
}
