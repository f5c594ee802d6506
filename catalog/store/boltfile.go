package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// The head of a bbolt file, as its package comment and bbolt's own `page` command describe it: two meta pages.
//
//	page header 16 │ magic 4 │ version 4 │ page size 4 │ flags 4 │ root 16 │ free list 8 │ high water 8 │ transaction 8 │ checksum 8
const (
	metaOffset      = 16
	metaBytes       = 64
	metaMagic       = 0xED0CDAED
	metaPageSize    = metaOffset + 8
	metaHighWater   = metaOffset + 40
	metaTransaction = metaOffset + 48
)

// checkLength refuses a file that is shorter than its newest root says it must be.
func checkLength(path string, size int64) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the catalog file: %w", err)
	}
	defer func() { _ = file.Close() }()
	var newest, needed uint64
	for _, at := range []int64{0, int64(os.Getpagesize())} {
		head := make([]byte, metaOffset+metaBytes)
		if _, err := file.ReadAt(head, at); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read the catalog file %s: %w", path, err)
		}
		if binary.LittleEndian.Uint32(head[metaOffset:]) != metaMagic {
			continue // bbolt says what it thinks of that
		}
		if transaction := binary.LittleEndian.Uint64(head[metaTransaction:]); transaction >= newest {
			newest = transaction
			needed = binary.LittleEndian.Uint64(head[metaHighWater:]) * uint64(binary.LittleEndian.Uint32(head[metaPageSize:]))
		}
	}
	if needed > uint64(size) {
		return fmt.Errorf("%w: %s has %d bytes, its last transaction needs %d: the end of the file is missing", ErrCorrupt, path, size, needed)
	}
	return nil
}
