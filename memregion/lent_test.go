package memregion_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/memregion"
)

const mebibyte = 1 << 20

// fileSpec plans a region on a file that works on every machine.
func fileSpec(t testing.TB, capacity int64) memregion.Spec {
	t.Helper()
	base, err := memregion.ChooseBase(nil, capacity, t.Name())
	require.NoError(t, err)
	return memregion.Spec{ID: 7, Base: base, Capacity: capacity, Fabric: memregion.FabricFile, Path: filepath.Join(t.TempDir(), "region")}
}

func lend(t testing.TB, spec memregion.Spec, opts memregion.LendOptions) *memregion.Lent {
	t.Helper()
	l, err := memregion.Lend(context.Background(), spec, opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
	})
	return l
}

func TestLendAllocateBorrowRead(t *testing.T) {
	spec := fileSpec(t, 64*mebibyte)
	l := lend(t, spec, memregion.LendOptions{GrowthStep: mebibyte})
	r, err := l.Allocate("t", 10000)
	require.NoError(t, err)
	require.EqualValues(t, 12288, r.Length)
	copy(l.Bytes(r), "hello")
	require.NoError(t, l.Sync(r))

	v, err := memregion.Borrow(spec)
	require.NoError(t, err)
	require.True(t, v.Relocated(), "the lender has the address in this process")
	b, err := v.Bytes(r)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b[:5]))
	require.NoError(t, v.Close())
	require.NoError(t, l.Verify())
	require.NoError(t, l.Free("t", r))
	require.NoError(t, l.Verify())
}
