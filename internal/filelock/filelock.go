// Package filelock keeps files, and ranges of them, for one process at a time.
//
// A lock belongs to an open file, and ends when the last descriptor of it is closed. A process that is being
// started has its parent's descriptors until it executes its program, O_CLOEXEC or not: what is only closed
// meanwhile stays locked for as long, and the parent's next attempt fails. So Give unlocks before it closes
// (filelock.1).
package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ErrTaken says that another process, or another open file of this one, has the lock.
var ErrTaken = errors.New("the file is locked")

// Take locks a file for this process alone, or says ErrTaken. It does not wait.
func Take(file *os.File) error { return flock(file, unix.LOCK_EX|unix.LOCK_NB) }

// Share is Take for several: none of them has it alone.
func Share(file *os.File) error { return flock(file, unix.LOCK_SH|unix.LOCK_NB) }

// TakeRange is Take of length bytes from start on.
func TakeRange(file *os.File, start, length int64) error {
	return Control(file, func(fd int) error {
		err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: start, Len: length})
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return ErrTaken
		}
		return err
	})
}

// Give gives back all locks of a file that this process took, if any, and closes the file.
func Give(file *os.File) error {
	unlocked := Control(file, func(fd int) error {
		_ = unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK}) // a file system without such locks has none
		return unix.Flock(fd, unix.LOCK_UN)
	})
	closed := file.Close()
	if errors.Is(closed, os.ErrClosed) {
		return closed // there was nothing to unlock
	}
	return errors.Join(unlocked, closed)
}

func flock(file *os.File, how int) error {
	return Control(file, func(fd int) error {
		for {
			switch err := unix.Flock(fd, how); {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EWOULDBLOCK):
				return ErrTaken
			default:
				return err
			}
		}
	})
}

// Control calls with the descriptor of a file that stays open meanwhile.
func Control(file *os.File, call func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = call(int(fd)) }); err != nil {
		return err
	}
	return inner
}
