package emulated

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// Domain is the processor of one machine as this process uses it, with the caches of all regions that it has mapped. It
// implements coherence.Lines. Safe for concurrent use.
type Domain struct {
	name string

	mu      sync.Mutex
	random  *rand.Rand
	shown   []shown // sorted by address
	pending []part  // flushes that no fence has waited for yet
	moves   Moves
}

// shown is a stretch of the program's memory in which a cache's copy is mapped.
type shown struct {
	base   uintptr
	length int64
	cache  *Cache
	offset int64 // of base in the region
}

// part is some whole lines of a cache.
type part struct {
	cache       *Cache
	first, last int64 // lines
}

// pendingMost bounds the flushes that no fence has waited for: the oldest are completed early, as hardware may.
const pendingMost = 1 << 14

// Moves counts what was done to lines.
type Moves struct {
	Flushed     uint64 // lines that a flush was asked for
	WrittenBack uint64 // lines that were modified when they were dropped, or by the adversary's will
	Fetched     uint64 // lines that were not as the memory has them when they were fetched
	Adversary   uint64 // what the adversary did
}

// NewDomain begins the play of a machine's processor.
func NewDomain(name string, seed uint64) *Domain {
	return &Domain{name: name, random: rand.New(rand.NewPCG(seed, 0x6661_6272_6963))}
}

// Name is the machine's.
func (d *Domain) Name() string { return d.name }

// Moves returns the counts.
func (d *Domain) Moves() Moves {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.moves
}

// Flush implements coherence.Lines: each line that b touches is dropped, now or until the next full fence returns
// (EM3). Memory that belongs to no region is passed over: it is coherent.
func (d *Domain) Flush(b []byte) (lines int) {
	if len(b) == 0 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, offset := d.find(b)
	if c == nil {
		return 0
	}
	p := part{c, offset / c.line, (offset + int64(len(b)) - 1) / c.line}
	if len(d.pending) >= pendingMost {
		d.complete(d.pending[0])
		d.pending = slices.Delete(d.pending, 0, 1)
	}
	d.pending = append(d.pending, p)
	c.use(p)
	n := p.last - p.first + 1
	d.moves.Flushed += uint64(n)
	d.disturb(c)
	return int(n)
}

// FenceStore implements coherence.Lines. It orders stores, and the copy has them in their order; it completes no flush.
func (d *Domain) FenceStore() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.disturb(nil)
}

// FenceFull implements coherence.Lines: every flush that came before is done.
func (d *Domain) FenceFull() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.disturb(nil)
	for _, p := range d.pending {
		d.complete(p)
	}
	clear(d.pending)
	d.pending = d.pending[:0]
}

// complete drops the lines of a part. Requires mu.
func (d *Domain) complete(p part) {
	p.cache.drop(p)
	p.cache.settled(p)
}

// find returns which cache b shows, and from which offset of the region. Requires mu.
func (d *Domain) find(b []byte) (*Cache, int64) {
	at := addressOf(b)
	i, found := slices.BinarySearchFunc(d.shown, at, func(s shown, at uintptr) int {
		switch {
		case s.base+uintptr(s.length) <= at:
			return -1
		case s.base > at:
			return 1
		}
		return 0
	})
	if !found {
		return nil, 0
	}
	s := d.shown[i]
	return s.cache, s.offset + int64(at-s.base)
}

// disturb is the adversary's turn (EM4). c is the cache in use, nil: any. Requires mu.
func (d *Domain) disturb(c *Cache) {
	if c == nil {
		if len(d.shown) == 0 {
			return
		}
		c = d.shown[d.random.IntN(len(d.shown))].cache
	}
	for range d.random.IntN(4) {
		d.moves.Adversary++
		switch {
		case len(c.modified) > 0 && d.random.IntN(2) == 0:
			// A line that may be modified is written back early, or, if it was forgotten, long after.
			line := d.near(c, c.modified[d.random.IntN(len(c.modified))])
			c.writeBack(part{c, line, line})
			if d.random.IntN(2) == 0 && !c.loses() {
				c.fetch(part{c, line, line})
			}
		case len(d.pending) > 0 && d.random.IntN(3) == 0:
			// A flush is done without waiting for the fence: from one end, so that what is last done is not always the
			// same.
			p := d.pending[d.random.IntN(len(d.pending))]
			p.last = p.first + d.random.Int64N(min(8, p.last-p.first+1))
			p.cache.drop(p)
		case len(c.recent) > 0:
			// Clean lines come back, whichever domain is writing there: the next flush finds them older than what it is
			// to find.
			line := d.near(c, c.recent[d.random.IntN(len(c.recent))])
			back := part{c, line, min(line+d.random.Int64N(8), c.lines-1)}
			if !c.loses() || !c.held(back) {
				c.fetch(back)
			}
		}
	}
}

// near picks a line of a part; often the first or the last one.
func (d *Domain) near(c *Cache, p part) int64 {
	line := p.first
	switch d.random.IntN(4) {
	case 0:
		line = p.last
	case 1, 2:
		line = p.first + d.random.Int64N(p.last-p.first+1)
	}
	return min(max(line+d.random.Int64N(3)-1, p.first), p.last, c.lines-1)
}
