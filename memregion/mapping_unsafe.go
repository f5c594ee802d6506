package memregion

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/bytesize"
	"github.com/csmsql/csmsql/internal/filelock"
)

// mapping is one MAP_SHARED map of a region's whole capacity, and the open file behind it. Pages past the file's end
// are part of the map but not of the region: touching them raises SIGBUS, which is why every access is checked first.
type mapping struct {
	spec   Spec
	file   *os.File // immutable; os.File keeps its descriptor from being reused while a call runs
	cached *cached  // immutable; nil where caches are real
	hide   func()   // of cached; immutable, but of a Window guarded by use
	watch  *watch   // immutable
	base   Addr     // immutable
	memory []byte   // immutable; the whole map; of a Window: guarded by use
	start  int64    // immutable; where memory begins in the region: 0 except for a Window
	unit   int64    // immutable; by how many bytes the kernel maps, unmaps and protects
	writer writer   // of a View that has had a Window
	size   atomic.Int64
	closed atomic.Bool
	use    sync.RWMutex // held for reading while a system call works on the memory, for writing while it is closed

	life struct { // below use
		sync.Mutex
		holders int
		closed  bool
	}
}

// mapRegion maps the whole capacity. It maps at spec.Base and nowhere else (M8), or, with relocate, anywhere when that
// is taken. It takes over file, and what is cached of it, only when it succeeds. kinds are the ways to watch it, see
// newWatch.
func mapRegion(file *os.File, cached *cached, spec Spec, protection int, relocate bool,
	kinds []WatchKind) (*mapping, error) {
	unit, err := spec.unit(file)
	if err != nil {
		return nil, err
	}
	memory := cached.onHeap()
	if memory == nil {
		if memory, err = mapPages(pagesOf(file, cached), spec, protection, relocate); err != nil {
			return nil, err
		}
	}
	// M12: watched before a reader can trust a byte.
	m := &mapping{
		spec: spec, file: file, cached: cached, hide: cached.show(memory, 0), watch: newWatchOf(file, spec, kinds),
		base: Addr(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))), memory: memory, unit: unit,
	}
	mappings.add(m)
	return m, nil
}

// pagesOf is what programs map: the region's file, or their domain's cache of it.
func pagesOf(file *os.File, cached *cached) *os.File {
	if cached != nil {
		return cached.pages
	}
	return file
}

func mapPages(file *os.File, spec Spec, protection int, relocate bool) ([]byte, error) {
	// SAFETY: M8. The address is a request to the kernel, made from nil so that vet sees no integer turned into a
	// pointer; nothing is read through it until the kernel has granted exactly this range.
	want := unsafe.Add(nil, spec.Base)
	var got unsafe.Pointer
	err := filelock.Control(file, func(fd int) (err error) {
		got, err = unix.MmapPtr(fd, spec.Start, want, uintptr(spec.Capacity), protection, unix.MAP_SHARED|unix.MAP_FIXED_NOREPLACE)
		if err == nil && got != want {
			// A kernel before 4.17 takes the flag for a hint.
			err = errors.Join(unix.EEXIST, unix.MunmapPtr(got, uintptr(spec.Capacity)))
		}
		if relocate && errors.Is(err, unix.EEXIST) {
			got, err = unix.MmapPtr(fd, spec.Start, nil, uintptr(spec.Capacity), protection, unix.MAP_SHARED)
		}
		return err
	})
	if errors.Is(err, unix.EEXIST) {
		return nil, addressTakenError(spec)
	}
	if err != nil {
		return nil, fmt.Errorf("memregion: map %s of %s at %#x: %w", bytesize.Text(spec.Capacity), spec.Path, spec.Base, err)
	}
	// SAFETY: M8. The kernel has just given us [got, got+Capacity); it stays mapped until close.
	return unsafe.Slice((*byte)(got), spec.Capacity), nil
}

// close unmaps, unless the map has holders: then the last one does. Slices of the memory that are still in use become
// invalid: touching one faults.
func (m *mapping) close() error {
	m.use.Lock()
	defer m.use.Unlock()
	if m.closed.Swap(true) {
		return nil
	}
	m.life.Lock()
	m.life.closed = true
	held := m.life.holders > 0
	m.life.Unlock()
	var err error
	if !held {
		err = m.unmap()
	}
	return errors.Join(err, m.watch.close(), m.writer.close(), m.cached.close(), filelock.Give(m.file))
}

func (m *mapping) unmap() error {
	m.hide()
	mappings.remove(m)
	if m.cached.onHeap() != nil {
		return nil
	}
	// SAFETY: M8. The range is ours since mapRegion and is unmapped only here, once: by close, or by the last holder
	// after it.
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(m.memory)), uintptr(len(m.memory)))
}

func (m *mapping) hold() error {
	m.life.Lock()
	defer m.life.Unlock()
	if m.life.closed {
		return fmt.Errorf("memregion: region %d: %w", m.spec.ID, ErrClosed)
	}
	m.life.holders++
	return nil
}

func (m *mapping) release() error {
	m.life.Lock()
	m.life.holders--
	last := m.life.closed && m.life.holders == 0
	m.life.Unlock()
	if !last {
		return nil
	}
	return m.unmap()
}

// remap maps r's pages from the file once more, in their place.
func (m *mapping) remap(r Range, protection int) error {
	if m.cached.onHeap() != nil {
		return nil
	}
	return m.during(r, func(memory []byte) error {
		at := unsafe.Pointer(unsafe.SliceData(memory))
		offset := m.spec.Start + int64(uintptr(at)) - int64(m.base)
		return filelock.Control(pagesOf(m.file, m.cached), func(fd int) error {
			// SAFETY: M8. The range is inside of the map, which cannot go away during the call, and gets the pages that
			// it is meant to have. The kernel puts them there at once, so that a load in between finds the old page or
			// the new one.
			_, err := unix.MmapPtr(fd, offset, at, uintptr(len(memory)), protection, unix.MAP_SHARED|unix.MAP_FIXED)
			if err != nil {
				return fmt.Errorf("memregion: region %d: map %v of %s again: %w", m.spec.ID, r, m.spec.Path, err)
			}
			return nil
		})
	})
}

// during runs a system call over r while the map cannot go away. The range given to call is widened to whole pages
// of the kernel, which are larger than ours on some machines, and of some devices.
func (m *mapping) during(r Range, call func(memory []byte) error) error {
	m.use.RLock()
	defer m.use.RUnlock()
	if m.closed.Load() {
		return fmt.Errorf("memregion: region %d: %w", m.spec.ID, ErrClosed)
	}
	low := r.Offset / m.unit * m.unit
	high := min((r.End()+m.unit-1)/m.unit*m.unit, m.spec.Capacity)
	return call(m.memory[low:high])
}
