package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
)

// K7: a snapshot that another node has forgotten keeps what it sees, and nothing of what came and went since.
func TestAForgottenSnapshotHoldsWhatItSees(t *testing.T) {
	r := newRack(t, 3)
	defer r.close()
	own, other := r.nodes[0], r.nodes[1]
	lender, name := own.lender.Load(), catalog.TableName{Schema: "public", Name: "a"}
	state := func(c *catalog.Chunk) coherence.State { return lender.Generation(c.Extents()[0].Generation).State }
	seen := r.appended(own, own, true)
	forgotten, err := other.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(t, err)
	rows, trusted := other.read(forgotten, "a", 0)
	require.True(t, trusted)

	replace := func(by *rackNode) *catalog.Chunk {
		c, _ := r.chunk(by, own)
		s, err := by.catalog.Snapshot(ctx, catalog.Holder{})
		require.NoError(t, err)
		defer s.Close()
		tx := by.catalog.Begin(s)
		require.NoError(t, tx.Truncate(name))
		require.NoError(t, tx.Append(name, []*catalog.Chunk{c}))
		require.NoError(t, tx.Commit(ctx))
		return c
	}
	var all []*catalog.Chunk
	for i := range 30 {
		all = append(all, replace(r.nodes[i%3]))
	}
	last := all[len(all)-1]
	for _, c := range all[:len(all)-1] {
		require.Eventually(t, func() bool { return state(c) == coherence.Free }, patience, time.Millisecond)
	}
	require.Equal(t, coherence.Published, state(last))
	require.Equal(t, coherence.Published, state(seen))
	again, trusted := other.read(forgotten, "a", 0)
	require.True(t, trusted)
	require.Equal(t, rows, again)
	forgotten.Close()
	require.Eventually(t, func() bool { return state(seen) == coherence.Free }, patience, time.Millisecond)
}
