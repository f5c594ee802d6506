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
// device's first MiB. A pair of windows that are coherent proves nothing, so it says how often the reader would have been wrong without its flush.
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
	stale := 0
	for round := range 1000 {
		for i := range want {
			want[i] = byte(i*7 + round)
		}
		copy(written, want)
		lines.FenceStore()
		lines.Flush(written)
		lines.FenceFull()

		lines.FenceFull()
		if !bytes.Equal(want, read) { // the last round's bytes, or some of them
			stale++
		}
		lines.Flush(read)
		lines.FenceFull()
		require.True(t, bytes.Equal(want, read), "round %d", round)
	}
	if stale == 0 {
		t.Logf("%v are coherent: the reader was right in all rounds before it flushed, too, so this shows nothing about its flush", paths)
		return
	}
	t.Logf("%v are not coherent: without its flush the reader would have been wrong in %d of 1000 rounds", paths, stale)
}
