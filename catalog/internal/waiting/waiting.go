// Package waiting is a line of those who wait for one turn, in which the one whose turn it is takes others along.
//
// # Invariants
//
//   - WA1: each one that was added is taken once, or has left.
//
// # Lock order
//
// Line.mu is a leaf, but for the choice of whom to take.
//
// # What it does not do
//
// It gives no turns, and waits for nothing.
package waiting

import (
	"slices"
	"sync"
)

// Line is empty as its zero value. Safe for concurrent use.
type Line[T comparable] struct {
	mu      sync.Mutex
	waiting []T
}

// Add puts one behind the others.
func (l *Line[T]) Add(t T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, t)
}

// Leave takes one out; false if it was taken already.
func (l *Line[T]) Leave(t T) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, t)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return i >= 0
}

// Take takes one out, and those that it takes along, in their order; nothing if it was taken already.
func (l *Line[T]) Take(t T, along func(taken int, other T) bool) (taken []T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.waiting, t) {
		return nil
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(other T) bool {
		takes := other == t || along(len(taken), other)
		if takes {
			taken = append(taken, other)
		}
		return takes
	})
	return taken
}

// Len is how many wait.
func (l *Line[T]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
