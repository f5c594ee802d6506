package duckdb

/*
#include <stdlib.h>
#include "scan.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// registerJSON makes csm_json known to the database (json.c): DuckDB's to_json writes times without a T, numbers that
// JSON does not have as they are, and fields of rows without names.
func registerJSON(db *Database, c *Connection) error {
	function := bindings.CreateScalarFunction()
	defer bindings.DestroyScalarFunction(&function)
	bindings.ScalarFunctionSetName(function, "csm_json")
	for i, kind := range []bindings.Type{bindings.TypeAny, bindings.TypeVarchar} {
		t := bindings.CreateLogicalType(kind)
		if i == 0 {
			bindings.ScalarFunctionAddParameter(function, t)
		} else {
			bindings.ScalarFunctionSetReturnType(function, t)
		}
		bindings.DestroyLogicalType(&t)
	}
	// SAFETY: a C cell that DuckDB frees with the function; it holds a number, no Go pointer.
	number := (*C.uint64_t)(C.malloc(8))
	*number = C.uint64_t(db.number)
	bindings.ScalarFunctionSetExtraInfo(function, unsafe.Pointer(number), C.free)
	bindings.ScalarFunctionSetBind(function, C.csm_set_config_bind_address())
	bindings.ScalarFunctionSetFunction(function, C.csm_json_address())
	if bindings.RegisterScalarFunction(c.handle, function) == bindings.StateError {
		return fmt.Errorf("DuckDB refused the function csm_json")
	}
	return nil
}

//export csmGoJSON
func csmGoJSON(info, input, output unsafe.Pointer) {
	function := bindings.FunctionInfo{Ptr: info}
	if err := writeJSON(function, bindings.DataChunk{Ptr: input}, bindings.Vector{Ptr: output}); err != nil {
		bindings.ScalarFunctionSetError(function, stateAndText(err))
	}
}

func writeJSON(info bindings.FunctionInfo, input bindings.DataChunk, output bindings.Vector) error {
	// SAFETY: the cells of registerJSON and csmGoSetConfigBind, which live longer than the call.
	number, id := *(*uint64)(bindings.ScalarFunctionGetExtraInfo(info)), *(*uint64)(bindings.ScalarFunctionGetBindData(info))
	c := connectionOf(number, id)
	if c == nil {
		return errClosing
	}
	batch, err := c.arrowOf(input)
	if err != nil {
		return err
	}
	defer batch.Release()
	values := batch.Column(0)
	json, err := pgformat.NewJSONValues(batch.Schema().Field(0), values)
	if err != nil {
		return err
	}
	var text []byte
	for row := range values.Len() {
		if values.IsNull(row) {
			bindings.VectorEnsureValidityWritable(output)
			bindings.ValiditySetRowInvalid(bindings.VectorGetValidity(output), bindings.IdxT(row))
			continue
		}
		if text, err = json.Append(text[:0], row); err != nil {
			return err
		}
		if err := refuseText(len(text)); err != nil {
			return err
		}
		bindings.VectorAssignStringElementLen(output, bindings.IdxT(row), text)
	}
	return nil
}

// arrowOf is a chunk of one column as a batch, which the caller releases.
func (c *Connection) arrowOf(chunk bindings.DataChunk) (arrow.RecordBatch, error) {
	t := bindings.VectorGetColumnType(bindings.DataChunkGetVector(chunk, 0))
	defer bindings.DestroyLogicalType(&t)
	raw, err := c.arrowSchema([]bindings.LogicalType{t}, []string{"value"})
	if err != nil {
		return nil, err
	}
	if hasEnum(raw.Field(0).Type) {
		raw = arrow.NewSchema([]arrow.Field{marked(raw.Field(0), t)}, nil)
	}
	var options bindings.ArrowOptions
	bindings.ConnectionGetArrowOptions(c.handle, &options)
	defer bindings.DestroyArrowOptions(&options)
	var out C.struct_ArrowArray
	var failure *C.char
	if C.csm_chunk_to_arrow(C.duckdb_arrow_options(options.Ptr), C.duckdb_data_chunk(chunk.Ptr), &out, &failure) != 0 {
		return nil, takeError(failure)
	}
	batch, err := cdata.ImportCRecordBatchWithSchema((*cdata.CArrowArray)(unsafe.Pointer(&out)), raw) // SAFETY: one layout
	if err != nil {
		return nil, err
	}
	return normal.Batch(batch, raw, normal.Schema(raw)), nil
}
