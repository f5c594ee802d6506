package files

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Files that the engine itself reads or writes for SQL. exec/duckdb guards DuckDB's (D10); here os.Root does it, which
// follows no link out of a directory. Only regular files are opened: a FIFO or a device would hold the session.

// reach finds the directory of those that SQL may reach in which a file lies, and its name there. The caller closes the
// root.
func reach(access duckdb.FileAccess, file string) (*os.Root, string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, "", sqlerror.New("58P01", "%s: %v", file, err)
	}
	directories := access.Directories
	if access.All {
		directories = []string{filepath.Dir(path)}
	}
	for _, directory := range directories {
		inside, err := filepath.Rel(directory, path)
		if err != nil || !filepath.IsLocal(inside) {
			continue
		}
		root, err := os.OpenRoot(directory)
		if err != nil {
			return nil, "", inSystem(file, err)
		}
		return root, inside, nil
	}
	return nil, "", sqlerror.New("42501", "permission denied for file %s", file).WithHint(outOfReach)
}

const outOfReach = "The server reads and writes only files below the directories given with --files; COPY … FROM STDIN and TO STDOUT need none."

// Open opens a file to read it for SQL. The caller closes it.
func Open(access duckdb.FileAccess, file string) (*os.File, error) {
	root, name, err := reach(access, file)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a FIFO waits otherwise
	if err != nil {
		return nil, inSystem(file, err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, irregular(file)
	}
	if err := notSpilled(f, file); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// notSpilled refuses what sessions spill, also where it lies below a directory that SQL may reach.
func notSpilled(f *os.File, file string) error {
	spilled, err := duckdb.Spilled(f)
	if err != nil {
		return inSystem(file, err)
	}
	if spilled {
		return sqlerror.New("42501", "permission denied for file %s", file).WithHint("It lies where queries spill to.")
	}
	return nil
}

func irregular(file string) error {
	return sqlerror.New("42501", "permission denied for %s: it is not a regular file", file)
}

// Write makes a file, or replaces one, if write succeeds.
func Write(access duckdb.FileAccess, file string, write func(f *os.File) error) error {
	root, name, err := reach(access, file)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink == 0 && !info.Mode().IsRegular() {
		return irregular(file) // a link is replaced, and not what it leads to
	}
	temporary := name + ".writing-" + rand.Text()[:8]
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return inSystem(file, err)
	}
	if err = notSpilled(f, file); err == nil {
		err = write(f)
	}
	if closed := f.Close(); err == nil && closed != nil {
		err = inSystem(file, closed)
	}
	if err == nil {
		if err = root.Rename(temporary, name); err == nil {
			return nil
		}
		err = inSystem(file, err)
	}
	_ = root.Remove(temporary) // the first error is the one to return
	return err
}

// inSystem is an error of the system about a file.
func inSystem(file string, err error) error {
	state := "58030"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		state = "58P01"
	case errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "escapes"):
		state = "42501"
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return sqlerror.New(state, "%s: %v", file, err)
}
