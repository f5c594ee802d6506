package lending_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

func (w *world) left(p noderpc.Peer, machine coherence.Domain, flushed ...coherence.Generation) []noderpc.LeftExtent {
	left, err := w.lender.Left(ctx, p, noderpc.LeftRequest{Region: 1, Domain: machine, Flushed: flushed})
	require.NoError(w.t, err)
	return left
}

// W8: what a writer may have left in its machine's caches is granted to none until another process of that machine has
// flushed it. No other borrower can say so, and none while the writer lives.
func TestAWritersMachineFlushesForIt(t *testing.T) {
	w := newWorld(t, coherence.Incoherent, lending.Options{Lines: &lines{}})
	command, process := child(t)
	p := node("n2")
	g, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Owner: "t", Size: 2 * page, Ticket: noderpc.NewTicket(), Process: process, Domain: "m2"})
	require.NoError(t, err)
	sealed := w.sealed(p, page)
	next, stranger := node("n2"), node("n3")
	require.Empty(t, w.left(next, "m2"), "it lives")
	require.Empty(t, w.left(next, "m2", g.Extent.Generation))
	require.Equal(t, coherence.Granted, w.state(g.Extent))

	kill(t, command)
	w.lender.Sweep()
	require.Equal(t, coherence.Quarantined, w.state(g.Extent), "its process has ended; its machine has not")
	require.Equal(t, coherence.Free, w.state(sealed), "that was flushed before it was sealed")
	want := []noderpc.LeftExtent{{Generation: g.Extent.Generation, Range: g.Range}}
	require.Equal(t, want, w.left(next, "m2"))
	require.Empty(t, w.left(next, "m3", g.Extent.Generation), "another machine")
	require.Empty(t, w.left(stranger, "m2", g.Extent.Generation), "another node that says it is that machine")
	w.lender.Sweep()
	require.Equal(t, coherence.Quarantined, w.state(g.Extent))

	require.Empty(t, w.left(next, "m2", g.Extent.Generation))
	require.Equal(t, coherence.Free, w.state(g.Extent))
	require.Zero(t, w.live())
	_, err = w.lender.Left(ctx, next, noderpc.LeftRequest{Region: 9, Domain: "m2"})
	require.Error(t, err)
}

// The membership need not have noticed that the process has ended. A caller that says that the machine is off is
// trusted, too.
func TestLeftBeforeAnybodyNoticed(t *testing.T) {
	for name, end := range map[string]func(w *world, id catalog.ExtentID){
		"its next process is there": func(w *world, id catalog.ExtentID) { require.Empty(t, w.left(node("n2"), "m2", id.Generation)) },
		"its machine is off": func(w *world, id catalog.ExtentID) {
			w.lender.PeerGone("n2", noderpc.Incarnation{})
			require.Equal(t, coherence.Quarantined, w.state(id))
			w.lender.Lift("n2", noderpc.Incarnation{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, coherence.IncoherentHomeSnoop, lending.Options{Lines: &lines{}})
			command, process := child(t)
			g, err := w.lender.Grant(ctx, node("n2"), noderpc.GrantRequest{Region: 1, Owner: "t", Size: page, Ticket: noderpc.NewTicket(), Process: process, Domain: "m2"})
			require.NoError(t, err)
			kill(t, command)
			end(w, g.Extent)
			require.Equal(t, coherence.Free, w.state(g.Extent))
			require.Zero(t, w.live())
		})
	}
}

// W8, W3: the lender was killed, too. Its next process keeps the memory out of its allocator although the writer has ended.
func TestLeftToALenderThatWasStartedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	none := func(catalog.ExtentID) bool { return false }
	journal, err := lending.OpenJournal(path, none)
	require.NoError(t, err)
	w := newWorld(t, coherence.Incoherent, lending.Options{Lines: &lines{}, Journal: journal})
	command, process := child(t)
	g, err := w.lender.Grant(ctx, node("n2"), noderpc.GrantRequest{Region: 1, Owner: "t", Size: page, Ticket: noderpc.NewTicket(), Process: process, Domain: "m2"})
	require.NoError(t, err)
	kill(t, command)
	require.NoError(t, journal.Close())

	journal, err = lending.OpenJournal(path, none)
	require.NoError(t, err)
	defer journal.Close() //nolint:errcheck // a test's
	require.Len(t, journal.Orphans(), 1)
	second := &memory{data: make([]byte, regionBytes), live: journal.Owned(1)}
	next := newWorld(t, coherence.Incoherent, lending.Options{Lines: &lines{}, Journal: journal, Memories: map[memregion.RegionID]coherence.Memory{1: second}})
	next.lender.Sweep()
	require.EqualValues(t, page, second.bytes())
	want := []noderpc.LeftExtent{{Generation: g.Extent.Generation, Range: g.Range}}
	require.Equal(t, want, next.left(node("n2"), "m2"))
	require.Empty(t, next.left(node("n3"), "m2", g.Extent.Generation))
	require.Empty(t, next.left(node("n2"), "m3", g.Extent.Generation))
	require.EqualValues(t, page, second.bytes(), "another node, another machine")
	require.Empty(t, next.left(node("n2"), "m2", g.Extent.Generation))
	require.Zero(t, second.bytes())
}

// Where caches are coherent no machine needs to ask.
func TestNothingIsLeftWhereCachesAreCoherent(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	command, process := child(t)
	id := w.grantTo(node("n2"), process)
	kill(t, command)
	require.Empty(t, w.left(node("n2"), "m2"))
	w.lender.Sweep()
	require.Equal(t, coherence.Free, w.state(id))
}
