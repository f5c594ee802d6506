package lending_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/memregion"
)

func TestALoanFromGrantToPublication(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	p := node("n2")
	g := w.grant(p, 5*page-1)
	require.Equal(t, memregion.Range{Length: 5 * page}, g.Range)
	require.Equal(t, coherence.Coherent, g.Class)
	require.NoError(t, w.seal(p, g.Extent, 2*page))
	require.EqualValues(t, 2*page, w.live(), "the tail went back")
	require.Equal(t, coherence.Sealed, w.state(g.Extent))
	require.EqualValues(t, 2*page, w.lender.Borrowers()[0].Bytes)
	other := w.sealed(p, 1)
	require.NoError(t, w.publish(p, false, g.Extent, other))
	require.Equal(t, coherence.Published, w.state(g.Extent))
	require.Empty(t, w.lender.Borrowers(), "the catalog's, not the borrower's")
	w.requireEmpty(g.Extent, other)

	var samples int
	w.lender.Each(func(s coherence.Sample) {
		samples++
		if s.Name == "lent_grants_total" {
			require.EqualValues(t, 2, s.Value)
		}
	})
	require.NotZero(t, samples)
}

func TestEverythingCanBeGivenBack(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	p := node("n2")
	temporary := w.sealed(p, page)
	require.NoError(t, w.publish(p, true, temporary))
	require.NoError(t, w.lender.Pin(ctx, p, []catalog.ExtentID{temporary}))
	require.NoError(t, w.free(p, w.grant(p, page).Extent, w.sealed(p, page), temporary))
	require.EqualValues(t, page, w.live(), "a pinned one goes with its last pin")
	require.NoError(t, w.lender.Unpin(ctx, p, []catalog.ExtentID{temporary}))
	w.requireEmpty()
}

// W1: whatever another peer asks about an extent is refused and counted, and nothing happens.
func TestForgedCalls(t *testing.T) {
	owner := node("n2")
	twin := owner // another process of the same node
	twin.Incarnation = noderpc.NewIncarnation()
	for name, thief := range map[string]noderpc.Peer{"another node": node("n3"), "another incarnation": twin, "a process": {Known: true, Process: 1, Incarnation: owner.Incarnation}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, coherence.Coherent, lending.Options{})
			g, s, temporary := w.grant(owner, page).Extent, w.sealed(owner, page), w.sealed(owner, page)
			require.NoError(t, w.publish(owner, true, temporary))
			calls := []error{
				w.seal(thief, g, page), w.publish(thief, false, s), w.publish(thief, true, s), w.free(thief, g), w.free(thief, s), w.free(thief, temporary),
				w.lender.Free(ctx, thief, noderpc.FreeRequest{Extents: []catalog.ExtentID{g}, Settling: true}),
			}
			_, err := w.lender.Reallocate(ctx, thief, noderpc.ReallocateRequest{Extent: g, Size: 2 * page, Ticket: noderpc.NewTicket()})
			for i, err := range append(calls, err) {
				require.Equal(t, "42501", state(t, err), "call %d", i)
			}
			require.EqualValues(t, len(calls)+1, w.refusals.Calls(refusal.Forged))
			require.Equal(t, coherence.Granted, w.state(g))
			require.Equal(t, coherence.Sealed, w.state(s))
			require.Equal(t, coherence.Published, w.state(temporary))
			require.NoError(t, w.free(owner, g, s, temporary))
			w.requireEmpty()
		})
	}
}

// W1: a call that was right once is not right again.
func TestReplayedCalls(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	p := node("n2")
	g := w.grant(p, page).Extent
	require.Equal(t, "55000", state(t, w.publish(p, false, g)), "not sealed yet")
	require.NoError(t, w.seal(p, g, page))
	require.Equal(t, "55000", state(t, w.seal(p, g, page)))
	_, err := w.lender.Reallocate(ctx, p, noderpc.ReallocateRequest{Extent: g, Size: 2 * page, Ticket: noderpc.NewTicket()})
	require.Equal(t, "55000", state(t, err))
	require.NoError(t, w.publish(p, false, g))
	freed := w.grant(p, page).Extent
	require.NoError(t, w.free(p, freed))
	never := catalog.ExtentID{Region: 1, Generation: 1 << 40}
	for i, err := range []error{
		w.publish(p, false, g), w.free(p, g), w.seal(p, g, page), w.free(p, freed), w.publish(p, false, freed), w.seal(p, freed, page),
		w.free(p, never), w.seal(p, never, page), w.publish(p, true, catalog.ExtentID{Region: 77, Generation: 1}),
	} {
		require.Equal(t, "55000", state(t, err), "call %d", i)
	}
	require.EqualValues(t, 12, w.refusals.Calls(refusal.Replayed))
	require.Equal(t, coherence.Published, w.state(g))
	require.NoError(t, w.lender.Free(ctx, p, noderpc.FreeRequest{Extents: []catalog.ExtentID{freed, never}, Settling: true}), "a borrower that settles may not know")
	w.requireEmpty(g)
}

// W1: a borrower that was granted memory by the node's former process need not have heard that it has ended. That is no
// replay, and the error has a hint.
func TestCallsAboutTheFormerProcess(t *testing.T) {
	former := newWorldAfter(t, coherence.Coherent, 40, lending.Options{})
	p := node("n2")
	g := former.sealed(p, page)
	w := newWorldAfter(t, coherence.Coherent, g.Generation+1, lending.Options{})
	for i, err := range []error{w.publish(p, false, g), w.free(p, g), w.seal(p, g, page)} {
		require.Equal(t, "58000", state(t, err), "call %d", i)
		require.ErrorContains(t, err, "a former process of this node granted it")
	}
	require.EqualValues(t, 3, w.refusals.Calls(refusal.Former))
	require.Zero(t, w.refusals.Calls(refusal.Replayed))
	require.Equal(t, "55000", state(t, w.free(p, catalog.ExtentID{Region: 1, Generation: g.Generation + 1})), "not of the former one")
	require.EqualValues(t, 1, w.refusals.Calls(refusal.Replayed))
	w.requireEmpty()
}

// W2: what is asked for is bounded, and what is held, for all incarnations together.
func TestLimits(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{Limits: lending.Limits{GrantBytes: 8 * page, PeerBytes: 16 * page, PeerGrants: 3}})
	p := node("n2")
	try := func(p noderpc.Peer, size int64) error {
		_, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: size, Ticket: noderpc.NewTicket()})
		return err
	}
	err := try(p, 8*page+1)
	require.Equal(t, "54000", state(t, err))
	require.ErrorContains(t, err, "32 KiB")
	w.grant(p, 8*page)
	second := p
	second.Incarnation = noderpc.NewIncarnation()
	w.grant(second, 7*page)
	err = try(node("n2"), 2*page)
	require.Equal(t, "53200", state(t, err))
	require.ErrorContains(t, err, "64 KiB are allowed")
	w.grant(node("n2"), page)
	require.ErrorContains(t, try(p, 1), "holds 3 extents")
	w.grant(node("n3"), page) // each name has its own
	require.EqualValues(t, 1, w.refusals.Calls(refusal.TooLarge))
	require.EqualValues(t, 2, w.refusals.Calls(refusal.Quota))

	require.NotZero(t, len(w.lender.PeerGone("n2", noderpc.Incarnation{}).Borrowers))
	w.lender.Lift("n2", noderpc.Incarnation{})
	w.lender.PeerGone("n3", noderpc.Incarnation{})
	w.lender.Lift("n3", noderpc.Incarnation{})
	w.requireEmpty()
}

// A refused request leaves nothing, neither memory nor quota.
func TestARegionThatIsFull(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	p := node("n2")
	for range 100 {
		_, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: regionBytes + 1, Ticket: noderpc.NewTicket()})
		require.ErrorIs(t, err, errFull)
	}
	_, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 3, Size: 1, Ticket: noderpc.NewTicket()})
	require.Equal(t, "55000", state(t, err))
	require.Empty(t, w.lender.Borrowers())
	g := w.grant(p, regionBytes)
	_, err = w.lender.Reallocate(ctx, p, noderpc.ReallocateRequest{Extent: g.Extent, Size: 2 * regionBytes, Ticket: noderpc.NewTicket()})
	require.ErrorIs(t, err, errFull)
	require.NoError(t, w.seal(p, g.Extent, page), "the old extent is as it was")
	require.NoError(t, w.free(p, g.Extent))
	w.requireEmpty()
}

func TestSealsThatAreRefused(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	p := node("n2")
	g := w.grant(p, 2*page)
	require.Equal(t, "22023", state(t, w.seal(p, g.Extent, 3*page)))
	require.Error(t, w.lender.Seal(ctx, p, noderpc.SealRequest{Extent: g.Extent, Keep: page, Seal: coherence.Seal{Length: page + 1}}))
	require.NoError(t, w.free(p, g.Extent), "whatever a seal left of it")
	w.requireEmpty()
}

// W7: what is sealed is what its writer says, or it is not sealed.
func TestSealsAreCompared(t *testing.T) {
	for _, trust := range []bool{false, true} {
		w := newWorld(t, coherence.Coherent, lending.Options{TrustSeals: trust})
		p := node("n2")
		g := w.grant(p, page)
		err := w.lender.Seal(ctx, p, noderpc.SealRequest{Extent: g.Extent, Keep: page, Seal: coherence.Seal{Length: 100, Checksum: 5}})
		require.Equal(t, trust, err == nil)
		if !trust {
			require.Equal(t, "XX001", state(t, err))
			require.EqualValues(t, 1, w.refusals.Calls(refusal.Checksum))
			require.Error(t, w.publish(p, false, g.Extent))
		}
		require.NoError(t, w.free(p, g.Extent))
		w.requireEmpty()
	}
}

// Publication over regions is all or nothing.
func TestPublishOverRegions(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	p := node("n2")
	first := w.sealed(p, page)
	g, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 2, Size: 1, Ticket: noderpc.NewTicket()})
	require.NoError(t, err)
	require.Equal(t, "55000", state(t, w.publish(p, false, first, g.Extent)), "the second is not sealed")
	require.Equal(t, coherence.Sealed, w.state(first))
	require.NoError(t, w.seal(p, g.Extent, page))
	require.NoError(t, w.homes[2].Discard(g.Extent.Generation)) // behind the ledger's back: the home refuses
	require.Error(t, w.publish(p, false, first, g.Extent))
	require.Equal(t, coherence.Free, w.state(first), "it had been published, so it was retired")
	w.requireEmpty()
}

// A publication whose answer was not heard is taken back by its publisher, as long as the catalog does not have it.
func TestAnUnheardPublication(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{Confirmations: true})
	p := node("n2")
	unheard, committed := w.sealed(p, page), w.sealed(p, page)
	require.NoError(t, w.publish(p, false, unheard, committed))
	w.lender.Confirm(committed)
	require.Equal(t, "55000", state(t, w.free(node("n3"), unheard)))
	require.NoError(t, w.free(p, unheard))
	require.Equal(t, coherence.Free, w.state(unheard))
	require.Equal(t, "55000", state(t, w.free(p, committed)))
	require.Equal(t, coherence.Published, w.state(committed))
	require.Empty(t, w.lender.Unconfirmed())
	w.requireEmpty(committed)
}

// W5: a grant whose answer was not heard goes back by its ticket, whenever that comes.
func TestTickets(t *testing.T) {
	free := func(w *world, p noderpc.Peer, tickets ...noderpc.Ticket) {
		require.NoError(t, w.lender.Free(ctx, p, noderpc.FreeRequest{Tickets: tickets, Settling: true}))
	}
	request := func(w *world, p noderpc.Peer, ticket noderpc.Ticket) error {
		_, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: ticket})
		return err
	}
	t.Run("after", func(t *testing.T) {
		w, p := newWorld(t, coherence.Coherent, lending.Options{}), node("n2")
		require.NoError(t, request(w, p, 5))
		require.Equal(t, "55000", state(t, request(w, p, 5)), "a ticket is good for one")
		require.NoError(t, request(w, node("n2"), 5), "another's ticket of that number is another one")
		free(w, node("n3"), 5)
		require.EqualValues(t, 2*page, w.live())
		free(w, p, 5)
		require.EqualValues(t, page, w.live())
		w.lender.PeerGone("n2", noderpc.Incarnation{})
		w.lender.Lift("n2", noderpc.Incarnation{})
		w.requireEmpty()
	})
	t.Run("before", func(t *testing.T) {
		w, p := newWorld(t, coherence.Coherent, lending.Options{}), node("n2")
		free(w, p, 5, 6)
		require.Equal(t, "57014", state(t, request(w, p, 5)))
		require.Equal(t, "57014", state(t, request(w, p, 6)))
		require.NoError(t, request(w, p, 7))
		free(w, p, 7)
		w.requireEmpty()
	})
	t.Run("during", func(t *testing.T) {
		w, p := newWorld(t, coherence.Coherent, lending.Options{}), node("n2")
		w.memories[1].blocked = make(chan chan struct{})
		answered := make(chan error)
		go func() { answered <- request(w, p, 5) }()
		wait := <-w.memories[1].blocked
		free(w, p, 5)
		close(wait)
		require.Equal(t, "57014", state(t, <-answered))
		w.requireEmpty()
	})
	t.Run("canceled", func(t *testing.T) {
		w, p := newWorld(t, coherence.Coherent, lending.Options{}), node("n2")
		w.memories[1].blocked = make(chan chan struct{})
		ctx, cancel := context.WithCancel(ctx)
		answered := make(chan error)
		go func() {
			_, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: 5})
			answered <- err
		}()
		wait := <-w.memories[1].blocked
		cancel()
		close(wait)
		require.ErrorIs(t, <-answered, context.Canceled)
		w.requireEmpty()
	})
}

// W5: what is given back while a step about it is under way goes back when that ends: its writer has given up waiting.
func TestGivenBackInTheMiddle(t *testing.T) {
	for _, point := range lendPoints {
		for _, by := range []string{"extent", "ticket"} {
			t.Run(point.String()+" by "+by, func(t *testing.T) {
				var w *world
				p := node("n2")
				var g noderpc.Granted
				armed := false
				w = newWorld(t, coherence.Coherent, lending.Options{Confirmations: true, Fault: func(at faults.Point) {
					if !armed || at != point {
						return
					}
					armed = false
					request := noderpc.FreeRequest{Settling: true, Tickets: []noderpc.Ticket{5}}
					if by == "extent" && point != faults.LendGranted {
						request = noderpc.FreeRequest{Settling: true, Extents: []catalog.ExtentID{g.Extent}}
					}
					require.NoError(t, w.lender.Free(ctx, p, request))
				}})
				armed = point == faults.LendGranted
				var err error
				g, err = w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: 5})
				armed = !armed && err == nil
				if point == faults.LendMoved {
					longer, err := w.lender.Reallocate(ctx, p, noderpc.ReallocateRequest{Extent: g.Extent, Size: 2 * page, Ticket: 6})
					require.NoError(t, err)
					require.NoError(t, w.free(p, longer.Extent))
				} else if err == nil {
					_ = w.seal(p, g.Extent, page)
					_ = w.publish(p, false, g.Extent)
				}
				require.False(t, armed, "the point was never reached")
				w.requireEmpty()
			})
		}
	}
}

// W6: while a step about an extent is under way there is no other one.
func TestOneStepAtATime(t *testing.T) {
	var w *world
	p := node("n2")
	var g noderpc.Granted
	tried := false
	w = newWorld(t, coherence.Coherent, lending.Options{Fault: func(at faults.Point) {
		if at != faults.LendCleaned {
			return
		}
		tried = true
		require.Equal(t, "55000", state(t, w.seal(p, g.Extent, page)))
		require.Equal(t, "55000", state(t, w.free(p, g.Extent)))
		_, err := w.lender.Reallocate(ctx, p, noderpc.ReallocateRequest{Extent: g.Extent, Size: 2 * page, Ticket: 6})
		require.Equal(t, "55000", state(t, err))
	}})
	g = w.grant(p, page)
	require.NoError(t, w.seal(p, g.Extent, page))
	require.True(t, tried)
	require.NoError(t, w.free(p, g.Extent))
	w.requireEmpty()
}

func TestReallocate(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	p := node("n2")
	old := w.grant(p, page)
	w.grant(p, page) // or the new one might be the old one's neighbour
	copy(w.memories[1].Bytes(old.Range), "content")
	longer, err := w.lender.Reallocate(ctx, p, noderpc.ReallocateRequest{Extent: old.Extent, Size: 3 * page, Used: 7, Ticket: noderpc.NewTicket()})
	require.NoError(t, err)
	require.EqualValues(t, 3*page, longer.Range.Length)
	require.Equal(t, "content\x00", string(w.memories[1].Bytes(longer.Range)[:8]))
	require.Equal(t, "t", w.homes[1].Generation(longer.Extent.Generation).Owner)
	require.Equal(t, coherence.Granted, w.state(old.Extent), "until its writer has heard of the new one")
	require.NoError(t, w.free(p, old.Extent))
	for _, bad := range []noderpc.ReallocateRequest{{Size: page}, {Size: 3 * page}, {Size: 4 * page, Used: 3*page + 1}} {
		bad.Extent, bad.Ticket = longer.Extent, noderpc.NewTicket()
		_, err := w.lender.Reallocate(ctx, p, bad)
		require.Equal(t, "22023", state(t, err))
	}
	require.NoError(t, w.seal(p, longer.Extent, 3*page))
	require.NoError(t, w.publish(p, false, longer.Extent))
	w.lender.PeerGone("n2", p.Incarnation)
	w.lender.Lift("n2", p.Incarnation)
	w.requireEmpty(longer.Extent)
}

// lines remembers what was flushed between which fences.
type lines struct{ story []any }

func (l *lines) Flush(b []byte) int {
	l.story = append(l.story, &b[0])
	return (len(b) + 63) / 64
}
func (l *lines) FenceStore() { l.story = append(l.story, "store") }
func (l *lines) FenceFull()  { l.story = append(l.story, "full") }

// Where caches are not coherent the lender drops its lines before it hands out, reads what a borrower wrote from memory,
// and keeps no line of what it copied (C3).
func TestTheLenderFlushes(t *testing.T) {
	_, err := lending.New(newWorld(t, coherence.IncoherentHomeSnoop, lending.Options{Lines: &lines{}}).homes, lending.Options{})
	require.ErrorContains(t, err, "Lines")

	cpu := &lines{}
	w := newWorld(t, coherence.IncoherentHomeSnoop, lending.Options{Lines: cpu})
	p := node("n2")
	g := w.grant(p, page)
	first := &w.memories[1].Bytes(g.Range)[0]
	require.Equal(t, []any{"full", first, "full"}, cpu.story, "prepare")
	cpu.story = nil
	longer, err := w.lender.Reallocate(ctx, p, noderpc.ReallocateRequest{Extent: g.Extent, Size: 2 * page, Used: page, Ticket: noderpc.NewTicket()})
	require.NoError(t, err)
	second := &w.memories[1].Bytes(longer.Range)[0]
	require.Equal(t, []any{"full", second, "full", "full", first, "full", "full", second, "full"}, cpu.story, "prepare, then source, copy, target")
	cpu.story = nil
	require.NoError(t, w.seal(p, longer.Extent, 2*page))
	require.Equal(t, []any{"full", second, "full", "full", second, "full"}, cpu.story, "home clean, then what a reader does")
	require.NoError(t, w.free(p, g.Extent, longer.Extent))
	w.requireEmpty()
}

// W6: what an error left between the end of a grant and the return of its memory goes back with the next call about it.
func TestWhatIsAbortingGoesBack(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	p := node("n2")
	id := w.grant(p, page).Extent
	require.NoError(t, w.homes[1].AbortGeneration(id.Generation))
	require.NoError(t, w.free(p, id))
	w.requireEmpty()
}

// cutting is lines that note what is flushed, and have something happen before they do.
type cutting struct {
	before  func(b []byte)
	flushed map[*byte]bool // by the first byte of a page
}

func (c *cutting) Flush(b []byte) int {
	if c.before != nil {
		c.before(b)
	}
	for at := 0; at < len(b); at += page {
		c.flushed[&b[at]] = true
	}
	return len(b) / 64
}
func (*cutting) FenceStore() {}
func (*cutting) FenceFull()  {}

// C3: a copy that fails halfway has stored into memory that goes back to the lender, and has flushed nothing of it.
// Its next borrower does not rely on flushes that there were before.
func TestAFailedCopyIntoMemoryThatIsNotCoherent(t *testing.T) {
	spec := memregion.Spec{ID: 1, Capacity: 1 << 20, Fabric: memregion.FabricShm, Path: filepath.Join(shmdir.For(t), "a.region")}
	var err error
	spec.Base, err = memregion.ChooseBase(nil, spec.Capacity, spec.Path)
	require.NoError(t, err)
	lent, err := memregion.Lend(t.Context(), spec, memregion.LendOptions{GrowthStep: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lent.Remove()) })
	cpu := &cutting{flushed: map[*byte]bool{}}
	home, err := coherence.NewHome(coherence.HomeConfig{Region: 1, Memory: lent, Lines: cpu, Domain: "home", Class: coherence.Incoherent, Capacity: spec.Capacity})
	require.NoError(t, err)
	lender, err := lending.New(catalog.Homes{1: home}, lending.Options{Lines: cpu, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	p := node("n2")
	grant := func(size int64) noderpc.Granted {
		g, err := lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Owner: "t", Size: size, Ticket: noderpc.NewTicket(), Process: noderpc.CurrentProcess()})
		require.NoError(t, err)
		return g
	}
	free := func(g noderpc.Granted) {
		require.NoError(t, lender.Free(ctx, p, noderpc.FreeRequest{Extents: []catalog.ExtentID{g.Extent}}))
	}
	low := grant(3 * page) // where the copy goes
	old := grant(2 * page)
	require.Less(t, low.Range.Offset, old.Range.Offset)
	lent.Bytes(old.Range)[0] = 7
	target := &lent.Bytes(low.Range)[0]
	free(low)

	// The file is cut in the middle of what is copied, just before it is.
	cpu.before = func(b []byte) {
		if &b[0] == &lent.Bytes(old.Range)[0] {
			require.NoError(t, os.Truncate(spec.Path, old.Range.Offset+page))
		}
	}
	_, err = lender.Reallocate(ctx, p, noderpc.ReallocateRequest{Extent: old.Extent, Size: 3 * page, Used: 2 * page, Ticket: noderpc.NewTicket()})
	require.ErrorIs(t, err, memregion.ErrRegionGone)
	require.NoError(t, os.Truncate(spec.Path, spec.Capacity))
	clear(cpu.flushed)
	again := grant(3 * page)
	require.Equal(t, low.Range, again.Range)
	require.True(t, cpu.flushed[target])
	free(again)
	free(old)
	require.Zero(t, lent.Stats().Used)
}

func TestDrainAndAdmit(t *testing.T) {
	stranger := node("n3")
	w := newWorld(t, coherence.Coherent, lending.Options{Admit: func(p noderpc.Peer) error {
		if p.Name() == stranger.Name() {
			return errors.New("never heard of it")
		}
		return nil
	}})
	p := node("n2")
	id := w.grant(p, page).Extent
	w.lender.Drain(true)
	_, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: 1})
	require.Equal(t, "55000", state(t, err))
	require.NoError(t, w.seal(p, id, page), "what was begun may be finished")
	w.lender.Drain(false)
	require.NoError(t, w.free(p, id, w.grant(p, page).Extent))

	for _, err := range []error{
		w.seal(stranger, id, page), w.free(stranger, id), w.publish(stranger, false, id), w.lender.Pin(ctx, stranger, nil), w.lender.Unpin(ctx, stranger, nil),
	} {
		require.ErrorIs(t, err, noderpc.ErrFenced)
	}
	_, err = w.lender.Grant(ctx, stranger, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: 1})
	require.ErrorIs(t, err, noderpc.ErrFenced)
	require.EqualValues(t, 6, w.refusals.Calls(refusal.Gone))
	_, err = w.lender.Grant(ctx, noderpc.Peer{Network: "tcp", Address: "x", Incarnation: noderpc.NewIncarnation()}, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: 1})
	require.Equal(t, "42501", state(t, err), "that peer is unknown")
	w.requireEmpty()
}

func TestPins(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	writer, reader := node("n2"), node("n3")
	id := w.sealed(writer, page)
	require.Error(t, w.lender.Pin(ctx, reader, []catalog.ExtentID{id}), "not published")
	require.NoError(t, w.publish(writer, false, id))
	require.NoError(t, w.lender.Pin(ctx, reader, []catalog.ExtentID{id}))
	require.Equal(t, "55000", state(t, w.lender.Unpin(ctx, writer, []catalog.ExtentID{id})), "it has none")
	require.NoError(t, w.homes.Retire(id))
	require.Equal(t, coherence.Retired, w.state(id))
	w.lender.PeerGone("n3", reader.Incarnation)
	require.Equal(t, coherence.Free, w.state(id), "its pins end with it")
	w.requireEmpty()
}

// W4: a pin that is taken while its borrower is declared dead does not outlive it.
func TestAPinOfWhoDies(t *testing.T) {
	for range 8 { // homes are notified in any order
		w := newWorld(t, coherence.Coherent, lending.Options{})
		writer, reader := node("n2"), node("n3")
		first := w.sealed(writer, page)
		other, err := w.lender.Grant(ctx, writer, noderpc.GrantRequest{Region: 2, Owner: "t", Size: page, Ticket: noderpc.NewTicket()})
		require.NoError(t, err)
		require.NoError(t, w.seal(writer, other.Extent, page))
		require.NoError(t, w.publish(writer, false, first, other.Extent))

		// While the allocator of region 1 is at work its home answers no call: no pin, and no end of pins.
		begun, goOn := make(chan struct{}), make(chan struct{})
		w.memories[1].shrinking = func() { close(begun); <-goOn }
		long := w.grant(writer, 2*page).Extent
		var under sync.WaitGroup
		under.Go(func() { _ = w.seal(writer, long, page) })
		<-begun
		pinned := false
		under.Go(func() { pinned = w.lender.Pin(ctx, reader, []catalog.ExtentID{first, other.Extent}) == nil })
		require.Eventually(t, func() bool { return len(w.lender.Borrowers()) == 2 }, time.Minute, time.Millisecond, "it is let in")
		under.Go(func() { w.lender.PeerGone("n3", reader.Incarnation) })
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(w.lender.Borrowers(), func(b lending.BorrowerStatus) bool { return b.Gone })
		}, time.Minute, time.Millisecond, "it is declared dead")
		close(goOn)
		under.Wait()
		require.False(t, pinned)
		for _, home := range w.homes {
			require.Zero(t, home.Stats().Pins)
		}
		require.NoError(t, w.free(writer, long))
		w.requireEmpty(first, other.Extent)
	}
}
