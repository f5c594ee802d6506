package thesis

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Setting is what to measure, and how often.
type Setting struct {
	// Bytes of the tables that are flushed and created; whole pages.
	Bytes int64
	// AccessBytes of Widths and Strides; whole pages.
	AccessBytes int64
	Runs        int // but of Strides, which takes minutes and is done once
	// Threads of Widths; Strides has one for each processor.
	Threads []int
	// Directory in shared memory, for this process' region.
	Directory string
	// Send has another process decode a descriptor and returns how many rows it has.
	Send func(descriptor []byte) (rows int64, err error)
	// Cleaned asks the lender what it has cleaned ahead.
	Cleaned func() (Cleaned, error)
	// Say is called with what is being measured, where that takes long; nil: not reported.
	Say func(format string, args ...any)
	// InjectFault corrupts a byte of what is compared; for tests.
	InjectFault bool
}

// World is both places in which tables lie. For one goroutine; Close ends it.
type World struct {
	setting Setting
	lines   *coherence.CPULines
	local   *lender
	client  *noderpc.Client
	view    *memregion.View // of the other process' region, read-only
}

// Open prepares a world whose remote place another process lends.
func Open(ctx context.Context, s Setting, lent Lent) (_ *World, err error) {
	if s.Bytes <= 0 || s.Bytes%memregion.PageSize != 0 || s.AccessBytes < 0 || s.AccessBytes%memregion.PageSize != 0 || s.Runs <= 0 {
		return nil, fmt.Errorf("bench: %d bytes, %d of them accessed, and %d runs cannot be measured", s.Bytes, s.AccessBytes, s.Runs)
	}
	if s.Say == nil {
		s.Say = func(string, ...any) {}
	}
	w := &World{setting: s}
	if w.lines, err = coherence.NewCPULines(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if w.local, err = lend(ctx, s.Directory, "local.region", Capacity(max(s.Bytes, s.AccessBytes)), w.lines); err != nil {
		return nil, err
	}
	if w.client, err = noderpc.Dial(ctx, lent.Socket, noderpc.WithIncarnation(noderpc.NewIncarnation())); err != nil {
		return nil, err
	}
	w.view, err = memregion.Borrow(lent.Spec)
	return w, err
}

// Capacity of a region in which a table of so many bytes and some small extents have room.
func Capacity(bytes int64) int64 { return bytes + bytes/8 + 64<<20 }

// Close gives everything back.
func (w *World) Close() (err error) {
	if w.view != nil {
		err = w.view.Close()
	}
	if w.client != nil {
		err = errors.Join(err, w.client.Close())
	}
	if w.local != nil {
		err = errors.Join(err, w.local.close())
	}
	return err
}

// Lines returns what it flushes with.
func (w *World) Lines() coherence.Features { return w.lines.Features() }

// place is memory to work on.
type place struct {
	name  string // "local" or "remote"
	bytes []byte // writable
	free  func() error
}

// places grants an extent of n bytes in each place, with every page present.
func (w *World) places(ctx context.Context, n int64) (list []place, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, freeAll(list))
		}
	}()
	home := w.local.homes[homeOf(coherence.Coherent)]
	g, err := home.Grant("bench", home.Domain(), n)
	if err != nil {
		return nil, err
	}
	list = append(list, place{"local", g.Bytes()[:n], g.Abort})
	given, err := w.client.Grant(ctx, grantOf(homeOf(coherence.Coherent), n))
	if err != nil {
		return list, err
	}
	free := func() error { return w.client.Free(ctx, noderpc.FreeRequest{Extents: extents(given)}) }
	window, err := w.view.Window(given.Range)
	if err != nil {
		return list, errors.Join(err, free())
	}
	list = append(list, place{"remote", window.Bytes()[:n], func() error { return errors.Join(window.Close(), free()) }})
	for _, p := range list {
		if err := populate(p.bytes); err != nil {
			return list, err
		}
	}
	return list, nil
}

func freeAll(list []place) (err error) {
	for _, p := range list {
		err = errors.Join(err, p.free())
	}
	return err
}

// populate makes the pages present and writable in this process: a writer would otherwise fault at each.
func populate(b []byte) error {
	if err := unix.Madvise(b, unix.MADV_POPULATE_WRITE); err != nil && !errors.Is(err, unix.EINVAL) { // older kernels do not know it
		return fmt.Errorf("make %d bytes present: %w", len(b), err)
	}
	return nil
}

func extents(given noderpc.Granted) []catalog.ExtentID { return []catalog.ExtentID{given.Extent} }

// median of a list that is not empty.
func median(d []time.Duration) time.Duration {
	sorted := slices.Clone(d)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// quietly begins a measurement: garbage of what was before is not its burden.
func quietly(f func()) time.Duration {
	runtime.GC()
	begin := time.Now()
	f()
	return time.Since(begin)
}
