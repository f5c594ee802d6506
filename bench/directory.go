package bench

import (
	"context"
	"errors"
	"os"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/owneddir"
)

const (
	// sharedMemory is where regions lie.
	sharedMemory = "/dev/shm"
	// directoryPrefix begins the names of all directories.
	directoryPrefix = "csmsql-bench-"
)

// newDirectory makes a directory of this process below parent, or below the temporary directory.
func newDirectory(parent string) (string, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	return owneddir.Make(parent, directoryPrefix)
}

// openEngine opens an engine of this process. What closes it removes its directories, which have our names, unlike
// those that an engine makes for itself.
func openEngine(ctx context.Context, config engine.Config) (_ *engine.Engine, closeAll func() error, err error) {
	remove := func() error { return errors.Join(os.RemoveAll(config.Directory), os.RemoveAll(config.RegionDirectory)) }
	if config.Directory, err = newDirectory(""); err != nil {
		return nil, nil, err
	}
	if config.RegionDirectory, err = newDirectory(sharedMemory); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	e, err := engine.Open(ctx, config)
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return e, func() error { return errors.Join(e.Close(), remove()) }, nil
}

// sweep removes the directories of processes that were killed (B4).
func sweep() {
	for _, parent := range []string{sharedMemory, os.TempDir()} {
		_ = owneddir.Sweep(parent, directoryPrefix) // what cannot be removed is another user's
	}
}
