package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
)

// appended commits a chunk, by a node, in memory of one.
func (r *rack) appended(by, at *rackNode, create bool) *catalog.Chunk {
	name := catalog.TableName{Schema: "public", Name: "a"}
	c, _ := r.chunk(by, at)
	s, err := by.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(r.t, err)
	defer s.Close()
	tx := by.catalog.Begin(s)
	if create {
		_, err = tx.CreateTable(ctx, name, columns, catalog.TableOptions{})
		require.NoError(r.t, err)
	}
	require.NoError(r.t, tx.Append(name, []*catalog.Chunk{c}))
	require.NoError(r.t, tx.Commit(ctx))
	return c
}

// K7: what was published and no version has goes back when no node can read one that may have had it, and what a version has stays: also one
// that another node has committed this moment.
func TestAbandon(t *testing.T) {
	r := newRack(t, 2)
	defer r.close()
	own, other := r.nodes[0], r.nodes[1]
	lender := own.lender.Load()
	state := func(c *catalog.Chunk) coherence.State { return lender.Generation(c.Extents()[0].Generation).State }
	lost, _ := r.chunk(own, own) // its generation is below one of kept's version: that may have had it (HZ2)
	kept := r.appended(own, own, true)
	for _, id := range lost.Extents() {
		require.NoError(t, lender.Publish(id.Generation))
	}
	older, err := other.catalog.Snapshot(ctx, catalog.Holder{})
	require.NoError(t, err)
	r.appended(own, own, false)
	taken, err := own.catalog.Abandon(ctx, own.region, append(kept.Extents(), lost.Extents()...))
	require.NoError(t, err)
	require.Equal(t, lost.Extents(), taken)
	again, err := own.catalog.Abandon(ctx, own.region, lost.Extents())
	require.NoError(t, err)
	require.Empty(t, again, "it is on its way")
	require.Equal(t, coherence.Published, state(lost), "a node reads an older version")
	older.Close()
	require.Equal(t, lost.Extents(), taken)
	require.Eventually(t, func() bool { return state(lost) == coherence.Free }, patience, time.Millisecond)
	require.Equal(t, coherence.Published, state(kept))
	for range 20 {
		theirs := r.appended(other, own, false)
		taken, err := own.catalog.Abandon(ctx, own.region, theirs.Extents())
		require.NoError(t, err)
		require.Empty(t, taken, "the store has it in a version")
		require.Equal(t, coherence.Published, state(theirs))
	}
}

// K7 in a cluster that commits nothing more: a node that has read the catalog after the others, because it began after
// them or missed changes, says of what dies there the revision that they have, too.
func TestAbandonWithoutACommit(t *testing.T) {
	r := newRack(t, 2)
	defer r.close()
	own, other := r.nodes[0], r.nodes[1]
	r.appended(other, own, true)
	own.kill()
	own.start() // registering is no change that others see in their tables
	lender := own.lender.Load()
	lost, _ := r.chunk(own, own)
	for _, id := range lost.Extents() {
		require.NoError(t, lender.Publish(id.Generation))
	}
	taken, err := own.catalog.Abandon(ctx, own.region, lost.Extents())
	require.NoError(t, err)
	require.Equal(t, lost.Extents(), taken)
	require.Eventually(t, func() bool {
		return lender.Generation(lost.Extents()[0].Generation).State == coherence.Free
	}, patience, time.Millisecond)
}
