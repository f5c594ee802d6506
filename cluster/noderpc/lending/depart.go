package lending

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
)

// Departure says what became of the extents of a borrower that was declared dead.
type Departure struct {
	// Borrowers that are gone: the incarnations that were known of.
	Borrowers []Borrower
	// Extents that were not published, and how many of them wait in quarantine until their writer's process has ended.
	Extents, Quarantined int
	// Unconfirmed are extents that they published and that were not confirmed (Options.Confirmations): if no table has
	// them, their publisher died before its commit, and they are to be retired.
	Unconfirmed []catalog.ExtentID
}

// PeerGone takes the membership's word that a peer is dead: the node's name as in its certificate, and its incarnation,
// or zero for all that are known of. From now on nothing is done for it (W4). What it did not publish goes back: sealed
// extents at once, granted ones when its process cannot store any more (W3, see Fencing in the package's comment). Its
// pins end: the caller knows that its lease is over by its own clock. What it published for good stays.
func (l *Lender) PeerGone(name string, incarnation noderpc.Incarnation) Departure {
	name = peerName(name)
	l.mu.Lock()
	u := l.mu.ledger.usage(name)
	if !incarnation.IsZero() {
		u.bury(incarnation)
	}
	var departing []*account
	for b, a := range l.mu.ledger.accounts {
		if b.Name == name && (incarnation.IsZero() || b.Incarnation == incarnation) {
			u.bury(b.Incarnation)
			departing = append(departing, a)
		}
	}
	l.mu.ledger.dropUsage(name)
	l.mu.Unlock()
	return l.depart(departing, Borrower{name, incarnation})
}

// Over takes the membership's word that an incarnation is over: PeerGone for every name under which it has called, and
// for those under which it is still to call. A node that was given up and has not noticed goes on asking for memory,
// under a name that this process may not have heard yet. What it was granted then would never go back, for its process
// restarts the node and lives (W4). was is the incarnation's node and registration: a borrower that called
// after its record was gone is known only by it.
func (l *Lender) Over(incarnation noderpc.Incarnation, was noderpc.Membership) {
	l.mu.Lock()
	l.mu.ledger.end(incarnation)
	var departing []*account
	for b, a := range l.mu.ledger.accounts {
		if b.Incarnation == incarnation {
			a.usage.bury(incarnation)
			if a.member.Node == "" {
				a.member = was
			}
			departing = append(departing, a)
		}
	}
	for i := range l.mu.orphans {
		if o := &l.mu.orphans[i]; o.Borrower.Incarnation == incarnation && o.Node == "" {
			o.Node, o.Registered = was.Node, was.Registered
		}
	}
	l.mu.Unlock()
	for _, a := range departing {
		l.depart([]*account{a}, a.Borrower)
	}
}

// peerName is what Peer.Name says of a node: callers know it by its bare name, which has neither slash nor space.
func peerName(name string) string {
	if strings.ContainsAny(name, "/ ") {
		return name
	}
	return certificate.Identity{Role: certificate.RoleNode, Name: name}.String()
}

func (l *Lender) depart(departing []*account, named Borrower) (d Departure) {
	l.mu.Lock()
	var list []*grant
	for _, a := range departing {
		a.gone = true
		d.Borrowers = append(d.Borrowers, a.Borrower)
		for g := range a.grants {
			if !g.busy { // the others are settled by the step that is under way
				g.busy = true
				list = append(list, g)
			}
			if g.stage != quarantined {
				d.Extents++
			}
		}
	}
	for id, b := range l.mu.unconfirmed {
		if b == named || named.Incarnation.IsZero() && b.Name == named.Name {
			d.Unconfirmed = append(d.Unconfirmed, id)
		}
	}
	l.mu.Unlock()
	l.settle(list)
	for _, a := range departing {
		l.log("the pins of "+a.String(), l.homes.ExpireDomain(a.domain()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range departing {
		a.pinned = false
		for g := range a.grants {
			if g.stage == quarantined {
				d.Quarantined++
			}
		}
		l.mu.ledger.leave(a)
	}
	l.count.departures.Add(uint64(len(departing)))
	return d
}

// settle gives back the extents of a borrower that is gone. Preconditions: the grants are busy with it.
func (l *Lender) settle(list []*grant) {
	for _, g := range list {
		home := l.homes[g.extent.Region]
		err := l.giveUp(home, g)
		state := home.Generation(g.extent.Generation).State
		if state != coherence.Quarantined {
			err = errors.Join(err, l.options.Journal.ended(g.extent))
		}
		l.log(fmt.Sprintf("giving up %v of %v", g.extent, g.account.Borrower), err)
		l.mu.Lock()
		g.busy = false
		switch state {
		case coherence.Quarantined:
			g.stage = quarantined
		case coherence.Free, coherence.Retired:
			l.mu.ledger.drop(g)
		}
		l.mu.Unlock()
	}
}

func (l *Lender) giveUp(home *coherence.Home, g *grant) error {
	gen := g.extent.Generation
	switch home.Generation(gen).State {
	case coherence.Granted, coherence.Cleaned, coherence.HomeCleaned, coherence.Aborting:
		if _, err := home.FenceOff(g.account.domain()); err != nil { // of all that the borrower writes in the region, so once
			return err
		}
	}
	switch home.Generation(gen).State {
	case coherence.Quarantined:
		if l.cannotStore(g, home.Class()) {
			return home.Lift(gen)
		}
	case coherence.Sealed:
		return home.Discard(gen)
	case coherence.Published:
		return home.Retire(gen)
	}
	return nil
}

// cannotStore reports whether the borrower has ended (W3), and nothing of it is on its way out of some cache (W8).
func (l *Lender) cannotStore(g *grant, class coherence.Class) bool {
	l.mu.Lock()
	fenced, flushed, process, member := g.account.fenced, g.flushed, g.account.process, g.account.member
	l.mu.Unlock()
	return fenced || (process.Gone() || l.restarted(member, g.account.Borrower)) && (flushed || class == coherence.Coherent)
}

// restarted reports whether a borrower's node, if it is known, has restarted. Its process may live on.
func (l *Lender) restarted(member noderpc.Membership, b Borrower) bool {
	return member.Node != "" && l.options.Restarted(member, b.Incarnation)
}

// Lift takes the caller's word that no process of the peer can reach this node's memory any more: the machine is off,
// or its link is cut. What waits in quarantine goes back, and so do the orphans. The peer must have been declared dead.
func (l *Lender) Lift(name string, incarnation noderpc.Incarnation) {
	name = peerName(name)
	is := func(b Borrower) bool {
		return b.Name == name && (incarnation.IsZero() || b.Incarnation == incarnation)
	}
	l.mu.Lock()
	for b, a := range l.mu.ledger.accounts {
		if is(b) && a.gone {
			a.fenced = true
		}
	}
	var orphans []Orphan
	for _, o := range l.mu.orphans {
		if is(o.Borrower) {
			orphans = append(orphans, o)
		}
	}
	l.mu.Unlock()
	l.log("orphans", l.freeOrphans(orphans))
	l.liftQuarantined()
}

// Sweep looks at the borrowers' processes: those that have ended are gone, whether the membership has noticed or not,
// and so are incarnations of nodes that restarted since. This process may be younger than their end, and so have missed
// it. What waited for that goes back. The engine's janitor calls it now and then; each borrower costs one look into
// /proc.
func (l *Lender) Sweep() {
	l.mu.Lock()
	l.mu.ledger.forgetVoids(l.options.Now())
	type known struct {
		process noderpc.Process
		member  noderpc.Membership
	}
	present := map[*account]known{}
	for _, a := range l.mu.ledger.accounts {
		if !a.gone {
			present[a] = known{a.process, a.member}
		}
	}
	orphans := slices.Clone(l.mu.orphans)
	l.mu.Unlock()
	for a, k := range present {
		if k.process.Gone() || l.restarted(k.member, a.Borrower) {
			l.options.Log.Info("a borrower's process has ended, or its node has restarted", "borrower", a.String())
			l.mu.Lock()
			a.usage.bury(a.Incarnation)
			l.mu.Unlock()
			l.depart([]*account{a}, a.Borrower)
		}
	}
	orphans = slices.DeleteFunc(orphans, func(o Orphan) bool { return !o.over() && (o.Cached || !l.restarted(o.member(), o.Borrower)) })
	l.log("orphans", l.freeOrphans(orphans))
	l.liftQuarantined()
}

func (l *Lender) liftQuarantined() {
	l.mu.Lock()
	var list []*grant
	for _, g := range l.mu.ledger.extents {
		if g.stage == quarantined && !g.busy {
			g.busy = true
			list = append(list, g)
		}
	}
	l.mu.Unlock()
	l.settle(list)
}

// Confirm says that the catalog has these extents: they are not their publisher's any more, whatever becomes of it.
func (l *Lender) Confirm(ids ...catalog.ExtentID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.confirmed(id)
	}
}

// confirmed requires mu.
func (l *Lender) confirmed(id catalog.ExtentID) {
	delete(l.mu.unconfirmed, id)
	delete(l.mu.disowned, id)
}

// UnconfirmedOf are those that one incarnation has published, which may hold nothing else and be no borrower any more.
func (l *Lender) UnconfirmedOf(incarnation string) (ids []catalog.ExtentID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, b := range l.mu.unconfirmed {
		if b.Incarnation.String() == incarnation {
			ids = append(ids, id)
		}
	}
	return ids
}

// Unconfirmed are published extents that were not confirmed: their publisher has not committed yet, or never will.
func (l *Lender) Unconfirmed() []catalog.ExtentID {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make([]catalog.ExtentID, 0, len(l.mu.unconfirmed))
	for id := range l.mu.unconfirmed {
		ids = append(ids, id)
	}
	return ids
}
