package memregion

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/filelock"
)

// Origin says whose tables a region keeps. It is an attribute of the region's file and not of its bytes, so that a
// process that finds the file in a shared directory can decide whether it is still of use. Where the system keeps no
// such attributes (tmpfs before Linux 6.6) there is none.
type Origin struct {
	// Directory is where the catalog lies without which the region's bytes mean nothing; absolute. Empty: unknown.
	Directory string
	// Temporary: the region goes with the process that lends it, unless that is killed.
	Temporary bool
}

const (
	directoryAttribute = "user.csmsql.directory"
	temporaryAttribute = "user.csmsql.temporary"
)

// mark is best effort: a region works without it.
func (o Origin) mark(file *os.File) {
	if o.Directory == "" {
		return
	}
	_ = filelock.Control(file, func(fd int) error {
		if o.Temporary {
			_ = unix.Fsetxattr(fd, temporaryAttribute, []byte("yes"), 0)
		} else {
			_ = unix.Fremovexattr(fd, temporaryAttribute)
		}
		return unix.Fsetxattr(fd, directoryAttribute, []byte(o.Directory), 0)
	})
}

// originOf returns false for a file without an origin, or that this user may not read.
func originOf(path string) (Origin, bool) {
	directory, err := attribute(path, directoryAttribute)
	if err != nil || !filepath.IsAbs(directory) {
		return Origin{}, false
	}
	_, err = attribute(path, temporaryAttribute)
	return Origin{directory, err == nil}, true
}

func attribute(path, name string) (string, error) {
	value := make([]byte, unix.PathMax)
	n, err := unix.Lgetxattr(path, name, value)
	if err != nil {
		return "", err
	}
	return string(value[:n]), nil
}

// Abandoned is a region's file that takes memory, or space, and is of no use.
type Abandoned struct {
	Path string
	// Caches are those of an emulated fabric's domains, which are removed with it.
	Caches []string
	Bytes  int64 // that all of them take
	Origin
}

// FindAbandoned lists the files of a directory whose names match pattern (filepath.Match) and that no process lends,
// and none can lend again: their Origin's directory is not there, or was a temporary one, or replaced reports that
// other tables lie there now. It judges by what this process sees. A directory may exist for processes with other
// mounts, so it removes nothing. Files without an origin are left out.
func FindAbandoned(directory, pattern string, replaced func(path string, origin Origin) bool) ([]Abandoned, error) {
	paths, err := filepath.Glob(filepath.Join(directory, pattern))
	if err != nil {
		return nil, fmt.Errorf("memregion: look for abandoned regions in %s: %w", directory, err)
	}
	var found []Abandoned
	for _, path := range paths {
		origin, known := originOf(path)
		if !known || !(origin.Temporary || gone(origin.Directory) || replaced(path, origin)) {
			continue
		}
		if bytes, idle := unlent(path); idle {
			one := Abandoned{Path: path, Bytes: bytes, Origin: origin}
			if one.Caches, err = cachesOf(path); err != nil {
				return nil, fmt.Errorf("memregion: look for the caches of %s: %w", path, err)
			}
			for _, cache := range one.Caches {
				var st unix.Stat_t
				if unix.Lstat(cache, &st) == nil {
					one.Bytes += st.Blocks * 512
				}
			}
			found = append(found, one)
		}
	}
	return found, nil
}

func gone(directory string) bool {
	_, err := os.Stat(directory)
	return errors.Is(err, os.ErrNotExist)
}

// unlent reports whether the file has no lender (M7), and how much space it takes. It tries the lock and releases it at
// once; a node that starts just then waits longer than that.
func unlent(path string) (bytes int64, idle bool) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer filelock.Give(file) // read only
	st, err := status(file)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, false
	}
	if user := uint32(os.Geteuid()); st.Uid != user && user != 0 {
		return 0, false // not this user's to remove
	}
	return st.Blocks * 512, filelock.Share(file) == nil
}
