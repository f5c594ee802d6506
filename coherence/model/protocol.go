package model

import "github.com/csmsql/csmsql/coherence"

// This file is the protocol as the design has it, one small function for each step, written without a look at the
// state machines of package coherence: the replay holds the two against each other.

// operation notes what the protocol orders.
func (m *motion) operation(kind coherence.ActionKind, step coherence.Step, first, count uint8) {
	if m.effect != nil {
		m.effect.Operations = append(m.effect.Operations, Operation{Kind: kind, Step: step, First: first, Count: count})
	}
}

func (m *motion) fence(kind coherence.ActionKind, step coherence.Step) { m.operation(kind, step, 0, 0) }

// flush issues a flush and returns the lines that are now on their way out.
func (m *motion) flush(step coherence.Step, first, count uint8, missing, short bool) (lines uint8) {
	if short && count > 1 { // one line of one would be no flush at all, which is another mutation
		count--
	}
	if missing {
		return 0
	}
	m.operation(coherence.ActionFlush, step, first, count)
	return m.linesOf(first, count)
}

// grant is step 1. The lender's kernel zeroes what it hands out, which leaves modified lines in the lender's cache,
// unless the memory is used again and the lender's domain has stored nothing there since it dropped the lines: then
// there are none.
func (m *motion) grant(step Step) {
	g := &m.generations[step.First]
	*g = generation{state: coherence.Granted, first: step.First, count: step.Count, writer: step.Node}
	all := m.places(step.First, step.Count)
	touched := all &^ step.Untouched
	zeroed := touched
	if m.effects.zeroesForgotten {
		zeroed = all
	}
	for a := range uint8(Addresses) {
		if zeroed>>a&1 == 1 {
			m.store(Home, a, -1)
		}
	}
	m.untouched &^= touched
	if g.writer == Home || touched == 0 {
		m.handOver(g)
		return
	}
	g.phase = preparing
	m.fence(coherence.ActionFenceFull, coherence.StepPrepare)
	for a := g.first; a < g.first+g.count; a++ { // neighbours are flushed together
		end := a
		for ; end < g.first+g.count && touched>>end&1 == 1; end++ {
		}
		if end > a {
			g.flushing |= m.flush(coherence.StepPrepare, a, end-a, m.effects.noPrepare, false)
			a = end
		}
	}
	m.proceed(g)
}

// zero is what the kernel does to memory that is free: it was given back to it, and reserved again.
func (m *motion) zero(address uint8) {
	m.store(Home, address, -1)
	m.untouched &^= m.places(address, 1)
}

// dropAhead begins to drop the lender's lines of free memory.
func (m *motion) dropAhead(first, count uint8) {
	m.ahead = m.places(first, count)
	m.fence(coherence.ActionFenceFull, coherence.StepAhead)
	m.aheadFlushing = m.flush(coherence.StepAhead, first, count, false, false)
	m.droppedAhead()
}

// droppedAhead is what follows the fence.
func (m *motion) droppedAhead() {
	if m.ahead == 0 || m.aheadFlushing != 0 && !m.effects.noAheadFence {
		return
	}
	m.fence(coherence.ActionFenceFull, coherence.StepAhead)
	m.untouched |= m.ahead
	m.ahead = 0
}

func (m *motion) handOver(g *generation) {
	if m.effects.earlyFlush {
		for n := range Node(Nodes) {
			m.dropAll(n, m.linesOf(g.first, g.count))
		}
	}
	g.phase = writing
	m.operation(coherence.ActionHandOver, coherence.StepNone, g.first, g.count)
}

// clean is step 3.
func (m *motion) clean(g *generation) {
	if m.effects.earlyHomeClean {
		m.dropAll(Home, m.linesOf(g.first, g.count))
	}
	g.phase = cleaning
	m.fence(coherence.ActionFenceStore, coherence.StepClean)
	keeps := m.effects.localKeeps && g.writer == Home && m.class == coherence.IncoherentHomeSnoop
	for a := g.first; a < g.first+g.count; a++ { // neighbours that were not passed are flushed together
		end := a
		for ; end < g.first+g.count && g.passed>>end&1 == 0; end++ {
		}
		if end > a {
			g.flushing |= m.flush(coherence.StepClean, a, end-a, m.effects.noClean || m.effects.lateClean || keeps, m.effects.cleanShort)
			a = end
		}
	}
	if m.effects.evictedNotFlushed {
		g.flushing &^= m.gone(g.writer)
	}
	g.passed = 0
	m.proceed(g)
}

// gone are lines of which a cache has nothing modified, because it has evicted them.
func (m *motion) gone(n Node) (lines uint8) {
	c := &m.caches[n]
	for line := range uint8(Addresses) {
		if c.lines[line] != dirty {
			lines |= c.evicted & (1 << line)
		}
	}
	return lines
}

// pass is what a writer does that flushes each piece when it was stored, by whichever stores.
func (m *motion) pass(g *generation, address uint8) {
	g.passed |= 1 << address
	g.flushing |= m.flush(coherence.StepClean, address, 1, false, false)
}

// abort is step 9.
func (m *motion) abort(g *generation) {
	orphan := g.orphan()
	if orphan {
		g.phase = aborting
	} else {
		g.state, g.phase = coherence.Aborting, resting
	}
	m.fence(coherence.ActionFenceStore, coherence.StepAbort)
	g.passed = 0
	g.flushing |= m.flush(coherence.StepAbort, g.first, g.count, m.effects.noAbort || orphan && m.effects.noOrphan, false)
	m.proceed(g)
}

// shrink gives the second address back.
func (m *motion) shrink(g *generation) {
	g.phase = shrinking
	m.fence(coherence.ActionFenceStore, coherence.StepAbort)
	g.flushing |= m.flush(coherence.StepAbort, g.first+1, g.count-1, m.effects.noShrink, false)
	m.proceed(g)
}

// proceed is what follows the fence after a writer's flushes, or the lender's in prepare.
func (m *motion) proceed(g *generation) {
	if g.flushing != 0 && !(m.effects.noCleanFence && g.phase == cleaning) {
		return
	}
	switch {
	case g.orphan():
		m.orphaned(g)
	case g.phase == growing:
		m.fence(coherence.ActionFenceFull, coherence.StepClean)
		g.phase = flushed
	case g.state == coherence.Aborting:
		m.report(coherence.StepAbort)
		m.reclaim(g)
	case g.phase == preparing:
		m.fence(coherence.ActionFenceFull, coherence.StepPrepare)
		if m.class == coherence.Incoherent { // the other class does not use it
			m.untouched |= m.places(g.first, g.count)
		}
		m.handOver(g)
	case g.phase == shrinking:
		m.report(coherence.StepAbort)
		m.shrunk(g)
	case g.phase == cleaning:
		m.report(coherence.StepClean)
		g.state, g.phase = coherence.Cleaned, resting
		m.homeClean(g)
	}
}

func (m *motion) shrunk(g *generation) {
	m.forget(g, g.first+1)
	g.phase, g.count, g.stored = writing, 1, min(g.stored, 1)
}

// report is the writer's message, after its full fence.
func (m *motion) report(step coherence.Step) {
	m.fence(coherence.ActionFenceFull, step)
	m.operation(coherence.ActionReport, coherence.StepNone, 0, 0)
}

// homeClean is step 4.
func (m *motion) homeClean(g *generation) {
	if m.class != coherence.IncoherentHomeSnoop || g.writer == Home {
		return
	}
	m.operation(coherence.ActionHomeClean, coherence.StepNone, 0, 0)
	m.fence(coherence.ActionFenceFull, coherence.StepHomeClean)
	g.homeFlushing = m.flush(coherence.StepHomeClean, g.first, g.count, m.effects.noHomeClean, m.effects.homeShort)
	m.homeCleaned(g)
}

func (m *motion) homeCleaned(g *generation) {
	if g.homeFlushing == 0 {
		m.fence(coherence.ActionFenceFull, coherence.StepHomeClean)
		g.state = coherence.HomeCleaned
	}
}

// sealable reports whether step 5 may begin.
func (m *Model) sealable(g *generation) bool {
	if m.class == coherence.IncoherentHomeSnoop && g.writer != Home {
		return g.state == coherence.HomeCleaned
	}
	return g.state == coherence.Cleaned
}

// looks reports whether the lender must read what it seals: a foreign writer's line may be lost in part (see
// Config.Halves).
func (m *Model) looks(g *generation) bool {
	return g.state == coherence.HomeCleaned && !m.blind
}

// finds reports whether the lender would find the right bytes.
func (m *Model) finds(s *State, slot uint8) bool {
	g := &s.generations[slot]
	for a := g.first; a < g.first+g.count; a++ {
		if m.load(s, Home, a) != value(slot+1) {
			return false
		}
	}
	return true
}

// look is the lender's, before it seals.
func (m *motion) look(g *generation) {
	if !m.looks(g) {
		return
	}
	for a := g.first; a < g.first+g.count; a++ {
		m.fetch(Home, m.lineOf(a))
	}
	m.operation(coherence.ActionVerify, coherence.StepNone, 0, 0)
}

func (m *motion) seal(g *generation) {
	m.look(g)
	g.state = coherence.Sealed
	m.operation(coherence.ActionRecord, coherence.StepNone, 0, 0)
}

// reject is what becomes of bytes that were lost.
func (m *motion) reject(g *generation) {
	m.look(g)
	m.reclaim(g)
}

func (m *motion) publish(g *generation) {
	g.state = coherence.Published
	m.operation(coherence.ActionAnnounce, coherence.StepNone, 0, 0)
	if m.effects.lateClean {
		g.flushing = m.linesOf(g.first, g.count)
	}
}

func (m *motion) retire(g *generation, slot int) {
	g.state = coherence.Retired
	if !m.pins(slot) || m.effects.earlyReuse {
		m.reclaim(g)
	}
}

// fenceOff takes a host away: its caches are lost, its pins expire, its grants go.
func (m *motion) fenceOff(n Node) {
	if !m.effects.fenceLeaks {
		m.access(AccessLose, n, 0, 0)
		m.caches[n] = cache{}
	}
	for i := range Addresses {
		g := &m.generations[i]
		if g.writer != n {
			continue
		}
		switch g.state {
		case coherence.Granted, coherence.Aborting:
			*g = generation{state: coherence.Quarantined, first: g.first, count: g.count, writer: n}
		case coherence.Cleaned, coherence.HomeCleaned:
			m.reclaim(g)
		case coherence.Quarantined:
			if g.orphan() {
				m.end(g)
			}
		}
	}
	m.expire(n)
}

// expire ends the pins of a domain, whose process is gone.
func (m *motion) expire(n Node) {
	m.remembered[n] = 0
	for i := range slots {
		m.readers[n][i] = reader{}
		m.unpinned(i)
	}
}

// acquire is step 6: the pin, then fence and flush. lines are those whose flush is still to come.
func (m *motion) acquire(n Node, slot int, lines uint8) {
	r, g := &m.readers[n][slot], &m.generations[slot]
	if r.state == held || m.effects.byAddress && m.remembered[n]>>g.first&1 == 1 {
		*r = reader{state: reading}
		return
	}
	*r = reader{state: acquiring}
	if m.mismatches {
		r.attempts = 1
	}
	m.attempt(n, slot, lines)
}

func (m *motion) attempt(n Node, slot int, lines uint8) {
	r, g := &m.readers[n][slot], &m.generations[slot]
	m.fence(coherence.ActionFenceFull, coherence.StepAcquire)
	r.flushing = m.flush(coherence.StepAcquire, g.first, g.count, m.effects.noAcquire, m.effects.acquireShort) & lines
	if r.flushing == 0 || m.effects.noAcquireFence {
		m.verified(n, slot)
	}
}

// verified is the fence after the flushes and a checksum that is right.
func (m *motion) verified(n Node, slot int) {
	r := &m.readers[n][slot]
	r.state, r.attempts = reading, 0
	m.fence(coherence.ActionFenceFull, coherence.StepAcquire)
	m.operation(coherence.ActionVerify, coherence.StepNone, 0, 0)
	if m.effects.byAddress {
		m.remembered[n] |= 1 << m.generations[slot].first
	}
}

// mismatch is the fence and a checksum that is wrong.
func (m *motion) mismatch(n Node, slot int) {
	r := &m.readers[n][slot]
	m.fence(coherence.ActionFenceFull, coherence.StepAcquire)
	m.operation(coherence.ActionVerify, coherence.StepNone, 0, 0)
	if r.attempts == attempts {
		m.operation(coherence.ActionGiveUp, coherence.StepNone, 0, 0)
		m.unpin(n, slot, stranger)
		return
	}
	r.attempts++
	m.attempt(n, slot, allLines)
}

// unpin is step 8; then is what the node still remembers.
func (m *motion) unpin(n Node, slot int, then readerState) {
	if then == held && m.effects.byAddress {
		then = stranger // what it remembers is in remembered
	} else if then == stranger {
		m.remembered[n] &^= 1 << m.generations[slot].first
	}
	m.readers[n][slot] = reader{state: then}
	m.unpinned(slot)
}

// unpinned ends a retired generation with its last pin.
func (m *motion) unpinned(slot int) {
	g := &m.generations[slot]
	switch {
	case m.pins(slot):
	case slot == ghost:
		m.bury()
	case g.state == coherence.Retired:
		m.reclaim(g)
	}
}

// reclaim ends a generation. A node that still reads it, which only a mutation allows, reads a ghost.
func (m *motion) reclaim(g *generation) {
	m.operation(coherence.ActionReleaseMemory, coherence.StepNone, g.first, g.count)
	slot := int(g.first)
	if m.pins(slot) {
		m.generations[ghost] = generation{first: g.first, count: g.count}
		m.rename(value(slot+1), ghost+1)
		for n := range Nodes {
			if m.readers[n][slot].pinned() {
				m.readers[n][ghost] = m.readers[n][slot]
			}
		}
	}
	m.rename(value(slot+1), 0)
	for n := range Nodes {
		m.readers[n][slot] = reader{} // a generation never comes back, so what is remembered of it does not matter
	}
	*g = generation{}
}

func (m *motion) bury() {
	m.rename(ghost+1, 0)
	m.generations[ghost] = generation{}
	for n := range Nodes {
		m.readers[n][ghost] = reader{}
	}
}

// rename gives the bytes of a generation another name wherever they are.
func (m *motion) rename(from, to value) {
	for a := range uint8(Addresses) {
		m.renameAt(a, from, to)
	}
}

func (m *motion) renameAt(a uint8, from, to value) {
	if m.memory[a] == from {
		m.memory[a] = to
	}
	for n := range Nodes {
		c := &m.caches[n]
		for _, v := range []*value{&c.values[a], &c.outgoing[a], &c.buffered[a]} {
			if *v == from {
				*v = to
			}
		}
	}
}

// forget makes the bytes that g left at an address old.
func (m *motion) forget(g *generation, address uint8) { m.renameAt(address, value(g.first+1), 0) }
