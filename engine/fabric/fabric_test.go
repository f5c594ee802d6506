package fabric_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/fabric"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

const (
	incoherent = memregion.FabricDevice + ",incoherent"
	emulated   = memregion.FabricEmulated
)

// Regions on a fabric for which this process does something else about caches are refused, with the fabric that they are on.
func TestRegionsOnOtherFabrics(t *testing.T) {
	kinds := []memregion.FabricKind{memregion.FabricShm, memregion.FabricFile, memregion.FabricDevice, incoherent, emulated, emulated + ",home-snoop"}
	for _, own := range kinds {
		f := fabric.OfGuest("n1", own)
		for _, other := range kinds {
			err := f.Accepts(memregion.Spec{ID: 3, Fabric: other, Path: "/dev/dax0.0"}, "n2")
			if own == other || own.HardwareCoherent() && other.HardwareCoherent() {
				require.NoError(t, err, "%s on %s", other, own)
				continue
			}
			var refused *sqlerror.Error
			require.ErrorAs(t, err, &refused, "%s on %s", other, own)
			require.Equal(t, "55000", refused.State)
			require.ErrorContains(t, err, `region 3 of node "n2" is on fabric `+string(other))
			require.Contains(t, refused.HintText, "--fabric "+memregion.Spec{Fabric: other, Path: "/dev/dax0.0"}.FabricText())
		}
	}
}

// Where caches are coherent nothing is flushed; a guest has its node flush; all others do it themselves.
func TestWhoFlushes(t *testing.T) {
	for _, kind := range []memregion.FabricKind{memregion.FabricShm, memregion.FabricFile} {
		node, err := fabric.OfNode("n1", kind)
		require.NoError(t, err)
		borrower, err := fabric.OfBorrower("b", kind)
		require.NoError(t, err)
		for _, f := range []fabric.Fabric{node, borrower, fabric.OfGuest("n1", kind)} {
			require.Equal(t, coherence.Coherent, f.Class)
			require.Nil(t, f.Lines)
			require.False(t, f.Guest())
			require.Nil(t, f.Chooser(fabric.Home))
			require.Nil(t, f.LinesFor(fabric.Home))
		}
		require.EqualValues(t, "n1", node.Machine)
	}
	guest := fabric.OfGuest("n1", incoherent)
	require.Equal(t, coherence.Incoherent, guest.Class)
	require.True(t, guest.Guest())
	require.Nil(t, guest.Chooser(fabric.Borrowing), "it copies as if caches were coherent: its node's are")
	require.NotNil(t, guest.Reader(nil), "and has no lines to acquire with")

	node, err := fabric.OfNode("n1", emulated+":7")
	require.NoError(t, err)
	borrower, err := fabric.OfBorrower("b", emulated)
	require.NoError(t, err)
	for _, f := range []fabric.Fabric{node, borrower} {
		require.Equal(t, coherence.Incoherent, f.Class)
		require.Same(t, f.Domain.Lines(), f.Lines, "its own emulated caches")
		require.False(t, f.Guest())
		require.NotNil(t, f.Reader(nil))
	}
	require.NotNil(t, node.Chooser(fabric.Home))
	_, err = fabric.OfNode("n1", "paper")
	require.ErrorIs(t, err, memregion.ErrBadSpec)
}

// Tests stand between one user and the caches, and no other; where nothing is flushed there is nothing to stand between.
func TestIntercepted(t *testing.T) {
	var asked []fabric.Use
	f, err := fabric.OfNode("n1", emulated)
	require.NoError(t, err)
	f.Clock = time.Now
	f.Intercept = func(use fabric.Use, lines coherence.Lines) coherence.Lines {
		asked = append(asked, use)
		return lines
	}
	require.Same(t, f.Lines, f.LinesFor(fabric.Ahead))
	f.Chooser(fabric.Lending)
	f.Reader(nil)
	require.Equal(t, []fabric.Use{fabric.Ahead, fabric.Lending, fabric.Acquire}, asked)
	f.Lines = nil
	require.Nil(t, f.LinesFor(fabric.Home))
	require.Len(t, asked, 3)
}
