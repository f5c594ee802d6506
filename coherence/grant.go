package coherence

import (
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/memregion"
)

// poison fills fresh grants where invariants are checked: padding that the writer forgot to initialise is then seen in
// every golden and checksum (step 2 requires that every byte of every line is stored).
const poison = 0xDB

// Grant is one writer's right to one extent: step 2. It is for one goroutine at a time; several may store into
// disjoint parts of Bytes if all have finished before Clean.
//
// The writer stores every byte up to the end of Bytes, padding included, and none after Clean or Abort. Every grant
// ends with Seal or Abort.
type Grant struct {
	home   *Home
	writer WriterCore
	gen    Generation
	domain Domain
	bytes  []byte
	over   bool // sealed or aborted
}

// Grant allocates at least size bytes for owner, to be written by writer alone. For a writer in another domain the
// result carries no Bytes: it maps the region itself and its messages come in by Cleaned, SealGeneration and
// AbortGeneration. Errors of the allocator (region full, quota) are passed on.
func (h *Home) Grant(owner string, writer Domain, size int64) (*Grant, error) {
	if size <= 0 {
		return nil, fmt.Errorf("%w: grant of %d bytes", ErrInput, size)
	}
	if h.class == IncoherentHomeSnoop && writer != h.domain && h.verify == nil {
		return nil, fmt.Errorf("%w: region %d needs a Verify for writers of other domains, because its lender's cache is snooped", ErrConfig, h.region)
	}
	r, err := h.memory.Allocate(owner, size)
	if err != nil {
		return nil, err
	}
	event := Event{Kind: EventGrant, Owner: owner, Domain: writer, Range: r}
	prepares := h.class.pays() && writer != h.domain
	switch {
	case h.tracked == nil:
	case prepares:
		event.Untouched = h.tracked.Untouched(r)
	default:
		h.tracked.Touch(r) // before anybody can store
	}
	list, err := h.enter(event)
	if err != nil {
		_ = h.memory.Free(owner, r) // the first error says what is wrong
		return nil, err
	}
	if err := h.do(list); err != nil {
		return nil, err
	}
	gen := list[len(list)-1].Generation
	h.count.Grants.Add(1)
	switch {
	case !prepares:
	case len(list) == 1:
		h.count.Unprepared.Add(1)
	default:
		h.dropped(gen, r)
		h.lending.Do(func() { close(h.lends) })
	}
	h.count.GrantedBytes.Add(uint64(r.Length))
	g := &Grant{home: h, writer: NewWriterCore(h.class, gen, r), gen: gen, domain: writer}
	if writer == h.domain {
		g.bytes = h.memory.Bytes(r)
		if invariants.Enabled {
			fill(g.bytes, poison)
		}
	}
	return g, nil
}

// dropped notes that the flushes of a prepare are done, unless the grant was taken away meanwhile: then the memory may
// have been granted again.
func (h *Home) dropped(gen Generation, r memregion.Range) {
	if h.tracked == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.core.View(gen).State == Granted {
		h.tracked.Dropped(r)
	}
}

func fill(b []byte, value byte) {
	for i := range b {
		b[i] = value
	}
}

// enter takes a grant into the core, putting a higher mark on record when the generations run out.
func (h *Home) enter(e Event) ([]Action, error) {
	list, err := h.step(e)
	if err != nil || list[0].Kind != ActionReserve {
		return list, err
	}
	// One goroutine waits for the disk, the others for it. They find generations then and reserve nothing.
	h.reserving.Lock()
	defer h.reserving.Unlock()
	for {
		list, err := h.step(e)
		if err != nil || list[0].Kind != ActionReserve {
			return list, err
		}
		if err := h.reserve(list[0].Generation); err != nil {
			return nil, fmt.Errorf("coherence: reserve generations of region %d: %w", h.region, err)
		}
		if _, err := h.step(Event{Kind: EventReserved, Generation: list[0].Generation}); err != nil {
			return nil, err
		}
	}
}

// Bytes is the extent, writable, in whole pages: longer than asked for. Nil after Clean and Abort, and for a writer
// in another domain.
func (g *Grant) Bytes() []byte { return g.bytes }

// Range is where the extent lies in its region.
func (g *Grant) Range() memregion.Range { return g.writer.Range() }

// Generation is the number of this writing.
func (g *Grant) Generation() Generation { return g.gen }

// Shrink gives back what lies beyond the first size bytes, in whole pages. Before Clean only. Slices of Bytes that
// reach beyond the new end must not be used again.
func (g *Grant) Shrink(size int64) error {
	if err := g.local(EventShrunk); err != nil {
		return err
	}
	list, err := g.writer.Shrink(size)
	if err != nil {
		return err
	}
	// C3: the tail's dirty lines go before the allocator may hand it to another writer.
	if err := g.home.do(list); err != nil {
		return err
	}
	r, err := g.home.ShrinkGeneration(g.gen, size)
	if err != nil {
		return err
	}
	g.writer.Shrunk(r)
	g.bytes = g.bytes[:r.Length:r.Length]
	return nil
}

// ShrinkGeneration takes the report that gen's writer has flushed what lies beyond size bytes and does not need it any
// more (WriterCore.Shrink says what to flush). It returns what is left.
//
// It holds the lock over both the allocator and the core: between them the tail is free in one and taken in the other,
// and a concurrent Grant that got it would be refused by C4.
func (h *Home) ShrinkGeneration(gen Generation, size int64) (memregion.Range, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	view := h.mu.core.View(gen)
	r := view.Range
	if view.State != Granted {
		return r, &StateError{Generation: gen, State: view.State, Event: EventShrunk}
	}
	if size <= 0 || size > r.Length {
		return r, fmt.Errorf("%w: generation %d has %d bytes and cannot shrink to %d", ErrInput, gen, r.Length, size)
	}
	left, err := h.memory.Shrink(view.Owner, r, size)
	if err != nil {
		return r, err
	}
	if invariants.Enabled && (left.Length < size || left.Offset != r.Offset) {
		panic(fmt.Sprintf("coherence: the allocator shrank %v to %v, which is less than %d bytes", r, left, size))
	}
	_, err = h.mu.core.Step(Event{Kind: EventShrunk, Generation: gen, Range: left})
	return left, err
}

// Copy stores from at offset at of Bytes, in the way that was found to be the fastest on this fabric. The bytes are not
// to be stored into again. near reports whether what was stored may be in the caches.
func (g *Grant) Copy(at int64, from []byte) (near bool, err error) {
	if g.bytes == nil || at < 0 || at > int64(len(g.bytes)) || int64(len(from)) > int64(len(g.bytes))-at {
		return false, fmt.Errorf("%w: copy of %d bytes to offset %d of generation %d, which has %d", ErrInput, len(from), at, g.gen, len(g.bytes))
	}
	return CopyInto(&g.writer, g.home.chooser, g.home.count, g.bytes, at, from), nil
}

// Clean is step 3 (and 4): it writes back and drops every line. Nothing may be stored into the bytes afterwards.
func (g *Grant) Clean() error {
	if err := g.local(EventCleaned); err != nil {
		return err
	}
	list, err := g.writer.Clean()
	if err != nil {
		return err
	}
	g.bytes = nil
	if err := g.home.do(list); err != nil {
		return err
	}
	return g.home.Cleaned(g.gen)
}

// Seal is the first half of step 5: the generation is complete and never changes again. Clean comes before.
func (g *Grant) Seal(s Seal) error {
	if err := g.home.SealGeneration(g.gen, s); err != nil {
		return err
	}
	g.over = true
	return nil
}

// Abort gives the grant back unfinished. After Seal or an earlier Abort it does nothing, so that it can be deferred;
// sealed memory goes back by Home.Discard.
func (g *Grant) Abort() error {
	if g.over {
		return nil
	}
	g.over, g.bytes = true, nil
	if !g.writer.Writing() || g.domain != g.home.domain {
		return g.home.AbortGeneration(g.gen)
	}
	list, err := g.writer.Abort()
	if err != nil {
		return err
	}
	// First the lender knows that nothing will be sealed, then the lines go, then the memory.
	if err := g.home.AbortGeneration(g.gen); err != nil {
		return err
	}
	if err := g.home.do(list); err != nil {
		return err
	}
	return g.home.Cleaned(g.gen)
}

// local refuses steps that only the writer's own domain can do.
func (g *Grant) local(kind EventKind) error {
	if g.domain != g.home.domain {
		return fmt.Errorf("%w: %s of generation %d is for its writer in domain %q to do", ErrOrder, kind, g.gen, g.domain)
	}
	if g.over {
		return &StateError{Generation: g.gen, State: g.home.Generation(g.gen).State, Event: kind}
	}
	return nil
}

// Cleaned takes the report that gen's writer, or another process of the writer's host if it died, has written back and
// dropped every line. It runs the lender's own clean where the fabric needs one, and ends an aborted grant.
func (h *Home) Cleaned(gen Generation) error {
	list, err := h.step(Event{Kind: EventCleaned, Generation: gen})
	if err != nil {
		return err
	}
	if len(list) > 0 && list[0].Kind == ActionReleaseMemory {
		return h.do(list)
	}
	h.count.Cleans.Add(1)
	if len(list) == 0 {
		return nil
	}
	if err := h.do(list); err != nil {
		return err
	}
	if _, err := h.step(Event{Kind: EventHomeCleaned, Generation: gen}); err != nil {
		return err
	}
	h.count.HomeCleans.Add(1)
	return nil
}

// SealGeneration records that gen is complete. Its writer has reported Cleaned before. Where the lender must look
// first and finds other bytes than s says, the generation is over and the error wraps ErrChecksum: the writer may
// write again, in a new grant.
func (h *Home) SealGeneration(gen Generation, s Seal) error {
	event := Event{Kind: EventSeal, Generation: gen, Seal: s}
	list, err := h.step(event)
	if err == nil && len(list) > 0 && list[0].Kind == ActionVerify {
		list, err = h.look(event, list[0])
	}
	if err != nil {
		return err
	}
	if err := h.do(list); err != nil {
		return err
	}
	h.count.Seals.Add(1)
	h.count.SealedBytes.Add(uint64(s.Length))
	return nil
}

// look does the ActionVerify of a seal: outside of the lock, since it reads every byte.
func (h *Home) look(seal Event, a Action) ([]Action, error) {
	if err := h.verify(h.memory.Bytes(a.Range), seal.Seal); err != nil {
		h.count.Mismatches.Add(1)
		err = fmt.Errorf("coherence: generation %d of region %d, as its lender reads it: %w", seal.Generation, h.region, err)
		return nil, errors.Join(err, h.AbortGeneration(seal.Generation))
	}
	if _, err := h.step(Event{Kind: EventVerified, Generation: seal.Generation, Seal: seal.Seal}); err != nil {
		return nil, err
	}
	return h.step(seal)
}

// AbortGeneration takes the report that gen will not be finished. Its memory stays away until Cleaned, or FenceOff.
func (h *Home) AbortGeneration(gen Generation) error {
	if err := h.run(Event{Kind: EventAbort, Generation: gen}); err != nil {
		return err
	}
	h.count.Aborts.Add(1)
	return nil
}

// FenceOff takes every unfinished grant of d away. The caller has made sure that d cannot reach the memory any more:
// power, link or hypervisor say so, not a timeout. Its pins are another matter: ExpireDomain. Returns how many extents
// went into quarantine.
func (h *Home) FenceOff(d Domain) (quarantined int, err error) {
	h.mu.Lock()
	before := h.mu.core.Census().Extents[Quarantined]
	list, err := h.mu.core.Step(Event{Kind: EventFenceOff, Domain: d})
	quarantined = h.mu.core.Census().Extents[Quarantined] - before
	h.mu.Unlock()
	if err != nil {
		return 0, err
	}
	h.count.Quarantines.Add(uint64(quarantined))
	return quarantined, h.do(list)
}

// Lift ends the quarantine of gens: their memory goes back. All or nothing.
func (h *Home) Lift(gens ...Generation) error {
	return h.run(Event{Kind: EventLift, Generations: gens})
}
