package spill

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/csmsql/csmsql/internal/filelock"
)

// prefix begins the names of spill directories.
const prefix = "database-"

// Directory is where one database spills to. DuckDB gives its files the same names in every database, and opens
// those that are there: two that share a directory write over each other's rows (SPD1). The lock says that the
// directory's database lives.
type Directory struct {
	Path string
	lock *os.File
}

// Make makes one below parent, and removes those of databases whose process was killed.
func Make(parent string) (*Directory, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("make the spill directory: %w", err)
	}
	removeAbandoned(parent)
	for {
		path, err := os.MkdirTemp(parent, prefix)
		if err != nil {
			return nil, fmt.Errorf("make the spill directory: %w", err)
		}
		if lock := lockDirectory(path); lock != nil {
			if _, err := os.Stat(path); err == nil { // it was not taken for abandoned before it was locked
				return &Directory{path, lock}, nil
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
		if path := filepath.Join(parent, e.Name()); e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			if lock := lockDirectory(path); lock != nil {
				_ = os.RemoveAll(path)
				_ = filelock.Give(lock)
			}
		}
	}
}

// lockDirectory is nil where another process or database has the lock, or there is no such directory.
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

// Remove removes the directory and what is in it. d may be nil.
func (d *Directory) Remove() {
	if d != nil {
		_ = os.RemoveAll(d.Path) // the next database removes what is left
		_ = filelock.Give(d.lock)
	}
}
