package model

import "github.com/csmsql/csmsql/coherence"

// This file is what lending, borrowing and the engine do above the protocol and what caches notice of it: the lender
// restarts, extents are moved while they are written, replicas are copied, and a machine has several processes.

// machineToo is the Line of a Restart with which the lender's caches are gone, too.
const machineToo = 1

// restarts adds the end of the lender's process and of its machine. The next process waits until no other node relies
// on a lease of the former one: what such a lease pins would be free.
func (m *Model) restarts(s *State) {
	if !m.effects.restarts {
		return
	}
	ghosts, read := 0, false // ghosts that there would be; whether others read
	if s.pins(ghost) {
		ghosts++
	}
	for i := range slots {
		other := false
		for n := Alpha; n < Nodes; n++ {
			other = other || s.readers[n][i].pinned()
		}
		read = read || other
		if other && i != ghost && s.generations[i].state == coherence.Retired {
			ghosts++
		}
	}
	// Stores past the cache of a process that has ended are done: the interrupt that ended it has waited for them.
	if s.caches[Home].waiting == 0 && (!read || m.effects.restartHurries && ghosts <= 1) { // there is room for one
		m.can(Step{Kind: Restart, Node: Home})
		m.can(Step{Kind: Restart, Node: Home, Line: machineToo})
	}
}

// restart is the lender's next process: it knows what is published and what others may still write, and nothing else.
// Its own writers and readers went with the former one; what they have stored lies in its caches, unless these are
// lost.
func (m *motion) restart(machine bool) {
	if machine {
		m.access(AccessLose, Home, 0, 0)
		m.caches[Home] = cache{}
	}
	m.untouched, m.ahead, m.aheadFlushing, m.remembered[Home] = 0, 0, 0, 0
	for i := range slots {
		m.readers[Home][i] = reader{}
	}
	if !m.pins(ghost) {
		m.bury()
	}
	for i := range Addresses {
		g := &m.generations[i]
		switch g.state {
		case coherence.Free:
		case coherence.Published:
			g.homeFlushing = 0
		case coherence.Granted, coherence.Aborting:
			if g.writer == Home || g.phase == preparing || m.effects.restartForgets {
				m.end(g)
				break
			}
			if g.state == coherence.Aborting {
				g.phase = aborting
			}
			if g.phase == flushed { // the lender does not answer, and the writer goes on
				g.phase = writing
			}
			g.state = coherence.Quarantined
		default:
			if !g.orphan() { // also one whose writer was fenced off: it has no writer any more
				m.end(g)
			}
		}
	}
}

// end is what becomes of a generation of which the next process knows nothing. It is no operation of the protocol.
func (m *motion) end(g *generation) {
	effect := m.effect
	m.effect = nil
	m.reclaim(g)
	m.effect = effect
}

// orphaned is what follows an orphan's flush: it is given back, its seal is refused, or its writer goes on until it
// learns that the lender is another process.
func (m *motion) orphaned(g *generation) {
	switch g.phase {
	case growing:
		m.fence(coherence.ActionFenceFull, coherence.StepClean)
		g.phase = writing
	case shrinking:
		m.report(coherence.StepAbort)
		m.shrunk(g)
	case cleaning:
		m.report(coherence.StepClean)
		m.end(g)
	case aborting:
		m.report(coherence.StepAbort)
		m.end(g)
	}
}

// growing adds that a writer elsewhere asks for another extent for what it has.
func (m *Model) growing(s *State, g *generation, slot uint8) {
	if m.effects.grows && !m.halves && g.writer != Home && g.count == 1 && m.free(s, 1-g.first, 1) {
		m.can(Step{Kind: Grow, Node: g.writer, Slot: slot})
	}
}

// grow has the writer flush, since the lender is to read it: the grant stays.
func (m *motion) grow(g *generation) {
	g.phase = growing
	m.fence(coherence.ActionFenceStore, coherence.StepClean)
	g.flushing |= m.flush(coherence.StepClean, g.first, g.count, m.effects.noGrow, false)
	m.proceed(g)
}

// reallocations adds the lender's answer, as soon as there is room.
func (m *Model) reallocations(s *State, g *generation, slot uint8) {
	if to := 1 - g.first; m.free(s, to, 1) {
		m.can(Step{Kind: Reallocate, Node: g.writer, Slot: slot, First: to})
	} else { // or it says that it is full, and the writer goes on where it is
		m.can(Step{Kind: Reallocate, Node: g.writer, Slot: slot, First: g.first})
	}
}

// reallocate is what the lender does at once, between two messages: it grants, drops what it has of both places,
// copies, drops the copy, and hands over. The writer drops what it has there, and gives the former place back, of which
// it has nothing modified.
func (m *motion) reallocate(g *generation, to uint8) {
	if to == g.first {
		g.phase = writing
		return
	}
	from, next := g.first, &m.generations[to]
	m.dropAll(Home, m.linesOf(to, 1))
	if !m.effects.noReallocate {
		m.dropAll(Home, m.linesOf(from, 1))
	}
	*next = generation{state: coherence.Granted, phase: writing, first: to, count: 1, writer: g.writer, stored: g.stored}
	if g.stored > 0 {
		m.fetch(Home, m.lineOf(from))
		copied := int8(-1)
		if m.load(m.State, Home, from) == value(from+1) {
			copied = int8(to)
		}
		m.untouched &^= m.places(to, 1)
		m.store(Home, to, copied)
		if !m.effects.reallocatedStays {
			m.dropAll(Home, m.linesOf(to, 1))
		}
	}
	m.drop(g.writer, m.lineOf(to))
	m.dropAll(g.writer, m.linesOf(from, 1))
	m.end(g)
}

// replica adds that what is granted is filled with what lies at the other place.
func (m *Model) replica(s *State, g *generation, slot uint8) {
	if !m.effects.replicas || m.halves || g.count != 1 {
		return
	}
	source := 1 - slot
	if acquired := s.readers[g.writer][source].state == reading; acquired || m.effects.replicaUnacquired && s.generations[source].state == coherence.Published {
		m.can(Step{Kind: Replicate, Node: g.writer, Slot: slot})
	}
}

// replicate stores what the writer loads: its own bytes, if that is what was published.
func (m *motion) replicate(g *generation, slot int) {
	source := 1 - g.first
	m.fetch(g.writer, m.lineOf(source))
	copied := int8(-1)
	if m.load(m.State, g.writer, source) == value(source+1) {
		copied = int8(slot)
	}
	m.store(g.writer, g.first, copied)
	g.stored = 1
}

// beside is a second process of a node: it acquires for itself, while the first one goes on reading. Under the mutation
// readsBeside it takes the first one's acquire for done.
func (m *motion) beside(n Node, slot int, lines uint8) {
	r, g := &m.readers[n][slot], &m.generations[slot]
	if r.state == acquiring {
		r.state, r.attempts = reading, 0
		return
	}
	r.flushing = m.linesOf(g.first, g.count) & lines
}
