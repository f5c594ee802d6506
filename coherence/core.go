package coherence

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/csmsql/csmsql/memregion"
)

// ReserveStep is how many generations one persisted high-water mark covers: a grant in 65,536 waits for the disk.
const ReserveStep = 65536

// CoreConfig is what a Core must know about its region.
type CoreConfig struct {
	Class Class
	Home  Domain     // the lender's
	First Generation // the first generation of this incarnation; lower ones belong to former ones
	// Capacity is the region's hard cap in bytes; 0 means unknown, and hostile ranges are found later.
	Capacity int64
	Durable  bool // a sealed extent must be synced before it is published
	// Protect asks for sealed extents to be made read-only for the lender before they are published.
	Protect bool
	// Unreserved switches the persisted high-water mark off: for regions that die with their process.
	Unreserved bool
}

// Core is the lender's side of the protocol for one region: a state machine without goroutine, clock or I/O. It is not
// safe for concurrent use; Home is the driver that is.
type Core struct {
	config   CoreConfig
	next     Generation // the next grant's
	reserved Generation // generations below are on record and may be used
	extents  extentTable
	pages    occupancy
	pins     map[Domain]*pinSet
	count    [stateCount]int
	bytes    [stateCount]int64
	pinned   int // pins over all domains and generations
}

// NewCore returns a Core that knows no extents.
func NewCore(config CoreConfig) (*Core, error) {
	if !config.Class.valid() {
		return nil, fmt.Errorf("%w: %v", ErrConfig, config.Class)
	}
	if config.Home == "" {
		return nil, fmt.Errorf("%w: the lender has no domain", ErrConfig)
	}
	if config.Capacity <= 0 || config.Capacity > addressLimit {
		config.Capacity = addressLimit
	}
	c := &Core{config: config, next: max(config.First, 1), extents: newExtentTable(), pages: newOccupancy(), pins: map[Domain]*pinSet{}}
	c.reserved = c.next
	if config.Unreserved {
		c.reserved = math.MaxUint64
	}
	return c, nil
}

// Step takes one event and returns what the driver must do, in order. An error means that nothing has changed. If
// the first action is ActionReserve or ActionSync, or ActionVerify of a seal, nothing has changed either: the
// driver does it, reports it and offers the event again.
func (c *Core) Step(e Event) ([]Action, error) {
	switch e.Kind {
	case EventReserved:
		c.reserved = max(c.reserved, e.Generation)
		return nil, nil
	case EventGrant:
		return c.grant(e)
	case EventShrunk:
		return c.shrunk(e)
	case EventCleaned:
		return c.cleaned(e)
	case EventHomeCleaned:
		return c.homeCleaned(e)
	case EventVerified:
		return c.verified(e)
	case EventSeal:
		return c.seal(e)
	case EventSynced:
		return c.synced(e)
	case EventPublish:
		return c.publish(e)
	case EventDiscard:
		return c.discard(e)
	case EventPin:
		return c.pin(e)
	case EventUnpin:
		return c.unpin(e)
	case EventExpire:
		return c.expire(e)
	case EventRetire:
		return c.retire(e)
	case EventAbort:
		return c.abort(e)
	case EventFenceOff:
		return c.fenceOff(e)
	case EventLift:
		return c.lift(e)
	case EventAdopt:
		return c.adopt(e)
	}
	return nil, fmt.Errorf("%w: %v", ErrInput, e.Kind)
}

// grant is step 1. C5 needs no look at pins here: the memory of a generation reaches the allocator only after its last
// pin went, and pages that did not come back are refused by C4.
func (c *Core) grant(e Event) ([]Action, error) {
	if e.Domain == "" {
		return nil, fmt.Errorf("%w: a grant without a writer", ErrInput)
	}
	if err := checkRange(e.Range, c.config.Capacity); err != nil {
		return nil, err
	}
	if c.next >= c.reserved {
		return []Action{{Kind: ActionReserve, Generation: c.next + ReserveStep}}, nil
	}
	if !c.pages.take(e.Range) {
		return nil, fmt.Errorf("%w: %v cannot be granted", ErrOverlap, e.Range)
	}
	g := c.next
	c.next++
	x := c.extents.insert(g)
	x.owner, x.writer, x.memory = e.Owner, e.Domain, e.Range
	c.move(x, toGrant)
	var list []Action
	if e.Domain != c.config.Home && c.config.Class.pays() {
		// C3: the kernel's zeroes, a pre-fault or a former generation of the lender's own may lie dirty in its cache
		// and would be written over the foreign writer's bytes at any time. Where the lender has none it has nothing to
		// write back; where its cache is snooped it flushes all the same, since its clean lines answer the writer's
		// loads (decision 0021).
		if c.config.Class != Incoherent {
			e.Untouched = nil
		}
		if touched := without(e.Range, e.Untouched); len(touched) > 0 {
			list = fenceFlushFence(list, c.config.Class, StepPrepare, ActionFenceFull, g, touched...)
		}
	}
	return append(list, Action{Kind: ActionHandOver, Generation: g, Range: e.Range}), nil
}

// without is what is left of r when parts of it, in ascending order, are taken out. Of parts in another order too
// little is taken out.
func without(r memregion.Range, parts []memregion.Range) (left []memregion.Range) {
	at := r.Offset
	for _, p := range append(slices.Clone(parts), memregion.Range{Offset: r.End()}) {
		if end := min(p.Offset, r.End()); end > at {
			left = append(left, memregion.Range{Offset: at, Length: end - at})
		}
		at = max(at, p.End())
	}
	return left
}

// DropAhead is what a lender does with free memory into which its domain has stored, before it is granted: afterwards
// it is untouched, if nothing was stored there meanwhile (decision 0022). Nothing where the fabric is coherent, or
// where the lender's cache is snooped: a grant flushes all the same there.
func DropAhead(class Class, r memregion.Range) []Action {
	if class != Incoherent {
		return nil
	}
	return fenceFlushFence(nil, class, StepAhead, ActionFenceFull, 0, r)
}

// shrunk takes the flushed tail out of the grant. The driver gives the tail back to the allocator itself, since only
// the allocator knows how it rounds; it must not let another Grant in between.
func (c *Core) shrunk(e Event) ([]Action, error) {
	x, err := c.at(e, toClean) // a grant can shrink exactly while it can be cleaned
	if err != nil {
		return nil, err
	}
	if err := checkRange(e.Range, c.config.Capacity); err != nil {
		return nil, err
	}
	if e.Range.Offset != x.memory.Offset || !x.memory.Contains(e.Range) {
		return nil, fmt.Errorf("%w: generation %d is %v and cannot shrink to %v", ErrInput, e.Generation, x.memory, e.Range)
	}
	if tail := (memregion.Range{Offset: e.Range.End(), Length: x.memory.End() - e.Range.End()}); tail.Length > 0 {
		c.pages.free(tail)
		c.bytes[x.state] -= tail.Length
		x.memory = e.Range
	}
	return nil, nil
}

// cleaned is the end of step 3, or of step 9 if the grant is being given back.
func (c *Core) cleaned(e Event) ([]Action, error) {
	if x := c.extents.find(e.Generation); x != nil && x.state == Aborting {
		return []Action{c.reclaim(x)}, nil
	}
	x, err := c.at(e, toClean)
	if err != nil {
		return nil, err
	}
	c.move(x, toClean)
	if !c.needsHomeClean(x) {
		return nil, nil
	}
	list := []Action{{Kind: ActionHomeClean, Generation: e.Generation}}
	return fenceFlushFence(list, c.config.Class, StepHomeClean, ActionFenceFull, e.Generation, x.memory), nil
}

// needsHomeClean: where a reader's load passes through the lender's cache, a line that got there before the foreign
// writer's write-back would answer it for ever. It must go strictly after that write-back (step 4).
func (c *Core) needsHomeClean(x *extent) bool {
	return c.config.Class == IncoherentHomeSnoop && x.writer != c.config.Home
}

func (c *Core) homeCleaned(e Event) ([]Action, error) {
	x, err := c.at(e, toHomeClean)
	if err != nil {
		return nil, err
	}
	if !c.needsHomeClean(x) {
		return nil, fmt.Errorf("%w: generation %d needs no home clean", ErrOrder, e.Generation)
	}
	c.move(x, toHomeClean)
	return nil, nil
}

// verified is the end of step 4: see seal.
func (c *Core) verified(e Event) ([]Action, error) {
	x, err := c.find(e.Generation)
	if err != nil {
		return nil, err
	}
	if x.state != HomeCleaned {
		return nil, &StateError{Generation: e.Generation, State: x.state, Event: e.Kind}
	}
	x.verified, x.seal = true, e.Seal
	return nil, nil
}

// seal is the first half of step 5.
//
// A foreign writer on a home-snoop fabric may lose what it has stored: its processor evicts a line that is stored
// in part, and when it fetches the line for the next store, the lender's cache answers with one that it prefetched
// before. No flush helps, so the lender looks before it seals (decision 0016).
func (c *Core) seal(e Event) ([]Action, error) {
	x, err := c.at(e, toSeal)
	if err != nil {
		return nil, err
	}
	if c.needsHomeClean(x) && x.state != HomeCleaned {
		return nil, &StateError{Generation: e.Generation, State: x.state, Event: e.Kind}
	}
	if err := checkSeal(e, x.memory); err != nil {
		return nil, err
	}
	if c.needsHomeClean(x) && (!x.verified || x.seal != e.Seal) {
		return []Action{{Kind: ActionVerify, Generation: e.Generation, Range: memregion.Range{Offset: x.memory.Offset, Length: e.Seal.Length}}}, nil
	}
	x.seal = e.Seal
	c.move(x, toSeal)
	return []Action{{Kind: ActionRecord, Generation: e.Generation}}, nil
}

func checkSeal(e Event, memory memregion.Range) error {
	if e.Seal.Length < 0 || e.Seal.Length > memory.Length {
		return fmt.Errorf("%w: generation %d lies in %v and cannot be sealed with %d bytes", ErrInput, e.Generation, memory, e.Seal.Length)
	}
	return nil
}

func (c *Core) synced(e Event) ([]Action, error) {
	for _, g := range e.Generations {
		if x := c.extents.find(g); x != nil && x.state == Sealed {
			x.synced = true // one that was discarded meanwhile is refused by the publish that follows
		}
	}
	return nil, nil
}

// publish is the second half of step 5.
func (c *Core) publish(e Event) ([]Action, error) {
	var unsynced, all []*extent
	err := c.all(e, func(x *extent) error {
		if _, ok := x.state.next(toPublish); !ok {
			return &StateError{Generation: x.identity, State: x.state, Event: e.Kind}
		}
		if c.config.Durable && !x.synced {
			unsynced = append(unsynced, x)
		}
		if c.config.Protect {
			all = append(all, x)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(unsynced) > 0 {
		return joined(ActionSync, unsynced), nil
	}
	for _, g := range e.Generations {
		c.move(c.extents.find(g), toPublish)
	}
	return append(joined(ActionProtect, all), Action{Kind: ActionAnnounce}), nil
}

// joined makes one action of neighbours: a few system calls for a whole load instead of thousands. Writers that run
// side by side interleave their generations, so neighbours are found by address.
func joined(kind ActionKind, extents []*extent) (list []Action) {
	slices.SortFunc(extents, func(a, b *extent) int { return cmp.Compare(a.memory.Offset, b.memory.Offset) })
	for _, x := range extents {
		if n := len(list); n > 0 && list[n-1].Range.End() == x.memory.Offset {
			list[n-1].Range.Length += x.memory.Length
			continue
		}
		list = append(list, Action{Kind: kind, Generation: x.identity, Range: x.memory})
	}
	return list
}

func (c *Core) discard(e Event) ([]Action, error) {
	return c.reclaimAll(e, Sealed)
}

func (c *Core) lift(e Event) ([]Action, error) {
	return c.reclaimAll(e, Quarantined)
}

func (c *Core) reclaimAll(e Event, in State) ([]Action, error) {
	err := c.all(e, func(x *extent) error {
		if x.state != in {
			return &StateError{Generation: x.identity, State: x.state, Event: e.Kind}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := make([]Action, 0, len(e.Generations))
	for _, g := range e.Generations {
		list = append(list, c.reclaim(c.extents.find(g)))
	}
	return list, nil
}

// retire takes generations out of the catalog's reach. Those without a pin are over at once.
func (c *Core) retire(e Event) ([]Action, error) {
	err := c.all(e, func(x *extent) error {
		if _, ok := x.state.next(toRetire); !ok {
			return &StateError{Generation: x.identity, State: x.state, Event: e.Kind}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []Action
	for _, g := range e.Generations {
		x := c.extents.find(g)
		c.move(x, toRetire)
		if x.pins == 0 {
			list = append(list, c.reclaim(x))
		}
	}
	return list, nil
}

// abort is step 9 for one grant. A grant that was cleaned is over at once: its lines are gone already.
func (c *Core) abort(e Event) ([]Action, error) {
	x, err := c.find(e.Generation)
	if err != nil {
		return nil, err
	}
	switch x.state {
	case Granted:
		c.move(x, toAbort)
		return nil, nil
	case Cleaned, HomeCleaned:
		return []Action{c.reclaim(x)}, nil
	}
	return nil, &StateError{Generation: e.Generation, State: x.state, Event: e.Kind}
}

// fenceOff takes every grant of a domain away. What it had not cleaned is quarantined: its dirty lines are lost with
// its caches or cut off with its link, but only the operator's fence says so. Memory that stays unused for a while
// costs less than a foreign byte.
func (c *Core) fenceOff(e Event) ([]Action, error) {
	if e.Domain == c.config.Home || e.Domain == "" {
		return nil, fmt.Errorf("%w: domain %q cannot be fenced off its own region", ErrInput, e.Domain)
	}
	var taken []Generation
	c.extents.each(func(g Generation, x *extent) {
		if x.writer == e.Domain && x.state < Sealed || x.writer == e.Domain && x.state == Aborting {
			taken = append(taken, g)
		}
	})
	slices.Sort(taken) // the table has no order, the protocol's history has one
	var list []Action
	for _, g := range taken {
		x := c.extents.find(g)
		if x.state == Granted || x.state == Aborting {
			c.move(x, toQuarantine)
			continue
		}
		list = append(list, c.reclaim(x))
	}
	return list, nil
}

// adopt takes over what the lender's former incarnation had published. Sealed bytes are in memory (C2), so no flush.
func (c *Core) adopt(e Event) ([]Action, error) {
	if e.Generation == 0 || e.Generation >= max(c.config.First, 1) {
		return nil, fmt.Errorf("%w: generation %d is not of a former incarnation (this one begins at %d)", ErrInput, e.Generation, c.config.First)
	}
	if x := c.extents.find(e.Generation); x != nil {
		return nil, &StateError{Generation: e.Generation, State: x.state, Event: e.Kind}
	}
	if err := checkRange(e.Range, c.config.Capacity); err != nil {
		return nil, err
	}
	if err := checkSeal(e, e.Range); err != nil {
		return nil, err
	}
	if !c.pages.take(e.Range) {
		return nil, fmt.Errorf("%w: generation %d in %v cannot be adopted", ErrOverlap, e.Generation, e.Range)
	}
	x := c.extents.insert(e.Generation)
	x.owner, x.writer, x.memory, x.seal, x.synced = e.Owner, c.config.Home, e.Range, e.Seal, true
	c.move(x, toAdopt)
	return nil, nil
}
