package model

import "github.com/csmsql/csmsql/coherence"

// Model is the protocol, its hardware, and the mutation of either.
type Model struct {
	class      coherence.Class
	effects    effects
	addresses  uint8
	mismatches bool
	explicit   bool
	halves     bool
	// blind is a lender that does not look at what it seals. It is set under every mutation: the look would find some
	// of the damage, as a reader's checksum would, but the search is to show that each step is needed by itself.
	blind bool
	steps []Step // scratch
}

const allLines = 1<<Addresses - 1

// New returns the model of config.
func New(config Config) *Model {
	m := &Model{
		class: config.Class, effects: effectsOf[config.Mutation], addresses: uint8(config.Addresses), mismatches: config.Mismatches,
		explicit: config.Explicit,
	}
	m.blind = config.Mutation != None
	m.halves = config.Halves || m.effects.halves
	m.effects.keepPins = config.keepPins
	m.effects.restarts = m.effects.restarts || config.Restarts
	m.effects.grows = m.effects.grows || config.Grows
	m.effects.replicas = m.effects.replicas || config.Replicas
	m.effects.processes = m.effects.processes || config.Processes
	m.effects.evictions = m.effects.evictions || config.Evictions
	m.effects.copies = m.effects.copies || config.Copies
	m.effects.sharedLine = m.effects.sharedLine || m.halves
	if m.addresses == 0 {
		m.addresses = Addresses
	}
	return m
}

// lines is how many lines the addresses in use lie in.
func (m *Model) lines() uint8 {
	if m.effects.sharedLine {
		return 1
	}
	return m.addresses
}

// enabled returns what can happen in s. The result is overwritten by the next call.
func (m *Model) enabled(s *State) []Step {
	m.steps = m.steps[:0]
	m.grants(s)
	m.idle(s)
	m.restarts(s)
	for i := range uint8(Addresses) {
		m.lender(s, i)
	}
	for n := range Node(Nodes) {
		if n != Home {
			m.host(s, n)
		}
		for i := range uint8(slots) {
			m.reader(s, n, i)
		}
		m.hardware(s, n)
	}
	return m.steps
}

func (m *Model) can(s Step) { m.steps = append(m.steps, s) }

func (m *Model) grants(s *State) {
	for first := range m.addresses {
		for count := uint8(1); first+count <= m.addresses; count++ {
			if !m.free(s, first, count) {
				break
			}
			if m.halves && count < m.addresses {
				continue
			}
			for n := range Node(Nodes) {
				step := Step{Kind: Grant, Node: n, Slot: first, First: first, Count: count}
				m.can(step)
				if n == Home || m.class != coherence.Incoherent {
					continue
				}
				// Of what is untouched the kernel may zero any part.
				places := m.places(first, count)
				for step.Untouched = 1; step.Untouched <= allPlaces; step.Untouched++ {
					if step.Untouched&^(s.untouched&places) == 0 && (!m.halves || step.Untouched == places) {
						m.can(step)
					}
				}
			}
		}
	}
}

// idle adds what happens to memory that is free, where the lender cares.
func (m *Model) idle(s *State) {
	if m.class != coherence.Incoherent {
		return
	}
	m.flushes(DroppedAhead, Home, 0, s.aheadFlushing)
	for first := range m.addresses {
		for count := uint8(1); first+count <= m.addresses && m.free(s, first, count); count++ {
			step := Step{Node: Home, First: first, Count: count}
			if count == 1 {
				step.Kind = Zero
				m.can(step)
			}
			if s.ahead|s.aheadFlushing == 0 && s.untouched&m.places(first, count) == 0 && (!m.halves || count == m.addresses) {
				step.Kind = DropAhead
				m.can(step)
			}
		}
	}
}

const allPlaces = 1<<Addresses - 1

// places are addresses as a set of bits.
func (m *Model) places(first, count uint8) uint8 { return (1<<count - 1) << first }

// free reports whether addresses may be granted, zeroed or dropped ahead: what the lender is dropping ahead may not,
// before it has done so.
func (m *Model) free(s *State, first, count uint8) bool {
	if s.ahead&m.places(first, count) != 0 && !m.effects.aheadNotHeld {
		return false
	}
	for i := range Addresses {
		for a := first; a < first+count; a++ {
			if g := &s.generations[i]; g.live() && g.holds(a) {
				return false
			}
		}
	}
	return true
}

// lender adds what the lender and the writer can do with one generation.
func (m *Model) lender(s *State, slot uint8) {
	g := &s.generations[slot]
	add := func(kinds ...Kind) {
		for _, k := range kinds {
			m.can(Step{Kind: k, Node: g.writer, Slot: slot})
		}
	}
	m.flushes(Flushed, g.writer, slot, g.flushing)
	m.flushes(HomeFlushed, Home, slot, g.homeFlushing)
	switch g.state {
	case coherence.Granted:
		if g.phase == flushed {
			m.reallocations(s, g, slot)
		}
		if g.phase != writing {
			return
		}
		m.copies(s, g, slot)
		fenced := s.caches[g.writer].waiting&m.places(g.first, g.count) == 0 // what follows begins with a store fence
		if fenced {
			add(Abort)
			if g.count > 1 && !m.halves {
				add(Shrink)
			}
			m.growing(s, g, slot)
		}
		if g.stored < g.count {
			add(Store)
			m.replica(s, g, slot)
		} else if fenced {
			add(Clean)
		}
	case coherence.Cleaned, coherence.HomeCleaned:
		add(Forsake)
		switch {
		case !m.sealable(g):
		case m.looks(g) && !m.finds(s, slot):
			add(Reject)
		default:
			add(Seal)
		}
	case coherence.Sealed:
		add(Publish, Discard)
	case coherence.Published:
		if !m.effects.earlyReuse || !s.pins(int(slot)) || !s.pins(ghost) { // there is room for one ghost
			add(Retire)
		}
		if m.effects.lateStore {
			add(LateStore)
		}
	case coherence.Quarantined:
		if !g.orphan() {
			add(Lift)
			return
		}
		if g.phase == writing {
			m.copies(s, g, slot)
			if s.caches[g.writer].waiting&m.places(g.first, g.count) == 0 {
				add(Abort)
			}
			if g.stored < g.count {
				add(Store)
			}
		}
	}
}

// copies adds what a writer does that copies in another way than by ordinary stores: it stores past its cache, and
// flushes what it has stored after a store fence.
func (m *Model) copies(s *State, g *generation, slot uint8) {
	if !m.effects.copies {
		return
	}
	if g.stored < g.count {
		m.can(Step{Kind: Stream, Node: g.writer, Slot: slot})
	}
	for a := g.first; a < g.first+g.stored; a++ {
		step := Step{Node: g.writer, Slot: slot, First: a}
		switch waits := s.caches[g.writer].waiting>>a&1 == 1; {
		case g.passed>>a == 0 && !m.halves && (!waits || m.effects.noStreamFence): // upwards: what a writer passes before that it does not remember
			step.Kind = Pass
			m.can(step)
		case g.passed>>a&1 == 1 && m.effects.storesAgain:
			step.Kind = LateStore
			m.can(step)
		}
	}
}

// flushes adds the end of each flush that is on its way.
func (m *Model) flushes(kind Kind, n Node, slot, lines uint8) {
	for line := range uint8(Addresses) {
		if lines>>line&1 == 1 {
			m.can(Step{Kind: kind, Node: n, Slot: slot, Line: line})
		}
	}
}

// host adds what can happen to a whole borrower.
func (m *Model) host(s *State, n Node) {
	for i := range Addresses {
		g := &s.generations[i]
		if g.writer == n && (g.state >= coherence.Granted && g.state < coherence.Sealed || g.state == coherence.Aborting || g.orphan()) {
			m.can(Step{Kind: FenceOff, Node: n})
			break
		}
	}
	for i := range slots {
		if s.readers[n][i].pinned() {
			m.can(Step{Kind: Expire, Node: n})
			break
		}
	}
}

// reader adds what a node can do with one generation.
func (m *Model) reader(s *State, n Node, slot uint8) {
	r, g := &s.readers[n][slot], &s.generations[slot]
	can := func(kind Kind, line, lines uint8) {
		m.can(Step{Kind: kind, Node: n, Slot: slot, Line: line, Lines: lines})
	}
	if !r.pinned() && g.state == coherence.Published {
		can(Acquire, 0, allLines)
		if m.effects.earlyAcquire {
			for lines := range uint8(allLines) {
				can(Acquire, 0, lines)
			}
		}
	}
	m.flushes(Acquired, n, slot, r.flushing)
	switch r.state {
	case acquiring:
		if m.mismatches && r.flushing&(r.flushing-1) == 0 {
			m.flushes(Mismatch, n, slot, r.flushing)
		}
		can(Fail, 0, 0)
		if m.effects.readsBeside {
			can(Beside, 0, 0)
		}
	case reading:
		if m.effects.processes && r.flushing == 0 && !m.effects.readsBeside {
			can(Beside, 0, allLines)
		}
		if !m.effects.keepPins {
			can(Unpin, 0, 0)
			can(Release, 0, 0)
		}
	}
}

// hardware adds what a cache may do at any time.
func (m *Model) hardware(s *State, n Node) {
	for line := range m.lines() {
		step := Step{Node: n, Line: line}
		switch s.caches[n].lines[line] {
		case absent:
			if m.explicit {
				step.Kind = Prefetch
				m.can(step)
			}
		case dirty:
			step.Kind = WriteBack
			m.can(step)
			fallthrough
		case clean:
			step.Kind = Evict
			m.can(step)
		}
		if s.caches[n].evicted>>line&1 == 1 {
			step.Kind = Land
			m.can(step)
		}
	}
	for a := range uint8(Addresses) {
		if s.caches[n].waiting>>a&1 == 1 {
			m.can(Step{Kind: Drain, Node: n, Line: a})
			m.can(Step{Kind: Drain, Node: n, Line: a, Lines: 1})
		}
	}
}

// apply takes s along one step, without the prefetches before it.
func (m *Model) apply(s *State, step Step, effect *Effect) {
	o := motion{Model: m, State: s, effect: effect}
	slot, n := int(step.Slot), step.Node
	g := &s.generations[slot]
	switch step.Kind {
	case Grant:
		o.grant(step)
	case Zero:
		o.zero(step.First)
	case DropAhead:
		o.dropAhead(step.First, step.Count)
	case DroppedAhead:
		o.drop(Home, step.Line)
		o.aheadFlushing &^= 1 << step.Line
		o.droppedAhead()
	case Store:
		o.store(g.writer, g.first+g.stored, int8(slot))
		g.stored++
	case Clean:
		o.clean(g)
	case Abort:
		o.abort(g)
	case Restart:
		o.restart(step.Line == machineToo)
	case Grow:
		o.grow(g)
	case Reallocate:
		o.reallocate(g, step.First)
	case Replicate:
		o.replicate(g, slot)
	case Shrink:
		o.shrink(g)
	case Flushed:
		if g.phase == preparing {
			n = Home
		}
		o.drop(n, step.Line)
		if g.flushing &^= 1 << step.Line; g.phase != resting || g.state == coherence.Aborting {
			o.proceed(g)
		}
	case HomeFlushed:
		o.drop(Home, step.Line)
		g.homeFlushing &^= 1 << step.Line
		o.homeCleaned(g)
	case Seal:
		o.seal(g)
	case Reject:
		o.reject(g)
	case Publish:
		o.publish(g)
	case Retire:
		o.retire(g, slot)
	case Discard, Forsake, Lift:
		o.reclaim(g)
	case FenceOff:
		o.fenceOff(n)
	case Expire:
		o.expire(n)
	case Stream:
		o.stream(g.writer, g.first+g.stored, int8(slot))
		g.stored++
	case Pass:
		o.pass(g, step.First)
	case LateStore:
		o.store(g.writer, max(step.First, g.first), -1)
	default:
		o.applyReader(step)
	}
}

func (o *motion) applyReader(step Step) {
	slot, n := int(step.Slot), step.Node
	switch step.Kind {
	case Acquire:
		o.acquire(n, slot, step.Lines)
	case Acquired, Mismatch:
		o.drop(n, step.Line)
		r := &o.readers[n][slot]
		r.flushing &^= 1 << step.Line
		switch {
		case r.state != acquiring || r.flushing != 0:
		case step.Kind == Mismatch:
			o.mismatch(n, slot)
		default:
			o.verified(n, slot)
		}
	case Fail, Release:
		o.unpin(n, slot, stranger)
	case Unpin:
		o.unpin(n, slot, held)
	case Beside:
		o.beside(n, slot, step.Lines)
	case Prefetch:
		o.fetch(n, step.Line)
	case WriteBack:
		o.writeBack(n, step.Line)
	case Evict:
		if o.effects.evictions {
			o.evict(n, step.Line)
		} else {
			o.drop(n, step.Line)
		}
	case Land:
		o.land(n, step.Line)
	case Drain:
		o.drain(n, step.Line, step.Lines == 1)
	}
}

// successors visits every state that one step leads to, with every choice of lines that were fetched just before it.
func (m *Model) successors(s *State, visit func(Step, State)) {
	for _, step := range m.enabled(s) {
		next := *s
		m.apply(&next, step, nil)
		if m.explicit {
			visit(step, next)
			continue
		}
		m.vary(s, step, next, visit)
	}
}

// vary takes step from s after every choice of prefetches that makes a difference: a line fetched earlier is the
// same as no line, until a step changes what a fetch brings. next is where the step leads without any.
func (m *Model) vary(s *State, step Step, next State, visit func(Step, State)) {
	var choices [Nodes * Addresses]Step
	count := 0
	for line := range m.lines() {
		if m.answers(s, line) == m.answers(&next, line) {
			continue
		}
		step.Varied |= 1 << line
		for n := range Node(Nodes) {
			if s.caches[n].lines[line] == absent {
				choices[count] = Step{Node: n, Line: line}
				count++
			}
		}
	}
	m.canonicalize(&next)
	visit(step, next)
	for set := 1; set < 1<<count; set++ {
		next = *s
		step.Before = 0
		for i, c := range choices[:count] {
			if set>>i&1 == 1 {
				(&motion{Model: m, State: &next}).fetch(c.Node, c.Line)
				step.Before |= beforeBit(c.Node, c.Line)
			}
		}
		m.apply(&next, step, nil)
		m.canonicalize(&next)
		visit(step, next)
	}
}

// canonicalize takes away what makes no difference to anything that can follow.
func (m *Model) canonicalize(s *State) {
	m.dropFresh(s)
	for i := range Addresses {
		g := &s.generations[i]
		if g.state == coherence.Granted || g.state == coherence.Free || g.orphan() {
			continue
		}
		g.stored, g.passed = 0, 0
		if g.state > coherence.HomeCleaned && g.state != coherence.Aborting && g.flushing == 0 && !m.effects.lateStore && !m.effects.lateClean {
			g.writer = Home // the writer makes no difference any more
		}
	}
}

// Key names s and all states that are alike.
func (m *Model) Key(s *State) Key {
	if m.explicit {
		return s.pack(false)
	}
	return s.key()
}
