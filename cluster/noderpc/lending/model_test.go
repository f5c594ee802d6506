package lending_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/coherence"
)

// twin is one extent as a naive model knows it, which has only a list.
type twin struct {
	owner     int // which peer
	state     coherence.State
	bytes     int64
	temporary bool
	ticket    noderpc.Ticket
}

// W1, W2, W4, W6 against a naive twin: three incarnations of two names do whatever they like, mostly wrong.
func TestLenderModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const quota = 8 * page
		w := newWorld(rt, coherence.Coherent, lending.Options{Limits: lending.Limits{GrantBytes: 4 * page, PeerBytes: quota, PeerGrants: 5}})
		peers := []noderpc.Peer{node("a"), node("a"), node("b")}
		nameOf := []int{0, 0, 1}
		gone := make([]bool, len(peers))
		twins := map[catalog.ExtentID]*twin{}
		var known []catalog.ExtentID
		held := func(name int) (bytes int64, extents int) {
			for _, x := range twins {
				if nameOf[x.owner] == name && (x.state != coherence.Published || x.temporary) {
					bytes, extents = bytes+x.bytes, extents+1
				}
			}
			return bytes, extents
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			who := rapid.IntRange(0, len(peers)-1).Draw(rt, "who")
			p := peers[who]
			var id catalog.ExtentID
			var x *twin
			if len(known) > 0 {
				id = rapid.SampledFrom(known).Draw(rt, "extent")
				x = twins[id]
			}
			may := func(states ...coherence.State) bool {
				if gone[who] || x == nil || x.owner != who {
					return false
				}
				for _, s := range states {
					if x.state == s && (s != coherence.Published || x.temporary) {
						return true
					}
				}
				return false
			}
			switch rapid.IntRange(0, 8).Draw(rt, "op") {
			case 0, 1, 2:
				pages := rapid.Int64Range(1, 5).Draw(rt, "pages")
				bytes, extents := held(nameOf[who])
				ticket := noderpc.NewTicket()
				g, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: pages * page, Ticket: ticket})
				fits := !gone[who] && pages <= 4 && bytes+pages*page <= quota && extents < 5
				require.Equal(rt, fits, err == nil, "%v", err)
				if fits {
					known = append(known, g.Extent)
					twins[g.Extent] = &twin{owner: who, state: coherence.Granted, bytes: pages * page, ticket: ticket}
				}
			case 3:
				keep := rapid.Int64Range(1, 4).Draw(rt, "keep") * page
				ok := may(coherence.Granted) && keep <= x.bytes
				err := w.seal(p, id, keep)
				require.Equal(rt, ok, err == nil, "%v", err)
				if ok {
					x.state, x.bytes = coherence.Sealed, keep
				}
			case 4:
				temporary := rapid.Bool().Draw(rt, "temporary")
				ok := may(coherence.Sealed)
				err := w.publish(p, temporary, id)
				require.Equal(rt, ok, err == nil, "%v", err)
				if ok {
					x.state, x.temporary = coherence.Published, temporary
				}
			case 5:
				ok := may(coherence.Granted, coherence.Sealed, coherence.Published)
				err := w.free(p, id)
				require.Equal(rt, ok, err == nil, "%v", err)
				if ok {
					delete(twins, id)
				}
			case 6:
				if x == nil {
					continue
				}
				err := w.lender.Free(ctx, p, noderpc.FreeRequest{Tickets: []noderpc.Ticket{x.ticket}, Settling: true})
				require.Equal(rt, !gone[who], err == nil, "%v", err)
				if may(coherence.Granted, coherence.Sealed, coherence.Published) {
					delete(twins, id)
				}
			case 7:
				if rapid.IntRange(0, 3).Draw(rt, "die") > 0 {
					continue
				}
				w.lender.PeerGone(p.Name(), p.Incarnation)
				gone[who] = true
				for id, x := range twins {
					if x.owner == who && x.state == coherence.Granted {
						x.state = coherence.Quarantined
					} else if x.owner == who && (x.state == coherence.Sealed || x.temporary) {
						delete(twins, id)
					}
				}
			case 8:
				w.lender.Lift(p.Name(), p.Incarnation)
				for id, x := range twins {
					if x.owner == who && x.state == coherence.Quarantined {
						delete(twins, id)
					}
				}
			}
			var live int64
			for id, x := range twins {
				require.Equal(rt, x.state, w.state(id), "%v", id)
				live += x.bytes
			}
			require.Equal(rt, live, w.live())
			for name, text := range []string{"csmsql://node/a", "csmsql://node/b"} {
				var bytes int64
				var extents int
				for _, b := range w.lender.Borrowers() {
					if b.Name == text {
						bytes, extents = bytes+b.Bytes, extents+b.Extents
					}
				}
				wantBytes, wantExtents := held(name)
				require.Equal(rt, []int64{wantBytes, int64(wantExtents)}, []int64{bytes, int64(extents)})
			}
		}
		for _, p := range peers {
			w.lender.PeerGone(p.Name(), noderpc.Incarnation{})
			w.lender.Lift(p.Name(), noderpc.Incarnation{})
		}
		var published []catalog.ExtentID
		for id, x := range twins {
			if x.state == coherence.Published && !x.temporary {
				published = append(published, id)
			}
		}
		w.requireEmpty(published...)
	})
}

// Many at once, while some of them are declared dead: no extent is lost, none is given back twice, and no call waits
// for ever. For the race detector.
func TestManyBorrowersAtOnce(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	var mu sync.Mutex
	var published []catalog.ExtentID
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			p := node([]string{"a", "b"}[i%2])
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for round := range 150 {
				if random.IntN(20) == 0 {
					w.lender.PeerGone(p.Name(), p.Incarnation)
					w.lender.Lift(p.Name(), p.Incarnation)
					p.Incarnation = noderpc.NewIncarnation()
				}
				if random.IntN(10) == 0 {
					w.lender.Sweep()
				}
				ticket := noderpc.NewTicket()
				g, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Owner: "t", Size: 2 * page, Ticket: ticket})
				if err != nil {
					return err
				}
				if random.IntN(4) == 0 {
					var inner errgroup.Group // a confused borrower, and its end, at the same moment
					inner.Go(func() error { _ = w.seal(p, g.Extent, page); return nil })
					inner.Go(func() error { _ = w.publish(p, true, g.Extent); return nil })
					inner.Go(func() error {
						return w.lender.Free(ctx, p, noderpc.FreeRequest{Tickets: []noderpc.Ticket{ticket}, Settling: true})
					})
					inner.Go(func() error { w.lender.PeerGone(p.Name(), p.Incarnation); return nil })
					if err := inner.Wait(); err != nil && !errors.Is(err, noderpc.ErrFenced) {
						return err
					}
					w.lender.Lift(p.Name(), p.Incarnation)
					p.Incarnation = noderpc.NewIncarnation()
					continue
				}
				if err := w.seal(p, g.Extent, page); err != nil {
					return err
				}
				if round%2 == 0 {
					if err := w.free(p, g.Extent); err != nil {
						return err
					}
					continue
				}
				if err := w.publish(p, false, g.Extent); err != nil {
					return err
				}
				mu.Lock()
				published = append(published, g.Extent)
				if len(published) > 20 {
					err = w.homes.Retire(published...)
					published = nil
				}
				mu.Unlock()
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	w.requireEmpty(published...)
}

func BenchmarkGrantAndFree(b *testing.B) {
	w := newWorld(b, coherence.Coherent, lending.Options{})
	p := node("n2")
	for b.Loop() {
		require.NoError(b, w.free(p, w.grant(p, page).Extent))
	}
}
