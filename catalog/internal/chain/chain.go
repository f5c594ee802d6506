// Package chain is states in the order in which they were current, of which every value is kept.
//
//	states   7 ────────── 9 ────────── 12      those in between are neither current nor leased
//	last     a1, b4       a2, a3               has: a1 a2 a3 …, in one of them at least
//
// # Invariants
//
//   - CH1: a value that is gone does not come back (K12). So the states of a chain that have it follow each other, and
//     adding or removing a state only affects the values that it does not share with its neighbours.
//
// # What it does not do
//
// It has no lock, and does not know what a state is.
package chain

import "slices"

// State has values.
type State[S, V any] interface {
	comparable
	// Has reports whether the state has a value.
	Has(v V) bool
	// Since lists the values that the state has and one before it had not, and the other way around. The zero state has
	// none.
	Since(before S) (came, went []V)
}

// Chain is empty as its zero value.
type Chain[S State[S, V], V any] struct {
	States []S
	Looked int       // how many values came, went or were handed on; for tests
	last   map[S][]V // those that the next one does not have any more
}

// Add puts a state behind the others, and returns the values that none of them had.
func (c *Chain[S, V]) Add(s S) (came []V) {
	var before S
	if n := len(c.States); n > 0 {
		before = c.States[n-1]
	}
	came, went := s.Since(before)
	if len(went) > 0 {
		if c.last == nil {
			c.last = map[S][]V{}
		}
		c.last[before] = went
	}
	c.States = append(c.States, s)
	c.Looked += len(came) + len(went)
	return came
}

// Remove takes a state out, and returns the values that none of the others has.
func (c *Chain[S, V]) Remove(s S) (gone []V) {
	i := slices.Index(c.States, s)
	if i < 0 {
		return nil
	}
	var none, before S
	if i > 0 {
		before = c.States[i-1]
	}
	if i == len(c.States)-1 {
		gone, _ = s.Since(before)
		delete(c.last, before)
	} else {
		c.Looked += len(c.last[s])
		for _, v := range c.last[s] {
			if before != none && before.Has(v) {
				c.last[before] = append(c.last[before], v)
			} else {
				gone = append(gone, v)
			}
		}
	}
	delete(c.last, s)
	c.States = slices.Delete(c.States, i, i+1)
	c.Looked += len(gone)
	return gone
}

// HandsOn is how many values some state hands on to none; for tests.
func (c *Chain[S, V]) HandsOn() int { return len(c.last) }
