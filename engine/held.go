package engine

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/memregion"
)

// held is what the batches of a result lie in that are handed out in place: a lease, so that the bytes stay what they are, and maps of
// regions, so that they stay readable. All of it stays until the result is closed and every batch, slice and array of it was released,
// whatever becomes of session and engine in between (E7). It is the Allocator of the batches' buffers, which tell it by Free.
type held struct {
	memory.Allocator // for nobody: buffers over a region do not grow
	lease            *lease
	reach            *reader.Reader

	mu      sync.Mutex // guards what follows; above mapped.life and the catalog's locks
	buffers int
	maps    []*reader.Region
	closed  bool
}

// newHeld takes the lease over; close gives it back.
func newHeld(reach *reader.Reader, l *lease) *held {
	return &held{Allocator: memory.DefaultAllocator, lease: l, reach: reach}
}

// hold is a descriptor.Hold: there is one buffer more, in a region.
func (h *held) hold(region memregion.RegionID) memory.Allocator {
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
func (h *held) Free([]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buffers--
	h.letGo()
}

// close says that the result hands out nothing more.
func (h *held) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.letGo()
}

// letGo requires mu.
func (h *held) letGo() {
	if !h.closed || h.buffers > 0 || h.lease == nil {
		return
	}
	h.lease.release()
	h.lease = nil
	for _, m := range h.maps {
		m.Release()
	}
	h.maps = nil
}
