package replicas

import (
	"slices"
	"sync"
	"time"
)

// Absence is which nodes have not been there for long, as one node has seen it. Safe for concurrent use.
type Absence struct {
	after time.Duration

	mu    sync.Mutex           // guards the rest
	since map[string]time.Time // when it was first seen that they were not there
	long  map[string]bool
}

// NewAbsence holds nodes for gone that have not been there for so long; never, if that is not above 0.
func NewAbsence(after time.Duration) *Absence {
	return &Absence{after: after, since: map[string]time.Time{}, long: map[string]bool{}}
}

// Observe takes notice of which of the nodes that have ever lent are there. It returns the nodes that count as gone
// from now on, and did not before.
func (a *Absence) Observe(now time.Time, known, present []string) (gone []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range known {
		since, absent := a.since[name]
		switch {
		case slices.Contains(present, name):
			delete(a.since, name)
			delete(a.long, name)
		case !absent:
			a.since[name] = now
		case a.after > 0 && !a.long[name] && now.Sub(since) >= a.after:
			a.long[name] = true
			gone = append(gone, name)
		}
	}
	return gone
}

// Long reports whether a node has not been there for long.
func (a *Absence) Long(node string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.long[node]
}
