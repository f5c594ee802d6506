package store

import (
	"os"

	"github.com/csmsql/csmsql/catalog/store/commitlog"
)

// Kill lets go of the files as the death of the process does: what is pending stays in the log.
func (b *Bolt) Kill() error {
	b.end()
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.over {
		return nil
	}
	b.over = true
	return b.closeFiles()
}

// OpenWrapped has the log lie in something else that lies in its file.
func OpenWrapped(directory string, wrap func(*os.File) commitlog.File) (*Bolt, error) {
	return openBolt(directory, wrap)
}

// Still calls do while the bbolt file is not written: what is in it is on the disk.
func (b *Bolt) Still(do func() error) error {
	b.settler.one.Lock()
	defer b.settler.one.Unlock()
	return do()
}

// Settling reports whether the settler has something to do.
func (b *Bolt) Settling() bool { return b.isSettling() }
