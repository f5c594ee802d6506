package duckdb

/*
#include <stdlib.h>
#include <string.h>
#include "scan.h"
*/
import "C"

import (
	"fmt"
	"sort"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// registerScans makes csm_scan(number) and csm_table(schema, name) known to the database.
func registerScans(db *Database, c *Connection) error {
	for _, f := range []struct {
		name       string
		parameters []bindings.Type
	}{
		{"csm_scan", []bindings.Type{bindings.TypeBigInt}},
		{"csm_table", []bindings.Type{bindings.TypeVarchar, bindings.TypeVarchar}},
	} {
		function := bindings.CreateTableFunction()
		bindings.TableFunctionSetName(function, f.name)
		for _, p := range f.parameters {
			t := bindings.CreateLogicalType(p)
			bindings.TableFunctionAddParameter(function, t)
			bindings.DestroyLogicalType(&t)
		}
		// SAFETY: a C cell that DuckDB frees with the function; it holds a number, no Go pointer.
		number := (*C.uint64_t)(C.malloc(8))
		*number = C.uint64_t(db.number)
		bindings.TableFunctionSetExtraInfo(function, unsafe.Pointer(number), C.free)
		bindings.TableFunctionSetBind(function, C.csm_scan_bind_address())
		bindings.TableFunctionSetInit(function, C.csm_scan_init_address())
		bindings.TableFunctionSetLocalInit(function, C.csm_scan_local_init_address())
		bindings.TableFunctionSetFunction(function, C.csm_scan_run_address())
		bindings.TableFunctionSupportsProjectionPushdown(function, true)
		state := bindings.RegisterTableFunction(c.handle, function)
		bindings.DestroyTableFunction(&function)
		if state == bindings.StateError {
			return fmt.Errorf("exec/duckdb: DuckDB refused the table function %s", f.name)
		}
	}
	return nil
}

//export csmGoBind
func csmGoBind(info unsafe.Pointer) {
	bind := bindings.BindInfo{Ptr: info}
	if err := bindScan(bind); err != nil {
		bindings.BindSetError(bind, err.Error())
	}
}

func bindScan(info bindings.BindInfo) error {
	// SAFETY: the cell that registerScans made; DuckDB keeps it as long as the function.
	number := *(*uint64)(bindings.BindGetExtraInfo(info))
	found, ok := databases.Load(number)
	if !ok {
		return fmt.Errorf("XX000: the database is closing")
	}
	db := found.(*Database)
	var client bindings.ClientContext
	bindings.TableFunctionGetClientContext(info, &client)
	id := uint64(bindings.ClientContextGetConnectionId(client))
	bindings.DestroyClientContext(&client)
	found, ok = db.connections.Load(id)
	if !ok {
		return fmt.Errorf("XX000: the connection is closing")
	}
	c := found.(*Connection)
	scan, handle, err := findScan(info, c)
	if err != nil {
		return err
	}
	types, err := c.logicalTypes(scan)
	if err != nil {
		scans.drop(handle)
		return err
	}
	for i, f := range scan.Schema.Fields() {
		bindings.BindAddResultColumn(info, f.Name, types[i])
		bindings.DestroyLogicalType(&types[i])
	}
	bindings.BindSetCardinality(info, bindings.IdxT(scan.estimate()), false)
	// SAFETY: C memory that csm_bind_destroy frees; it holds numbers and DuckDB's own connection pointer.
	data := (*C.struct_csm_bind)(C.calloc(1, C.sizeof_struct_csm_bind))
	data.scan = C.uint64_t(handle)
	data.connection = C.duckdb_connection(c.handle.Ptr)
	data.column_count = C.int64_t(scan.Schema.NumFields())
	data.rows = C.int64_t(scan.Rows)
	bindings.BindSetBindData(info, unsafe.Pointer(data), C.csm_bind_destroy_address())
	return nil
}

// findScan takes a reference to the scan that the function's parameters name.
func findScan(info bindings.BindInfo, c *Connection) (*Scan, uint64, error) {
	first := bindings.BindGetParameter(info, 0)
	defer bindings.DestroyValue(&first)
	if bindings.BindGetParameterCount(info) == 1 {
		handle := uint64(bindings.GetInt64(first))
		scan, err := scans.hold(handle, c)
		return scan, handle, err
	}
	second := bindings.BindGetParameter(info, 1)
	defer bindings.DestroyValue(&second)
	if c.resolve == nil {
		return nil, 0, fmt.Errorf("42P01: csm_table: this connection sees no tables")
	}
	scan, err := c.resolve(bindings.GetVarchar(first), bindings.GetVarchar(second))
	if err != nil {
		return nil, 0, err
	}
	return scan, scans.add(scan, c), nil // the plan owns the only reference
}

//export csmGoReleaseScan
func csmGoReleaseScan(number C.uint64_t) { scans.drop(uint64(number)) }

//export csmGoChunkCount
func csmGoChunkCount(number C.uint64_t) C.int64_t { return C.int64_t(scans.get(uint64(number)).Chunks) }

// indexes copies a C array of column indexes.
func indexes(columns *C.int64_t, count C.int64_t) []int {
	out := make([]int, int(count))
	for i, c := range unsafe.Slice(columns, int(count)) { // SAFETY: scan.c passes count valid entries
		out[i] = int(c)
	}
	return out
}

//export csmGoConvertedSchema
func csmGoConvertedSchema(number C.uint64_t, columns *C.int64_t, count C.int64_t, out *C.struct_ArrowSchema, converted *C.int64_t) *C.char {
	schema := scans.get(uint64(number)).Schema
	var fields []arrow.Field
	for _, i := range indexes(columns, count) {
		if f := schema.Field(i); !isString(f) {
			fields = append(fields, f)
		}
	}
	*converted = C.int64_t(len(fields))
	cdata.ExportArrowSchema(arrow.NewSchema(fields, nil), (*cdata.CArrowSchema)(unsafe.Pointer(out))) // SAFETY: one layout, the Arrow C data interface
	return nil
}

//export csmGoOpenChunk
func csmGoOpenChunk(number C.uint64_t, chunk C.int64_t, columns *C.int64_t, count C.int64_t, out *C.struct_csm_chunk) (failure *C.char) {
	defer func() {
		if r := recover(); r != nil { // a bug of ours must fail the query, not the process: there is no Go frame above us
			failure = C.CString(fmt.Sprintf("XX000: opening a chunk: %v", r))
		}
	}()
	scan := scans.get(uint64(number))
	wanted := indexes(columns, count)
	batch, err := scan.Open(int(chunk), wanted)
	if err != nil {
		return C.CString(stateOf(err) + ": " + err.Error())
	}
	defer batch.Release()
	exported := (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
	cdata.ExportArrowRecordBatch(batch, (*cdata.CArrowArray)(unsafe.Pointer(exported)), nil) // SAFETY: one layout
	out.batch = exported
	out.rows = C.int64_t(batch.NumRows())
	prepared := unsafe.Slice(out.columns, len(wanted)) // SAFETY: scan.c allocated one for each wanted column
	children := unsafe.Slice(exported.children, len(wanted))
	position := 0
	for i, column := range wanted {
		prepared[i].array = children[i]
		field := scan.Schema.Field(column)
		if !isString(field) {
			if !arrow.TypeEqual(batch.Column(i).DataType(), field.Type) {
				return C.CString(fmt.Sprintf("XX001: column %q of a chunk is %s, the table has %s", field.Name, batch.Column(i).DataType(), field.Type))
			}
			prepared[i].kind = C.CSM_CONVERT
			prepared[i].convert_position = C.int32_t(position)
			position++
			continue
		}
		if err := prepareString(&prepared[i], batch.Column(i), scan.Domains[column]); err != nil {
			return C.CString(fmt.Sprintf("XX001: column %q: %v", field.Name, err))
		}
	}
	return nil
}

// prepareString fills in what the string loops of scan.c need. Everything it derives from bytes of the region is checked.
func prepareString(out *C.struct_csm_column, column arrow.Array, domain []string) error {
	buffers := column.Data().Buffers()
	switch column.DataType().ID() {
	case arrow.STRING_VIEW, arrow.BINARY_VIEW:
		out.kind = C.CSM_VIEW
		sizes := unsafe.Slice((*C.int64_t)(C.calloc(C.size_t(len(buffers)), 8)), len(buffers)) // SAFETY: freed by release_chunk
		for i, b := range buffers[2:] {
			sizes[i] = C.int64_t(b.Len())
		}
		out.view_sizes = &sizes[0]
	case arrow.STRING, arrow.BINARY:
		out.kind = C.CSM_UTF8
		if buffers[2] != nil {
			out.data_size = C.int64_t(buffers[2].Len())
		}
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		out.kind = C.CSM_LARGE_UTF8
		if buffers[2] != nil {
			out.data_size = C.int64_t(buffers[2].Len())
		}
	case arrow.DICTIONARY:
		return prepareDictionary(out, column.(*array.Dictionary), domain)
	default:
		return fmt.Errorf("a string column cannot be stored as %s", column.DataType())
	}
	if domain != nil {
		return fmt.Errorf("the column was promised to be a dictionary and is %s", column.DataType())
	}
	return nil
}

const dictionaryCodes = 256

// prepareDictionary makes the table that codes go through: to strings, or to the members of the scan's domain.
func prepareDictionary(out *C.struct_csm_column, column *array.Dictionary, domain []string) error {
	if index := column.DataType().(*arrow.DictionaryType).IndexType.ID(); index != arrow.UINT8 {
		return fmt.Errorf("dictionary codes must be uint8, not %s", index)
	}
	values := column.Dictionary()
	text, ok := values.(interface{ Value(int) string })
	if !ok || values.Len() > dictionaryCodes {
		return fmt.Errorf("a dictionary of %d values of %s cannot be scanned", values.Len(), values.DataType())
	}
	if domain != nil {
		out.kind = C.CSM_ENUM
		codes := unsafe.Slice((*C.uint8_t)(C.calloc(dictionaryCodes, 1)), dictionaryCodes) // SAFETY: freed by release_chunk
		out.codes = &codes[0]
		for i := range values.Len() {
			v := text.Value(i)
			at := sort.SearchStrings(domain, v)
			if at == len(domain) || domain[at] != v {
				return fmt.Errorf("the value %q is not in the column's domain", v)
			}
			codes[i] = C.uint8_t(at)
		}
		return nil
	}
	out.kind = C.CSM_DICTIONARY
	strings := unsafe.Slice((*C.duckdb_string_t)(C.calloc(dictionaryCodes, C.sizeof_duckdb_string_t)), dictionaryCodes) // SAFETY: freed by release_chunk
	out.strings = &strings[0]
	for i := range values.Len() {
		putString(&strings[i], text.Value(i))
	}
	return nil
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

// logicalTypes finds the DuckDB types of a scan's columns. The caller destroys them.
func (c *Connection) logicalTypes(scan *Scan) ([]bindings.LogicalType, error) {
	fields := scan.Schema.Fields()
	types := make([]bindings.LogicalType, len(fields))
	var converted []arrow.Field
	var positions []int
	for i, f := range fields {
		domain := scan.Domains[i]
		switch {
		case !isString(f):
			converted = append(converted, f)
			positions = append(positions, i)
		case domain != nil:
			types[i] = bindings.CreateEnumType(domain)
		case f.Type.ID() == arrow.BINARY || f.Type.ID() == arrow.LARGE_BINARY || f.Type.ID() == arrow.BINARY_VIEW:
			types[i] = bindings.CreateLogicalType(bindings.TypeBlob)
		default:
			types[i] = bindings.CreateLogicalType(bindings.TypeVarchar)
		}
	}
	if len(converted) == 0 {
		return types, nil
	}
	found, err := c.typesFromArrow(arrow.NewSchema(converted, nil))
	for i, t := range found {
		types[positions[i]] = t
	}
	return types, err
}

// typesFromArrow asks DuckDB what it makes of an Arrow schema by letting it convert an empty batch.
func (c *Connection) typesFromArrow(schema *arrow.Schema) ([]bindings.LogicalType, error) {
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	empty := builder.NewRecordBatch()
	defer empty.Release()
	var cSchema C.struct_ArrowSchema
	cArray := (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
	defer C.free(unsafe.Pointer(cArray))
	// SAFETY: one layout, the Arrow C data interface.
	cdata.ExportArrowRecordBatch(empty, (*cdata.CArrowArray)(unsafe.Pointer(cArray)), (*cdata.CArrowSchema)(unsafe.Pointer(&cSchema)))
	defer cdata.ReleaseCArrowSchema((*cdata.CArrowSchema)(unsafe.Pointer(&cSchema)))
	n := schema.NumFields()
	pointers := (*unsafe.Pointer)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(pointers))
	var failure *C.char
	if C.csm_types_from_arrow(C.duckdb_connection(c.handle.Ptr), &cSchema, cArray, pointers, &failure) != 0 {
		return nil, takeError(failure)
	}
	types := make([]bindings.LogicalType, n)
	for i, p := range unsafe.Slice(pointers, n) {
		types[i] = bindings.LogicalType{Ptr: p}
	}
	return types, nil
}

// takeError turns a C error text into an error and frees it.
func takeError(text *C.char) error {
	defer C.free(unsafe.Pointer(text))
	return parseError(C.GoString(text))
}

func stateOf(err error) string {
	if s, ok := err.(interface{ SQLState() string }); ok {
		return s.SQLState()
	}
	return "XX000"
}
