package lending

import (
	"fmt"
	"slices"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/bytesize"
	"github.com/csmsql/csmsql/memregion"
)

// Borrower is one incarnation of a peer.
type Borrower struct {
	// Name is the peer's, see noderpc.Peer.Name.
	Name        string
	Incarnation noderpc.Incarnation
}

func (b Borrower) String() string { return b.Name + "/" + b.Incarnation.String() }

// domain is the borrower's as a writer and as a holder of pins. A new incarnation is another one (coherence.Domain).
func (b Borrower) domain() coherence.Domain { return coherence.Domain(b.String()) }

// stage is where an extent stands, in the ledger's view; coherence.State says more.
type stage uint8

const (
	requested   stage = iota // the home has not answered yet: it has no extent
	granted                  // the borrower may store
	sealed                   // it may not any more
	temporary                // published, and still the borrower's
	quarantined              // the borrower is gone, and may store
)

func (s stage) String() string {
	return [...]string{"requested", "granted", "sealed", "temporary", "quarantined"}[s]
}

// grant is one extent in a borrower's hands.
type grant struct {
	account *account
	ticket  noderpc.Ticket
	extent  catalog.ExtentID
	memory  memregion.Range
	bytes   int64 // that count against the quota
	stage   stage
	busy    bool   // a step is under way; no other is taken
	void    bool   // given back while it was busy
	flushed bool   // by another process of its writer's machine, after that had ended
	holder  string // the part of the borrower that it is for
}

// account is what one borrower holds. It exists while that is something, or pins.
type account struct {
	Borrower
	usage   *usage
	process noderpc.Process
	peer    noderpc.Peer // as it last called, for status output
	since   time.Time
	grants  map[*grant]bool
	tickets map[noderpc.Ticket]*grant
	pinned  bool
	gone    bool
	fenced  bool // Lift: its process cannot store any more
	// machine is whose caches have its stores, as it says; "" if it does not.
	machine coherence.Domain
	member  noderpc.Membership // as Options.NodeOf has it
	heard   time.Time          // when it last renewed its lease on what it holds, or was granted something
}

// usage is what all incarnations of one name hold.
type usage struct {
	bytes  int64
	grants int
	// voids are tickets given back before their requests came (W5); dead are incarnations that are gone (W4). Both are
	// bounded, the oldest go first.
	voids []voidTicket
	dead  []noderpc.Incarnation
	// accounts of this name.
	accounts int
}

type voidTicket struct {
	incarnation noderpc.Incarnation
	ticket      noderpc.Ticket
	at          time.Time
}

const (
	// maxVoids tickets of one name are remembered, and voidLife is for how long: no request is under way for longer.
	maxVoids = 4096
	voidLife = 5 * time.Minute
	// maxDead incarnations of one name are remembered. Options.Admit knows the others.
	maxDead = 1024
	// maxOver incarnations are remembered of which the membership said that they are over, whatever name they call
	// under.
	maxOver = 4096
)

// ledger knows which borrower was granted what. It has no lock, no clock and no I/O; the Lender's mutex guards it.
type ledger struct {
	limits   Limits
	first    map[memregion.RegionID]coherence.Generation // lower ones were granted by former processes of the node
	accounts map[Borrower]*account
	usages   map[string]*usage
	extents  map[catalog.ExtentID]*grant
	over     []noderpc.Incarnation // the oldest first
}

func newLedger(limits Limits, homes catalog.Homes) *ledger {
	first := map[memregion.RegionID]coherence.Generation{}
	for region, home := range homes {
		first[region] = home.First()
	}
	return &ledger{limits: limits, first: first, accounts: map[Borrower]*account{}, usages: map[string]*usage{}, extents: map[catalog.ExtentID]*grant{}}
}

// evidence is what is known already of a borrower's process and node.
func (l *ledger) evidence(p noderpc.Peer) (process noderpc.Process, member noderpc.Membership) {
	if a := l.accounts[Borrower{Name: p.Name(), Incarnation: p.Incarnation}]; a != nil {
		process, member = a.process, a.member
	}
	return process, member
}

// enter finds the account of a live borrower, or opens one (W4). The caller calls leave afterwards.
func (l *ledger) enter(p noderpc.Peer, now time.Time) (*account, *denial) {
	b := Borrower{Name: p.Name(), Incarnation: p.Incarnation}
	if b.Name == "" || b.Incarnation.IsZero() {
		return nil, refused(refusal.Role, "42501", "memory is lent only to known peers: %v is not", p)
	}
	u := l.usage(b.Name)
	if u.isDead(b.Incarnation) || slices.Contains(l.over, b.Incarnation) {
		l.dropUsage(b.Name)
		return nil, goneRefusal(b)
	}
	a := l.accounts[b]
	if a != nil && a.gone { // even if its incarnation was forgotten among maxDead others
		return nil, goneRefusal(b)
	}
	if a == nil {
		a = &account{Borrower: b, usage: u, since: now, grants: map[*grant]bool{}, tickets: map[noderpc.Ticket]*grant{}}
		l.accounts[b] = a
		u.accounts++
	}
	a.peer, a.heard = p, now
	return a, nil
}

func (l *ledger) usage(name string) *usage {
	u := l.usages[name]
	if u == nil {
		u = &usage{}
		l.usages[name] = u
	}
	return u
}

// leave closes an account that holds nothing.
func (l *ledger) leave(a *account) {
	if len(a.grants) > 0 || a.pinned {
		return
	}
	if l.accounts[a.Borrower] == a {
		delete(l.accounts, a.Borrower)
		a.usage.accounts--
	}
	l.dropUsage(a.Name)
}

func (l *ledger) dropUsage(name string) {
	if u := l.usages[name]; u != nil && u.accounts == 0 && len(u.voids) == 0 && len(u.dead) == 0 {
		delete(l.usages, name)
	}
}

func (u *usage) isDead(i noderpc.Incarnation) bool {
	return slices.Contains(u.dead, i)
}

func (u *usage) bury(i noderpc.Incarnation) {
	if u.isDead(i) {
		return
	}
	if len(u.dead) == maxDead {
		u.dead = append(u.dead[:0], u.dead[1:]...)
	}
	u.dead = append(u.dead, i)
}

// end remembers that an incarnation is over, which may not have called yet.
func (l *ledger) end(i noderpc.Incarnation) {
	if slices.Contains(l.over, i) {
		return
	}
	if len(l.over) == maxOver {
		l.over = append(l.over[:0], l.over[1:]...)
	}
	l.over = append(l.over, i)
}

// void remembers a ticket whose request has not come yet.
func (u *usage) void(i noderpc.Incarnation, t noderpc.Ticket, now time.Time) {
	if len(u.voids) == maxVoids {
		u.voids = append(u.voids[:0], u.voids[1:]...)
	}
	u.voids = append(u.voids, voidTicket{i, t, now})
}

func (u *usage) isVoid(i noderpc.Incarnation, t noderpc.Ticket) bool {
	for _, v := range u.voids {
		if v.incarnation == i && v.ticket == t {
			return true
		}
	}
	return false
}

// forgetVoids drops the old ones.
func (l *ledger) forgetVoids(now time.Time) {
	for name, u := range l.usages {
		kept := 0
		for kept < len(u.voids) && now.Sub(u.voids[kept].at) > voidLife {
			kept++
		}
		u.voids = u.voids[kept:]
		l.dropUsage(name)
	}
}

// request reserves quota for an extent that the home is about to be asked for (W2).
func (l *ledger) request(a *account, ticket noderpc.Ticket, size int64) (*grant, *denial) {
	size = (size + memregion.PageSize - 1) / memregion.PageSize * memregion.PageSize
	u := a.usage
	switch {
	case a.tickets[ticket] != nil:
		return nil, refused(refusal.Replayed, "55000", "ticket %d of %v was used before", ticket, a.Borrower)
	case u.isVoid(a.Incarnation, ticket):
		return nil, &denial{"", &noderpc.Error{State: "57014", Message: fmt.Sprintf("the caller has given ticket %d back", ticket)}}
	case size > l.limits.GrantBytes:
		return nil, refused(refusal.TooLarge, "54000", "an extent of %s was asked for; one may have %s at most", bytesize.Text(size), bytesize.Text(l.limits.GrantBytes)).
			hint("Write smaller chunks.")
	case u.grants >= l.limits.PeerGrants:
		return nil, refused(refusal.Quota, "53200", "%s holds %d extents that are not published, which is as many as one may", a.Name, u.grants).
			hint("Publish or free what was written before.")
	case size > l.limits.PeerBytes-u.bytes:
		return nil, refused(refusal.Quota, "53200", "%s would hold %s that are not published, and %s are allowed", a.Name, bytesize.Text(u.bytes+size), bytesize.Text(l.limits.PeerBytes)).
			hint("Publish or free what was written before.")
	}
	g := &grant{account: a, ticket: ticket, bytes: size, busy: true}
	a.grants[g], a.tickets[ticket] = true, g
	u.bytes += size
	u.grants++
	return g, nil
}

// give enters what the home has granted.
func (l *ledger) give(g *grant, id catalog.ExtentID, memory memregion.Range) {
	l.resize(g, memory.Length)
	g.extent, g.memory, g.stage = id, memory, granted
	l.extents[id] = g
}

func (l *ledger) resize(g *grant, bytes int64) {
	g.account.usage.bytes += bytes - g.bytes
	g.bytes, g.memory.Length = bytes, bytes
}

// drop ends a grant in the ledger.
func (l *ledger) drop(g *grant) {
	a := g.account
	if !a.grants[g] {
		return
	}
	delete(a.grants, g)
	if a.tickets[g.ticket] == g {
		delete(a.tickets, g.ticket)
	}
	if l.extents[g.extent] == g {
		delete(l.extents, g.extent)
	}
	a.usage.bytes -= g.bytes
	a.usage.grants--
	l.leave(a)
}

// take finds an extent that the borrower holds in one of the stages, for a step (W1). The caller calls done.
func (l *ledger) take(a *account, what string, id catalog.ExtentID, stages ...stage) (*grant, *denial) {
	g := l.extents[id]
	switch {
	case g == nil && id.Generation < l.first[id.Region]:
		return nil, formerly(what, id)
	case g == nil:
		return nil, notHeld(what, id)
	case g.account != a:
		return nil, notYours(what, id)
	case g.busy:
		return nil, refused(refusal.Replayed, "55000", "%s %v: another call about it is under way", what, id)
	}
	for _, s := range stages {
		if g.stage == s {
			g.busy = true
			return g, nil
		}
	}
	return nil, refused(refusal.Replayed, "55000", "%s %v: it is %v", what, id, g.stage)
}

// takeAll is take for each, or for none.
func (l *ledger) takeAll(a *account, what string, ids []catalog.ExtentID, stages ...stage) ([]*grant, *denial) {
	list := make([]*grant, 0, len(ids))
	for _, id := range ids {
		g, r := l.take(a, what, id, stages...)
		if r != nil {
			release(list)
			return nil, r
		}
		list = append(list, g)
	}
	return list, nil
}

func release(list []*grant) {
	for _, g := range list {
		g.busy = false
	}
}
