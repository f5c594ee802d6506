package memregion

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/filelock"
)

// How a region notices that another process works on its file (M12). Its bytes are read in place and trusted once their
// checksum was compared, so a write, truncation or punch after that must be noticed. The kernel offers three ways, and
// the best that it grants is taken:
//
//   - fanotify queues an event when a system call that changes the file ends, and when a file that was open for writing
//     is closed for the last time, its mappings included. Each event says whether the caller was this process, and the
//     kernel never merges ours with others'. So a lender's own fallocate calls, the only ones that it makes, are
//     distinguished from foreign calls.
//   - inotify queues the same events, but does not say whose they are: the lender's own calls count, too, which is
//     correct but costs verifications.
//   - the file's times, when neither is to be had (each user has 128 instances of both). Stores through our own map
//     change them as well, at the first touch of a page, so a busy lender counts all the time; and a write that is
//     still under way has changed them already.
//
// Times come last for these two reasons. Seals (F_SEAL_WRITE) exist for memfds only, which have no name to be adopted
// by, and leases (F_SETLEASE) are refused for files that are open for writing, as the lender's is.

// WatchKind is by what a region notices alterations of its file.
type WatchKind string

// The kinds, best first.
const (
	// WatchProcess: events that say which process caused them.
	WatchProcess WatchKind = "fanotify"
	// WatchEvents: events that do not; what the lender itself reserves and punches is counted, too.
	WatchEvents WatchKind = "inotify"
	// WatchTimes: the file's size and times; what the lender stores is counted, too, and what is under way may be
	// missed.
	WatchTimes WatchKind = "times"
	// WatchNothing: alterations of a device are not noticed. Other lenders have it open to write their own ranges.
	WatchNothing WatchKind = "nothing"
)

// watch counts what others did to one region's file. Safe for concurrent use.
type watch struct {
	kind   WatchKind // immutable
	region *os.File  // immutable; the mapping's
	count  atomic.Uint64

	life   sync.RWMutex // held for reading while a system call works on events, for writing while they are closed; a leaf
	events int          // immutable; a descriptor that blocks; none for WatchTimes
	closed bool         // guarded by life

	mu     sync.Mutex // guards what follows; above life
	own    bool       // a system call of the lender is under way
	last   stamp      // for WatchTimes
	buffer [4096]byte // of events; one has less than 256 bytes
}

// stamp is what changes with every system call that alters the file.
type stamp struct {
	size         int64
	mtime, ctime unix.Timespec
}

// newWatch begins to watch; it takes the first of kinds that the kernel grants, and WatchTimes always works.
func newWatch(region *os.File, kinds ...WatchKind) *watch {
	for _, kind := range kinds {
		fd, err := openEvents(region, kind)
		if err != nil {
			continue // the next kind will do
		}
		return &watch{kind: kind, region: region, events: fd}
	}
	w := &watch{kind: WatchTimes, region: region}
	w.changed()
	return w
}

// newWatchOf is newWatch for what can be watched.
func newWatchOf(file *os.File, spec Spec, kinds []WatchKind) *watch {
	if spec.Fabric.device() {
		return &watch{kind: WatchNothing, region: file}
	}
	return newWatch(file, kinds...)
}

// watchKinds is what a lender and a borrower ask for: only the lender makes calls that are to be distinguished from
// others', and each user has few instances of either kind.
func watchKinds(lender bool) []WatchKind {
	if lender {
		return []WatchKind{WatchProcess, WatchEvents}
	}
	return []WatchKind{WatchEvents, WatchProcess}
}

// openEvents returns a descriptor that gives an event for every finished write, truncation, reservation and punch of
// the file by any name, and for the end of every file that was open for writing: a foreign map keeps its file open, so
// that stores through one are noticed when it is unmapped. The file is named by the region's own descriptor, since its
// path may be another file by now.
func openEvents(region *os.File, kind WatchKind) (fd int, err error) {
	if kind == WatchEvents {
		fd, err = unix.InotifyInit1(unix.IN_CLOEXEC)
	} else {
		fd, err = unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID|unix.FAN_CLOEXEC, unix.O_RDONLY|unix.O_CLOEXEC)
	}
	if err != nil {
		return -1, err
	}
	err = filelock.Control(region, func(file int) error {
		if kind == WatchEvents {
			_, err := unix.InotifyAddWatch(fd, fmt.Sprintf("/proc/self/fd/%d", file), unix.IN_MODIFY|unix.IN_CLOSE_WRITE)
			return err
		}
		return unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_MODIFY|unix.FAN_CLOSE_WRITE, file, "")
	})
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// look counts what came in since it was last called and returns the sum. Without news it costs one system call.
func (w *watch) look() uint64 {
	if w.kind == WatchNothing {
		return 0
	}
	if w.kind != WatchTimes && !w.pending() {
		return w.count.Load()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookLocked()
	return w.count.Load()
}

func (w *watch) lookLocked() {
	if w.kind == WatchNothing {
		return
	}
	if w.kind == WatchTimes {
		if w.changed() {
			w.count.Add(1)
		}
		return
	}
	ours, others := w.drain()
	// What this process does outside of ours() is not the lender's doing: a COPY TO the region's file, say.
	if others || ours && !w.own {
		w.count.Add(1)
	}
}

// ours runs a system call of the lender, whose event is not counted if it can be distinguished from others'. Only one
// at a time: Lent.mu is held.
func (w *watch) ours(call func() error) error {
	w.mu.Lock()
	w.lookLocked()
	w.own = true
	w.mu.Unlock()
	err := call()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookLocked()
	w.own = false
	return err
}

// pending reports whether an event waits. In doubt it does.
func (w *watch) pending() bool {
	w.life.RLock()
	defer w.life.RUnlock()
	if w.closed {
		return false
	}
	waiting, err := unix.IoctlGetInt(w.events, unix.TIOCINQ) // FIONREAD
	return err != nil || waiting > 0
}

// read takes events that wait into the buffer; none once it is closed.
func (w *watch) read() (n int, err error) {
	w.life.RLock()
	defer w.life.RUnlock()
	if w.closed {
		return 0, nil
	}
	return unix.Read(w.events, w.buffer[:])
}

// drain takes all events that wait. It is their only reader, so reading does not block.
func (w *watch) drain() (ours, others bool) {
	for w.pending() {
		n, err := w.read()
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return ours, true
		case w.kind == WatchEvents:
			others = others || n > 0
			continue
		}
		o, t := whose(w.buffer[:n], os.Getpid())
		ours, others = ours || o, others || t
	}
	return ours, others
}

// Where the fields of struct fanotify_event_metadata are.
const (
	eventLength  = 0 // uint32
	eventMask    = 8 // uint64
	eventProcess = 20
	eventSize    = 24
)

// whose reports whether a fanotify buffer has events of process (ours), and of another one or lost ones (others).
func whose(buffer []byte, process int) (ours, others bool) {
	for len(buffer) >= eventSize {
		length := binary.NativeEndian.Uint32(buffer[eventLength:])
		mask := binary.NativeEndian.Uint64(buffer[eventMask:])
		// To users without privileges the kernel says 0 for every process but their own.
		if int(int32(binary.NativeEndian.Uint32(buffer[eventProcess:]))) == process && mask&unix.FAN_Q_OVERFLOW == 0 {
			ours = true
		} else {
			others = true
		}
		if length < eventSize || int64(length) > int64(len(buffer)) {
			return ours, true // no kernel says so; then nothing is sure
		}
		buffer = buffer[length:]
	}
	return ours, others || len(buffer) > 0
}

// clockTick is above the resolution of file times on kernels before 6.13: what happens within one tick has one time.
const clockTick = 20_000_000 // nanoseconds

// changed reports whether the file's size and times are others than when it was last asked. Times that are so young
// that the next change may have the same are not remembered, so that the next call says yes again.
func (w *watch) changed() bool {
	w.life.RLock()
	defer w.life.RUnlock()
	if w.closed {
		return false
	}
	st, err := status(w.region)
	if err != nil {
		return true
	}
	now := stamp{st.Size, st.Mtim, st.Ctim}
	different := now != w.last
	w.last = now
	var clock unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &clock); err != nil || clock.Nano()-st.Ctim.Nano() < clockTick {
		w.last = stamp{}
	}
	return different
}

// close is called before the region's file is closed. Later calls return what was counted until then.
func (w *watch) close() error {
	w.life.Lock()
	defer w.life.Unlock()
	if w.closed || w.kind == WatchTimes || w.kind == WatchNothing {
		w.closed = true
		return nil
	}
	w.closed = true
	return unix.Close(w.events)
}
