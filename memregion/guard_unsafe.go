package memregion

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// mappings knows every region map of this process, so that a fault can be distinguished from a bug: only an address
// inside one of them may become an error.
var mappings mappingTable

type mappingTable struct {
	mu struct {
		sync.RWMutex
		live map[*mapping]struct{}
	}
}

func (t *mappingTable) add(m *mapping) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.live == nil {
		t.mu.live = map[*mapping]struct{}{}
	}
	t.mu.live[m] = struct{}{}
}

func (t *mappingTable) remove(m *mapping) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.mu.live, m)
}

func (t *mappingTable) find(address Addr) *mapping {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for m := range t.mu.live {
		if address >= m.base && address-m.base < Addr(len(m.memory)) {
			return m
		}
	}
	return nil
}

// Guarded runs fn, which reads region memory from Go code, and turns a fault on a mapped region into ErrRegionGone
// naming the address: that happens when the backing is truncated between the check and the access, and when fn stores
// into a read-only page. All other panics pass through.
//
// It covers Go code (and Go assembly that keeps the stack walkable, such as memmove) on the calling goroutine only;
// a fault in C code, or on a goroutine that fn starts, ends the process unless a guard of its own is there. A
// region that was closed is not mapped any more, so touching it stays what it is, a bug.
func Guarded(fn func()) (err error) {
	// SAFETY: M9. The setting belongs to this goroutine and is put back before we return, so a fault outside fn still
	// ends the process.
	previous := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(previous)
	defer func() {
		if cause := recover(); cause != nil {
			err = faultError(cause)
		}
	}()
	fn()
	return nil
}

// faultError is the error for a fault inside a region; any other cause goes on as the panic it was.
func faultError(cause any) error {
	fault, ok := cause.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok {
		panic(cause)
	}
	address := Addr(fault.Addr())
	m := mappings.find(address)
	if m == nil {
		panic(cause)
	}
	offset := m.start + int64(address-m.base)
	return fmt.Errorf("memregion: region %d: %w: fault at %#x, offset %d of %s: %s", m.spec.ID, ErrRegionGone, address, offset, m.spec.Path, m.faultReason(offset))
}

// faultReason guesses why an access failed; the signal does not say whether it was a load or a store.
func (m *mapping) faultReason(offset int64) string {
	st, err := m.spec.status(m.file)
	switch {
	case err != nil:
		return err.Error()
	case offset >= st.Size:
		return fmt.Sprintf("the file was truncated to %d bytes", st.Size)
	}
	return "a store into a read-only page, or no room in the fabric for a page that was punched"
}
