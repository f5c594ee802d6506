package duckdb

/*
#include <stdlib.h>
#include "scan.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// KeySet is an immutable set of integers in C memory, which goes when the set is no longer reachable. Safe for
// concurrent use.
type KeySet struct{ c *C.struct_csm_keys }

func newKeySet() *KeySet {
	k := &KeySet{c: C.csm_keys_new()}
	runtime.AddCleanup(k, func(c *C.struct_csm_keys) { C.csm_keys_free(c) }, k.c)
	return k
}

// NewKeySet makes a set of the given keys.
func NewKeySet(keys []int64) (*KeySet, error) {
	k := newKeySet()
	if err := k.add(keys); err != nil {
		return nil, err
	}
	return k, k.finish()
}

// Len is the number of distinct keys.
func (k *KeySet) Len() int { return int(k.c.count) }

// Rows is how many values the keys were found among: for BuildKeySet, the rows that passed the filters with a key that
// is not NULL.
func (k *KeySet) Rows() int64 { return int64(k.c.rows) }

// Bytes is the memory that the set takes.
func (k *KeySet) Bytes() int64 {
	size := int64(k.c.words) * 8
	if k.c.slots != nil {
		size += (int64(k.c.slot_mask) + 1) * 8
	}
	if k.c.sieve != nil {
		size += 1 << (64 - k.c.sieve_shift - 3)
	}
	return size
}

// Contains reports whether key is in the set.
func (k *KeySet) Contains(key int64) bool {
	found := bool(C.csm_keys_contain(k.c, C.int64_t(key)))
	runtime.KeepAlive(k)
	return found
}

var errKeysMemory = &Error{Message: "a set of keys does not fit into memory", State: "53200", Byte: -1}

func (k *KeySet) add(keys []int64) error {
	if len(keys) == 0 {
		return nil
	}
	// SAFETY: C reads the keys during the call and keeps no pointer.
	if C.csm_keys_add(k.c, (*C.int64_t)(unsafe.Pointer(&keys[0])), C.int64_t(len(keys))) != 0 {
		return errKeysMemory
	}
	return nil
}

func (k *KeySet) merge(other *KeySet) error {
	result := C.csm_keys_merge(k.c, other.c)
	runtime.KeepAlive(other)
	if result != 0 {
		return errKeysMemory
	}
	return nil
}

func (k *KeySet) finish() error {
	if C.csm_keys_finish(k.c) != 0 {
		return errKeysMemory
	}
	return nil
}

// morselRows is what one goroutine takes of a chunk at once, as scan threads do.
const morselRows = C.CSM_MORSEL_ROWS

// openedChunk is a chunk as C sees it.
type openedChunk struct {
	c     *C.struct_csm_chunk
	users int // guarded by keyBuilder.mu
}

func (o *openedChunk) rows() int64 { return int64(o.c.rows) }

func (o *openedChunk) close(columns int) { C.csm_chunk_release(o.c, C.int64_t(columns)) }

func openForKeys(s *Scan, chunk int, columns []int) (*openedChunk, error) {
	// SAFETY: C memory that csm_chunk_release frees.
	o := &openedChunk{c: (*C.struct_csm_chunk)(C.calloc(1, C.sizeof_struct_csm_chunk))}
	o.c.columns = (*C.struct_csm_column)(C.calloc(C.size_t(len(columns)), C.sizeof_struct_csm_column))
	if err := s.openChunk(chunk, columns, o.c); err != nil {
		o.close(len(columns))
		return nil, fmt.Errorf("key set: %w", err)
	}
	return o, nil
}

// addRows adds the keys of a morsel's rows; false when the set exceeds the builder's limit.
func (k *KeySet) addRows(m morsel, tests []test, b *keyBuilder) (bool, error) {
	filters := copyTests(tests)
	defer C.free(unsafe.Pointer(filters))
	result := C.csm_keys_add_rows(k.c, filters, C.int64_t(len(tests)), m.chunk.c, C.int64_t(m.first), C.int64_t(m.end), 0,
		C.int32_t(b.key.width), asFlag(b.key.signed), C.int64_t(b.limit))
	runtime.KeepAlive(b.scan) // the filters' own key sets
	if result == 0 {
		return true, nil
	}
	if int64(k.c.count) > b.limit {
		return false, nil
	}
	return false, errKeysMemory
}
