package commitlog

import (
	"os"

	"golang.org/x/sys/unix"
)

// Disk is a File that is one.
type Disk struct{ *os.File }

// Sync implements File. The file's times need not be durable.
func (d Disk) Sync() error {
	for {
		if err := unix.Fdatasync(int(d.Fd())); err != unix.EINTR {
			return err
		}
	}
}

// Size implements File.
func (d Disk) Size() (int64, error) {
	info, err := d.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
