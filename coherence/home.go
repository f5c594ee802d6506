package coherence

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/csmsql/csmsql/memregion"
)

// Memory is the lender's allocator of one region. *memregion.Lent is one. Its own lock is below Home's.
type Memory interface {
	// Allocate returns whole pages that are not allocated, at least size bytes.
	Allocate(owner string, size int64) (memregion.Range, error)
	// Shrink keeps at least the first size bytes of r, in whole pages, and returns what is kept.
	Shrink(owner string, r memregion.Range, size int64) (memregion.Range, error)
	// Free takes r back.
	Free(owner string, r memregion.Range) error
	// Bytes returns r as this process maps it; the bytes are the region's, not a copy.
	Bytes(r memregion.Range) []byte
}

// Durable is a Memory whose bytes survive a reboot once synced. Home asks its Memory for it.
type Durable interface {
	// Sync returns when the bytes of r are on the disk.
	Sync(r memregion.Range) error
}

// Tracking is a Memory that knows which of its pages the lender's domain has stored into. Home asks its Memory for it;
// without it, the lender flushes before each foreign grant. *memregion.Lent is one. Its lock is held while DropAhead's
// caller flushes; Home.mu is not.
type Tracking interface {
	// Dropped notes that the lender's domain has dropped every line of r.
	Dropped(r memregion.Range)
	// Touch notes that the lender's domain is about to store into r.
	Touch(r memregion.Range)
	// Untouched lists the parts of r, in ascending order, that it has stored nothing into since Dropped, the kernel
	// that zeroes pages included.
	Untouched(r memregion.Range) []memregion.Range
	// DropAhead calls drop to flush, fences included, some free memory that is not untouched, at most limit bytes, and
	// notes that it was dropped. That memory is neither granted nor zeroed before drop has returned. It returns the
	// range; empty: there is none.
	DropAhead(limit int64, drop func(r memregion.Range, data []byte)) (memregion.Range, error)
	// MoreToDrop signals that DropAhead may find something where it found nothing before.
	MoreToDrop() <-chan struct{}
}

// HomeConfig is what a lender's driver needs. All fields but those marked optional must be set.
type HomeConfig struct {
	Region memregion.RegionID
	Memory Memory
	Lines  Lines // optional on coherent fabrics
	// AheadLines are those of DropAhead, which is called by other goroutines than the rest (optional: Lines).
	AheadLines Lines
	Domain     Domain
	Class      Class
	// Capacity is the region's hard cap in bytes (optional, for clearer errors).
	Capacity int64
	// FirstGeneration is the high-water mark on record: every generation ever used is below it. 0 for a new region.
	FirstGeneration Generation
	// ReserveGenerations puts a new high-water mark on record and returns when it would survive a crash. It is called
	// before any generation at or above the former mark is used, in steps of ReserveStep, without a lock held.
	// Optional for regions that die with their process.
	ReserveGenerations func(upTo Generation) error
	// Protect makes sealed extents read-only in the lender's own map (optional; memregion's Lent has it). What it
	// refuses stays writable and is counted: it guards against our bugs, reading is correct without it.
	Protect func(ranges ...memregion.Range) error
	// Verify compares data, the bytes of a foreign writer's grant, with the checksum that it reports; the error wraps
	// ErrChecksum if they differ. Optional where the lender's cache is not snooped; elsewhere foreign writers are
	// refused without it.
	Verify func(data []byte, s Seal) error
	// Chooser finds how Grant.Copy copies where the fabric is not coherent (optional: ordinary stores).
	Chooser *Chooser
	// Reader is that of the lender's own process (optional): it forgets generations when they are over.
	Reader   *Reader
	Counters *Counters // optional
}

// Home drives the lender's side of the protocol for one region. Safe for concurrent use.
type Home struct {
	region  memregion.RegionID
	memory  Memory
	durable Durable  // nil if the region is not
	tracked Tracking // nil if the memory is not
	domain  Domain
	class   Class
	first   Generation
	reserve func(Generation) error
	protect func(...memregion.Range) error
	verify  func([]byte, Seal) error
	chooser *Chooser
	reader  *Reader // nil if there is none
	count   *Counters
	flusher Flusher
	ahead   Flusher       // of DropAhead
	lends   chan struct{} // closed when a foreign writer was granted memory that had to be prepared
	lending sync.Once     // closes it

	reserving sync.Mutex // held while a high-water mark is put on record; above mu

	mu struct {
		sync.Mutex
		core *Core
	}
}

// NewHome returns a driver for a region in which nothing is alive yet; Adopt brings back what was.
func NewHome(config HomeConfig) (*Home, error) {
	if config.Memory == nil {
		return nil, fmt.Errorf("%w: region %d has no memory", ErrConfig, config.Region)
	}
	if config.Lines == nil && config.Class.pays() {
		return nil, fmt.Errorf("%w: region %d is on an %v fabric and needs lines to flush", ErrConfig, config.Region, config.Class)
	}
	durable, _ := config.Memory.(Durable)
	tracked, _ := config.Memory.(Tracking)
	core, err := NewCore(CoreConfig{
		Class: config.Class, Home: config.Domain, First: config.FirstGeneration, Capacity: config.Capacity,
		Durable: durable != nil, Protect: config.Protect != nil, Unreserved: config.ReserveGenerations == nil,
	})
	if err != nil {
		return nil, fmt.Errorf("region %d: %w", config.Region, err)
	}
	if config.Counters == nil {
		config.Counters = &Counters{}
	}
	h := &Home{
		region: config.Region, memory: config.Memory, durable: durable, tracked: tracked, domain: config.Domain, class: config.Class, first: config.FirstGeneration,
		reserve: config.ReserveGenerations, protect: config.Protect, verify: config.Verify, chooser: config.Chooser, reader: config.Reader, count: config.Counters, flusher: Flusher{config.Lines, config.Counters},
		ahead: Flusher{cmp.Or(config.AheadLines, config.Lines), config.Counters},
		lends: make(chan struct{}),
	}
	h.mu.core = core
	return h, nil
}

// First returns the first generation of this home: lower ones are of former processes.
func (h *Home) First() Generation { return h.first }

// Region returns which region this is the home of.
func (h *Home) Region() memregion.RegionID { return h.region }

// Class returns the fabric's.
func (h *Home) Class() Class { return h.class }

// Domain returns the lender's.
func (h *Home) Domain() Domain { return h.domain }

func (h *Home) step(e Event) ([]Action, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.core.Step(e)
}

// do performs a list of actions in order, outside the lock: a flush may take milliseconds, and what it works on
// belongs to its generation alone. It stops at the first error.
func (h *Home) do(list []Action) error {
	var failed error
	for _, a := range list {
		switch a.Kind {
		case ActionFenceStore, ActionFenceFull:
			h.flusher.Do(a, nil)
		case ActionFlush:
			h.flusher.Do(a, h.memory.Bytes(a.Range))
		case ActionSync:
			if err := h.durable.Sync(a.Range); err != nil {
				return fmt.Errorf("coherence: sync region %d %v: %w", h.region, a.Range, err)
			}
		case ActionProtect:
			if h.protect(a.Range) != nil {
				h.count.Unprotected.Add(1)
			}
		case ActionReleaseMemory:
			// The generation is over whatever the allocator says; the others must go back too.
			h.count.Reclaims.Add(1)
			if h.reader != nil { // no pin, so no reader here; forgotten before the memory is allocated again
				h.reader.Release(h.region, a.Generation)
			}
			if err := h.memory.Free(a.Owner, a.Range); err != nil {
				h.count.LostExtents.Add(1)
				failed = errors.Join(failed, fmt.Errorf("coherence: region %d generation %d: %w", h.region, a.Generation, err))
			}
		}
	}
	return failed
}

// run is step and do.
func (h *Home) run(e Event) error {
	list, err := h.step(e)
	if err != nil {
		return err
	}
	return h.do(list)
}

// Publish makes sealed generations readable: afterwards their descriptors may leave. All or nothing. On durable
// fabrics it returns when the bytes are on the disk. A caller that fails to hand the descriptors on retires them.
func (h *Home) Publish(gens ...Generation) error {
	event := Event{Kind: EventPublish, Generations: gens}
	list, err := h.step(event)
	if err != nil {
		return err
	}
	if len(list) > 0 && list[0].Kind == ActionSync {
		if err := h.do(list); err != nil {
			return err
		}
		if list, err = h.publishSynced(event); err != nil {
			return err
		}
	}
	h.count.Publishes.Add(uint64(len(gens)))
	return h.do(list)
}

func (h *Home) publishSynced(event Event) ([]Action, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.mu.core.Step(Event{Kind: EventSynced, Generations: event.Generations}); err != nil {
		return nil, err
	}
	return h.mu.core.Step(event)
}

// Discard gives back sealed generations that were never published. All or nothing.
func (h *Home) Discard(gens ...Generation) error {
	list, err := h.step(Event{Kind: EventDiscard, Generations: gens})
	if err != nil {
		return err
	}
	h.count.Discards.Add(uint64(len(gens)))
	return h.do(list)
}

// Pin promises d that the bytes of gens stay until it unpins them or its lease ends (C1, C5). All or nothing. Pins
// count: a generation pinned twice must be unpinned twice. A retired generation can be pinned by a domain that holds
// it already, since its bytes stay anyway, and by no other (ErrRetired: take a newer snapshot).
func (h *Home) Pin(d Domain, gens []Generation) error {
	if _, err := h.step(Event{Kind: EventPin, Domain: d, Generations: gens}); err != nil {
		return err
	}
	h.count.Pins.Add(uint64(len(gens)))
	return nil
}

// Unpin takes pins of d back. All or nothing: an error (ErrNotPinned) leaves every pin of gens in place. The last pin
// of a retired generation gives its memory back; an error of the allocator then is reported, but the pins are gone.
func (h *Home) Unpin(d Domain, gens []Generation) error {
	list, err := h.step(Event{Kind: EventUnpin, Domain: d, Generations: gens})
	if err != nil {
		return err
	}
	h.count.Unpins.Add(uint64(len(gens)))
	return h.do(list)
}

// ExpireDomain drops every pin of d and returns how many generations it held. The caller knows that d reads no more:
// its lease ended, and ended earlier by its own clock than by ours.
func (h *Home) ExpireDomain(d Domain) (released int) {
	h.mu.Lock()
	released = h.mu.core.Held(d)
	list, err := h.mu.core.Step(Event{Kind: EventExpire, Domain: d})
	h.mu.Unlock()
	h.count.Expired.Add(uint64(released))
	if err == nil {
		_ = h.do(list) // an allocator that refuses is counted in LostExtents
	}
	return released
}

// Retire says that no table version refers to gens any more: no new domain gets a pin, and a generation ends with its
// last one, at once if there is none. All or nothing.
func (h *Home) Retire(gens ...Generation) error {
	list, err := h.step(Event{Kind: EventRetire, Generations: gens})
	if err != nil {
		return err
	}
	h.count.Retires.Add(uint64(len(gens)))
	return h.do(list)
}

// Adopt takes over a generation that this region's former incarnation had published. The caller has adopted r in the
// allocator, and verifies the checksum if it wants to.
func (h *Home) Adopt(owner string, gen Generation, r memregion.Range, s Seal) error {
	if err := h.run(Event{Kind: EventAdopt, Owner: owner, Generation: gen, Range: r, Seal: s}); err != nil {
		return err
	}
	h.count.Adoptions.Add(1)
	return nil
}

// Bytes returns r as the lender maps it. Preconditions: r belongs to a generation that the caller holds a pin of.
func (h *Home) Bytes(r memregion.Range) []byte { return h.memory.Bytes(r) }

// Touch says that a process of the lender's domain is about to store into r, which was granted to a foreign writer, on
// whose behalf it copies. It flushes those lines itself before the writer stores (C3).
func (h *Home) Touch(r memregion.Range) {
	if h.tracked != nil {
		h.tracked.Touch(r)
	}
}

// Generation returns what is known about gen; its State is Free if it is not alive.
func (h *Home) Generation(gen Generation) View {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.core.View(gen)
}

// Each visits every generation that is alive, in no order. visit must not call the home.
func (h *Home) Each(visit func(Generation, View)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.core.Each(visit)
}

// HomeStats is what a status command shows of one region.
type HomeStats struct {
	Region memregion.RegionID
	Class  Class
	Census
}

// Stats returns the present counts.
func (h *Home) Stats() HomeStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return HomeStats{Region: h.region, Class: h.class, Census: h.mu.core.Census()}
}
