package model

import "github.com/csmsql/csmsql/coherence"

// motion is a state on its way to the next one.
type motion struct {
	*Model
	*State
	effect *Effect // nil during the search
}

func (m *motion) access(kind AccessKind, n Node, place uint8, slot int8) {
	if m.effect != nil {
		m.effect.Accesses = append(m.effect.Accesses, Access{Kind: kind, Node: n, Place: place, Slot: slot})
	}
}

// lineOf returns the line in which an address lies, and span the addresses of a line.
func (m *Model) lineOf(address uint8) uint8 {
	if m.effects.sharedLine {
		return 0
	}
	return address
}

func (m *Model) span(line uint8) (from, to uint8) {
	if m.effects.sharedLine {
		return 0, Addresses
	}
	return line, line + 1
}

// linesOf returns the lines that an extent touches, as bits.
func (m *Model) linesOf(first, count uint8) (lines uint8) {
	for a := first; a < first+count; a++ {
		lines |= 1 << m.lineOf(a)
	}
	return lines
}

// source is what a fetch of a line by n returns for an address: what is on its way out of the same cache; a borrower's
// is answered by the lender's cache if that is snooped and has the line; else by the memory.
func (m *Model) source(s *State, n Node, address uint8) value {
	line := m.lineOf(address)
	if c := &s.caches[n]; c.evicted>>line&1 == 1 {
		return c.outgoing[address]
	}
	if m.class == coherence.IncoherentHomeSnoop && n != Home {
		switch home := &s.caches[Home]; {
		case home.lines[line] != absent:
			return home.values[address]
		case home.evicted>>line&1 == 1:
			return home.outgoing[address]
		}
	}
	return s.memory[address]
}

// load is what n would read.
func (m *Model) load(s *State, n Node, address uint8) value {
	if s.caches[n].lines[m.lineOf(address)] != absent {
		return s.caches[n].values[address]
	}
	return m.source(s, n, address)
}

// fetch fills a line that is not there.
func (m *motion) fetch(n Node, line uint8) {
	c := &m.caches[n]
	if c.lines[line] != absent {
		return
	}
	m.access(AccessFetch, n, line, 0)
	for a, to := m.span(line); a < to; a++ {
		c.values[a] = m.source(m.State, n, a)
	}
	c.lines[line] = clean
}

func (m *motion) store(n Node, address uint8, slot int8) {
	line := m.lineOf(address)
	m.fetch(n, line)
	m.access(AccessStore, n, address, slot)
	m.caches[n].values[address] = value(slot + 1)
	m.caches[n].lines[line] = dirty
}

// writeBack stores a modified line into memory, past every other cache, after what has left the cache before. It is
// the one assumption of the protocol that a clean line is not written back.
func (m *motion) writeBack(n Node, line uint8) {
	m.land(n, line)
	c := &m.caches[n]
	if c.lines[line] != dirty {
		return
	}
	m.access(AccessWriteBack, n, line, 0)
	for a, to := m.span(line); a < to; a++ {
		m.memory[a] = c.values[a]
	}
	c.lines[line] = clean
}

// evict is a write-back that takes its time.
func (m *motion) evict(n Node, line uint8) {
	c := &m.caches[n]
	if c.lines[line] != dirty {
		m.drop(n, line)
		return
	}
	m.land(n, line)
	m.access(AccessEvict, n, line, 0)
	for a, to := m.span(line); a < to; a++ {
		c.outgoing[a] = c.values[a]
	}
	c.evicted |= 1 << line
	m.empty(n, line)
}

// land is when an evicted line arrives in the memory.
func (m *motion) land(n Node, line uint8) {
	c := &m.caches[n]
	if c.evicted>>line&1 == 0 {
		return
	}
	m.access(AccessLand, n, line, 0)
	for a, to := m.span(line); a < to; a++ {
		m.memory[a], c.outgoing[a] = c.outgoing[a], 0
	}
	c.evicted &^= 1 << line
}

// stream is a store past the cache.
func (m *motion) stream(n Node, address uint8, slot int8) {
	c := &m.caches[n]
	c.waiting |= 1 << address
	c.buffered[address] = value(slot + 1)
}

// drain is when a store past the cache is done. If its line is in the cache, it depends on the processor whether the
// store goes there, or the line leaves first.
func (m *motion) drain(n Node, address uint8, cached bool) {
	c := &m.caches[n]
	slot := int8(c.buffered[address]) - 1
	c.waiting &^= 1 << address
	c.buffered[address] = 0
	if cached {
		m.store(n, address, slot)
		return
	}
	m.drop(n, m.lineOf(address))
	m.access(AccessPass, n, address, slot)
	m.memory[address] = value(slot + 1)
}

func (m *motion) drop(n Node, line uint8) {
	m.writeBack(n, line)
	if m.caches[n].lines[line] == absent {
		return
	}
	m.access(AccessDrop, n, line, 0)
	m.empty(n, line)
}

// empty forgets a line without writing it back.
func (m *motion) empty(n Node, line uint8) {
	c := &m.caches[n]
	c.lines[line] = absent
	for a, to := m.span(line); a < to; a++ {
		c.values[a] = 0
	}
}

// dropAll drops a set of lines.
func (m *motion) dropAll(n Node, lines uint8) {
	for line := range uint8(Addresses) {
		if lines>>line&1 == 1 {
			m.drop(n, line)
		}
	}
}

// fresh reports whether a clean line of n is what a fetch would bring now.
func (m *Model) fresh(s *State, n Node, line uint8) bool {
	c := &s.caches[n]
	if c.lines[line] != clean {
		return false
	}
	for a, to := m.span(line); a < to; a++ {
		if c.values[a] != m.source(s, n, a) {
			return false
		}
	}
	return true
}

// dropFresh makes absent every line that a fetch would bring back as it is (see doc.go, "What is left out").
func (m *Model) dropFresh(s *State) {
	// The lender first: its fresh line equals the memory, so that without it borrowers fetch the same.
	for n := range Node(Nodes) {
		for line := range uint8(Addresses) {
			if m.fresh(s, n, line) {
				(&motion{Model: m, State: s}).empty(n, line)
			}
		}
	}
}

// answers is what decides the outcome of every fetch of a line: the memory, the lender's cache if it is snooped, and
// what is on its way out of a cache.
func (m *Model) answers(s *State, line uint8) (a [Nodes][Addresses]value) {
	for at, to := m.span(line); at < to; at++ {
		for n := range Node(Nodes) {
			a[n][at] = m.source(s, n, at)
		}
	}
	return a
}
