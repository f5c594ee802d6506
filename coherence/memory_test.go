package coherence_test

import (
	"errors"
	"sync"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// heapMemory is a region on the Go heap (so that the race detector sees it) with the simplest allocator: it never
// gives out an address twice unless recycle is set, and then the lowest free one.
type heapMemory struct {
	mu      sync.Mutex
	bytes   []byte
	next    int64
	recycle bool
	free    []memregion.Range
	live    map[memregion.Range]string
	synced  []memregion.Range
}

var errFull = errors.New("region is full")

func newHeapMemory(pages int) *heapMemory {
	return &heapMemory{bytes: make([]byte, pages*memregion.PageSize), live: map[memregion.Range]string{}}
}

func pageRound(size int64) int64 {
	return (size + memregion.PageSize - 1) / memregion.PageSize * memregion.PageSize
}

func (m *heapMemory) Allocate(owner string, size int64) (memregion.Range, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size = pageRound(size)
	for i, r := range m.free {
		if m.recycle && r.Length == size {
			m.free = append(m.free[:i], m.free[i+1:]...)
			m.live[r] = owner
			return r, nil
		}
	}
	r := memregion.Range{Offset: m.next, Length: size}
	if r.End() > int64(len(m.bytes)) {
		return memregion.Range{}, errFull
	}
	m.next = r.End()
	m.live[r] = owner
	return r, nil
}

func (m *heapMemory) Shrink(owner string, r memregion.Range, size int64) (memregion.Range, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live[r] != owner {
		return r, errors.New("not the owner")
	}
	left := memregion.Range{Offset: r.Offset, Length: pageRound(size)}
	delete(m.live, r)
	m.live[left] = owner
	if left.End() < r.End() {
		m.free = append(m.free, memregion.Range{Offset: left.End(), Length: r.End() - left.End()})
	}
	return left, nil
}

func (m *heapMemory) Free(owner string, r memregion.Range) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live[r] != owner {
		return errors.New("not the owner")
	}
	delete(m.live, r)
	m.free = append(m.free, r)
	return nil
}

func (m *heapMemory) Bytes(r memregion.Range) []byte { return m.bytes[r.Offset:r.End()] }

func (m *heapMemory) liveCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.live)
}

// durableMemory records what was synced.
type durableMemory struct {
	*heapMemory
	fail error
}

func (m *durableMemory) Sync(r memregion.Range) error {
	if m.fail != nil {
		return m.fail
	}
	m.synced = append(m.synced, r)
	return nil
}

var (
	_ coherence.Memory  = (*heapMemory)(nil)
	_ coherence.Durable = (*durableMemory)(nil)
)
