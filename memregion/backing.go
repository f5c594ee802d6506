package memregion

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/bytesize"
	"github.com/csmsql/csmsql/internal/filelock"
)

// backing reserves and returns the memory behind a region's pages. It is an interface only so that tests can put a
// failing one in the place of the file (errors that a kernel gives rarely and never on demand).
type backing interface {
	// reserve guarantees that storing into r cannot fail, now or later. After an error some of r may be reserved.
	reserve(r Range) error
	// punch gives the memory of r back to the system; r reads as zeros until it is written again.
	punch(r Range) error
}

// systemCallBytes bounds one fallocate, so that a signal which interrupts it costs little: tmpfs undoes the whole call.
const systemCallBytes = 32 << 20

// fileBacking is a tmpfs file or a file on a disk.
type fileBacking struct {
	file  *os.File
	watch *watch
	start int64 // of the region in the file
}

const punchMode = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE

func (b fileBacking) reserve(r Range) error { return b.fallocate(0, r) }

func (b fileBacking) punch(r Range) error { return b.fallocate(punchMode, r) }

func (b fileBacking) fallocate(mode uint32, r Range) error {
	return fallocate(b.file, mode, Range{b.start + r.Offset, r.Length}, b.watch.ours)
}

// fallocate works in pieces, each within around.
func fallocate(file *os.File, mode uint32, r Range, around func(func() error) error) error {
	for r.Length > 0 {
		piece := min(r.Length, systemCallBytes)
		err := around(func() error {
			return filelock.Control(file, func(fd int) error { return unix.Fallocate(fd, mode, r.Offset, piece) })
		})
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		r.Offset, r.Length = r.Offset+piece, r.Length-piece
	}
	return nil
}

// reserveError turns the kernel's answer into the error that a client understands: a full fabric is a full region
// (53200).
func reserveError(spec Spec, r Range, err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EFBIG):
		return fmt.Errorf("memregion: reserve %s for region %d: %w: fabric %s of %s has no room: %w",
			bytesize.Text(r.Length), spec.ID, ErrRegionFull, spec.Fabric, spec.Path, err)
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("memregion: reserve %s for region %d: %w: the file system of %s cannot reserve space (fallocate): put the region elsewhere: %w",
			bytesize.Text(r.Length), spec.ID, ErrUnsupported, spec.Path, err)
	}
	return fmt.Errorf("memregion: reserve %s for region %d in %s: %w", bytesize.Text(r.Length), spec.ID, spec.Path, err)
}

// status is fstat without the allocations of os.File.Stat.
func status(file *os.File) (st unix.Stat_t, err error) {
	err = filelock.Control(file, func(fd int) error {
		for {
			if err := unix.Fstat(fd, &st); !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	})
	return st, err
}

// createBacking makes the empty backing file, readable and writable by its owner only, and locks it (M7).
func createBacking(spec Spec) (*os.File, error) {
	if spec.Fabric.device() {
		file, err := openDevice(spec, os.O_RDWR)
		if err == nil {
			if err = lockBacking(file, spec); err != nil {
				_ = file.Close() // the first error is the one to report
			}
		}
		return file, err
	}
	file, err := os.OpenFile(spec.Path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("memregion: lend region %d: %w: %s: adopt it, or remove it if no server needs it", spec.ID, ErrExists, spec.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("memregion: lend region %d: create backing: %w", spec.ID, err)
	}
	if err := lockBacking(file, spec); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(spec.Path))
	}
	return file, nil
}

// openBacking opens an existing backing file. A missing one is ErrRegionGone, and so is a shm one from before the
// last boot: whatever lies at the path now, these are not its bytes.
func openBacking(spec Spec, flags int) (*os.File, error) {
	if spec.Fabric.device() {
		return openDevice(spec, flags)
	}
	if err := checkBoot(spec); err != nil {
		return nil, err
	}
	// O_NONBLOCK has no effect on a regular file, and makes the open of a pipe in its place return at once instead of
	// waiting for the other end.
	file, err := os.OpenFile(spec.Path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("memregion: region %d: %w: %s does not exist", spec.ID, ErrRegionGone, spec.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("memregion: region %d: open backing: %w", spec.ID, err)
	}
	if err := checkPlanted(file, spec, flags); err != nil {
		_ = file.Close() // the first error is the one to report
		return nil, fmt.Errorf("memregion: region %d: %w", spec.ID, err)
	}
	return file, nil
}

// checkPlanted refuses what a lender of this user cannot have made: any user may put a file into /dev/shm once ours is
// gone. Only the superuser may borrow from another user.
func checkPlanted(file *os.File, spec Spec, flags int) error {
	st, err := status(file)
	if err != nil {
		return fmt.Errorf("ask for the owner of %s: %w", spec.Path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("%w: %s is not a regular file", ErrRegionGone, spec.Path)
	}
	user := uint32(os.Geteuid())
	if borrowing := flags == os.O_RDONLY; st.Uid != user && !(borrowing && user == 0) {
		return fmt.Errorf("%w: %s belongs to user %d, not to %d who lent it", ErrRegionGone, spec.Path, st.Uid, user)
	}
	return nil
}

func checkBoot(spec Spec) error {
	if spec.Fabric.Durable() || spec.BootID == "" {
		return nil
	}
	boot, err := BootID()
	if err == nil && boot != spec.BootID {
		return fmt.Errorf("memregion: region %d: %w: the machine has booted since it was lent", spec.ID, ErrRegionGone)
	}
	return err
}

// lockBacking makes us the file's only lender until the descriptor is closed, be it by the kernel after SIGKILL (M7).
func lockBacking(file *os.File, spec Spec) error {
	if spec.Fabric.device() {
		return lockRange(file, spec)
	}
	err := filelock.Take(file)
	if errors.Is(err, filelock.ErrTaken) {
		return fmt.Errorf("memregion: region %d: %w: %s is locked", spec.ID, ErrLentElsewhere, spec.Path)
	}
	if err != nil {
		return fmt.Errorf("memregion: region %d: lock %s: %w", spec.ID, spec.Path, err)
	}
	return nil
}

// syncDirectory makes a file's name survive a power failure.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
