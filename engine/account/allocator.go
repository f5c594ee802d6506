package account

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Allocator charges a session for arrays on Go's heap, from before they are made until they are released. Safe for
// concurrent use: what computes arrays does so in several goroutines.
type Allocator struct {
	session *Session
	kind    string
	heap    memory.GoAllocator

	mu      sync.Mutex
	used    int64 // guarded by mu
	charged int64 // guarded by mu; at least used, unless refused
	refused error // guarded by mu; the first one
}

// allocatorStep is by how much more or less is charged at once: small arrays do not ask the session each.
const allocatorStep = 16 << 10

// Allocator gives one that charges a kind.
func (s *Session) Allocator(kind string) *Allocator { return &Allocator{session: s, kind: kind} }

// Try allocates bytes, or says why the session may not keep them. It is for what can be large.
func (a *Allocator) Try(bytes int) ([]byte, error) {
	if err := a.charge(int64(bytes)); err != nil {
		return nil, err
	}
	return a.heap.Allocate(bytes), nil
}

// Fits says why so many bytes could not be allocated now.
func (a *Allocator) Fits(bytes int64) error {
	err := a.charge(bytes)
	if err == nil {
		a.discount(bytes)
	}
	return err
}

// Refused says why something was not charged that Allocate gave; nil: everything is. The caller looks after each step,
// and ends: what it was given meanwhile is above the account (A6).
func (a *Allocator) Refused() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

// charge counts bytes that are charged, or none.
func (a *Allocator) charge(bytes int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.take(bytes)
}

// take requires mu.
func (a *Allocator) take(bytes int64) error {
	if a.refused != nil {
		return a.refused
	}
	if more := a.used + bytes - a.charged; more > 0 {
		more = (more + allocatorStep - 1) / allocatorStep * allocatorStep
		if err := a.session.Take(a.kind, more); err != nil {
			return err
		}
		a.charged += more
	}
	a.used += bytes
	return nil
}

// count counts bytes that are allocated, charged or not.
func (a *Allocator) count(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.take(bytes); err != nil {
		a.refused = err
		a.used += bytes
	}
}

func (a *Allocator) discount(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= bytes
	require(a.used >= 0, "account: A6: more is released than was allocated")
	spare := a.charged - a.used
	if a.used > 0 {
		spare -= allocatorStep // what comes and goes is not charged each time
	}
	if spare > 0 && (a.used == 0 || spare >= allocatorStep) {
		a.charged -= spare
		a.session.Give(a.kind, spare)
	}
}

// Allocate implements memory.Allocator. It cannot fail: Refused tells.
func (a *Allocator) Allocate(bytes int) []byte {
	a.count(int64(bytes))
	return a.heap.Allocate(bytes)
}

// Reallocate implements memory.Allocator.
func (a *Allocator) Reallocate(bytes int, b []byte) []byte {
	if bytes <= cap(b) {
		return b[:bytes]
	}
	a.count(int64(bytes))
	defer a.discount(int64(cap(b)))
	return a.heap.Reallocate(bytes, b)
}

// Free implements memory.Allocator. What is released was given by the allocator, however much of it is still in use.
func (a *Allocator) Free(b []byte) { a.discount(int64(cap(b))) }
