package model

import (
	"fmt"

	"github.com/csmsql/csmsql/coherence"
)

// Invariant is one of those that package coherence promises, or several of them.
type Invariant uint8

const (
	C1 Invariant = 1 << iota // between acquire and release every load returns the generation's bytes
	C2                       // from publish on memory holds the generation's bytes
	C3                       // no dirty line outside the grant holder's domain
	C4                       // no line belongs to two live extents
	C5                       // no grant of memory that a pin holds
	C6                       // no deadlock; every acquire ends in data or an error

	// Everything is all of them.
	Everything = C1 | C2 | C3 | C4 | C5 | C6
)

func (i Invariant) String() string {
	for n := range 6 {
		if i == 1<<n {
			return fmt.Sprintf("C%d", n+1)
		}
	}
	return fmt.Sprintf("invariants(%06b)", uint8(i))
}

// Violation is a broken invariant.
type Violation struct {
	Invariant Invariant
	Text      string
	Node      Node  // of C1: which loads
	Slot      uint8 // of C1: what
	Address   uint8 // of C1: where
}

func (v *Violation) String() string { return v.Invariant.String() + ": " + v.Text }

// wrongValue is C1: a node that reads would load what is not its generation's.
func (m *Model) wrongValue(s *State) *Violation {
	for n := range Node(Nodes) {
		for i := range uint8(slots) {
			if s.readers[n][i].state != reading {
				continue
			}
			g := &s.generations[i]
			for a := g.first; a < g.first+g.count; a++ {
				if m.load(s, n, a) != value(i+1) {
					return &Violation{Invariant: C1, Text: fmt.Sprintf("%v loads a wrong value", n), Node: n, Slot: i, Address: a}
				}
			}
		}
	}
	return nil
}

// broken returns the first of those wanted that s breaks. C6 is not about one state: see checkProgress.
func (m *Model) broken(s *State, wanted Invariant) *Violation {
	checks := [...]struct {
		invariant Invariant
		check     func(*Model, *State) *Violation
	}{{C1, (*Model).wrongValue}, {C2, (*Model).lostBytes}, {C3, (*Model).strayDirt}, {C4, (*Model).sharedLine}, {C5, (*Model).lostPin}}
	for i := range checks {
		if wanted&checks[i].invariant != 0 {
			if v := checks[i].check(m, s); v != nil {
				return v
			}
		}
	}
	return nil
}

// lostBytes is C2.
func (m *Model) lostBytes(s *State) *Violation {
	for i := range uint8(Addresses) {
		g := &s.generations[i]
		if g.state != coherence.Published && g.state != coherence.Retired {
			continue
		}
		for a := g.first; a < g.first+g.count; a++ {
			if s.memory[a] != value(i+1) {
				return &Violation{Invariant: C2, Text: fmt.Sprintf("memory does not hold what was published at place %d", a)}
			}
		}
	}
	return nil
}

// strayDirt is C3: in a granted extent only its holder has modified lines, and the lender while it prepares; in any
// other that lives no node has. What is free may be dirty in the lender's cache, whose kernel zeroes.
func (m *Model) strayDirt(s *State) *Violation {
	for a := range uint8(Addresses) {
		for n := range Node(Nodes) {
			if c := &s.caches[n]; (c.lines[m.lineOf(a)] == dirty || c.evicted>>m.lineOf(a)&1 == 1 || c.waiting>>a&1 == 1) && !m.mayBeDirty(s, n, a) {
				return &Violation{Invariant: C3, Text: fmt.Sprintf("%v has the line of place %d modified, or on its way", n, a)}
			}
		}
	}
	return nil
}

func (m *Model) mayBeDirty(s *State, n Node, address uint8) bool {
	for i := range Addresses {
		g := &s.generations[i]
		if !g.live() || !g.holds(address) {
			continue
		}
		switch {
		case g.phase == preparing:
			return n == Home
		case g.state == coherence.Granted || g.state == coherence.Aborting:
			return n == g.writer
		case g.state == coherence.Quarantined:
			return n == g.writer && g.orphan() || n == Home && !g.orphan() // the lender: a prepare that a fence-off overtook
		}
		return false
	}
	return n == Home
}

// sharedLine is C4.
func (m *Model) sharedLine(s *State) *Violation {
	var owner [Addresses]int
	for i := range Addresses {
		g := &s.generations[i]
		if !g.live() {
			continue
		}
		for a := g.first; a < g.first+g.count; a++ {
			line := m.lineOf(a)
			if owner[line] != 0 && owner[line] != i+1 {
				return &Violation{Invariant: C4, Text: fmt.Sprintf("line %d belongs to two extents", line)}
			}
			owner[line] = i + 1
		}
	}
	return nil
}

// lostPin is C5.
func (m *Model) lostPin(s *State) *Violation {
	for i := range slots {
		if g := &s.generations[i]; s.pins(i) && g.state != coherence.Published && g.state != coherence.Retired {
			return &Violation{Invariant: C5, Text: "memory was given back that a pin holds"}
		}
	}
	return nil
}
