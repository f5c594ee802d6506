package duckdb

/*
#include <stdlib.h>
#include "scan.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/enumeration"
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
			return fmt.Errorf("DuckDB refused the table function %s", f.name)
		}
	}
	return nil
}

// cardinalityIsEstimate is the flag is_exact of duckdb_bind_set_cardinality for a number that is only an estimate.
// DuckDB 1.5.5 has it the wrong way round (duckdb#22077): false would promise that the scan has no more rows, and sum()
// of a bounded expression would then be added up in 64 bits without looking for an overflow. A later DuckDB that has it
// right turns TestAnEstimateIsNoPromise red: then it is false.
const cardinalityIsEstimate = true

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
	if err := scan.checkFilters(); err != nil {
		scans.drop(handle)
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
	bindings.BindSetCardinality(info, bindings.IdxT(scan.estimate()), cardinalityIsEstimate)
	// SAFETY: C memory that csm_bind_destroy frees; it holds numbers and DuckDB's own connection pointer.
	data := (*C.struct_csm_bind)(C.calloc(1, C.sizeof_struct_csm_bind))
	data.scan = C.uint64_t(handle)
	data.connection = C.duckdb_connection(c.handle.Ptr)
	data.session = c.session
	C.csm_session_hold(c.session)
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

// logicalTypes finds the DuckDB types of a scan's columns. The caller destroys them.
func (c *Connection) logicalTypes(scan *Scan) ([]bindings.LogicalType, error) {
	fields := scan.Schema.Fields()
	types := make([]bindings.LogicalType, len(fields))
	var converted []arrow.Field
	var positions []int
	for i, f := range fields {
		domain := scan.Domains[i]
		simple, isSimple := simpleType(f)
		user, isUser := f.Type.(*enumeration.Type)
		switch {
		case isUser:
			types[i] = enumType(user.Words())
		case isSimple:
			types[i] = simple
		case !isString(f) || f.Metadata.FindKey(normal.ExtensionName) >= 0: // JSON lies as text does, and is not it
			converted = append(converted, f)
			positions = append(positions, i)
		case domain != nil:
			types[i] = enumType(domain)
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

// enumType is ENUM of words. The bindings' own writes its list of names, from Go, into memory that was not cleared: a
// collection that goes on meanwhile takes what lay there for pointers, and may end the process.
func enumType(words []string) bindings.LogicalType {
	size := 1
	for _, w := range words {
		size += len(w) + 1
	}
	text := make([]byte, 0, size)
	for _, w := range words {
		text = append(append(text, w...), 0)
	}
	text = append(text, 0) // so that there is a first byte
	// SAFETY: the words are read during the call.
	made := C.csm_enum_type((*C.char)(unsafe.Pointer(&text[0])), C.uint64_t(len(words)))
	return bindings.LogicalType{Ptr: unsafe.Pointer(made)}
}

var simpleTypes = map[arrow.Type]bindings.Type{
	arrow.BOOL: bindings.TypeBoolean, arrow.INT8: bindings.TypeTinyInt, arrow.INT16: bindings.TypeSmallInt,
	arrow.INT32: bindings.TypeInteger, arrow.INT64: bindings.TypeBigInt, arrow.UINT8: bindings.TypeUTinyInt,
	arrow.UINT16: bindings.TypeUSmallInt, arrow.UINT32: bindings.TypeUInteger, arrow.UINT64: bindings.TypeUBigInt,
	arrow.FLOAT32: bindings.TypeFloat, arrow.FLOAT64: bindings.TypeDouble, arrow.DATE32: bindings.TypeDate,
	arrow.TIME64: bindings.TypeTime,
}

var timestampTypes = map[arrow.TimeUnit]bindings.Type{
	arrow.Second: bindings.TypeTimestampS, arrow.Millisecond: bindings.TypeTimestampMS,
	arrow.Microsecond: bindings.TypeTimestamp, arrow.Nanosecond: bindings.TypeTimestampNS,
}

// simpleType knows what DuckDB makes of columns that vector.c fills without it. Asking DuckDB takes longer than all the
// rest of a bind.
func simpleType(f arrow.Field) (bindings.LogicalType, bool) {
	if kind := kindOf(f); kind != C.CSM_FIXED && kind != C.CSM_BOOL || f.Metadata.FindKey(normal.ExtensionName) >= 0 {
		return bindings.LogicalType{}, false
	}
	switch t := f.Type.(type) {
	case arrow.DecimalType:
		return bindings.CreateDecimalType(uint8(t.GetPrecision()), uint8(t.GetScale())), true
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return bindings.CreateLogicalType(bindings.TypeTimestampTZ), true
		}
		return bindings.CreateLogicalType(timestampTypes[t.Unit]), true
	}
	return bindings.CreateLogicalType(simpleTypes[f.Type.ID()]), true
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
	var stated interface{ SQLState() string }
	if errors.As(err, &stated) {
		return stated.SQLState()
	}
	return "XX000"
}
