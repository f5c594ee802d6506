package coherence_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// TestTwoWindows writes through one window of a device and reads through another, both of this machine: on hardware that caches them differently
// (resource2 and resource2_wc of a PCI device, say) they are not coherent, and the protocol's steps are what makes the values right. It overwrites the
// device's first MiB.
func TestTwoWindows(t *testing.T) {
	const variable = "CSMSQL_DEVICE_WINDOWS"
	paths := strings.Fields(os.Getenv(variable))
	if len(paths) != 2 {
		t.Skipf("SKIPPED: this needs a device that can be mapped in two ways: set %s to the two paths (docs/hardware.md)", variable)
	}
	const size = 1 << 20
	lines, err := coherence.NewCPULines()
	require.NoError(t, err)
	spec := func(id memregion.RegionID, path string) memregion.Spec {
		base, err := memregion.ChooseBase(nil, size, path)
		require.NoError(t, err)
		return memregion.Spec{ID: id, Base: base, Capacity: size, Fabric: memregion.FabricDevice + ",incoherent", Path: path}
	}
	lent, err := memregion.Lend(t.Context(), spec(1, paths[0]), memregion.LendOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, lent.Close()) }()
	r, err := lent.Allocate("test", size)
	require.NoError(t, err)
	view, err := memregion.Borrow(spec(2, paths[1]))
	require.NoError(t, err)
	defer func() { require.NoError(t, view.Close()) }()
	written := lent.Bytes(r)
	read, err := view.Bytes(r)
	require.NoError(t, err)
	want := make([]byte, size)
	for round := range 1000 {
		for i := range want {
			want[i] = byte(i*7 + round)
		}
		copy(written, want)
		lines.FenceStore()
		lines.Flush(written)
		lines.FenceFull()

		lines.FenceFull()
		lines.Flush(read)
		lines.FenceFull()
		require.True(t, bytes.Equal(want, read), "round %d", round)
	}
}
