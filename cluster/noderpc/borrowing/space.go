package borrowing

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// Lender is what a Space needs of a node; noderpc.Client has it.
type Lender interface {
	Grant(ctx context.Context, request noderpc.GrantRequest) (noderpc.Granted, error)
	Reallocate(ctx context.Context, request noderpc.ReallocateRequest) (noderpc.Granted, error)
	Seal(ctx context.Context, request noderpc.SealRequest) error
	Free(ctx context.Context, request noderpc.FreeRequest) error
}

// Options of NewSpace. The zero value serves on fabrics whose caches are coherent.
type Options struct {
	// Lines flush this processor's caches; required where the fabric is not coherent.
	Lines coherence.Lines
	// Domain is this machine's name, under which its next process is known, too; see noderpc.GrantRequest.
	Domain coherence.Domain
	// Member is which node's this process is, if it is one.
	Member noderpc.Membership
	// Chooser finds how Grant.Copy copies where the fabric is not coherent; nil: ordinary stores.
	Chooser *coherence.Chooser
	// Counters count the steps of the protocol; nil: not counted.
	Counters *coherence.Counters
	// Fault is called at the fault points of writing; nil in production.
	Fault faults.Hook
}

// Space is the memory of one region of another node, for this process to write chunks into. It implements
// catalog.Space. Safe for concurrent use; its Grants are each for one goroutine.
type Space struct {
	*space
	ctx    context.Context
	holder string // of what it grants, in words for people
}

// space is what all contexts of a Space share.
type space struct {
	lender  Lender
	view    *memregion.View
	options Options
	flusher coherence.Flusher

	mu struct {
		sync.Mutex
		debts noderpc.FreeRequest // what the lender has yet to receive (R2)
	}
}

var _ catalog.Space = (*Space)(nil)

// NewSpace writes into the region of the view, which the lender lends. Each call has the lender's default time limit; a
// Space for a statement's context comes from WithContext. The view stays the caller's, and outlives the Space.
func NewSpace(lender Lender, view *memregion.View, options Options) *Space {
	if options.Counters == nil {
		options.Counters = &coherence.Counters{}
	}
	s := &space{lender: lender, view: view, options: options, flusher: coherence.Flusher{Lines: options.Lines, Counters: options.Counters}}
	s.mu.debts.Settling = true
	return &Space{space: s, ctx: context.Background()} // each call has a deadline of its own
}

// WithContext is the same Space, whose grants end with the context: neither Grant nor the steps of what it grants block
// for longer.
func (s *Space) WithContext(ctx context.Context) *Space {
	return &Space{space: s.space, ctx: ctx, holder: s.holder}
}

// For is the same Space, whose grant requests name their holder.
func (s *Space) For(holder string) *Space {
	return &Space{space: s.space, ctx: s.ctx, holder: holder}
}

// Region implements catalog.Space.
func (s *Space) Region() memregion.RegionID { return s.view.Spec().ID }

// Grant implements catalog.Space.
func (s *Space) Grant(owner string, size int64) (chunk.Grant, error) {
	if err := s.Settle(s.ctx); err != nil {
		return nil, err // what it owes counts against its quota
	}
	s.options.Fault.At(faults.BorrowAsking)
	request := noderpc.GrantRequest{Region: s.Region(), Owner: owner, Size: size, Ticket: noderpc.NewTicket(), Domain: s.options.Domain, Member: s.options.Member, Holder: s.holder}
	given, err := s.lender.Grant(s.ctx, request)
	if err != nil {
		s.unheard(request.Ticket, err)
		return nil, err
	}
	s.options.Fault.At(faults.BorrowGranted)
	g := &Grant{space: s}
	if err := g.open(given); err != nil {
		s.Owe(given.Extent)
		return nil, errors.Join(err, s.Settle(s.ctx))
	}
	fill(g.Bytes())
	s.options.Counters.Grants.Add(1)
	s.options.Counters.GrantedBytes.Add(uint64(given.Range.Length))
	return g, nil
}

// Discard implements catalog.Space.
func (s *Space) Discard(generations ...coherence.Generation) error {
	request := noderpc.FreeRequest{Extents: make([]catalog.ExtentID, len(generations))}
	for i, g := range generations {
		request.Extents[i] = catalog.ExtentID{Region: s.Region(), Generation: g}
	}
	err := s.lender.Free(s.ctx, request)
	if err == nil {
		s.options.Counters.Discards.Add(uint64(len(generations)))
		return nil
	}
	if !heard(err) {
		s.Owe(request.Extents...)
	}
	return err
}

// answered reports whether an error is the lender's answer.
func answered(err error) bool {
	var e *noderpc.Error
	return errors.As(err, &e) && e.Answered
}

// heard reports whether the lender knows what it gets back: it took it, or says that it has nothing to take. One that
// is too busy, that ends, or that gave up in the middle says so and has taken nothing.
func heard(err error) bool {
	var e *noderpc.Error
	if err == nil || !errors.As(err, &e) || !e.Answered {
		return err == nil
	}
	switch e.State {
	case "53000", "57014", "57P01", "57P03": // insufficient_resources, query_canceled, admin_shutdown, cannot_connect_now
		return errors.Is(err, noderpc.ErrFenced) // what this process was granted goes back without it
	}
	return true
}

// unheard owes a ticket unless the lender said no.
func (s *space) unheard(ticket noderpc.Ticket, err error) {
	if answered(err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.debts.Tickets = append(s.mu.debts.Tickets, ticket)
}

// Owe has Settle give extents of the lender's back: for callers whose own Free was not answered.
func (s *space) Owe(ids ...catalog.ExtentID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.debts.Extents = append(s.mu.debts.Extents, ids...)
}

// Settle gives the lender back what this process owes. Without debts it does nothing, and costs nothing.
func (s *space) Settle(ctx context.Context) error { return s.SettleWith(ctx, s.lender) }

// SettleWith is Settle with the lender's next process, which keeps what this one may be storing into.
func (s *space) SettleWith(ctx context.Context, lender Lender) error {
	s.mu.Lock()
	debts := s.mu.debts
	s.mu.debts.Extents, s.mu.debts.Tickets = nil, nil
	s.mu.Unlock()
	for len(debts.Extents)+len(debts.Tickets) > 0 {
		part := noderpc.FreeRequest{
			Extents: debts.Extents[:min(len(debts.Extents), noderpc.MaxExtents)],
			Tickets: debts.Tickets[:min(len(debts.Tickets), noderpc.MaxExtents)], Settling: true,
		}
		if err := lender.Free(ctx, part); !heard(err) {
			s.mu.Lock()
			s.mu.debts.Extents = append(s.mu.debts.Extents, debts.Extents...)
			s.mu.debts.Tickets = append(s.mu.debts.Tickets, debts.Tickets...)
			s.mu.Unlock()
			return fmt.Errorf("give back what region %d of the lender may hold for this process: %w", s.view.Spec().ID, err)
		}
		debts.Extents, debts.Tickets = debts.Extents[len(part.Extents):], debts.Tickets[len(part.Tickets):]
	}
	return nil
}

// Owes reports whether the lender has something to hear.
func (s *space) Owes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.debts.Extents)+len(s.mu.debts.Tickets) > 0
}

// Orphaned are extents that this process gave up without its lender's answer, which is not there any more: the lender's
// next process keeps them until they are freed (noderpc.Client.Free with Settling, by a client of that process).
func (s *space) Orphaned() []catalog.ExtentID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]catalog.ExtentID(nil), s.mu.debts.Extents...)
}
