package memregion

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/filelock"
)

// Window is a borrower's writable map of one range of a region, for an extent that it was granted to write (M8): a
// second map of the same pages, somewhere else than the region's own, and nothing but them is in it: a store past the
// grant faults, or hits other memory of the borrower's, but never the region. Close it when the last byte is stored.
//
// A Window is for one goroutine, as the grant is; several may store into disjoint parts of Bytes.
type Window struct {
	mapping *mapping // of the kernel's pages around the range
	within  Range    // counted from the mapping's start
	region  Range
}

// writer is the backing opened for writing, once per View: opening costs more than mapping, and each end of such a file
// is an alteration for every other watch (M12). So there is one for a borrower and not one for each window.
type writer struct {
	mu   sync.Mutex
	file *os.File // guarded by mu; nil until the first Window
}

func (w *writer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

// Window maps r for writing. The lender has granted it to this process: nothing here can check that. The backing
// must be the one that the View has mapped. Where pages are larger than PageSize, because of the kernel or of the
// device, the map is wider than r, as far as they reach; Bytes is r alone everywhere. Errors: ErrOutOfRange (also
// for a range that is empty or not whole pages), ErrRegionShort, ErrRegionGone, ErrClosed.
func (v *View) Window(r Range) (*Window, error) {
	m := v.mapping
	if r.Length <= 0 || r.Offset%PageSize != 0 || r.Length%PageSize != 0 {
		return nil, fmt.Errorf("memregion: region %d: window on %v: %w: not whole pages", m.spec.ID, r, ErrOutOfRange)
	}
	if err := v.Check(r); err != nil { // also that it is backed: a store into a window must not fault
		return nil, err
	}
	m.use.RLock() // the file stays open until the window is mapped, which then holds on to it itself
	defer m.use.RUnlock()
	if m.closed.Load() {
		return nil, fmt.Errorf("memregion: region %d: %w", m.spec.ID, ErrClosed)
	}
	if m.cached != nil {
		return m.cached.window(m.spec, r)
	}
	file, err := m.writable()
	if err != nil {
		return nil, err
	}
	return newWindow(file, nil, m.spec, r)
}

func newWindow(file *os.File, cached *cached, spec Spec, r Range) (*Window, error) {
	unit, err := spec.unit(file)
	if err != nil {
		return nil, err
	}
	low := r.Offset / unit * unit
	high := (r.End() + unit - 1) / unit * unit
	memory, err := mapWindow(file, spec, Range{low, high - low}, unit)
	if err != nil {
		return nil, err
	}
	memory.cached, memory.hide = cached, cached.show(memory.memory, low)
	w := &Window{mapping: memory, region: r, within: Range{r.Offset - low, r.Length}}
	mappings.add(memory)
	return w, nil
}

// window is one on the domain's cache.
func (c *cached) window(spec Spec, r Range) (*Window, error) {
	if c.play == nil {
		return nil, fmt.Errorf("memregion: region %d: window on %v: %w: this process flushes nothing", spec.ID, r, ErrUnsupported)
	}
	c.open(r)
	if c.heap == nil {
		return newWindow(c.pages, c, spec, r)
	}
	memory := c.heap[r.Offset:r.End():r.End()]
	m := &mapping{spec: spec, base: Addr(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))), memory: memory, start: r.Offset, unit: int64(os.Getpagesize()), cached: c, hide: func() {}}
	return &Window{mapping: m, region: r, within: Range{0, r.Length}}, nil
}

// writable opens the backing for writing, once, and sees to it that it is the file that is mapped: the name may
// have got another one. Requires use.
func (m *mapping) writable() (*os.File, error) {
	m.writer.mu.Lock()
	defer m.writer.mu.Unlock()
	if m.writer.file != nil {
		return m.writer.file, nil
	}
	file, err := openBacking(m.spec, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	ours, err := status(m.file)
	theirs, otherErr := status(file)
	if err = errors.Join(err, otherErr); err == nil && (ours.Dev != theirs.Dev || ours.Ino != theirs.Ino) {
		err = fmt.Errorf("memregion: region %d: %w: %s is another file now", m.spec.ID, ErrRegionGone, m.spec.Path)
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	m.writer.file = file
	return file, nil
}

func mapWindow(file *os.File, spec Spec, r Range, unit int64) (*mapping, error) {
	var got unsafe.Pointer
	err := filelock.Control(file, func(fd int) (err error) {
		// SAFETY: no address is asked for, so the kernel chooses one that is free (M8).
		got, err = unix.MmapPtr(fd, spec.Start+r.Offset, nil, uintptr(r.Length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("memregion: region %d: map a window on %v: %w", spec.ID, r, err)
	}
	// SAFETY: M8. The kernel has just given us [got, got+Length); it stays mapped until Close.
	memory := unsafe.Slice((*byte)(got), r.Length)
	return &mapping{spec: spec, file: file, base: Addr(uintptr(got)), memory: memory, start: r.Offset, unit: unit}, nil
}

// Bytes is the range, writable, until Close or Shrink.
func (w *Window) Bytes() []byte {
	if w.mapping.closed.Load() {
		return nil
	}
	return w.mapping.memory[w.within.Offset:w.within.End():w.within.End()]
}

// Range is what of the region the window shows.
func (w *Window) Range() Range { return w.region }

// Shrink unmaps what lies beyond the first length bytes, in whole pages: a writer that gives the tail back must not be
// able to store into it any more. Slices of Bytes that reach beyond must not be touched again. Errors: ErrBadSize,
// ErrClosed.
func (w *Window) Shrink(length int64) error {
	m := w.mapping
	m.use.Lock()
	defer m.use.Unlock()
	switch {
	case m.closed.Load():
		return fmt.Errorf("memregion: window on region %d: %w", m.spec.ID, ErrClosed)
	case length <= 0 || length > w.within.Length || length%PageSize != 0:
		return fmt.Errorf("memregion: shrink a window of %d bytes to %d: %w", w.within.Length, length, ErrBadSize)
	}
	keep := (w.within.Offset + length + m.unit - 1) / m.unit * m.unit
	w.within.Length, w.region.Length = length, length
	if keep >= int64(len(m.memory)) || m.cached.onHeap() != nil {
		return nil
	}
	tail := m.memory[keep:]
	m.hide()
	mappings.remove(m) // its length is read under the table's lock
	m.memory = m.memory[:keep:keep]
	mappings.add(m)
	m.hide = m.cached.show(m.memory, m.start)
	// SAFETY: M8. The tail is ours since mapWindow, and nothing of it is in memory any more.
	if err := unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(tail)), uintptr(len(tail))); err != nil {
		return fmt.Errorf("memregion: shrink a window on region %d: %w", m.spec.ID, err)
	}
	return nil
}

// Close unmaps. Slices of Bytes must not be touched afterwards. A second Close does nothing.
func (w *Window) Close() error {
	m := w.mapping
	m.use.Lock()
	defer m.use.Unlock()
	if m.closed.Swap(true) || m.cached.onHeap() != nil {
		return nil
	}
	m.hide()
	mappings.remove(m)
	// SAFETY: M8. The range is ours since mapWindow, less what Shrink has unmapped, and is unmapped only here, once.
	if err := unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(m.memory)), uintptr(len(m.memory))); err != nil {
		return fmt.Errorf("memregion: close a window on region %d: %w", m.spec.ID, err)
	}
	return nil
}
