package serving

import (
	"os"

	"github.com/csmsql/csmsql/internal/owneddir"
)

const (
	// SharedMemory is where regions lie.
	SharedMemory = "/dev/shm"
	// directoryPrefix begins the names of all directories.
	directoryPrefix = "csmsql-bench-"
)

// Directory makes a directory of this process below parent, or below the temporary directory. The caller removes it.
func Directory(parent string) (string, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	return owneddir.Make(parent, directoryPrefix)
}

// Sweep removes the directories of processes that were killed.
func Sweep() {
	for _, parent := range []string{SharedMemory, os.TempDir()} {
		_ = owneddir.Sweep(parent, directoryPrefix) // what cannot be removed is another user's
	}
}
