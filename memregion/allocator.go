package memregion

import (
	"fmt"
	"maps"

	"github.com/csmsql/csmsql/internal/bytesize"
)

// Allocator divides the address space of one region into extents. It is pure bookkeeping: it touches no region byte,
// does no I/O, takes no clock and gives the same answers for the same calls. It is not safe for concurrent use; Lent
// adds the lock.
//
// Its state lies in this process' private memory, so that no other process can damage it, and is rebuilt with Adopt
// after a restart.
type Allocator struct {
	capacity int64 // pages
	used     int64 // pages
	blocks   []block
	spare    int32 // first unused slot of blocks, linked by next
	first    int32 // block at offset 0
	last     int32 // block that ends at capacity; when free it is the "top" and is in no list
	cursor   int32 // block where the last Adopt ended: sorted adoption is linear
	free     freeLists
	live     map[int64]int32 // start page → block, live extents only
	owners   ownerTable
}

// block is one stretch of pages, live or free. Blocks tile the region without gaps (M2).
type block struct {
	start, pages int64
	below, above int32 // neighbours by address
	prev, next   int32 // neighbours in a free list; next also links spare slots
	owner        int32 // slot in ownerTable, or none while free
	unused       bool  // the slot is spare
}

// AllocatorStats is a copy of the allocator's counters, all in bytes except Extents.
type AllocatorStats struct {
	Capacity    int64
	Used        int64
	Free        int64
	LargestFree int64            // the longest range that Allocate can give now
	Extents     int              // live extents
	Owners      map[string]int64 // bytes held, by owner
}

// Owned is a live extent and its owner.
type Owned struct {
	Owner string
	Range Range
}

// NewAllocator makes an allocator of an empty region. Preconditions: capacity is a positive multiple of PageSize
// (Spec.validate checks it where it comes from outside); a capacity that is not is rounded down, and below zero counts
// as zero.
func NewAllocator(capacity int64) *Allocator {
	a := &Allocator{spare: none, first: none, last: none, cursor: none, live: map[int64]int32{}}
	a.free.init()
	a.owners.init()
	if a.capacity = max(capacity, 0) / PageSize; a.capacity > 0 {
		a.first = a.newBlock(block{pages: a.capacity, below: none, above: none, prev: none, next: none, owner: none})
		a.last = a.first
	}
	return a
}

// Allocate gives owner a range of at least size bytes, rounded up to PageSize, at the lowest address that is cheap to
// find. What the bytes hold is undefined. Errors: ErrBadSize, ErrQuota, ErrRegionFull; after an error nothing has
// changed (M6).
func (a *Allocator) Allocate(owner string, size int64) (Range, error) {
	if size <= 0 {
		return Range{}, fmt.Errorf("memregion: allocate %d bytes for %q: %w: must be positive", size, owner, ErrBadSize)
	}
	pages := pagesFor(size)
	if err := a.owners.admit(owner, pages); err != nil {
		return Range{}, err
	}
	i := a.findFree(pages)
	if i == none {
		return Range{}, a.fullError(owner, size)
	}
	a.take(i, pages, owner)
	return a.rangeOf(i), nil
}

// Shrink gives the end of r back so that at least size bytes remain, and returns what remains; r itself is not valid
// afterwards when they differ. Errors: ErrNotAllocated, ErrNotOwner, ErrBadSize (0, negative, or larger than r).
func (a *Allocator) Shrink(owner string, r Range, size int64) (Range, error) {
	i, err := a.lookup(owner, r)
	if err != nil {
		return Range{}, err
	}
	if size <= 0 || size > r.Length {
		return Range{}, fmt.Errorf("memregion: shrink %v to %d bytes: %w: must be 1 to %d", r, size, ErrBadSize, r.Length)
	}
	pages := pagesFor(size)
	tail := a.blocks[i].pages - pages
	if tail == 0 {
		return r, nil
	}
	rest := a.split(i, pages)
	a.used -= tail
	a.owners.shrink(a.blocks[i].owner, tail)
	a.release(rest)
	return a.rangeOf(i), nil
}

// Free gives r back and joins it with free neighbours. r must be exactly what Allocate, Shrink or Adopt made live,
// and owner must hold it. Errors: ErrNotAllocated, ErrNotOwner; after an error nothing has changed.
func (a *Allocator) Free(owner string, r Range) error {
	i, err := a.lookup(owner, r)
	if err != nil {
		return err
	}
	delete(a.live, a.blocks[i].start)
	a.used -= a.blocks[i].pages
	a.owners.release(a.blocks[i].owner, a.blocks[i].pages)
	a.release(i)
	return nil
}

// Holds returns nil when owner holds exactly r, else ErrNotAllocated or ErrNotOwner.
func (a *Allocator) Holds(owner string, r Range) error {
	_, err := a.lookup(owner, r)
	return err
}

// Adopt makes r live while the state is rebuilt after a restart. Quotas are not applied: what is committed is kept,
// and the owner gets nothing more until it is below its quota again. Calls in ascending order of address cost O(1),
// others walk. Errors: ErrOutOfRange (outside, unaligned or empty), ErrOverlap; after an error nothing has changed.
func (a *Allocator) Adopt(owner string, r Range) error {
	whole := Range{Length: a.capacity * PageSize}
	if r.Length <= 0 || r.Offset%PageSize != 0 || r.Length%PageSize != 0 || !whole.Contains(r) {
		return fmt.Errorf("memregion: adopt %v for %q: %w of %s, or not on page boundaries", r, owner, ErrOutOfRange, bytesize.Text(whole.Length))
	}
	start, pages := r.Offset/PageSize, r.Length/PageSize
	i := a.seek(start)
	if b := a.blocks[i]; b.owner != none || b.start+b.pages < start+pages {
		return fmt.Errorf("memregion: adopt %v for %q: %w", r, owner, a.overlapError(i))
	}
	a.unlist(i)
	if gap := start - a.blocks[i].start; gap > 0 {
		rest := a.split(i, gap)
		a.list(i)
		i = rest
	}
	a.takeUnlisted(i, pages, owner)
	a.cursor = i
	return nil
}

// SetQuota limits what owner may hold from now on; 0 lifts the limit. A quota below what the owner holds takes nothing
// away.
func (a *Allocator) SetQuota(owner string, bytes int64) {
	a.owners.setQuota(owner, max(bytes, 0)/PageSize, bytes > 0)
}

// Stats copies the counters. It costs the number of owners plus the length of one list.
func (a *Allocator) Stats() AllocatorStats {
	return AllocatorStats{
		Capacity:    a.capacity * PageSize,
		Used:        a.used * PageSize,
		Free:        (a.capacity - a.used) * PageSize,
		LargestFree: a.largestFree() * PageSize,
		Extents:     len(a.live),
		Owners:      maps.Collect(a.owners.usedBytes),
	}
}

// Extents calls yield for each live extent in ascending order of address until yield returns false.
func (a *Allocator) Extents(yield func(Owned) bool) {
	for i := a.first; i != none; i = a.blocks[i].above {
		if b := &a.blocks[i]; b.owner != none && !yield(Owned{a.owners.name(b.owner), a.rangeOf(i)}) {
			return
		}
	}
}

// pagesFor rounds up without overflowing: size+PageSize-1 would, near the end of int64.
func pagesFor(size int64) int64 {
	pages := size / PageSize
	if size%PageSize != 0 {
		pages++
	}
	return pages
}

func (a *Allocator) rangeOf(i int32) Range {
	return Range{a.blocks[i].start * PageSize, a.blocks[i].pages * PageSize}
}

// findFree picks a block for the pages: a hole first, so that the region stays compact and memory that is already
// backed is used again; then the top; and only then whatever an exhaustive search of one class finds, so that
// "full" is said only when it is true (M3).
func (a *Allocator) findFree(pages int64) int32 {
	if i := a.free.find(a.blocks, pages, false); i != none {
		return i
	}
	if a.topPages() >= pages {
		return a.last
	}
	return a.free.find(a.blocks, pages, true)
}

func (a *Allocator) topPages() int64 {
	if a.last == none || a.blocks[a.last].owner != none {
		return 0
	}
	return a.blocks[a.last].pages
}

func (a *Allocator) largestFree() int64 { return max(a.free.largest(a.blocks), a.topPages()) }

func (a *Allocator) fullError(owner string, size int64) error {
	free := (a.capacity - a.used) * PageSize
	return fmt.Errorf("memregion: allocate %s for %q: %w: %s of %s are free, the longest range is %s", bytesize.Text(size), owner, ErrRegionFull,
		bytesize.Text(free), bytesize.Text(a.capacity*PageSize), bytesize.Text(a.largestFree()*PageSize))
}

func (a *Allocator) overlapError(i int32) error {
	if a.blocks[i].owner == none {
		i = a.blocks[i].above // a free block always ends at a live one or at the capacity, which the caller has checked
	}
	return fmt.Errorf("%w: %v of %q", ErrOverlap, a.rangeOf(i), a.owners.name(a.blocks[i].owner))
}

// lookup finds the live block that is exactly r and held by owner.
func (a *Allocator) lookup(owner string, r Range) (int32, error) {
	i, ok := a.live[r.Offset/PageSize]
	if !ok || a.rangeOf(i) != r {
		return none, fmt.Errorf("memregion: %v of %q: %w", r, owner, ErrNotAllocated)
	}
	if holder := a.owners.name(a.blocks[i].owner); holder != owner {
		return none, fmt.Errorf("memregion: %v of %q: %w", r, owner, ErrNotOwner)
	}
	return i, nil
}
