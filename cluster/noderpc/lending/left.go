package lending

import (
	"context"
	"slices"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Where caches are not coherent, a process that ends leaves modified lines in those of its machine, which may be
// written back at any time. So what it was granted stays in quarantine until another process of that machine has
// flushed it (W8):
//
//	writer's machine                                   lender
//	process 1: grant, store, store, killed             quarantine
//	process 2: Left ─────────────────────────────────▶ the writer has ended: extents
//	           fence, flush, fence
//	           Left, flushed ────────────────────────▶ the memory goes back
//
// A machine that does not come back keeps the extents until a caller says that it is off (Lift).

// Left implements noderpc.Lender.
func (l *Lender) Left(ctx context.Context, peer noderpc.Peer,
	request noderpc.LeftRequest) ([]noderpc.LeftExtent, error) {
	home := l.homes[request.Region]
	if home == nil {
		return nil, notLent(request.Region)
	}
	if err := l.admit(peer); err != nil {
		return nil, l.refuse(ctx, peer, "ask what is left", err)
	}
	if home.Class() == coherence.Coherent {
		return nil, nil
	}
	ended := l.ended(peer, request)
	var orphans []Orphan
	var departing []*account
	l.mu.Lock()
	for _, g := range ended.grants {
		if slices.Contains(request.Flushed, g.extent.Generation) {
			g.flushed = true
			if !g.account.gone && !slices.Contains(departing, g.account) {
				g.account.usage.bury(g.account.Incarnation)
				departing = append(departing, g.account)
			}
		}
	}
	l.mu.Unlock()
	for _, o := range ended.orphans {
		if slices.Contains(request.Flushed, o.Extent.Generation) {
			orphans = append(orphans, o)
		}
	}
	for _, a := range departing {
		l.depart([]*account{a}, a.Borrower)
	}
	l.log("orphans", l.freeOrphans(orphans))
	l.liftQuarantined()
	return l.ended(peer, request).list(), nil
}

// ended are the extents that processes of a machine were writing which have ended.
type ended struct {
	grants  []*grant
	ranges  []memregion.Range // of grants
	orphans []Orphan
}

func (e ended) list() (left []noderpc.LeftExtent) {
	for i, g := range e.grants {
		left = append(left, noderpc.LeftExtent{Generation: g.extent.Generation, Range: e.ranges[i]})
	}
	for _, o := range e.orphans {
		left = append(left, noderpc.LeftExtent{Generation: o.Extent.Generation, Range: o.Range})
	}
	return left
}

// ended finds those of the peer's machine. The peer has proved its principal; the machine is its own word.
func (l *Lender) ended(peer noderpc.Peer, request noderpc.LeftRequest) (e ended) {
	processes := map[*account]bool{} // whether each has ended, or its node has restarted
	type candidate struct {
		grant  *grant
		memory memregion.Range
		member noderpc.Membership
	}
	var candidates []candidate
	l.mu.Lock()
	for id, g := range l.mu.ledger.extents {
		a := g.account
		if id.Region != request.Region || a.peer.Principal() != peer.Principal() || a.Incarnation == peer.Incarnation || a.machine != request.Domain || g.flushed {
			continue
		}
		if g.stage == granted || g.stage == quarantined {
			candidates = append(candidates, candidate{g, g.memory, a.member})
		}
	}
	orphans := slices.Clone(l.mu.orphans)
	l.mu.Unlock()
	for _, c := range candidates {
		a := c.grant.account
		if _, known := processes[a]; !known {
			processes[a] = a.process.Gone() || l.restarted(c.member, a.Borrower)
		}
		if processes[a] {
			e.grants, e.ranges = append(e.grants, c.grant), append(e.ranges, c.memory)
		}
	}
	e.orphans = slices.DeleteFunc(orphans, func(o Orphan) bool {
		return o.Extent.Region != request.Region || o.Principal != peer.Principal() || o.Machine != request.Domain || !o.Process.Gone() && !l.restarted(o.member(), o.Borrower)
	})
	return e
}
