package lending

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// Limits bound what peers get. Zero values take the defaults.
type Limits struct {
	// GrantBytes is the longest extent (default 4 GiB).
	GrantBytes int64
	// PeerBytes is how much one peer holds that is not published (default 16 GiB).
	PeerBytes int64
	// PeerGrants is how many extents that is at most (default 16384).
	PeerGrants int
}

// Options of New. The zero value serves.
type Options struct {
	Limits Limits
	// Lines flush caches when an extent is reallocated; required if the class of a home demands it.
	Lines coherence.Lines
	// Journal remembers grants for the node's next process (W3); nil: the next process must not lend what this one did.
	Journal *Journal
	// Memories are the regions' allocators; required for those in which the journal has orphans.
	Memories map[memregion.RegionID]coherence.Memory
	// TrustSeals: seals are taken as they come. Otherwise the lender compares each one's checksum with the bytes (about
	// 100 µs per MiB), so that a reader's trust in this node's memory does not depend on its writers.
	TrustSeals bool
	// Admit refuses peers that the cluster's membership does not know; nil: it admits all that are not known to be
	// gone.
	Admit func(noderpc.Peer) error
	// NodeOf returns which node a peer is of, given what it says itself: the membership may not know it yet, or not any
	// more. Zero: unknown. Default: that.
	NodeOf func(p noderpc.Peer, says noderpc.Membership) noderpc.Membership
	// Restarted reports whether a node has a later incarnation than the former one, which it can have only when nothing
	// of that runs any more, in whatever process. Default: no.
	Restarted func(former noderpc.Membership, incarnation noderpc.Incarnation) bool
	// Confirmations: published extents are remembered until Confirm says that the catalog has them. Until then their
	// publisher may free them, as it must when it does not know whether they were published; see also Unconfirmed.
	Confirmations bool
	// Refusals counts and logs; nil: an own one.
	Refusals *refusal.Counters
	// Log gets what goes wrong in the background; nil: slog.Default().
	Log *slog.Logger
	// Now is the clock (default time.Now).
	Now func() time.Time
	// Fault is called at the fault points of lending; nil in production.
	Fault faults.Hook
}

// Lender is the noderpc.Lender of a process that lends some regions. Safe for concurrent use.
type Lender struct {
	homes   catalog.Homes
	options Options
	count   counters

	mu struct {
		sync.Mutex
		ledger      *ledger
		draining    bool
		unconfirmed map[catalog.ExtentID]Borrower
		disowned    map[catalog.ExtentID]bool // of unconfirmed
		orphans     []Orphan
	}
}

var _ noderpc.Lender = (*Lender)(nil)

// New lends what homes are homes of.
func New(homes catalog.Homes, options Options) (*Lender, error) {
	for field, value := range map[*int64]int64{&options.Limits.GrantBytes: 4 << 30, &options.Limits.PeerBytes: 16 << 30} {
		if *field <= 0 {
			*field = value
		}
	}
	if options.Limits.PeerGrants <= 0 {
		options.Limits.PeerGrants = 16384
	}
	if options.Log == nil {
		options.Log = slog.Default()
	}
	if options.Refusals == nil {
		options.Refusals = refusal.New(options.Log)
	}
	if options.NodeOf == nil {
		options.NodeOf = func(noderpc.Peer, noderpc.Membership) (unknown noderpc.Membership) { return unknown }
	}
	if options.Restarted == nil {
		options.Restarted = func(noderpc.Membership, noderpc.Incarnation) bool { return false }
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	for region, home := range homes {
		if home.Class() != coherence.Coherent && options.Lines == nil {
			return nil, fmt.Errorf("lending: region %d is on an %v fabric: Options.Lines must flush", region, home.Class())
		}
	}
	l := &Lender{homes: homes, options: options}
	l.mu.ledger = newLedger(options.Limits, homes)
	l.mu.unconfirmed, l.mu.disowned = map[catalog.ExtentID]Borrower{}, map[catalog.ExtentID]bool{}
	return l, l.takeOrphans()
}

// Grant implements noderpc.Lender.
func (l *Lender) Grant(ctx context.Context, peer noderpc.Peer, request noderpc.GrantRequest) (noderpc.Granted, error) {
	what := fmt.Sprintf("grant %d bytes of region %d to", request.Size, request.Region)
	home := l.homes[request.Region]
	if home == nil {
		return noderpc.Granted{}, notLent(request.Region)
	}
	g, err := l.request(peer, request)
	if err != nil {
		return noderpc.Granted{}, l.refuse(ctx, peer, what, err)
	}
	granted, err := l.grant(ctx, home, g, request.Owner, request.Size)
	if err != nil {
		return noderpc.Granted{}, err
	}
	return granted, nil
}

func (l *Lender) request(peer noderpc.Peer, request noderpc.GrantRequest) (*grant, error) {
	if err := l.admit(peer); err != nil {
		return nil, err
	}
	l.mu.Lock()
	process, member := l.mu.ledger.evidence(peer)
	l.mu.Unlock()
	if process == (noderpc.Process{}) { // a look at several files: once for each borrower
		process = evidence(peer, request.Process)
	}
	if member.Node == "" {
		member = l.options.NodeOf(peer, request.Member)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.draining {
		return nil, &noderpc.Error{State: "55000", Message: "the node is being drained: it takes no new chunks", HintText: "Write to another node."}
	}
	a, refusal := l.mu.ledger.enter(peer, l.options.Now())
	if refusal != nil {
		return nil, refusal
	}
	if a.process == (noderpc.Process{}) {
		a.process = process
	}
	if a.machine == "" {
		a.machine = request.Domain
	}
	if a.member.Node == "" {
		a.member = member
	}
	g, refusal := l.mu.ledger.request(a, request.Ticket, request.Size)
	if refusal != nil {
		l.mu.ledger.leave(a)
		return nil, refusal
	}
	g.holder = request.Holder
	return g, nil
}

// evidence is which process can store. Of one that came over a unix socket the kernel knows better.
func evidence(peer noderpc.Peer, claimed noderpc.Process) noderpc.Process {
	if peer.Known {
		if p, err := noderpc.ProcessOf(peer.Process); err == nil {
			return p
		}
	}
	return claimed
}

func (l *Lender) admit(peer noderpc.Peer) error {
	if l.options.Admit == nil {
		return nil
	}
	if err := l.options.Admit(peer); err != nil {
		return &denial{refusal.Gone, &noderpc.Error{
			State: "57P01", Cause: noderpc.ErrFenced, Message: fmt.Sprintf("%v is no member of the cluster: %v", peer, err),
		}}
	}
	return nil
}

// grant takes a requested extent from the home and hands it over, or takes everything back.
func (l *Lender) grant(ctx context.Context, home *coherence.Home, g *grant, owner string,
	size int64) (noderpc.Granted, error) {
	var id catalog.ExtentID
	var at memregion.Range
	withdrawn := false
	err := l.during([]*grant{g}, func() (err error) {
		id, at, err = l.extent(home, g, owner, size)
		return err
	}, func(ledger *ledger, err error) {
		// A borrower that gave up, or was given up, while the home was asked never hears of the extent: it stored
		// nothing.
		withdrawn = g.void || g.account.gone || ctx.Err() != nil
		if err != nil || withdrawn {
			ledger.drop(g)
			return
		}
		ledger.give(g, id, at)
	})
	switch {
	case err != nil:
		return noderpc.Granted{}, err
	case withdrawn:
		l.log("take back an extent whose caller gave up", errors.Join(l.takeBack(home, id.Generation), l.options.Journal.ended(id)))
		return noderpc.Granted{}, &noderpc.Error{State: "57014", Message: "the caller gave up while memory was granted to it", Cause: context.Cause(ctx)}
	}
	l.count.grants.Add(1)
	l.count.grantedBytes.Add(uint64(at.Length))
	return noderpc.Granted{Extent: id, Range: at, Class: home.Class()}, nil
}

// extent gets memory from the home and journals its borrower.
func (l *Lender) extent(home *coherence.Home, g *grant, owner string,
	size int64) (id catalog.ExtentID, at memregion.Range, err error) {
	given, err := home.Grant(owner, g.account.domain(), size)
	if err != nil {
		return id, at, fmt.Errorf("grant %d bytes of region %d: %w", size, home.Region(), err)
	}
	l.options.Fault.At(faults.LendGranted)
	id, at = catalog.ExtentID{Region: home.Region(), Generation: given.Generation()}, given.Range()
	if err := l.options.Journal.granted(id, at, g, home.Class()); err != nil {
		l.log("take back an extent that was not granted", l.takeBack(home, id.Generation))
		return id, at, err
	}
	return id, at, nil
}

var errPanicked = errors.New("lending: a step panicked")

// during does a step about some extents that were taken for it, and enters what came of it, also when the step panics:
// only its taker ends what is busy. What a borrower that is gone holds after that goes back.
func (l *Lender) during(list []*grant, step func() error, apply func(*ledger, error)) (err error) {
	err = errPanicked
	defer func() { l.finish(list, func(ledger *ledger) { apply(ledger, err) }) }()
	err = step()
	return err
}

func (l *Lender) finish(list []*grant, apply func(*ledger)) {
	l.mu.Lock()
	apply(l.mu.ledger)
	release(list)
	var left, back []*grant
	var published []catalog.ExtentID
	for _, g := range list {
		switch {
		case !g.account.grants[g] && g.void && l.mu.unconfirmed[g.extent] == g.account.Borrower:
			l.confirmed(g.extent)
			published = append(published, g.extent)
		case !g.account.grants[g]:
		case g.account.gone:
			g.busy = true // settle's
			left = append(left, g)
		case g.void:
			g.busy, g.void = true, false // giveBack's, once
			back = append(back, g)
		}
	}
	l.mu.Unlock()
	l.settle(left)
	for _, g := range back {
		l.log("an extent that was given back during a step", l.giveBack(g))
	}
	if len(published) > 0 {
		l.log("a publication that was given back while it was made", l.homes.Retire(published...))
	}
}

// refuse logs and counts what is the peer's fault, and returns the error in any case.
func (l *Lender) refuse(ctx context.Context, peer noderpc.Peer, what string, err error) error {
	var r *denial
	if errors.As(err, &r) {
		if r.reason != "" {
			l.options.Refusals.Call(ctx, r.reason, peer, what, r.cause)
		}
		return r.cause
	}
	return err
}

func (l *Lender) log(what string, err error) {
	if err != nil {
		l.options.Log.Error("lending: "+what, "error", err)
	}
}

// takeBack ends a generation that its writer has cleaned, or never stored into, whatever its state is. Nothing is done
// about one that is over.
func (l *Lender) takeBack(home *coherence.Home, gen coherence.Generation) error {
	switch home.Generation(gen).State {
	case coherence.Granted:
		return errors.Join(home.AbortGeneration(gen), home.Cleaned(gen))
	case coherence.Cleaned, coherence.HomeCleaned:
		return home.AbortGeneration(gen)
	case coherence.Aborting:
		return home.Cleaned(gen)
	case coherence.Sealed:
		return home.Discard(gen)
	case coherence.Published:
		return home.Retire(gen)
	}
	return nil
}

// Drain refuses new grants (on), or allows them again. What was granted may be finished.
func (l *Lender) Drain(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.draining = on
}
