package reader

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/fabric"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Reader is this process' way to the bytes of chunks: every region mapped, guarded, and acquired through the
// protocol before the first load (reader.R1). Safe for concurrent use.
type Reader struct {
	config    Config
	mu        sync.RWMutex // guards mapped; leaf lock
	mapped    map[memregion.RegionID]*Region
	all       atomic.Pointer[[]*Region] // the same, never changed: every chunk that is opened goes through it
	acquired  *coherence.Reader
	borrowing sync.Mutex // one at a time borrows; above mu
	counters  coherence.Counters

	comparedOnce comparedOnce
	verified     atomic.Int64 // bytes whose checksum was compared
	damage       Damage
}

// Config is what a Reader belongs to and what it calls. Functions are called by any goroutine that reads.
type Config struct {
	Node         string // whose process this is, or which it is attached to
	Fabric       fabric.Fabric
	Verification Verification
	Log          *slog.Logger // nil: nothing is logged
	// Lost are regions of an earlier life whose bytes are gone, with the reason. It is the caller's, and does not
	// change once there are readers.
	Lost map[memregion.RegionID]error
	// Borrow maps a region that another node lends, by Add; nil: none does.
	Borrow func(memregion.RegionID) error
	// Lender says whose a region is and whether that node is there; nil: all are this node's, or known by AddOf.
	Lender func(memregion.RegionID) (node string, there bool)
	// Standing is an error if this node must not trust what it finds in other nodes' memory; nil: it always may.
	Standing func() error
	// Published reports whether an extent of this node's own memory still is what was sealed; nil: as long as it is
	// read.
	Published func(catalog.ExtentID) bool
	// ForDomain has the node of this machine acquire an extent for all processes there; nil: this process acquires
	// for itself. An error that says nothing about the bytes is an Unanswered.
	ForDomain func(context.Context, *descriptor.Extent) error
	// Explain says what is known of a damaged chunk's table. It may look at the catalog.
	Explain func(*DamagedError) Loss
	// SkipChecksums: no checksum is compared, so that tests see what the protocol alone prevents.
	SkipChecksums bool
}

// New is a reader that knows no region.
func New(config Config) *Reader {
	r := &Reader{config: config, mapped: map[memregion.RegionID]*Region{}}
	r.acquired = config.Fabric.Reader(&r.counters)
	r.damage.log = config.Log
	r.all.Store(new([]*Region))
	return r
}

// Node is whose process this is.
func (r *Reader) Node() string { return r.config.Node }

// Fabric is how memory reaches this process.
func (r *Reader) Fabric() fabric.Fabric { return r.config.Fabric }

// Verification is the node's own; sessions may be stricter.
func (r *Reader) Verification() Verification { return r.config.Verification }

// Counters are the protocol's.
func (r *Reader) Counters() *coherence.Counters { return &r.counters }

// Acquired is what the protocol knows of generations that this process has acquired.
func (r *Reader) Acquired() *coherence.Reader { return r.acquired }

// Damage is what this process found damaged.
func (r *Reader) Damage() *Damage { return &r.damage }

// VerifiedBytes is how many bytes were compared with their checksums.
func (r *Reader) VerifiedBytes() int64 { return r.verified.Load() }

// Lost gives the reason for which a region's bytes are gone; nil: they are not.
func (r *Reader) Lost(id memregion.RegionID) error { return r.config.Lost[id] }

// Lose notes a region of an earlier life whose bytes are gone. Preconditions: there are no readers yet.
func (r *Reader) Lose(id memregion.RegionID, reason error) { r.config.Lost[id] = reason }

// Mapped are the regions that this process has mapped.
func (r *Reader) Mapped() []*Region { return *r.all.Load() }

// Add guards a mapping and makes it readable. trusted is the first generation that needs no verification.
func (r *Reader) Add(view *memregion.View, trusted coherence.Generation) error {
	return r.AddOf("", view, trusted)
}

// AddOf is add of a region that another node of a cluster lends to a borrower.
func (r *Reader) AddOf(owner string, view *memregion.View, trusted coherence.Generation) error {
	base, length := view.Mapping()
	guard, err := duckdb.NewGuard(uintptr(base), length)
	if err != nil {
		return err
	}
	m := &Region{view: view, guard: guard, owner: owner}
	m.shared.Store(r.config.Lender != nil || owner != "")
	m.trusted.Store(uint64(trusted))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mapped[view.Spec().ID] = m
	all := slices.Collect(maps.Values(r.mapped))
	r.all.Store(&all)
	return nil
}

// Find gives a region's mapping, nil if this process has none.
func (r *Reader) Find(id memregion.RegionID) *Region {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.mapped[id]
}

func (r *Reader) Has(id memregion.RegionID) bool { return r.Find(id) != nil }

// Close comes before the views are closed. It returns how many regions stay mapped because there are batches of them.
func (r *Reader) Close() (held int) {
	for _, m := range *r.all.Load() {
		if m.close() {
			held++
		}
	}
	return held
}

// Faults counts the pages that were found gone, over all regions (D4).
func (r *Reader) Faults() (n uint64) {
	for _, m := range *r.all.Load() {
		n += m.guard.Faults()
	}
	return n
}

// look asks the kernel for alterations by others, of all regions, and counts those that are known since this process
// has them.
func (r *Reader) look() (n uint64) {
	for _, m := range *r.all.Load() {
		n += m.Look()
	}
	return n
}

// alterations is look without asking.
func (r *Reader) alterations() (n uint64) {
	for _, m := range *r.all.Load() {
		n += m.altered()
	}
	return n
}

// invalidateAltered forgets what was acquired of a region if another process has altered it. It reports whether it ever
// was altered: then nothing that is acquired is trusted without its checksum.
func (r *Reader) invalidateAltered(m *Region) (altered bool) {
	m.Look()
	now := m.alterations()
	if m.verifiedAt.Load() < now {
		m.invalidation.Lock()
		defer m.invalidation.Unlock()
		if m.verifiedAt.Load() < now { // it moves when all is forgotten: no reader relies on what is about to be
			r.acquired.Invalidate(m.view.Spec().ID)
			m.verifiedAt.Store(now)
		}
	}
	return now > 0
}

// becomeShared: a borrower's node turned out to be one of several.
func (r *Reader) BecomeShared() {
	for _, m := range *r.all.Load() {
		m.shared.Store(true)
	}
}

// Intact is nil as long as no page of a region was found gone.
func (r *Reader) Intact() error {
	if r.Faults() == 0 {
		return nil
	}
	return sqlerror.New("58030", "pages of lent memory on node %s are gone: the region's file was truncated", r.config.Node).
		WithHint("Nothing was written. Restart the node: it tells which tables have lost rows.")
}
