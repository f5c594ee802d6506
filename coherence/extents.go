package coherence

import (
	"fmt"

	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/memregion"
)

// extent is what the lender knows about one living generation.
type extent struct {
	state    State
	synced   bool // durable fabrics: the bytes are on the disk
	verified bool // home-snoop fabrics, foreign writer: the lender has read the right bytes
	marked   bool // scratch of one bulk step, false between steps
	pins     uint32
	writer   Domain
	owner    string
	memory   memregion.Range
	seal     Seal
	identity Generation // the generation itself, so that an error can name it
}

// move takes the extent along t. Preconditions: the caller has checked that t is legal; otherwise it is a bug of ours.
func (x *extent) move(t transition) {
	to, ok := x.state.next(t)
	if !ok {
		panic(fmt.Sprintf("coherence: illegal transition %d of generation %d from %v", t, x.identity, x.state))
	}
	x.state = to
}

// slotsPerPage is how many generations share one allocation of the table: enough that a walk over a table's chunks,
// whose generations follow each other, looks up one page per sixteen; few enough that a lone survivor is cheap.
const slotsPerPage = 16

type extentPage struct {
	live  int
	slots [slotsPerPage]extent
}

// extentTable finds the extents by generation. Generations are dense when they are born and sparse when they are old.
type extentTable struct {
	pages    map[Generation]*extentPage
	last     *extentPage // page lastKey, or nil: the walk's next lookup is mostly here
	lastKey  Generation
	liveGens int
}

func newExtentTable() extentTable { return extentTable{pages: map[Generation]*extentPage{}} }

func (t *extentTable) page(g Generation) *extentPage {
	key := g / slotsPerPage
	if t.last != nil && t.lastKey == key {
		return t.last
	}
	p := t.pages[key]
	if p != nil {
		t.last, t.lastKey = p, key
	}
	return p
}

// find returns the living extent of g, or nil.
func (t *extentTable) find(g Generation) *extent {
	p := t.page(g)
	if p == nil {
		return nil
	}
	x := &p.slots[g%slotsPerPage]
	if x.state == Free {
		return nil
	}
	return x
}

// insert makes room for g. Preconditions: g is not alive. The extent is Free until the caller moves it.
func (t *extentTable) insert(g Generation) *extent {
	p := t.page(g)
	if p == nil {
		p = &extentPage{}
		t.pages[g/slotsPerPage] = p
		t.last, t.lastKey = p, g/slotsPerPage
	}
	x := &p.slots[g%slotsPerPage]
	if invariants.Enabled && x.state != Free {
		panic(fmt.Sprintf("coherence: generation %d granted twice", g))
	}
	p.live++
	t.liveGens++
	x.identity = g
	return x
}

// remove forgets g. Preconditions: x is its extent and is Free again.
func (t *extentTable) remove(g Generation, x *extent) {
	if invariants.Enabled && (x.state != Free || x.pins != 0) {
		panic(fmt.Sprintf("coherence: C5 broken: generation %d removed while %v with %d pins", g, x.state, x.pins))
	}
	*x = extent{}
	t.liveGens--
	p := t.page(g)
	if p.live--; p.live == 0 {
		delete(t.pages, g/slotsPerPage)
		t.last = nil
	}
}

// each visits every living extent, in no order.
func (t *extentTable) each(visit func(Generation, *extent)) {
	for key, p := range t.pages {
		for i := range p.slots {
			if p.slots[i].state != Free {
				visit(key*slotsPerPage+Generation(i), &p.slots[i])
			}
		}
	}
}

// pagesPerChunk is how many pages of the region one piece of the occupancy map covers: 128 MiB in 4 KiB.
const pagesPerChunk = 1 << 15

// occupancy knows which pages of the region belong to living extents, one bit each, to hold C4 whatever the allocator
// does: two allocators' bugs are cheaper to find here than in a wrong answer.
type occupancy struct {
	chunks map[int64]*[pagesPerChunk / 64]uint64
}

func newOccupancy() occupancy { return occupancy{chunks: map[int64]*[pagesPerChunk / 64]uint64{}} }

// words calls visit for every bitmap word that r touches, with the bits of r in it, until visit says stop.
func (o *occupancy) words(r memregion.Range, visit func(word *uint64, bits uint64) bool) bool {
	page, end := r.Offset/memregion.PageSize, r.End()/memregion.PageSize
	for page < end {
		chunk := o.chunks[page/pagesPerChunk]
		if chunk == nil {
			chunk = new([pagesPerChunk / 64]uint64)
			o.chunks[page/pagesPerChunk] = chunk
		}
		for chunkEnd := min(end, (page/pagesPerChunk+1)*pagesPerChunk); page < chunkEnd; {
			in := page % pagesPerChunk
			count := min(64-in%64, chunkEnd-page)
			if !visit(&chunk[in/64], ^uint64(0)>>(64-count)<<(in%64)) {
				return false
			}
			page += count
		}
	}
	return true
}

// take marks r as occupied, or returns false and changes nothing if a page of it is occupied already.
func (o *occupancy) take(r memregion.Range) bool {
	if !o.words(r, func(word *uint64, bits uint64) bool { return *word&bits == 0 }) {
		return false
	}
	return o.words(r, func(word *uint64, bits uint64) bool { *word |= bits; return true })
}

// free marks r as not occupied. Preconditions: r is occupied, all of it.
func (o *occupancy) free(r memregion.Range) {
	o.words(r, func(word *uint64, bits uint64) bool {
		if invariants.Enabled && *word&bits != bits {
			panic(fmt.Sprintf("coherence: C4 broken: %v was not wholly occupied", r))
		}
		*word &^= bits
		return true
	})
}

// addressLimit bounds a region whose capacity was not stated: no process can map more.
const addressLimit = 1 << 47

// checkRange refuses what can be no extent of a region of that capacity: C4 rests on whole pages.
func checkRange(r memregion.Range, capacity int64) error {
	if r.Length <= 0 || !(memregion.Range{Length: capacity}).Contains(r) {
		return fmt.Errorf("%w: extent %v is no range of a region of %d bytes", ErrInput, r, capacity)
	}
	if r.Offset%memregion.PageSize != 0 || r.Length%memregion.PageSize != 0 {
		return fmt.Errorf("%w: extent %v is not whole pages of %d bytes", ErrInput, r, memregion.PageSize)
	}
	return nil
}
