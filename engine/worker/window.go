package worker

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The window has two slots, so that a worker fills one while the node empties the other. It is address space;
// memory is what batches touched, and goes back when that was much.
const (
	slots     = 2
	slotBytes = 1 << 30
	// slotKeeps is what a slot keeps of the memory of former batches.
	slotKeeps = 4 << 20
)

// window is the memory that a worker and its node share for batches.
type window struct {
	file  *os.File
	bytes []byte
}

// newWindow makes one at the node, which only reads it. It can become no smaller: an access never faults because the
// other side has truncated it.
func newWindow() (*window, error) {
	fd, err := unix.MemfdCreate("csmsql-worker", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a worker's window: %w", err)
	}
	file := os.NewFile(uintptr(fd), "window")
	if err = unix.Ftruncate(fd, slots*slotBytes); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err != nil {
		file.Close() // nothing was written
		return nil, fmt.Errorf("make a worker's window: %w", err)
	}
	return mapWindow(file, unix.PROT_READ)
}

func mapWindow(file *os.File, protection int) (*window, error) {
	bytes, err := unix.Mmap(int(file.Fd()), 0, slots*slotBytes, protection, unix.MAP_SHARED)
	if err != nil {
		file.Close() // as above
		return nil, fmt.Errorf("map a worker's window: %w", err)
	}
	return &window{file, bytes}, nil
}

// slot is the memory of one.
func (w *window) slot(i int) []byte { return w.bytes[i*slotBytes : (i+1)*slotBytes] }

// trim gives back what a batch of size took in a slot, if that is much. The slot must be free.
func (w *window) trim(i int, size int64) error {
	if size <= slotKeeps {
		return nil
	}
	return unix.Fallocate(int(w.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(i*slotBytes), slotBytes)
}

func (w *window) close() {
	_ = unix.Munmap(w.bytes) // it is ours and whole
	w.file.Close()           // only read, or gone with its process
}
