package duckdb

/*
#cgo CFLAGS: -O3
#include <stdlib.h>
#include <string.h>
#include "scan.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// indexes copies a C array of column indexes.
func indexes(columns *C.int64_t, count C.int64_t) []int {
	out := make([]int, int(count))
	for i, c := range unsafe.Slice(columns, int(count)) { // SAFETY: scan.c passes count valid entries
		out[i] = int(c)
	}
	return out
}

// asFailure turns a panic into the query's error: there is no Go frame above a callback, and a bug of ours must not end
// the process.
func asFailure(what string, failure **C.char) {
	if r := recover(); r != nil {
		*failure = C.CString(fmt.Sprintf("XX000: %s: %v", what, r))
	}
}

func failureOf(err error) *C.char {
	if err == nil {
		return nil
	}
	return C.CString(stateOf(err) + ": " + err.Error())
}

//export csmGoOpenScan
func csmGoOpenScan(number C.uint64_t, projected *C.int64_t, count C.int64_t, out *C.struct_csm_open) (failure *C.char) {
	defer asFailure("starting a scan", &failure)
	scan := scans.get(uint64(number))
	wanted := indexes(projected, count)
	open := scan.filterColumns(wanted)
	out.column_count = C.int64_t(len(open))
	// SAFETY: C memory that scan_state_destroy frees, and one entry even when no column is asked for.
	out.columns = (*C.int64_t)(C.calloc(C.size_t(len(open)+1), 8))
	for i, c := range open {
		unsafe.Slice(out.columns, len(open))[i] = C.int64_t(c)
	}
	tests := scan.tests(open)
	out.filter_count = C.int64_t(len(tests))
	out.filters = copyTests(tests)
	out.chunk_count = C.int64_t(scan.Chunks)
	var converted []arrow.Field
	for _, c := range wanted {
		if f := scan.Schema.Field(c); kindOf(f) == C.CSM_CONVERT {
			converted = append(converted, f)
		}
	}
	out.converted = C.int64_t(len(converted))
	if len(converted) > 0 {
		cdata.ExportArrowSchema(arrow.NewSchema(converted, nil), (*cdata.CArrowSchema)(unsafe.Pointer(&out.schema))) // SAFETY: one layout, the Arrow C data interface
	}
	return nil
}

// kindOf says how a column that is no string becomes a vector; for strings each chunk decides.
func kindOf(f arrow.Field) C.int32_t {
	switch {
	case f.Type.ID() == arrow.EXTENSION && enumeration.Of(f) != nil:
		return C.CSM_ENUM
	case isString(f):
		return C.CSM_VIEW
	case fixedWidth(f) > 0:
		return C.CSM_FIXED
	case f.Type.ID() == arrow.BOOL && f.Metadata.FindKey(normal.ExtensionName) < 0:
		return C.CSM_BOOL
	}
	return C.CSM_CONVERT
}

//export csmGoOpenChunk
func csmGoOpenChunk(number C.uint64_t, chunk C.int64_t, columns *C.int64_t, count C.int64_t,
	out *C.struct_csm_chunk) *C.char {
	return failureOf(scans.get(uint64(number)).openChunk(int(chunk), indexes(columns, count), out))
}

// openChunk opens the wanted columns of a chunk and prepares what C needs of them. What it allocates is freed by
// csm_chunk_release, also after an error. out.columns has an entry for each wanted column.
func (s *Scan) openChunk(chunk int, wanted []int, out *C.struct_csm_chunk) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{Message: fmt.Sprintf("opening chunk %d: %v", chunk, r), State: "XX000", Byte: -1}
		}
	}()
	stored := s.stored(wanted)
	shared, err := s.Open(chunk, stored)
	if err != nil {
		return err
	}
	defer shared.Release()
	batch := normal.Private(shared)
	defer batch.Release()
	if int(batch.NumCols()) != len(stored) {
		return corrupt("chunk %d has %d columns instead of %d", chunk, batch.NumCols(), len(stored))
	}
	for i, c := range stored {
		if err := s.checkColumn(s.Schema.Field(c), batch.Column(i), batch.NumRows()); err != nil {
			return err
		}
	}
	exported := (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
	cdata.ExportArrowRecordBatch(batch, (*cdata.CArrowArray)(unsafe.Pointer(exported)), nil) // SAFETY: one layout
	realign(exported, batch)
	out.batch = exported
	out.rows = C.int64_t(batch.NumRows())
	if err := s.markDeleted(chunk, out); err != nil {
		return err
	}
	if out.rows == 0 || len(wanted) == 0 {
		return nil
	}
	prepared := unsafe.Slice(out.columns, len(wanted)) // SAFETY: the caller allocated one for each wanted column
	children := unsafe.Slice(exported.children, len(stored))
	converted, child := 0, 0
	for i, column := range wanted {
		if s.numbers(column) {
			number, err := s.Number(chunk)
			if err != nil {
				return err
			}
			prepared[i].kind, prepared[i].number = C.CSM_NUMBER, C.int64_t(number)
			continue
		}
		values := batch.Column(child)
		prepared[i].array = children[child]
		child++
		field := s.Schema.Field(column)
		prepared[i].kind = kindOf(field)
		switch prepared[i].kind {
		case C.CSM_FIXED:
			prepared[i].width = C.int32_t(fixedWidth(field))
		case C.CSM_CONVERT:
			prepared[i].convert_position = C.int32_t(converted)
			if shape := shapeOf(field.Type); strings.Trim(shape, "-") != "" {
				prepared[i].shape = C.CString(shape)
			}
			converted++
		case C.CSM_BOOL:
		case C.CSM_ENUM:
			setPlaces(&prepared[i], field.Type.(*enumeration.Type))
		default:
			some, err := s.prepareString(&prepared[i], column, values)
			if err != nil {
				return corrupt("column %q: %v", field.Name, err)
			}
			if !some {
				out.rows = 0 // no value of the chunk's dictionary passes
			}
		}
	}
	return nil
}

// numbers reports whether a column is the number of each row.
func (s *Scan) numbers(column int) bool { return s.Number != nil && column == s.Schema.NumFields()-1 }

// stored are the columns that Open is asked for.
func (s *Scan) stored(wanted []int) []int {
	if s.Number == nil {
		return wanted
	}
	return slices.DeleteFunc(slices.Clone(wanted), s.numbers)
}

// markDeleted says which rows of an opened chunk are deleted.
func (s *Scan) markDeleted(chunk int, out *C.struct_csm_chunk) error {
	if s.Deleted == nil {
		return nil
	}
	deleted, err := s.Deleted(chunk)
	if err != nil || len(deleted) == 0 {
		return err
	}
	if int64(len(deleted)) != (int64(out.rows)+63)/64 {
		return corrupt("chunk %d has %d rows, and %d words say which are deleted", chunk, int64(out.rows), len(deleted))
	}
	// SAFETY: freed by csm_chunk_release; there is one word at least.
	out.deleted = (*C.uint64_t)(C.calloc(C.size_t(len(deleted)), 8))
	copy(unsafe.Slice((*uint64)(unsafe.Pointer(out.deleted)), len(deleted)), deleted)
	return nil
}

// realign gives nested arrays back the offsets that they have. arrow-go 18.8 exports the fields of a sliced struct or
// union already cut to the slice, and the parent's offset besides, which a reader then applies twice: wrong rows, or a
// crash.
func realign(exported *C.struct_ArrowArray, batch arrow.RecordBatch) {
	if batch.NumCols() == 0 {
		return
	}
	for i, child := range unsafe.Slice(exported.children, int(batch.NumCols())) { // SAFETY: just exported, one child per column
		realignChildren(child, batch.Column(i).Data())
	}
}

func realignChildren(exported *C.struct_ArrowArray, d arrow.ArrayData) {
	if len(d.Children()) == 0 || int(exported.n_children) != len(d.Children()) {
		return
	}
	for i, child := range unsafe.Slice(exported.children, len(d.Children())) { // SAFETY: n_children entries
		raw := d.Children()[i]
		child.offset, child.length = C.int64_t(raw.Offset()), C.int64_t(raw.Len())
		realignChildren(child, raw)
	}
}

// prepareString fills in what the string loops of vector.c need. Everything it derives from bytes of the region is
// checked. False: no row of the chunk passes the column's filters.
func (s *Scan) prepareString(out *C.struct_csm_column, index int, column arrow.Array) (some bool, err error) {
	buffers := column.Data().Buffers()
	switch column.DataType().ID() {
	case arrow.STRING_VIEW, arrow.BINARY_VIEW:
		out.kind = C.CSM_VIEW
		sizes := unsafe.Slice((*C.int64_t)(C.calloc(C.size_t(len(buffers)), 8)), len(buffers)) // SAFETY: freed by csm_chunk_release
		for i, b := range buffers[2:] {
			sizes[i] = C.int64_t(b.Len())
		}
		out.view_sizes = &sizes[0]
	case arrow.STRING, arrow.BINARY:
		out.kind = C.CSM_UTF8
		out.data_size = C.int64_t(lengthOf(buffers[2]))
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		out.kind = C.CSM_LARGE_UTF8
		out.data_size = C.int64_t(lengthOf(buffers[2]))
	case arrow.DICTIONARY:
		return s.prepareDictionary(out, index, column.(*array.Dictionary))
	default:
		return true, fmt.Errorf("a string column cannot be stored as %s", column.DataType())
	}
	if s.Domains[index] != nil {
		return true, fmt.Errorf("the column was promised to be a dictionary and is %s", column.DataType())
	}
	return true, nil
}

const dictionaryCodes = 256

// prepareDictionary makes the tables that codes go through: to strings or to members of the scan's domain, and to
// whether they pass the filters.
func (s *Scan) prepareDictionary(out *C.struct_csm_column, index int, column *array.Dictionary) (some bool, err error) {
	values := column.Dictionary()
	text, ok := values.(interface{ Value(int) string })
	if !ok {
		bytes, isBinary := values.(interface{ Value(int) []byte })
		if !isBinary {
			return true, fmt.Errorf("a dictionary of %s cannot be scanned", values.DataType())
		}
		text = binaryText{bytes}
	}
	if domain := s.Domains[index]; domain != nil {
		err = prepareEnum(out, values.Len(), text.Value, domain)
	} else {
		out.kind = C.CSM_DICTIONARY
		cells := unsafe.Slice((*C.duckdb_string_t)(C.calloc(dictionaryCodes, C.sizeof_duckdb_string_t)), dictionaryCodes) // SAFETY: freed by csm_chunk_release
		out.strings = &cells[0]
		for i := range values.Len() {
			putString(&cells[i], text.Value(i))
		}
	}
	if err != nil {
		return true, err
	}
	keeps := s.keeps(index, values.Len(), text.Value)
	if keeps == nil {
		return true, nil
	}
	keep := unsafe.Slice((*C.uint8_t)(C.calloc(dictionaryCodes, 1)), dictionaryCodes) // SAFETY: freed by csm_chunk_release
	out.keep = &keep[0]
	for i, k := range keeps {
		if k {
			keep[i], some = 1, true
		}
	}
	return some, nil
}

// binaryText reads a dictionary of bytes as text.
type binaryText struct {
	values interface{ Value(int) []byte }
}

func (b binaryText) Value(i int) string {
	v := b.values.Value(i)
	return unsafe.String(unsafe.SliceData(v), len(v)) // SAFETY: D1, D2: the bytes lie in the region until the scan ends
}

func prepareEnum(out *C.struct_csm_column, count int, value func(int) string, domain []string) error {
	out.kind = C.CSM_ENUM
	codes := unsafe.Slice((*C.uint8_t)(C.calloc(dictionaryCodes, 1)), dictionaryCodes) // SAFETY: freed by csm_chunk_release
	out.codes = &codes[0]
	for i := range count {
		v := value(i)
		at := sort.SearchStrings(domain, v)
		if at == len(domain) || domain[at] != v {
			return fmt.Errorf("the value %q is not in the column's domain", v)
		}
		codes[i] = C.uint8_t(at)
	}
	return nil
}

// setPlaces is prepareEnum of codes of a type that users made.
func setPlaces(out *C.struct_csm_column, t *enumeration.Type) {
	// SAFETY: freed by csm_chunk_release
	codes := unsafe.Slice((*C.uint8_t)(C.calloc(dictionaryCodes, 1)), dictionaryCodes)
	out.codes = &codes[0]
	for code, place := range t.Places() {
		codes[code] = C.uint8_t(place)
	}
}

// putString writes a string_t; a long string keeps pointing into the region, where the dictionary lies.
func putString(out *C.duckdb_string_t, s string) {
	cell := unsafe.Slice((*byte)(unsafe.Pointer(out)), 16) // SAFETY: a string_t is 16 bytes
	*(*uint32)(unsafe.Pointer(out)) = uint32(len(s))
	if len(s) <= 12 {
		copy(cell[4:], s)
		return
	}
	copy(cell[4:8], s)
	*(*uintptr)(unsafe.Pointer(&cell[8])) = uintptr(unsafe.Pointer(unsafe.StringData(s))) // SAFETY: D2: the dictionary lies outside of Go's heap
}
