package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/memregion"
)

// regions is this process' way to the bytes of chunks: every region mapped, guarded, and acquired through the
// protocol before the first load (E2). Safe for concurrent use.
type regions struct {
	node   string
	fabric fabric
	mu     sync.RWMutex // guards mapped; leaf lock
	mapped map[memregion.RegionID]*mapped
	all    atomic.Pointer[[]*mapped] // the same, never changed: every chunk that is opened goes through it
	reader *coherence.Reader
	// lost: regions of an earlier life whose bytes are gone, with the reason.
	lost map[memregion.RegionID]error
	// borrow maps a region that another node lends, and lender says whose it is and whether that node is there; nil: nobody else does.
	borrow    func(memregion.RegionID) error
	lender    func(memregion.RegionID) (node string, there bool)
	borrowing sync.Mutex // one at a time borrows; above mu
	counters  *coherence.Counters
	explain   func(*DamagedError) loss // of errors; nil: nothing is known
	// standing tells whether this node may believe what it finds in other nodes' memory; nil: always.
	standing func() error
	// forDomain has the node of this machine acquire an extent for all processes there; nil: this process acquires for itself.
	forDomain    func(context.Context, *descriptor.Extent) error
	verification Verification
	credulous    bool // see spoiled
	comparedOnce comparedOnce
	// verified counts bytes whose checksum was compared.
	verified atomic.Int64
	damage   damage
}

// mapped is one region in this process.
type mapped struct {
	view  *memregion.View
	guard *duckdb.Guard
	// trusted: generations from here on were written by this process, or by the node that lends to it; older ones are verified when first
	// acquired, and all of them once somebody else was found to have altered the region.
	trusted atomic.Uint64
	// believed is how many alterations were known when the reader's memory of the region was last empty: it is worth something as long as
	// there are no more.
	believed   atomic.Uint64
	distrusted sync.Mutex // one at a time forgets; above the reader's locks
	// shared: other nodes of a cluster write into the region, as they may, and the file's events do not say who it was. Then chunks that
	// were not written since the lender began are verified when they are first acquired, and that is all.
	shared atomic.Bool
	// owner is the node that lends the region to a borrower, if it is another one than it is attached to.
	owner string

	life struct { // a leaf, above memregion's locks
		sync.Mutex
		holders int
		over    bool
		unmap   func() error // what the last holder does when it is over
	}
}

// hold keeps the region mapped, and guarded, until release. Preconditions: it is not closed.
func (m *mapped) hold() {
	m.life.Lock()
	defer m.life.Unlock()
	m.life.holders++
}

func (m *mapped) release() {
	m.life.Lock()
	defer m.life.Unlock()
	if m.life.holders--; m.life.holders == 0 && m.life.over {
		m.guard.Close()
		_ = m.life.unmap() // nobody is left to be told
	}
}

// close comes before the view's: it ends the guard, or leaves guard and map to the last holder.
func (m *mapped) close() (held bool) {
	m.life.Lock()
	defer m.life.Unlock()
	if m.life.over {
		return false
	}
	m.life.over = true
	if m.life.holders > 0 {
		var err error
		if m.life.unmap, err = m.view.Hold(); err == nil {
			return true
		}
	}
	m.guard.Close()
	return false
}

// alterations counts what makes everything doubtful that was read before: what others did to the file, and pages that were found gone. Those
// read as zeros from then on, also when the file is made long again.
func (m *mapped) alterations() uint64 { return m.altered() + m.guard.Faults() }

// altered counts what others did to the file, as far as that is known.
func (m *mapped) altered() uint64 {
	if m.shared.Load() {
		return 0
	}
	return m.view.Alterations()
}

// look asks the kernel first.
func (m *mapped) look() uint64 {
	if m.shared.Load() {
		return 0
	}
	return m.view.Look()
}

func newRegions(node string, f fabric) *regions {
	counters := &coherence.Counters{}
	r := &regions{
		node: node, fabric: f, mapped: map[memregion.RegionID]*mapped{}, lost: map[memregion.RegionID]error{},
		reader: f.reader(counters), counters: counters,
	}
	r.all.Store(new([]*mapped))
	return r
}

// add guards a mapping and makes it readable. trusted is the first generation that needs no verification.
func (r *regions) add(view *memregion.View, trusted coherence.Generation) error {
	return r.addOf("", view, trusted)
}

// addOf is add of a region that another node of a cluster lends to a borrower.
func (r *regions) addOf(owner string, view *memregion.View, trusted coherence.Generation) error {
	base, length := view.Mapping()
	guard, err := duckdb.NewGuard(uintptr(base), length)
	if err != nil {
		return err
	}
	m := &mapped{view: view, guard: guard, owner: owner}
	m.shared.Store(r.lender != nil || owner != "")
	m.trusted.Store(uint64(trusted))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mapped[view.Spec().ID] = m
	all := slices.Collect(maps.Values(r.mapped))
	r.all.Store(&all)
	return nil
}

// find gives a region's mapping, nil if this process has none.
func (r *regions) find(id memregion.RegionID) *mapped {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.mapped[id]
}

func (r *regions) has(id memregion.RegionID) bool { return r.find(id) != nil }

// close comes before the views are closed. It tells how many regions stay mapped because somebody has batches of them.
func (r *regions) close() (held int) {
	for _, m := range *r.all.Load() {
		if m.close() {
			held++
		}
	}
	return held
}

// faults counts the pages that were found gone, over all regions (D4).
func (r *regions) faults() (n uint64) {
	for _, m := range *r.all.Load() {
		n += m.guard.Faults()
	}
	return n
}

// look asks the kernel for alterations by others, of all regions, and counts those that are known since this process has them.
func (r *regions) look() (n uint64) {
	for _, m := range *r.all.Load() {
		n += m.look()
	}
	return n
}

// alterations is look without asking.
func (r *regions) alterations() (n uint64) {
	for _, m := range *r.all.Load() {
		n += m.altered()
	}
	return n
}

// distrust looks whether somebody altered the region, and if so forgets what was acquired of it. It tells whether it ever was altered: then
// nothing that is acquired is believed without its checksum.
func (r *regions) distrust(m *mapped) (altered bool) {
	m.look()
	now := m.alterations()
	if m.believed.Load() < now {
		m.distrusted.Lock()
		defer m.distrusted.Unlock()
		if m.believed.Load() < now { // believed moves when all is forgotten, so that nobody relies on what is about to be
			r.reader.Distrust(m.view.Spec().ID)
			m.believed.Store(now)
		}
	}
	return now > 0
}

// DamagedError says that bytes of a sealed chunk are not there or not what was sealed.
type DamagedError struct {
	Table string
	Chunk int
	Node  string
	Cause error
	// Replicas is in how many places the chunk is to be found; in none of them could it be read. 0 is 1.
	Replicas int
	// Used: rows of it may have been handed out before the damage was noticed.
	Used bool
	// explain says what else is lost of the table, and whether it can be made anew; nil: nothing is known of it. It may look at the catalog.
	explain func(*DamagedError) loss
	region  memregion.RegionID // where it lies; 0: nowhere
}

func (e *DamagedError) Error() string {
	switch gone := errors.Is(e.Cause, catalog.ErrLenderGone); {
	case gone && e.Replicas > 1:
		return fmt.Sprintf("chunk %d of table %s lies on nodes %s, none of which is there", e.Chunk, e.Table, e.Node)
	case gone:
		return fmt.Sprintf("chunk %d of table %s lies on node %s, which is not there", e.Chunk, e.Table, e.Node)
	}
	return fmt.Sprintf("chunk %d of table %s on node %s is damaged: %v", e.Chunk, e.Table, e.Node, e.Cause)
}

// Unwrap gives the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }

// SQLState is XX001, data_corrupted, or 58030, io_error, when the backing went away.
func (e *DamagedError) SQLState() string {
	if errors.Is(e.Cause, catalog.ErrLenderGone) {
		return catalog.ErrLenderGone.SQLState()
	}
	if errors.Is(e.Cause, memregion.ErrRegionGone) || errors.Is(e.Cause, memregion.ErrRegionShort) {
		return "58030"
	}
	return "XX001"
}

// Detail says which chunks of the table can be read nowhere.
func (e *DamagedError) Detail() string {
	if e.explain == nil {
		return ""
	}
	return e.explain(e).detail
}

// Hint says what to do.
func (e *DamagedError) Hint() string {
	reload := ""
	if e.explain != nil {
		reload = e.explain(e).reload
	}
	if reload != "" && e.Used {
		return "It was altered while it was read: no row of this result can be trusted. " + reload + " Or restore the region's file."
	}
	if reload != "" {
		return reload
	}
	if errors.Is(e.Cause, catalog.ErrLenderGone) {
		if e.Replicas > 1 {
			return "Start one of them again: its tables come back with it. Other tables can be asked meanwhile."
		}
		return fmt.Sprintf("Start node %s again: its tables come back with it. Other tables can be asked meanwhile. A table with replicas = 2 can do without a node.", e.Node)
	}
	if e.Used {
		return "It was altered while it was read: no row of this result can be trusted. Load the table again from its source, or restore the region's file."
	}
	return "No row of the chunk was used. Load the table again from its source, or restore the region's file."
}

// acquire makes the extents of a chunk's first replica safe to read in this process.
func (r *regions) acquire(ctx context.Context, d *descriptor.Descriptor, v Verification) error {
	for i := range d.Extents {
		if err := r.acquireExtent(ctx, &d.Extents[i], v); err != nil {
			return err
		}
	}
	return nil
}

// acquireExtent compares the checksum as v says, which is not laxer than Config.Verify.
func (r *regions) acquireExtent(ctx context.Context, x *descriptor.Extent, v Verification) error {
	m, err := r.reach(x.Region)
	if err != nil {
		return err
	}
	if err := m.view.Check(x.Range); err != nil {
		return err
	}
	data, err := m.view.Bytes(x.Range)
	if err != nil {
		return err
	}
	compared := false
	compare := func() error {
		compared = true
		return r.verifyMended(m, x, data)
	}
	var verify func() error
	if v.first(uint64(x.Generation) < m.trusted.Load(), r.distrust(m), r.fabric.lines != nil) {
		verify = compare
	}
	if r.credulous {
		verify = nil
	}
	if r.forDomain != nil {
		own := verify
		verify = func() error {
			if err := r.forDomain(ctx, x); err != nil {
				return aboutBytes(err)
			}
			if own == nil {
				return nil
			}
			return own()
		}
	}
	if err := r.reader.Acquire(ctx, x.Region, x.Generation, data, verify); err != nil {
		return err
	}
	once := v == VerifyFirst && r.verification.laxer(v) && !r.credulous
	if !compared && (v == VerifyAlways || once && !r.comparedOnce.has(x.ExtentID)) { // it was acquired before, or by somebody else just now
		if err := compare(); err != nil {
			return err
		}
	}
	if once && compared {
		r.comparedOnce.note(x.ExtentID)
	}
	return nil
}

// unaskedError says that the node which acquires for this process could not be asked, or did not answer: nothing is known of the bytes.
type unaskedError struct{ err error }

func (e *unaskedError) Error() string { return e.err.Error() }

func (e *unaskedError) Unwrap() error { return e.err }

// unasked gives the reason if a failed acquire says nothing about the bytes; else nil.
func unasked(failed error) error {
	var e *unaskedError
	if errors.As(failed, &e) {
		return e.err
	}
	return nil
}

// aboutBytes tells what a node found wrong with a chunk from that it could not be asked.
func aboutBytes(err error) error {
	var answer *noderpc.Error
	if errors.As(err, &answer) && answer.Answered && (answer.State == "XX001" || answer.State == "58030") {
		return err
	}
	return &unaskedError{err}
}

// reach gives the mapping of a region whose lender is there, borrowing it on first use.
func (r *regions) reach(id memregion.RegionID) (*mapped, error) {
	if r.lender != nil {
		if node, there := r.lender(id); !there {
			return nil, fmt.Errorf("%w: region %d of node %q", catalog.ErrLenderGone, id, node)
		}
	}
	if m := r.find(id); m != nil {
		return m, nil
	}
	if err := r.unmapped(id); r.borrow == nil || r.lost[id] != nil {
		return nil, err
	}
	r.borrowing.Lock()
	defer r.borrowing.Unlock()
	if m := r.find(id); m != nil {
		return m, nil
	}
	if err := r.borrow(id); err != nil {
		return nil, err
	}
	return r.find(id), nil
}

func (r *regions) unmapped(region memregion.RegionID) error {
	if err := r.lost[region]; err != nil {
		return err
	}
	return fmt.Errorf("%w: region %d is not mapped in this process", memregion.ErrRegionGone, region)
}

// verifyMended is verify, but where pages were found gone, and zeros were put in their place in this process alone, the file's bytes count if
// they are there again.
func (r *regions) verifyMended(m *mapped, x *descriptor.Extent, data []byte) error {
	err := r.verify(x, data)
	if err == nil || m.guard.Faults() == 0 {
		return err
	}
	if err := m.view.Remap(x.Range); err != nil {
		return err
	}
	return r.verify(x, data)
}

// verify compares an extent with the checksum it was sealed with.
func (r *regions) verify(x *descriptor.Extent, data []byte) error {
	r.verified.Add(x.Seal.Length)
	if got := xxh3.Hash(data[:x.Seal.Length]); got != x.Seal.Checksum {
		return fmt.Errorf("%w: extent %v of region %d has checksum %016x, it was sealed with %016x", coherence.ErrChecksum, x.Range, x.Region, got, x.Seal.Checksum)
	}
	return nil
}

// verifySeal compares what a writer of another domain wrote with the checksum that it reports (coherence.HomeConfig.Verify).
func (n *node) verifySeal(data []byte, s coherence.Seal) error {
	if n.config.spoil.credulous {
		return nil
	}
	if got := xxh3.Hash(data); got != s.Checksum {
		return fmt.Errorf("%w: %d bytes have checksum %016x, their writer reports %016x", coherence.ErrChecksum, len(data), got, s.Checksum)
	}
	return nil
}

func (r *regions) resolve(region memregion.RegionID, extent memregion.Range) ([]byte, error) {
	m := r.find(region)
	if m == nil {
		return nil, r.unmapped(region)
	}
	return m.view.Bytes(extent)
}

// becomeShared: a borrower's node turned out to be one of several.
func (r *regions) becomeShared() {
	for _, m := range *r.all.Load() {
		m.shared.Store(true)
	}
}
