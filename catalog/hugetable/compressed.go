package hugetable

import (
	"fmt"

	"github.com/csmsql/csmsql/catalog/internal/compression"
	"github.com/csmsql/csmsql/catalog/internal/message"
)

// A record and its pages say much the same of each column and each chunk. A commit of one row writes the record and the
// last pages of its table: where that is much, it is stored compressed.

const (
	// recordFormatCompressed is that of a record that has nothing but another one, compressed. Older programs refuse it.
	recordFormatCompressed = 11
	// compressFrom is from how many bytes of its record on a table's records and pages are compressed.
	compressFrom = 1 << 10
	// compressPageFrom is from how many bytes on a page of such a table is.
	compressPageFrom = 512
)

// EncodeStored is Encode for the store, with which the pages that Seal made go, too: they are compressed (NewPage.Stored)
// if the record is. Those of the table's later versions are then, until it is truncated, so that programs which cannot
// read the pages refuse the record. Preconditions: no other goroutine has the version yet.
func (v *Version) EncodeStored(pages []NewPage) ([]byte, error) {
	plain, err := v.Encode()
	if err != nil {
		return nil, err
	}
	v.compressed = v.compressed || len(plain) >= compressFrom
	for i := range pages {
		pages[i].compressed = v.compressed
	}
	return v.stored(plain), nil
}

// stored is a record of the version as the store has it.
func (v *Version) stored(plain []byte) []byte {
	if !v.compressed {
		return plain
	}
	w := message.Writer{}
	w.Uint(recordFieldFormat, recordFormatCompressed)
	w.Bytes(recordCompressed, compression.Compress(plain))
	return w.Buf
}

// Stored is the page as the store has it.
func (p *NewPage) Stored() []byte {
	if !p.compressed || len(p.Data) < compressPageFrom {
		return p.Data
	}
	return compression.Compress(p.Data)
}

// Expand is the inverse of NewPage.Stored.
func Expand(id PageID, stored []byte) ([]byte, error) {
	data, err := compression.Expand(stored)
	if err != nil {
		return nil, fmt.Errorf("%w: page %v: %w", ErrCorrupt, id, err)
	}
	return data, nil
}

// expandRecord returns the record that is in a compressed one, or the record itself.
func expandRecord(stored []byte) (plain []byte, compressed bool, err error) {
	r := message.NewReader(stored)
	if !r.Next() || r.Field() != recordFieldFormat || r.Uint() != recordFormatCompressed {
		return stored, false, nil
	}
	for r.Next() {
		if r.Field() == recordCompressed {
			plain = r.Bytes()
		} else {
			r.Skip()
		}
	}
	if err = r.Err(); err == nil {
		plain, err = compression.Expand(plain)
	}
	if err != nil {
		return nil, true, fmt.Errorf("%w: compressed record of a table: %w", ErrCorrupt, err)
	}
	return plain, true, nil
}
