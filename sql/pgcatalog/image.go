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
// binds each macro; to attach it some 20 ms (decision 0056). "make generate" writes the files, and a test compares
// them with what is made (makeimages).
//
//go:generate go run ./makeimages
type Image struct {
	Name string // of the database
	file func() (*os.File, error)
}

var (
	//go:embed images/schemas.duckdb.gz
	compressedSchemas []byte
	//go:embed images/functions.duckdb.gz
	compressedFunctions []byte
	//go:embed images/catalogs.duckdb.gz
	compressedCatalogs []byte
)

var (
	// Schemas are those that a session's search path names, with nothing in them: attached when a database is opened,
	// because DuckDB takes no path that is not there.
	Schemas = Image{functions, sync.OnceValues(func() (*os.File, error) { return inMemory(functions, compressedSchemas) })}
	// Functions are those that any statement may call, and DuckDB's own lists: attached in place of Schemas, before a text is planned that
	// Calls some, and before the transaction that does so begins (P8).
	Functions = Image{functions, sync.OnceValues(func() (*os.File, error) { return inMemory(functions, compressedFunctions) })}
	// Catalogs are PostgreSQL's, with the functions that read them: attached beside Functions, before anything is
	// planned that Rewrite wrote (P6).
	Catalogs = Image{catalogs, sync.OnceValues(func() (*os.File, error) { return inMemory(catalogs, compressedCatalogs) })}
)

// File is the image, which is sealed: the process has it once, and keeps it.
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
