package memregion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/memregion"
)

func storeFault(memory []byte) error { return memregion.Guarded(func() { memory[0]++ }) }

func TestProtectStopsStores(t *testing.T) {
	l := lend(t, fileSpec(t, 16*mebibyte), memregion.LendOptions{})
	first, second, third := allocate(t, l, 3*page), allocate(t, l, page), allocate(t, l, page)
	fill(l.Bytes(first), 6)
	require.NoError(t, l.Protect(second, first)) // neighbours in any order
	require.Equal(t, 1, l.Stats().ProtectedRuns)
	require.EqualValues(t, 4*page, l.Stats().Protected)
	require.ErrorContains(t, storeFault(l.Bytes(first)), "read-only")
	require.Error(t, storeFault(l.Bytes(second)))
	require.NoError(t, storeFault(l.Bytes(third)))
	requireFilled(t, l.Bytes(first), 6)

	middle := memregion.Range{Offset: first.Offset + page, Length: page}
	require.NoError(t, l.Unprotect(middle))
	require.NoError(t, storeFault(l.Bytes(middle)))
	require.Equal(t, 2, l.Stats().ProtectedRuns)
	require.NoError(t, l.Protect(middle))
	require.Equal(t, 1, l.Stats().ProtectedRuns)

	require.NoError(t, l.Free("t", second), "freeing unprotects")
	again := allocate(t, l, page)
	require.Equal(t, second, again)
	require.NoError(t, storeFault(l.Bytes(again)))
	require.ErrorIs(t, l.Protect(memregion.Range{Offset: 8 * mebibyte, Length: page}), memregion.ErrNotAllocated)
	require.ErrorIs(t, l.Protect(memregion.Range{Offset: -page, Length: page}), memregion.ErrOutOfRange)
	require.ErrorIs(t, l.Unprotect(memregion.Range{Offset: 1 << 40, Length: page}), memregion.ErrOutOfRange)
	require.NoError(t, l.Unprotect(first))
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
