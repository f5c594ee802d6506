package coherence_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// machine is memory that is not coherent between domains: every domain has a private copy of it, its cache. A store
// stays in the copy until the line is written back, a load is answered from the copy while the line is there. What is evicted
// is on its way to the memory for some time, and stores past the cache wait in a buffer of their processor (stores_test.go). It rests
// on the assumption that doc.go states: a flush writes back modified lines only.
type machine struct {
	class  coherence.Class
	line   int // bytes
	memory []byte
	home   *cpu
	cpus   []*cpu
	random *rand.Rand
	// pending are the flushes that were issued and are not done, by the script that issued them, which is a processor.
	// A flush does not wait, a fence waits for those of its own script.
	pending map[*script][]pendingFlush
	// combining are the stores past the caches that are not done, by script: a store fence of that script waits for them.
	combining []combined
	order     []*script // of pending, so that a seed says what happens
}

type pendingFlush struct {
	cpu  *cpu
	line int
}

// cpu is one domain's cache over the whole memory.
type cpu struct {
	machine *machine
	name    coherence.Domain
	view    []byte // what a load of a present line returns
	noted   []byte // the view, as far as the machine knows of stores; see observe
	present []bool
	dirty   []bool
	flying  map[int][]byte // lines that were evicted while they were modified, and have not arrived
}

func newMachine(class coherence.Class, line, pages int, random *rand.Rand, names ...coherence.Domain) *machine {
	m := &machine{class: class, line: line, memory: make([]byte, pages*memregion.PageSize), random: random, pending: map[*script][]pendingFlush{}}
	for _, name := range names {
		lines := (len(m.memory) + line - 1) / line
		m.cpus = append(m.cpus, &cpu{
			machine: m, name: name, view: aligned(len(m.memory)), noted: make([]byte, len(m.memory)),
			present: make([]bool, lines), dirty: make([]bool, lines), flying: map[int][]byte{},
		})
	}
	m.home = m.cpus[0]
	return m
}

func (m *machine) span(line int) (from, to int) {
	return line * m.line, min((line+1)*m.line, len(m.memory))
}

// fetch fills a line that is not there. On a home-snoop fabric the lender's cache answers before the memory does.
func (c *cpu) fetch(line int) {
	if c.present[line] {
		return
	}
	from, to := c.machine.span(line)
	copy(c.view[from:to], c.source(line))
	c.present[line] = true
	c.note(line)
}

// source is what answers the fetch of a line: what is on its way out of the same cache, the lender's cache, where that is snooped, or the memory.
func (c *cpu) source(line int) []byte {
	from, to := c.machine.span(line)
	if flying := c.flying[line]; flying != nil {
		return flying
	}
	if home := c.machine.home; c.machine.class == coherence.IncoherentHomeSnoop && c != home {
		switch {
		case home.present[line]:
			return home.view[from:to]
		case home.flying[line] != nil:
			return home.flying[line]
		}
	}
	return c.machine.memory[from:to]
}

// writeBack stores a modified line into memory, past every other cache, and all that left the cache before.
func (c *cpu) writeBack(line int) {
	c.land(line)
	if !c.dirty[line] {
		return
	}
	from, to := c.machine.span(line)
	copy(c.machine.memory[from:to], c.view[from:to])
	c.dirty[line] = false
}

// evict is a write-back that takes its time.
func (c *cpu) evict(line int) {
	c.land(line)
	if c.dirty[line] {
		from, to := c.machine.span(line)
		c.flying[line] = bytes.Clone(c.view[from:to])
		c.dirty[line] = false
	}
	c.present[line] = false
}

// land is when an evicted line arrives in the memory.
func (c *cpu) land(line int) {
	if flying := c.flying[line]; flying != nil {
		from, to := c.machine.span(line)
		copy(c.machine.memory[from:to], flying)
		delete(c.flying, line)
	}
}

func (c *cpu) drop(line int) {
	c.writeBack(line)
	c.present[line] = false
}

// load returns bytes [from, to) of one line.
func (c *cpu) load(from, to int) []byte {
	c.fetch(from / c.machine.line)
	return c.view[from:to]
}

// store writes data, which lies in one line.
func (c *cpu) store(at int, data []byte) {
	line := at / c.machine.line
	c.fetch(line)
	copy(c.view[at:], data)
	c.dirty[line] = true
	c.note(line)
}

// lose forgets everything, also what is modified or on its way: the host is cut off.
func (c *cpu) lose() {
	clear(c.present)
	clear(c.dirty)
	clear(c.flying)
	c.machine.combining = slices.DeleteFunc(c.machine.combining, func(s combined) bool { return s.cpu == c })
}

// flush issues flushes of whole lines for a script; the adversary or a fence of that script completes them.
func (c *cpu) flush(by *script, from, to int) (lines int) {
	if from >= to {
		return 0
	}
	m := c.machine
	if _, known := m.pending[by]; !known {
		m.order = append(m.order, by)
	}
	for line := from / m.line; line <= (to-1)/m.line; line++ {
		m.pending[by] = append(m.pending[by], pendingFlush{c, line})
		lines++
	}
	return lines
}

// flushPresent is flush that takes lines which were evicted for done: a mutation.
func (c *cpu) flushPresent(by *script, from, to int) (lines int) {
	for at := from; at < to; at += c.machine.line {
		if line := at / c.machine.line; c.flying[line] == nil || c.dirty[line] {
			lines += c.flush(by, at, min(at+c.machine.line, to))
		}
	}
	return lines
}

func (c *cpu) fence(by *script) {
	list := c.machine.pending[by]
	kept := list[:0]
	for _, p := range list {
		if p.cpu == c {
			c.drop(p.line)
		} else {
			kept = append(kept, p)
		}
	}
	c.machine.pending[by] = kept
}

// flushNow is a flush with the fence that completes it.
func (c *cpu) flushNow(from, to int) {
	c.flush(nil, from, to)
	c.fence(nil)
}

// offsetOf returns where in the memory a slice of a view begins. Views are never sliced with a capacity.
func (c *cpu) offsetOf(b []byte) int { return cap(c.view) - cap(b) }

// adversary does what hardware may do at any time, at its worst: fetch lines unasked, evict, write back early, complete
// a flush.
func (m *machine) adversary() {
	for range m.random.IntN(6) {
		c := m.cpus[m.random.IntN(len(m.cpus))]
		line := m.random.IntN(len(c.present))
		switch m.random.IntN(9) {
		case 0, 1, 2:
			c.fetch(line)
		case 3:
			if m.random.IntN(2) == 0 {
				c.evict(line)
			} else {
				c.drop(line)
			}
		case 4:
			c.writeBack(line)
		case 5:
			for line := range c.present { // a stream prefetcher
				c.fetch(line)
			}
		case 6:
			m.completeOne()
		case 7:
			if m.random.IntN(4) == 0 { // late
				m.drainOne()
			}
		case 8:
			for _, line := range slices.Sorted(maps.Keys(c.flying)) {
				if m.random.IntN(2) == 0 {
					c.land(line)
				}
			}
		}
	}
}

// completeOne lets a flush of some script be done early.
func (m *machine) completeOne() {
	if len(m.order) == 0 {
		return
	}
	by := m.order[m.random.IntN(len(m.order))]
	if list := m.pending[by]; len(list) > 0 {
		at := m.random.IntN(len(list))
		list[at].cpu.drop(list[at].line)
		m.pending[by] = append(list[:at], list[at+1:]...)
	}
}

// recyclingMemory is the lender's allocator over a machine: it hands out the page that was freed last. The pages were
// just zeroed by the lender's kernel, dirty in the lender's cache, or, often, are untouched.
type recyclingMemory struct {
	home      *cpu
	free      []int64 // pages
	live      map[int64]string
	untouched map[int64]bool
	held      bool   // lines are dropped ahead: no memory is granted or zeroed
	wait      func() // lets others go on
	forgets   bool   // a mutation
	notHeld   bool   // another
}

var _ coherence.Tracking = (*recyclingMemory)(nil)

func eachPage(r memregion.Range, visit func(page int64)) {
	for page := r.Offset / memregion.PageSize; page < r.End()/memregion.PageSize; page++ {
		visit(page)
	}
}

func (m *recyclingMemory) Dropped(r memregion.Range) {
	eachPage(r, func(page int64) { m.untouched[page] = true })
}

func (m *recyclingMemory) Touch(r memregion.Range) {
	eachPage(r, func(page int64) { delete(m.untouched, page) })
}

func (m *recyclingMemory) Untouched(r memregion.Range) (parts []memregion.Range) {
	eachPage(r, func(page int64) {
		if m.untouched[page] {
			parts = append(parts, memregion.Range{Offset: page * memregion.PageSize, Length: memregion.PageSize})
		}
	})
	return parts
}

// DropAhead takes the lowest run of free pages.
func (m *recyclingMemory) DropAhead(limit int64, drop func(r memregion.Range, data []byte)) (r memregion.Range, _ error) {
	m.await()
	for page := range int64(len(m.home.view) / memregion.PageSize) {
		switch fits := m.isFree(page) && !m.untouched[page] && r.Length < limit; {
		case fits && r.Length == 0:
			r = memregion.Range{Offset: page * memregion.PageSize, Length: memregion.PageSize}
		case fits && r.End() == page*memregion.PageSize:
			r.Length += memregion.PageSize
		}
	}
	if r.Length == 0 {
		return r, nil
	}
	m.held = true
	drop(r, m.Bytes(r))
	m.held = false
	m.Dropped(r)
	return r, nil
}

// await is what the lock does.
func (m *recyclingMemory) await() {
	for m.held && !m.notHeld {
		m.wait()
	}
}

func (m *recyclingMemory) MoreToDrop() <-chan struct{} { return nil }

// zeroSome is the kernel, which was given a free page back and zeroes it when it is reserved again.
func (m *recyclingMemory) zeroSome() {
	if len(m.free) == 0 || m.held && !m.notHeld {
		return
	}
	page := m.free[m.home.machine.random.IntN(len(m.free))]
	r := memregion.Range{Offset: page * memregion.PageSize, Length: memregion.PageSize}
	m.Touch(r)
	m.zero(r)
}

func newRecyclingMemory(home *cpu) *recyclingMemory {
	m := &recyclingMemory{home: home, live: map[int64]string{}, untouched: map[int64]bool{}}
	for page := len(home.view)/memregion.PageSize - 1; page >= 0; page-- {
		m.free = append(m.free, int64(page))
	}
	return m
}

// Allocate gives out one page, or two if they lie together.
func (m *recyclingMemory) Allocate(owner string, size int64) (memregion.Range, error) {
	m.await()
	pages := pageRound(size) / memregion.PageSize
	for i := len(m.free) - 1; i >= 0; i-- {
		first := m.free[i]
		if pages == 2 && !m.isFree(first+1) {
			continue
		}
		r := memregion.Range{Offset: first * memregion.PageSize, Length: pages * memregion.PageSize}
		for p := range pages {
			m.take(first+p, owner)
		}
		eachPage(r, func(page int64) {
			if m.forgets || !m.untouched[page] || m.home.machine.random.IntN(3) == 0 {
				one := memregion.Range{Offset: page * memregion.PageSize, Length: memregion.PageSize}
				if !m.forgets {
					m.Touch(one)
				}
				m.zero(one)
			}
		})
		return r, nil
	}
	return memregion.Range{}, errFull
}

func (m *recyclingMemory) zero(r memregion.Range) {
	zeroes := make([]byte, m.home.machine.line)
	for at := int(r.Offset); at < int(r.End()); {
		_, to := m.home.machine.span(at / m.home.machine.line)
		to = min(to, int(r.End()))
		m.home.store(at, zeroes[:to-at])
		at = to
	}
}

func (m *recyclingMemory) isFree(page int64) bool {
	for _, p := range m.free {
		if p == page {
			return true
		}
	}
	return false
}

func (m *recyclingMemory) take(page int64, owner string) {
	for i, p := range m.free {
		if p == page {
			m.free = append(m.free[:i], m.free[i+1:]...)
		}
	}
	m.live[page] = owner
}

func (m *recyclingMemory) Shrink(owner string, r memregion.Range, size int64) (memregion.Range, error) {
	left := memregion.Range{Offset: r.Offset, Length: pageRound(size)}
	return left, m.Free(owner, memregion.Range{Offset: left.End(), Length: r.Length - left.Length})
}

func (m *recyclingMemory) Free(_ string, r memregion.Range) error {
	for page := r.Offset / memregion.PageSize; page < r.End()/memregion.PageSize; page++ {
		delete(m.live, page)
		m.free = append(m.free, page)
	}
	return nil
}

func (m *recyclingMemory) Bytes(r memregion.Range) []byte { return m.home.view[r.Offset:r.End()] }
