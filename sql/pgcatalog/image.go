package pgcatalog

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Image is a database of DuckDB's with what this package makes, as a file. To make it takes DuckDB half a second, which
// binds each macro; to attach it some 20 ms (decision 0056). "go generate ./sql/pgcatalog" writes the files, and a test
// compares them with what would be made (makeimages).
//
//go:generate go run ./makeimages
type Image struct {
	Name string // of the database
	file func() (*os.File, error)
}

var (
	//go:embed images/functions.duckdb.gz
	compressedFunctions []byte
	//go:embed images/catalogs.duckdb.gz
	compressedCatalogs []byte
)

var (
	// Functions are those that any statement may call, and DuckDB's own lists: attached before a text is planned that
	// Calls some (P8).
	Functions = newImage(functions, compressedFunctions)
	// Catalogs are PostgreSQL's, with the functions that read them: attached beside Functions, before anything is
	// planned that Rewrite wrote (P6).
	Catalogs = newImage(catalogs, compressedCatalogs)
)

func newImage(name string, compressed []byte) Image {
	return Image{name, sync.OnceValues(func() (*os.File, error) { return inMemory(name, compressed) })}
}

// File is the image in sealed memory. The process has it once, and keeps it: nothing closes it.
func (i Image) File() (*os.File, error) { return i.file() }

func inMemory(name string, compressed []byte) (_ *os.File, err error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("keep %s in memory: %w", name, err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer func() {
		if err != nil {
			_ = file.Close() // the first error counts
		}
	}()
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if _, err := io.Copy(file, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	const sealed = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, sealed); err != nil {
		return nil, fmt.Errorf("seal %s: %w", name, err)
	}
	return file, nil
}
