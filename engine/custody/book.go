package custody

import (
	"cmp"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// Book is which holder in this process has which extents, of whatever node. The zero value is ready. Safe for
// concurrent use.
type Book struct {
	// Fault is called when an extent gets a holder, and loses it; nil in production. It is set before the Book is used.
	Fault faults.Hook

	mu    sync.Mutex
	of    map[catalog.ExtentID]*Holder // guarded by mu
	calls map[uint64]bool              // guarded by mu; those that are under way
	begun uint64                       // guarded by mu; the number of the last call
}

// Holder is a holder in this process. Its Spaces grant, and it ends with Close.
type Holder struct {
	name string
	book *Book
}

// Open makes a holder of that name, in words for people.
func (b *Book) Open(name string) *Holder { return &Holder{name, b} }

// Name is what the holder is called.
func (h *Holder) Name() string { return h.name }

// Close ends a holder, and returns what it held and should not have: the caller says so, and takes it back.
func (h *Holder) Close() (left []catalog.ExtentID) {
	b := h.book
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, x := range b.of {
		if x == h {
			delete(b.of, id)
			left = append(left, id)
		}
	}
	slices.SortFunc(left, compareIDs)
	return left
}

// Pass makes h the holder of extents that are held here. An extent that is not in the book is no mistake.
func (b *Book) Pass(h *Holder, ids ...catalog.ExtentID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if b.of[id] != nil {
			b.of[id] = h
		}
	}
}

// Over says that extents are unowned here from now on: given back, or committed. An extent that is not in the book is
// no mistake.
func (b *Book) Over(ids ...catalog.ExtentID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		delete(b.of, id)
	}
}

// GivenBack is Over for what its lender has taken back.
func (b *Book) GivenBack(ids ...catalog.ExtentID) { b.passed(faults.HoldGivenBack, ids) }

// Committed is Over for what a version has.
func (b *Book) Committed(ids ...catalog.ExtentID) { b.passed(faults.HoldCommitted, ids) }

// passed is Over, which is a fault point if something was here.
func (b *Book) passed(at faults.Point, ids []catalog.ExtentID) {
	if b.Fault != nil && b.has(ids) {
		b.Fault.At(at)
	}
	b.Over(ids...)
}

func (b *Book) has(ids []catalog.ExtentID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(ids, func(id catalog.ExtentID) bool { return b.of[id] != nil })
}

// Calling reports whether memory is being asked for, which may be granted and not in the book yet.
func (b *Book) Calling() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.calls) > 0
}

// Held lists what is held of a region, and the names of the holders.
func (b *Book) Held(region memregion.RegionID) map[coherence.Generation]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := map[coherence.Generation]string{}
	for id, x := range b.of {
		if id.Region == region {
			list[id.Generation] = x.name
		}
	}
	return list
}

// begin notes that memory is being asked for.
func (b *Book) begin() (call uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls == nil {
		b.calls, b.of = map[uint64]bool{}, map[catalog.ExtentID]*Holder{}
	}
	b.begun++
	b.calls[b.begun] = true
	return b.begun
}

// end notes that a call has ended, and what it brought (H1): nil if nothing.
func (b *Book) end(call uint64, h *Holder, id *catalog.ExtentID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.calls, call)
	if id != nil {
		b.of[*id] = h
	}
}

// calling is the number of the last call that began, and whether one of the first n is still under way.
func (b *Book) calling(n uint64) (last uint64, open bool) {
	for call := range b.calls {
		open = open || call <= n
	}
	return b.begun, open
}

func compareIDs(a, b catalog.ExtentID) int {
	return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Generation, b.Generation))
}
