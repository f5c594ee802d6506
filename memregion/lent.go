package memregion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/invariants"
)

// Defaults of LendOptions.
const (
	firstGrowthStep     = 4 << 20
	defaultGrowthStep   = 64 << 20
	defaultRecycleSteps = 2
)

// LendOptions tunes a lender. The zero value is sensible.
type LendOptions struct {
	// GrowthStep is how many bytes of backing are reserved ahead when the region grows; 0 means as many as it has,
	// from 4 to 64 MiB. Large steps save system calls, small ones save memory, and the time to clear it.
	GrowthStep int64
	// RecycleLimit bounds the backed memory that no extent uses (freed and not yet punched, or reserved ahead), in
	// bytes; 0 means two growth steps, negative means none. What is kept is fast to allocate again, because first
	// touch of fresh memory costs 15–40 times a rewrite.
	RecycleLimit int64
	// HugePages asks the kernel for huge pages; Stats has its answer.
	HugePages bool
	// Quotas limits owners, in bytes; see Allocator.SetQuota.
	Quotas map[string]int64
	// Domain is the machine that the lender is a part of; required on fabrics whose caches are emulated, and nil on
	// others.
	Domain *Domain
	// Origin is noted with the region's file, for FindAbandoned.
	Origin Origin
}

// Lent is a region on the lender's side: the map, the allocator, and the account of which pages have memory behind
// them. It is safe for concurrent use. The life cycle of a page is drawn in the package documentation.
type Lent struct {
	spec         Spec        // immutable
	options      LendOptions // immutable
	mapping      *mapping    // immutable
	backing      backing     // immutable; called under mu
	firstPages   int64       // immutable; how large growth steps are at first
	stepPages    int64       // immutable; and at most
	recyclePages int64       // immutable
	protectRuns  int         // immutable; upper bound of mu.runs
	moreToDrop   chan struct{}

	mu struct {
		sync.Mutex
		closed    bool
		allocator *Allocator
		backed    pageSet // pages with reserved memory; every live page is one (M5)
		idle      pageSet // backed pages of no extent: recycled or reserved ahead
		protected pageSet // live pages mapped read-only
		untouched pageSet // backed pages into which the lender's domain has stored nothing since it dropped their lines (M13)
		dropFrom  int64   // below it every idle page is untouched
		runs      int     // maximal runs of protected: each costs the kernel up to two map entries
		frontier  int64   // one past the highest backed page
		fileSize  int64   // bytes that the backing file has at least, unless it is truncated
		counts    lentCounts
		rested    int64 // counts.allocated at the last call of Rest
	}
}

// lentCounts is the part of RegionStats that only ever grows, and what the kernel said to huge pages.
type lentCounts struct {
	allocated      int64 // how often, and not how much
	reservedBytes  int64
	punchedBytes   int64
	punchFailures  int64
	protectSkipped int64
	hugePages      bool
}

// Lend creates the backing of a new region, mode 0600, and maps it for reading and writing at spec.Base. Nothing is
// reserved yet. The caller owns the Lent and ends it with Close or Remove.
//
// Errors: ErrBadSpec, ErrRegionTooLarge, ErrExists, ErrAddressTaken, ErrLentElsewhere; after an error there is no new
// file.
func Lend(ctx context.Context, spec Spec, opts LendOptions) (*Lent, error) {
	if err := errors.Join(ctx.Err(), spec.validate()); err != nil {
		return nil, err
	}
	directory := filepath.Dir(spec.Path)
	if !spec.Fabric.device() { // whose size is looked at when it is opened
		if err := CheckCapacity(directory, spec.Capacity); err != nil {
			return nil, err
		}
	}
	file, err := createBacking(spec)
	if err != nil {
		return nil, err
	}
	if err := removeCaches(spec); err != nil {
		return nil, errors.Join(fmt.Errorf("memregion: lend region %d: %w", spec.ID, err), spec.discard(file))
	}
	l, err := newLent(file, spec, NewAllocator(spec.Capacity), opts)
	if err != nil {
		return nil, errors.Join(err, spec.discard(file))
	}
	if spec.Fabric.Durable() {
		if err := syncDirectory(directory); err != nil {
			return nil, errors.Join(fmt.Errorf("memregion: lend region %d: %w", spec.ID, err), l.Remove())
		}
	}
	return l, nil
}

// newLent maps the file and takes it over; after an error the file is still the caller's.
func newLent(file *os.File, spec Spec, allocator *Allocator, opts LendOptions) (*Lent, error) {
	if !spec.Fabric.device() {
		opts.Origin.mark(file)
	}
	cached, err := openCached(file, spec, opts.Domain, true)
	if err != nil {
		return nil, err
	}
	m, err := mapRegion(file, cached, spec, unix.PROT_READ|unix.PROT_WRITE, false, watchKinds(true))
	if err != nil {
		return nil, errors.Join(err, cached.close())
	}
	behind, err := backingOf(file, spec, m.watch)
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	first := opts.GrowthStep
	if opts.GrowthStep <= 0 {
		first, opts.GrowthStep = firstGrowthStep, defaultGrowthStep
	}
	if opts.RecycleLimit == 0 {
		opts.RecycleLimit = defaultRecycleSteps * opts.GrowthStep
	}
	l := &Lent{spec: spec, options: opts, mapping: m, backing: behind, protectRuns: protectRunsLimit(), moreToDrop: make(chan struct{}, 1)}
	if cached != nil {
		l.backing = cachedBacking{fileBacking{file, m.watch, 0}, cached}
	}
	l.firstPages, l.stepPages = pagesFor(first), pagesFor(opts.GrowthStep)
	l.recyclePages = max(opts.RecycleLimit, 0) / PageSize
	pages := spec.Capacity / PageSize
	l.mu.allocator = allocator
	l.mu.backed, l.mu.idle, l.mu.protected, l.mu.untouched = newPageSet(pages), newPageSet(pages), newPageSet(pages), newPageSet(pages)
	for owner, quota := range opts.Quotas {
		allocator.SetQuota(owner, quota)
	}
	if opts.HugePages {
		l.mu.counts.hugePages = unix.Madvise(m.memory, unix.MADV_HUGEPAGE) == nil
	}
	return l, nil
}

// Spec is what other processes need to borrow the region.
func (l *Lent) Spec() Spec { return l.spec }

// View is the read side of the lender's own map. It is closed with l.
func (l *Lent) View() *View { return &View{mapping: l.mapping, lent: l} }

// Allocate gives owner a range of at least size bytes, rounded up to PageSize, with its memory reserved: storing into
// it cannot fail (M5). What the bytes hold is undefined. Errors: ErrBadSize, ErrQuota, ErrRegionFull (no free range, or
// no room in the fabric), ErrRegionShort and ErrRegionGone (the backing was truncated or removed), ErrUnsupported,
// ErrClosed; after an error nothing has changed (M6).
func (l *Lent) Allocate(owner string, size int64) (Range, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.intactLocked(); err != nil {
		return Range{}, err
	}
	r, err := l.mu.allocator.Allocate(owner, size)
	if err != nil {
		return Range{}, err
	}
	if err := l.backLocked(r); err != nil {
		return Range{}, errors.Join(err, l.mu.allocator.Free(owner, r))
	}
	l.mu.counts.allocated++
	low, high := pageSpan(r)
	for at := l.mu.untouched.next(low, high, false); at < high; at = l.mu.untouched.next(at, high, false) {
		end := l.mu.untouched.next(at, high, true)
		l.mapping.cached.zeroed(Range{at * PageSize, (end - at) * PageSize})
		at = end
	}
	return r, nil
}

// Shrink gives back the end of r, as Allocator.Shrink does; what remains is writable again. Errors: ErrNotAllocated,
// ErrNotOwner, ErrBadSize, ErrClosed.
func (l *Lent) Shrink(owner string, r Range, size int64) (Range, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		return Range{}, err
	}
	if err := l.writableLocked(owner, r); err != nil {
		return Range{}, err
	}
	kept, err := l.mu.allocator.Shrink(owner, r, size)
	if err != nil {
		return Range{}, err
	}
	l.releaseLocked(Range{kept.End(), r.Length - kept.Length})
	return kept, nil
}

// Free gives r back; only the owner may. The memory is kept for recycling or returned to the system, see
// LendOptions.RecycleLimit. The caller guarantees that r has no reader any more: a borrower that still reads it sees
// other bytes. Errors: ErrNotAllocated, ErrNotOwner, ErrClosed.
func (l *Lent) Free(owner string, r Range) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		return err
	}
	if err := l.writableLocked(owner, r); err != nil {
		return err
	}
	if err := l.mu.allocator.Free(owner, r); err != nil {
		return err
	}
	l.releaseLocked(r)
	return nil
}

// SetQuota limits an owner from now on, see Allocator.SetQuota.
func (l *Lent) SetQuota(owner string, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.allocator.SetQuota(owner, bytes)
}

// Bytes returns exactly r, writable, valid until r is freed or l closed. Preconditions: the caller holds r. A range
// outside the region or a closed one is a bug of ours and panics; `-tags invariants` builds panic for every range
// that is not live, too. View().Bytes is the variant for ranges that come from elsewhere.
func (l *Lent) Bytes(r Range) []byte {
	if err := l.mapping.checkBounds(r); err != nil {
		panic(err.Error())
	}
	if l.mapping.closed.Load() {
		panic(fmt.Sprintf("memregion: bytes %v of closed region %d", r, l.spec.ID))
	}
	if invariants.Enabled {
		l.mu.Lock()
		err := l.heldLocked(r)
		l.mu.Unlock()
		if err != nil {
			panic("M1: " + err.Error())
		}
	}
	return l.mapping.memory[r.Offset:r.End():r.End()]
}

// Sync writes r through to the disk, when the fabric is one, so that it survives a power failure. It must come
// before r is published, unless its bytes are elsewhere until it does. On shm it does nothing.
func (l *Lent) Sync(r Range) error {
	if !l.spec.Fabric.Durable() {
		return nil
	}
	if err := l.mapping.checkBounds(r); err != nil || r.Length == 0 {
		return err
	}
	err := l.mapping.during(r, func(memory []byte) error { return unix.Msync(memory, unix.MS_SYNC) })
	if err != nil {
		return fmt.Errorf("memregion: sync %v of %s: %w", r, l.spec.Path, err)
	}
	return nil
}

// Extents lists the live extents in ascending order of address.
func (l *Lent) Extents() []Owned {
	l.mu.Lock()
	defer l.mu.Unlock()
	extents := make([]Owned, 0, len(l.mu.allocator.live))
	l.mu.allocator.Extents(func(o Owned) bool {
		extents = append(extents, o)
		return true
	})
	return extents
}

// Close unmaps and lets go of the lock. The file and its bytes stay, for Adopt. Slices from Bytes must not be
// touched afterwards. A second Close does nothing.
func (l *Lent) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return nil
	}
	l.mu.closed = true
	return l.mapping.close()
}

// Remove deletes the backing file, unless it is a device, and closes. Borrowers keep what they have mapped; Check
// returns ErrRegionGone to them. The file is unlinked while our lock still holds, so no process can adopt it in
// between. After Close it returns ErrClosed: the file may be another lender's by then.
func (l *Lent) Remove() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.openLocked(); err != nil {
		return err
	}
	l.mu.closed = true
	err := errors.Join(l.unlink(), removeCaches(l.spec))
	return errors.Join(err, l.mapping.close())
}

// unlink removes the file, unless another one has taken its place.
func (l *Lent) unlink() error {
	if l.spec.Fabric.device() {
		return nil
	}
	ours, err := l.mapping.file.Stat()
	if err != nil {
		return fmt.Errorf("memregion: remove region %d: %w", l.spec.ID, err)
	}
	theirs, err := os.Lstat(l.spec.Path)
	if errors.Is(err, os.ErrNotExist) || (err == nil && !os.SameFile(ours, theirs)) {
		return nil
	}
	if err == nil {
		err = os.Remove(l.spec.Path)
	}
	if err != nil {
		return fmt.Errorf("memregion: remove region %d: %w", l.spec.ID, err)
	}
	return nil
}

func (l *Lent) openLocked() error {
	if l.mu.closed {
		return fmt.Errorf("memregion: region %d: %w", l.spec.ID, ErrClosed)
	}
	return nil
}

// heldLocked returns nil when every page of r belongs to live extents.
func (l *Lent) heldLocked(r Range) error {
	if err := l.mapping.checkBounds(r); err != nil {
		return err
	}
	low, high := pageSpan(r)
	if l.mu.backed.countIn(low, high) == high-low && l.mu.idle.countIn(low, high) == 0 {
		return nil
	}
	return fmt.Errorf("memregion: region %d: %v: %w", l.spec.ID, r, ErrNotAllocated)
}

// pageSpan is the pages that r touches.
func pageSpan(r Range) (low, high int64) { return r.Offset / PageSize, pagesFor(r.End()) }
