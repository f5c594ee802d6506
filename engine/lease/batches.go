package lease

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/memregion"
)

// Batches is what the batches of a result lie in that are handed out in place: a lease, so that the bytes stay what
// they are, and maps of regions, so that they stay readable. All of it stays until the result is closed and every
// batch, slice and array of it was released, whatever becomes of session and engine in between (LS2). It is the
// Allocator of the batches' buffers, which call its Free.
type Batches struct {
	memory.Allocator // unused: buffers over a region do not grow
	Lease            *Lease
	reach            *reader.Reader

	mu      sync.Mutex // guards what follows
	buffers int
	maps    []*reader.Region
	closed  bool
}

// NewBatches takes the lease over; close gives it back.
func NewBatches(reach *reader.Reader, l *Lease) *Batches {
	return &Batches{Allocator: memory.DefaultAllocator, Lease: l, reach: reach}
}

// Retain is a descriptor.Hold: there is one buffer more, in a region.
func (h *Batches) Retain(region memregion.RegionID) memory.Allocator {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buffers++
	m := h.reach.Find(region) // never nil: its bytes were resolved
	for _, known := range h.maps {
		if known == m {
			return h
		}
	}
	m.Hold()
	h.maps = append(h.maps, m)
	return h
}

// Free implements memory.Allocator.
func (h *Batches) Free([]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buffers--
	h.letGo()
}

// Close says that the result hands out nothing more.
func (h *Batches) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.letGo()
}

// letGo requires mu.
func (h *Batches) letGo() {
	if !h.closed || h.buffers > 0 || h.Lease == nil {
		return
	}
	h.Lease.Release()
	h.Lease = nil
	for _, m := range h.maps {
		m.Release()
	}
	h.maps = nil
}
