package model

import "fmt"

// table finds the number of a key: open addressing, because a map of a million keys takes most of a search's time.
type table struct {
	keys  []Key   // by number
	cells []int32 // number+1, 0 is empty; a power of two
}

func newTable() *table { return &table{cells: make([]int32, 1<<16)} }

func (k Key) hash() uint64 {
	h := k[0]*0x9e3779b97f4a7c15 ^ k[1]*0xc2b2ae3d27d4eb4f ^ k[2]*0x165667b19e3779f9
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

// number returns the number of k, and whether it is a new one.
func (t *table) number(k Key) (number int32, fresh bool) {
	mask := uint64(len(t.cells) - 1)
	at := k.hash() & mask
	for ; t.cells[at] != 0; at = (at + 1) & mask {
		if n := t.cells[at] - 1; t.keys[n] == k {
			return n, false
		}
	}
	number = int32(len(t.keys))
	t.keys = append(t.keys, k)
	t.cells[at] = number + 1
	if 2*len(t.keys) > len(t.cells) {
		t.grow()
	}
	return number, true
}

func (t *table) grow() {
	t.cells = make([]int32, 2*len(t.cells))
	mask := uint64(len(t.cells) - 1)
	for n, k := range t.keys {
		at := k.hash() & mask
		for t.cells[at] != 0 {
			at = (at + 1) & mask
		}
		t.cells[at] = int32(n) + 1
	}
}

// Result is what a search found.
type Result struct {
	States int // that were reached
	Steps  int // that were taken between them
	Depth  int // of the state that is farthest from the beginning, in steps
	// Violation is the first broken invariant on a shortest way, or nil; Path leads there.
	Violation *Violation
	Path      []Key
}

// maxStates bounds a search: a model that grew beyond it needs a thought, not more memory.
const maxStates = 50_000_000

// search is one breadth-first search, so that the first violation it meets is one with the shortest trace.
type search struct {
	*Model
	wanted  Invariant
	table   *table
	parents []int32 // by number
	// progress are the steps that only finish what was begun, as pairs of numbers (C6).
	from, to []int32
	until    func(Step) bool // ends the search, if it is not nil
	result   Result
}

// Search visits every state that can be reached, until one breaks what is wanted.
func (m *Model) Search(wanted Invariant) (Result, error) {
	return m.search(&search{Model: m, wanted: wanted})
}

// Reach returns a shortest run that ends with a step of a kind, or nil.
func (m *Model) Reach(kind Kind) (*Trace, error) {
	r, err := m.search(&search{Model: m, until: func(s Step) bool { return s.Kind == kind }})
	if err != nil || r.Path == nil {
		return nil, err
	}
	t := m.Trace(r) // to the state before
	last := t.Last()
	for _, step := range m.enabled(&last) {
		if step.Kind == kind {
			t.take(step)
			break
		}
	}
	return t, nil
}

func (m *Model) search(s *search) (Result, error) {
	s.table, s.parents = newTable(), []int32{-1}
	var initial State
	s.table.number(m.Key(&initial))
	layer := int32(1) // the first number of the next layer
	for at := int32(0); int(at) < len(s.table.keys); at++ {
		if at == layer {
			s.result.Depth++
			layer = int32(len(s.table.keys))
		}
		if len(s.table.keys) > maxStates {
			return s.result, fmt.Errorf("coherence/model: more than %d states", maxStates)
		}
		if s.expand(at) {
			break
		}
	}
	s.result.States = len(s.table.keys)
	if s.wanted&C6 != 0 && s.result.Violation == nil {
		s.checkProgress()
	}
	return s.result, nil
}

// expand visits what follows state number at; true if an invariant is broken.
func (s *search) expand(at int32) (stop bool) {
	state := unpack(s.table.keys[at])
	s.successors(&state, func(step Step, next State) {
		if stop {
			return
		}
		s.result.Steps++
		if s.until != nil && s.until(step) {
			s.path(at)
			stop = true
			return
		}
		number, fresh := s.table.number(s.Key(&next))
		if s.wanted&C6 != 0 && s.progress(&state, step) {
			s.from, s.to = append(s.from, at), append(s.to, number)
		}
		if !fresh {
			return
		}
		s.parents = append(s.parents, at)
		if v := s.broken(&next, s.wanted); v != nil {
			s.found(v, number)
			stop = true
		}
	})
	return stop
}

func (s *search) found(v *Violation, number int32) {
	s.result.Violation = v
	s.path(number)
}

// path notes the way to a state.
func (s *search) path(number int32) {
	for ; number >= 0; number = s.parents[number] {
		s.result.Path = append([]Key{s.table.keys[number]}, s.result.Path...)
	}
}

// progress reports whether a step only finishes what was begun: no new grant, no new reader, no failure that helps.
// Where checksums can be wrong they always are: an acquire must end then too.
func (m *Model) progress(s *State, step Step) bool {
	switch step.Kind {
	case DroppedAhead, Store, Clean, Flushed, HomeFlushed, Seal, Reject, Publish, Retire, Lift, Unpin, Reallocate, Drain:
		return true
	case Abort: // nothing else ends what a former process of the lender granted
		return s.generations[step.Slot].orphan()
	case Acquired:
		flushing := s.readers[step.Node][step.Slot].flushing
		return !m.mismatches || flushing&(flushing-1) != 0
	}
	return step.Kind == Mismatch
}

// checkProgress is C6: from every state, the scripts that are under way can finish, without help of the hardware or
// of a failure.
func (s *search) checkProgress() {
	good := s.reaching(s.from, s.to)
	for number, ok := range good {
		if !ok {
			s.found(&Violation{Invariant: C6, Text: "a script waits for ever"}, int32(number))
			return
		}
	}
}

// reaching marks the states from which edges lead to one where nothing is under way.
func (s *search) reaching(from, to []int32) []bool {
	states := len(s.table.keys)
	start := make([]int32, states+1) // edges by their end
	for _, n := range to {
		start[n+1]++
	}
	for i := range states {
		start[i+1] += start[i]
	}
	sources, fill := make([]int32, len(to)), make([]int32, states)
	for i, n := range to {
		sources[start[n]+fill[n]] = from[i]
		fill[n]++
	}
	good := make([]bool, states)
	var queue []int32
	for number := range states {
		if state := unpack(s.table.keys[number]); state.quiescent() {
			good[number] = true
			queue = append(queue, int32(number))
		}
	}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, source := range sources[start[n]:start[n+1]] {
			if !good[source] {
				good[source] = true
				queue = append(queue, source)
			}
		}
	}
	return good
}
