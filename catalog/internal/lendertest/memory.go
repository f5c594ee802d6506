package lendertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// stale is what freed memory is full of.
var stale = [memregion.PageSize]byte(bytes.Repeat([]byte{0xEE}, memregion.PageSize))

// ErrFull is what a Memory without room returns.
var ErrFull = errors.New("lendertest: the region is full")

// Memory is the allocator of a test region.
type Memory struct {
	data []byte

	mu   sync.Mutex
	live []memregion.Range // guarded by mu; sorted
}

// NewMemory returns a region of size bytes.
func NewMemory(size int64) *Memory { return &Memory{data: aligned(size)} }

// Allocate implements coherence.Memory.
func (m *Memory) Allocate(_ string, size int64) (memregion.Range, error) {
	size = (size + memregion.PageSize - 1) / memregion.PageSize * memregion.PageSize
	m.mu.Lock()
	defer m.mu.Unlock()
	r, at := memregion.Range{Length: size}, 0
	for ; at < len(m.live) && m.live[at].Offset-r.Offset < size; at++ {
		r.Offset = m.live[at].End()
	}
	if r.End() > int64(len(m.data)) {
		return memregion.Range{}, fmt.Errorf("%w: %d bytes wanted", ErrFull, size)
	}
	m.live = slices.Insert(m.live, at, r)
	return r, nil
}

// Shrink implements coherence.Memory.
func (m *Memory) Shrink(_ string, r memregion.Range, size int64) (memregion.Range, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.Index(m.live, r)
	if at < 0 {
		return r, fmt.Errorf("lendertest: shrink of %v, which is not allocated", r)
	}
	r.Length = (size + memregion.PageSize - 1) / memregion.PageSize * memregion.PageSize
	m.live[at] = r
	return r, nil
}

// Free implements coherence.Memory. What was there is overwritten, so that a late reader sees it.
func (m *Memory) Free(_ string, r memregion.Range) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.Index(m.live, r)
	if at < 0 {
		return fmt.Errorf("lendertest: free of %v, which is not allocated", r)
	}
	m.live = slices.Delete(m.live, at, at+1)
	for data := m.data[r.Offset:r.End()]; len(data) > 0; data = data[copy(data, stale[:]):] {
	}
	return nil
}

// Bytes implements coherence.Memory.
func (m *Memory) Bytes(r memregion.Range) []byte { return m.data[r.Offset:r.End():r.End()] }

// Take marks a range as allocated, as an allocator does that is rebuilt after a restart.
func (m *Memory) Take(r memregion.Range) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, _ := slices.BinarySearchFunc(m.live, r, func(a, b memregion.Range) int { return int(a.Offset - b.Offset) })
	m.live = slices.Insert(m.live, at, r)
}

// Forget empties the accounts and keeps the bytes, as a process does that dies.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live = nil
}

// Scribble overwrites what is not allocated, as new owners do after a restart.
func (m *Memory) Scribble() {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := int64(0)
	for _, r := range append(slices.Clone(m.live), memregion.Range{Offset: int64(len(m.data))}) {
		for data := m.data[at:r.Offset]; len(data) > 0; data = data[copy(data, stale[:]):] {
		}
		at = r.End()
	}
}

// Live is the number of bytes that are allocated.
func (m *Memory) Live() (bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.live {
		bytes += r.Length
	}
	return bytes
}

// Lender is a region with its home.
type Lender struct {
	chunk.Home
	Memory *Memory
}

// New returns a lender of an empty region; first is its generation high-water mark.
func New(t require.TestingT, region memregion.RegionID, memory *Memory, first coherence.Generation) *Lender {
	home, err := coherence.NewHome(coherence.HomeConfig{
		Region: region, Memory: memory, Domain: "local", Capacity: int64(len(memory.data)), FirstGeneration: first,
	})
	require.NoError(t, err)
	return &Lender{chunk.Home{Home: home}, memory}
}

// Resolve is a descriptor.Resolve over the lender's region.
func (l *Lender) Resolve(region memregion.RegionID, r memregion.Range) ([]byte, error) {
	if region != l.Region() {
		return nil, fmt.Errorf("lendertest: region %d is not here", region)
	}
	if !(memregion.Range{Length: int64(len(l.Memory.data))}).Contains(r) {
		return nil, fmt.Errorf("lendertest: %v is outside the region", r)
	}
	return l.Memory.Bytes(r), nil
}
