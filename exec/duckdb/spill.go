package duckdb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/csmsql/csmsql/internal/filelock"
)

// spillPrefix begins the names of spill directories below Options.SpillDirectory.
const spillPrefix = "database-"

// spillDirectory is where one database spills to. DuckDB gives its files the same names in every database, and opens
// those that are there: two that share a directory write over each other's rows (D11). The lock says that the
// directory's database lives.
type spillDirectory struct {
	path string
	lock *os.File
}

// newSpillDirectory makes one below parent, and removes those of databases whose process was killed.
func newSpillDirectory(parent string) (*spillDirectory, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("make the spill directory: %w", err)
	}
	removeAbandoned(parent)
	for {
		path, err := os.MkdirTemp(parent, spillPrefix)
		if err != nil {
			return nil, fmt.Errorf("make the spill directory: %w", err)
		}
		if lock := lockDirectory(path); lock != nil {
			if _, err := os.Stat(path); err == nil { // nobody took it for abandoned before it was locked
				return &spillDirectory{path, lock}, nil
			}
			_ = filelock.Give(lock)
		}
	}
}

func removeAbandoned(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // they take space, and no more
	}
	for _, e := range entries {
		if path := filepath.Join(parent, e.Name()); e.IsDir() && strings.HasPrefix(e.Name(), spillPrefix) {
			if lock := lockDirectory(path); lock != nil {
				_ = os.RemoveAll(path)
				_ = filelock.Give(lock)
			}
		}
	}
}

// lockDirectory is nil where somebody else has the lock, or there is no such directory.
func lockDirectory(path string) *os.File {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	if filelock.Take(f) != nil {
		f.Close()
		return nil
	}
	return f
}

func (d *spillDirectory) remove() {
	if d != nil {
		_ = os.RemoveAll(d.path) // the next database removes what is left
		_ = filelock.Give(d.lock)
	}
}
