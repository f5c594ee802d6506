package model

import "github.com/csmsql/csmsql/coherence"

// What a replay sees of a state. A slot names a generation while it lives; -1 is none of them.

// Memory returns whose bytes memory holds at a place.
func (s *State) Memory(address int) (slot int) { return int(s.memory[address]) - 1 }

// Cached returns whose bytes a cache holds at a place of its line, if the line is there.
func (m *Model) Cached(s *State, n Node, address int) (slot int, present, modified bool) {
	line := s.caches[n].lines[m.lineOf(uint8(address))]
	return int(s.caches[n].values[address]) - 1, line != absent, line == dirty
}

// Generation returns where the one in a slot stands.
func (s *State) Generation(slot int) (state coherence.State, first, count int, writer Node) {
	g := &s.generations[slot]
	return g.state, int(g.first), int(g.count), g.writer
}

// Writing reports whether the writer of the one in a slot may store.
func (s *State) Writing(slot int) bool { return s.generations[slot].phase == writing }

// Reader returns what a node knows of the one in a slot.
func (s *State) Reader(n Node, slot int) (pinned, loads, remembered bool) {
	r := s.readers[n][slot]
	return r.pinned(), r.state == reading, r.state == held || r.state == reading
}

// Acquiring reports whether a reader waits for a flush.
func (s *State) Acquiring(n Node, slot int) bool { return s.readers[n][slot].state == acquiring }

// DroppingAhead reports whether the lender waits for a flush of free memory.
func (s *State) DroppingAhead() bool { return s.aheadFlushing != 0 }

// Flushing reports whether the writer or the lender of the one in a slot waits for a flush.
func (s *State) Flushing(slot int) bool {
	return s.generations[slot].flushing != 0 || s.generations[slot].homeFlushing != 0
}
