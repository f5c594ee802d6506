package lending_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/coherence"
)

// held is what the lender has on record of a peer in region 1, after it disclaimed some.
func (w *world) held(p noderpc.Peer, disclaimed ...coherence.Generation) (list []coherence.Generation) {
	left, err := w.lender.Held(ctx, p, noderpc.HeldRequest{Region: 1, Disclaimed: disclaimed})
	require.NoError(w.t, err)
	for _, x := range left {
		require.Equal(w.t, w.homes[1].Generation(x.Generation).Range, x.Range)
		list = append(list, x.Generation)
	}
	return list
}

// W1, W5: a borrower hears what is on record as its own, and what it does not hold goes back; of others it disclaims nothing.
func TestWhatABorrowerDoesNotHoldGoesBack(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{Confirmations: true})
	p, other := node("n2"), node("n3")
	granted, sealed, committed := w.grantTo(p, noderpc.CurrentProcess()), w.sealed(p, page), w.sealed(p, page)
	disowned, confirmed, theirs := w.sealed(p, page), w.sealed(p, page), w.sealed(other, page)
	require.NoError(t, w.publish(p, false, committed, disowned, confirmed))
	w.lender.Confirm(confirmed)
	all := []coherence.Generation{granted.Generation, sealed.Generation, committed.Generation, disowned.Generation}
	require.Equal(t, all, w.held(p))
	require.Equal(t, []coherence.Generation{theirs.Generation}, w.held(other))

	require.Equal(t, []coherence.Generation{theirs.Generation}, w.held(other, granted.Generation, sealed.Generation, disowned.Generation, 1<<40))
	require.Equal(t, all, w.held(p), "it was not theirs to disclaim")
	require.Empty(t, w.lender.Disowned())

	left := w.held(p, granted.Generation, sealed.Generation, disowned.Generation, confirmed.Generation)
	require.Equal(t, []coherence.Generation{committed.Generation}, left)
	require.Equal(t, coherence.Free, w.state(granted))
	require.Equal(t, coherence.Free, w.state(sealed))
	require.Equal(t, coherence.Published, w.state(disowned), "whether a version had it is the catalog's to say")
	require.Equal(t, []catalog.ExtentID{disowned}, w.lender.Disowned())
	require.Error(t, w.seal(p, granted, page))

	w.lender.Confirm(disowned, committed)
	require.Empty(t, w.lender.Disowned())
	require.NoError(t, w.homes.Retire(disowned, committed, confirmed))
	require.NoError(t, w.free(other, theirs))
	w.requireEmpty()
}

func TestHeldIsForWhoIsThere(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	p := node("n2")
	_, err := w.lender.Held(ctx, p, noderpc.HeldRequest{Region: 77})
	require.Equal(t, "55000", state(t, err))
	w.lender.Over(p.Incarnation, noderpc.Membership{})
	_, err = w.lender.Held(ctx, p, noderpc.HeldRequest{Region: 1})
	require.ErrorIs(t, err, noderpc.ErrFenced)
	w.requireEmpty()
}
