package lending

import (
	"context"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// take finds what a live borrower holds (W1, W4). The caller finishes it.
func (l *Lender) take(ctx context.Context, peer noderpc.Peer, what string, ids []catalog.ExtentID,
	stages ...stage) ([]*grant, error) {
	if err := l.admit(peer); err != nil {
		return nil, l.refuse(ctx, peer, what, err)
	}
	l.mu.Lock()
	a, refusal := l.mu.ledger.enter(peer, l.options.Now())
	var list []*grant
	if refusal == nil {
		list, refusal = l.mu.ledger.takeAll(a, what, ids, stages...)
		l.mu.ledger.leave(a)
	}
	l.mu.Unlock()
	if refusal != nil {
		return nil, l.refuse(ctx, peer, what, refusal)
	}
	return list, nil
}

// Seal implements noderpc.Lender: steps 3 (the report), 4 and the first half of 5, and the shortening before.
func (l *Lender) Seal(ctx context.Context, peer noderpc.Peer, request noderpc.SealRequest) error {
	list, err := l.take(ctx, peer, "seal", []catalog.ExtentID{request.Extent}, granted)
	if err != nil {
		return err
	}
	g := list[0]
	err = l.during(list, func() error { return l.seal(ctx, peer, l.homes[request.Extent.Region], request) }, func(ledger *ledger, err error) {
		if err == nil {
			g.stage = sealed
			ledger.resize(g, request.Keep)
		}
	})
	if err != nil {
		return fmt.Errorf("seal %v: %w", request.Extent, err)
	}
	l.count.seals.Add(1)
	l.log("the journal", l.options.Journal.ended(request.Extent)) // its writer has no window any more
	l.options.Fault.At(faults.LendSealed)
	return nil
}

func (l *Lender) seal(ctx context.Context, peer noderpc.Peer, home *coherence.Home, request noderpc.SealRequest) error {
	gen := request.Extent.Generation
	view := home.Generation(gen)
	switch {
	case request.Seal.Length < 0 || request.Seal.Length > request.Keep:
		return &noderpc.Error{State: "22023", Message: fmt.Sprintf("%d bytes of data do not fit into %d", request.Seal.Length, request.Keep)}
	case request.Keep > view.Range.Length:
		return &noderpc.Error{State: "22023", Message: fmt.Sprintf("it has %d bytes and cannot keep %d", view.Range.Length, request.Keep)}
	case request.Keep < view.Range.Length:
		kept, err := home.ShrinkGeneration(gen, request.Keep)
		if err != nil {
			return err
		}
		if kept.Length != request.Keep { // the writer's descriptor says so already
			return fmt.Errorf("lending: the allocator kept %d bytes instead of %d", kept.Length, request.Keep)
		}
	}
	if err := home.Cleaned(gen); err != nil {
		return err
	}
	l.options.Fault.At(faults.LendCleaned)
	if err := l.compare(home, view.Range, request); err != nil {
		return l.refuse(ctx, peer, fmt.Sprintf("seal %v", request.Extent), err)
	}
	return home.SealGeneration(gen, request.Seal)
}

// compare reports whether the bytes are those that their writer reports.
func (l *Lender) compare(home *coherence.Home, at memregion.Range, request noderpc.SealRequest) error {
	if l.options.TrustSeals {
		return nil
	}
	at.Length = request.Keep
	bytes := home.Bytes(at)[:request.Seal.Length]
	if home.Class() != coherence.Coherent && len(bytes) > 0 {
		flush(l.options.Lines, bytes) // an acquire: this processor may have fetched lines before they were written
	}
	var checksum uint64
	if err := memregion.Guarded(func() { checksum = xxh3.Hash(bytes) }); err != nil {
		return err
	}
	if checksum != request.Seal.Checksum {
		return refused(refusal.Checksum, "XX001", "its %d bytes have the checksum %016x and not %016x, as their writer says", len(bytes), checksum, request.Seal.Checksum)
	}
	return nil
}

// Publish implements noderpc.Lender.
func (l *Lender) Publish(ctx context.Context, peer noderpc.Peer, request noderpc.PublishRequest) error {
	list, err := l.take(ctx, peer, "publish", request.Extents, sealed)
	if err != nil {
		return err
	}
	publish := func() error {
		if err := l.homes.Publish(request.Extents...); err != nil {
			return err
		}
		l.options.Fault.At(faults.LendPublished)
		return nil
	}
	err = l.during(list, publish, func(ledger *ledger, err error) {
		for _, g := range list {
			switch {
			case err != nil && l.homes[g.extent.Region].Generation(g.extent.Generation).State == coherence.Free:
				ledger.drop(g) // published, and retired when another region refused: all or nothing
			case err != nil:
			case request.Temporary:
				g.stage = temporary
			default:
				if l.options.Confirmations {
					l.mu.unconfirmed[g.extent] = g.account.Borrower
				}
				ledger.drop(g)
			}
		}
	})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	l.count.publishes.Add(uint64(len(list)))
	return nil
}

// Free implements noderpc.Lender.
func (l *Lender) Free(ctx context.Context, peer noderpc.Peer, request noderpc.FreeRequest) error {
	taken, failed := l.takeFreed(ctx, peer, request)
	for _, g := range taken.grants {
		if err := l.giveBack(g); err != nil && failed == nil {
			failed = fmt.Errorf("free %v: %w", g.extent, err) // one is enough: there may be thousands
		}
	}
	if len(taken.published) > 0 {
		failed = errors.Join(failed, l.homes.Retire(taken.published...))
	}
	return errors.Join(failed, l.freeOrphans(taken.orphans))
}

// giveBack ends what its borrower does not want any more. Preconditions: the grant is busy with it.
func (l *Lender) giveBack(g *grant) error {
	home := l.homes[g.extent.Region]
	l.count.frees.Add(1)
	err := l.during([]*grant{g}, func() error { return l.takeBack(home, g.extent.Generation) }, func(ledger *ledger, _ error) {
		if state := home.Generation(g.extent.Generation).State; state == coherence.Free || state == coherence.Retired {
			ledger.drop(g)
		}
	})
	if err != nil {
		return err
	}
	return l.options.Journal.ended(g.extent)
}

// freed is what a call gives back.
type freed struct {
	grants    []*grant
	published []catalog.ExtentID // not confirmed: their publication's answer was not heard
	orphans   []Orphan
}

// takeFreed collects what the call names, as far as it can.
func (l *Lender) takeFreed(ctx context.Context, peer noderpc.Peer,
	request noderpc.FreeRequest) (taken freed, failed error) {
	if err := l.admit(peer); err != nil {
		return taken, l.refuse(ctx, peer, "free", err)
	}
	l.mu.Lock()
	a, refusal := l.mu.ledger.enter(peer, l.options.Now())
	var refusals []*refusalOf
	if refusal != nil {
		l.mu.Unlock()
		return taken, l.refuse(ctx, peer, "free", refusal)
	}
	for _, ticket := range request.Tickets {
		if o, ok := l.orphanWith(a, ticket); ok {
			taken.orphans = append(taken.orphans, o)
		} else if g := l.freeTicket(a, ticket); g != nil {
			taken.grants = append(taken.grants, g)
		}
	}
	for _, id := range request.Extents {
		g, refusal := l.mu.ledger.take(a, "free", id, granted, sealed, temporary)
		switch {
		case refusal == nil:
			taken.grants = append(taken.grants, g)
		case request.Settling && l.willGoBack(a, id):
		case l.mu.unconfirmed[id] == a.Borrower:
			l.confirmed(id)
			taken.published = append(taken.published, id)
		case l.mu.ledger.extents[id] == nil && request.Settling:
			if o, ok := l.orphanOf(a, id); ok {
				taken.orphans = append(taken.orphans, o)
			}
		default:
			refusals = append(refusals, &refusalOf{id, refusal})
		}
	}
	l.mu.ledger.leave(a)
	l.mu.Unlock()
	for _, r := range refusals {
		if err := l.refuse(ctx, peer, fmt.Sprintf("free %v", r.id), r.refusal); failed == nil {
			failed = err
		}
	}
	return taken, failed
}

// willGoBack leaves an extent to the step that is under way about it: a caller that settles has given up waiting for
// that. Requires mu.
func (l *Lender) willGoBack(a *account, id catalog.ExtentID) bool {
	g := l.mu.ledger.extents[id]
	if g == nil || g.account != a || !g.busy {
		return false
	}
	g.void = true
	return true
}

type refusalOf struct {
	id      catalog.ExtentID
	refusal *denial
}

// freeTicket finds the extent of a ticket. If there is none yet, its request will find the ticket void (W5). Requires
// mu.
func (l *Lender) freeTicket(a *account, ticket noderpc.Ticket) *grant {
	g := a.tickets[ticket]
	switch {
	case g == nil:
		a.usage.void(a.Incarnation, ticket, l.options.Now())
	case g.busy: // requested, or in some later step, which sees it
		g.void = true
	default:
		g.busy = true
		return g
	}
	return nil
}

// Pin implements noderpc.Lender.
func (l *Lender) Pin(ctx context.Context, peer noderpc.Peer, ids []catalog.ExtentID) error {
	return l.pinning(ctx, peer, "pin", func(domain coherence.Domain) error { return l.homes.Pin(domain, ids...) })
}

// Unpin implements noderpc.Lender.
func (l *Lender) Unpin(ctx context.Context, peer noderpc.Peer, ids []catalog.ExtentID) error {
	return l.pinning(ctx, peer, "unpin", func(domain coherence.Domain) error {
		err := l.homes.Unpin(domain, ids...)
		if errors.Is(err, coherence.ErrNotPinned) || errors.Is(err, coherence.ErrUnknown) {
			return &denial{refusal.Replayed, &noderpc.Error{State: "55000", Message: err.Error(), Cause: err}}
		}
		return err
	})
}

// pinning keeps the account while there may be pins. A pin that is taken while its borrower is declared dead is taken
// back here.
func (l *Lender) pinning(ctx context.Context, peer noderpc.Peer, what string, do func(coherence.Domain) error) error {
	if err := l.admit(peer); err != nil {
		return l.refuse(ctx, peer, what, err)
	}
	l.mu.Lock()
	a, refused := l.mu.ledger.enter(peer, l.options.Now())
	if refused != nil {
		l.mu.Unlock()
		return l.refuse(ctx, peer, what, refused)
	}
	a.pinned = true
	if a.process == (noderpc.Process{}) {
		a.process = evidence(peer, noderpc.Process{})
	}
	l.mu.Unlock()
	err := do(a.domain())
	l.mu.Lock()
	gone := a.gone
	l.mu.Unlock()
	if gone {
		_ = l.homes.ExpireDomain(a.domain()) // it has no error to return
		return l.refuse(ctx, peer, what, goneRefusal(a.Borrower))
	}
	return l.refuse(ctx, peer, what, err)
}
