package lending

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// A borrower that lives may have lost an extent: an answer that it did not hear, or a mistake of its program. It alone
// knows that it has no window there, so it says what it does not hold of what the lender has on record:
//
//	borrower, now and then                      lender
//	Held ─────────────────────────────────────▶ renews its lease on all that it holds
//	     ◀───────────────── what is on record as granted, sealed, or published and not confirmed
//	(what it does not hold, twice in a row)
//	Held, disclaimed ─────────────────────────▶ goes back; what was published is the catalog's to judge (Disowned)

// Held implements noderpc.Lender.
func (l *Lender) Held(ctx context.Context, peer noderpc.Peer,
	request noderpc.HeldRequest) ([]noderpc.LeftExtent, error) {
	if l.homes[request.Region] == nil {
		return nil, notLent(request.Region)
	}
	if err := l.admit(peer); err != nil {
		return nil, l.refuse(ctx, peer, "renew its lease", err)
	}
	l.mu.Lock()
	a, refusal := l.mu.ledger.enter(peer, l.options.Now())
	if refusal != nil {
		l.mu.Unlock()
		return nil, l.refuse(ctx, peer, "renew its lease", refusal)
	}
	back := l.disclaim(a, request)
	l.mu.ledger.leave(a)
	l.mu.Unlock()
	if len(request.Disclaimed) > 0 {
		l.options.Fault.At(faults.LendDisclaimed)
	}
	for _, g := range back {
		l.options.Log.Warn("a borrower does not hold what was granted to it; it is taken back", "borrower", g.account.String(), "extent", g.extent.String(), "holder", g.holder)
		l.count.disclaimed.Add(1)
		l.log(fmt.Sprintf("take %v back", g.extent), l.giveBack(g))
	}
	return l.onRecord(peer, request), nil
}

// disclaim takes what an answer named, and is not held. Requires mu.
func (l *Lender) disclaim(a *account, request noderpc.HeldRequest) (back []*grant) {
	for _, generation := range request.Disclaimed {
		id := catalog.ExtentID{Region: request.Region, Generation: generation}
		switch g := l.mu.ledger.extents[id]; {
		case g != nil && g.account == a && g.busy:
			g.void = true
		case g != nil && g.account == a && g.stage != quarantined:
			g.busy = true
			back = append(back, g)
		case g == nil && l.mu.unconfirmed[id] == a.Borrower:
			l.mu.disowned[id] = true
		}
	}
	return back
}

// onRecord lists what a borrower holds in a region. What a step is under way about is left out.
func (l *Lender) onRecord(peer noderpc.Peer, request noderpc.HeldRequest) (list []noderpc.LeftExtent) {
	b := Borrower{Name: peer.Name(), Incarnation: peer.Incarnation}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.mu.ledger.accounts[b]; a != nil {
		for g := range a.grants {
			if g.extent.Region == request.Region && !g.busy && g.stage != requested && g.stage != quarantined {
				list = append(list, noderpc.LeftExtent{Generation: g.extent.Generation, Range: g.memory})
			}
		}
	}
	for id, publisher := range l.mu.unconfirmed {
		if publisher == b && id.Region == request.Region && !l.mu.disowned[id] {
			list = append(list, noderpc.LeftExtent{Generation: id.Generation, Range: l.homes[id.Region].Generation(id.Generation).Range})
		}
	}
	slices.SortFunc(list, func(a, b noderpc.LeftExtent) int { return cmp.Compare(a.Generation, b.Generation) })
	return slices.DeleteFunc(list, func(x noderpc.LeftExtent) bool { return x.Range.Length == 0 }) // it is over since
}

// Holding says whose an extent is, and what it is to that borrower, in words for people.
type Holding struct {
	Borrower
	What string
}

// Holders are the borrowers that hold something of a region which no version is known to have. asking are those, by
// their domain, that are being granted something: its extent is not known yet.
func (l *Lender) Holders(region memregion.RegionID) (of map[coherence.Generation]Holding, asking map[coherence.Domain]Holding) {
	of, asking = map[coherence.Generation]Holding{}, map[coherence.Domain]Holding{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for b, a := range l.mu.ledger.accounts {
		for g := range a.grants {
			switch {
			case g.stage == requested:
				asking[a.domain()] = Holding{b, g.holder}
			case g.extent.Region == region && g.stage == quarantined:
				of[g.extent.Generation] = Holding{b, "given up, and may be stored into"}
			case g.extent.Region == region:
				of[g.extent.Generation] = Holding{b, g.holder}
			}
		}
	}
	for id, b := range l.mu.unconfirmed {
		if id.Region == region {
			of[id.Generation] = Holding{b, "published, and in no version yet"}
		}
	}
	return of, asking
}

// Disown says that published extents will not be committed, because their publisher is over.
func (l *Lender) Disown(ids ...catalog.ExtentID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if _, ok := l.mu.unconfirmed[id]; ok {
			l.mu.disowned[id] = true
		}
	}
}

// Disowned are published extents that were not confirmed to be in the catalog, and which their publisher
// will not commit: no commit that it has under way has them, or it is over. The caller knows whether a version ever had
// them, and confirms them (Confirm) when they are dealt with.
func (l *Lender) Disowned() []catalog.ExtentID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.mu.disowned))
}
