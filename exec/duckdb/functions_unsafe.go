package duckdb

/*
#cgo LDFLAGS: -lm
#include <stdlib.h>
#include "scan.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Settler is asked for every row of csm_set_config(name, value, is_local); nil is NULL. It gives what the call gives. DuckDB's threads may
// call it at once, and while they run the connection is busy.
type Settler func(name, value *string, local bool) (shown string, err error)

// OnSetConfig says who decides what csm_set_config does on the connection. Call it before the first statement.
func (c *Connection) OnSetConfig(settler Settler) { c.settler = settler }

// registerSetConfig makes csm_set_config known to the database. It is volatile: planning never calls it.
func registerSetConfig(db *Database, c *Connection) error {
	function := bindings.CreateScalarFunction()
	defer bindings.DestroyScalarFunction(&function)
	bindings.ScalarFunctionSetName(function, "csm_set_config")
	for _, kind := range []bindings.Type{bindings.TypeVarchar, bindings.TypeVarchar, bindings.TypeBoolean} {
		t := bindings.CreateLogicalType(kind)
		bindings.ScalarFunctionAddParameter(function, t)
		bindings.DestroyLogicalType(&t)
	}
	t := bindings.CreateLogicalType(bindings.TypeVarchar)
	bindings.ScalarFunctionSetReturnType(function, t)
	bindings.DestroyLogicalType(&t)
	bindings.ScalarFunctionSetVolatile(function)
	bindings.ScalarFunctionSetSpecialHandling(function)
	// SAFETY: a C cell that DuckDB frees with the function; it holds a number, no Go pointer.
	number := (*C.uint64_t)(C.malloc(8))
	*number = C.uint64_t(db.number)
	bindings.ScalarFunctionSetExtraInfo(function, unsafe.Pointer(number), C.free)
	bindings.ScalarFunctionSetBind(function, C.csm_set_config_bind_address())
	bindings.ScalarFunctionSetFunction(function, C.csm_set_config_run_address())
	if bindings.RegisterScalarFunction(c.handle, function) == bindings.StateError {
		return fmt.Errorf("DuckDB refused the function csm_set_config")
	}
	return nil
}

//export csmGoSetConfigBind
func csmGoSetConfigBind(info unsafe.Pointer) {
	bind := bindings.BindInfo{Ptr: info}
	var client bindings.ClientContext
	bindings.ScalarFunctionGetClientContext(bind, &client)
	id := uint64(bindings.ClientContextGetConnectionId(client))
	bindings.DestroyClientContext(&client)
	// SAFETY: a C cell that DuckDB frees with the plan; it holds a number, no Go pointer.
	cell := (*C.uint64_t)(C.malloc(8))
	*cell = C.uint64_t(id)
	bindings.ScalarFunctionSetBindData(bind, unsafe.Pointer(cell), C.free)
	bindings.ScalarFunctionSetBindDataCopy(bind, C.csm_copy_number_address())
}

//export csmGoSetConfig
func csmGoSetConfig(info, input, output unsafe.Pointer) {
	function := bindings.FunctionInfo{Ptr: info}
	if err := setConfig(function, bindings.DataChunk{Ptr: input}, bindings.Vector{Ptr: output}); err != nil {
		text := err.Error()
		var state interface{ SQLState() string }
		if errors.As(err, &state) {
			text = state.SQLState() + ": " + text
		}
		bindings.ScalarFunctionSetError(function, text)
	}
}

func setConfig(info bindings.FunctionInfo, input bindings.DataChunk, output bindings.Vector) error {
	// SAFETY: the cells of registerSetConfig and csmGoSetConfigBind, which live longer than the call.
	number, id := *(*uint64)(bindings.ScalarFunctionGetExtraInfo(info)), *(*uint64)(bindings.ScalarFunctionGetBindData(info))
	found, ok := databases.Load(number)
	if ok {
		found, ok = found.(*Database).connections.Load(id)
	}
	if !ok {
		return fmt.Errorf("the connection is closing")
	}
	settler := found.(*Connection).settler
	if settler == nil {
		return fmt.Errorf("this connection has no settings")
	}
	names, values := newTexts(input, 0), newTexts(input, 1)
	locals := bindings.DataChunkGetVector(input, 2)
	valid := bindings.VectorGetValidity(locals)
	for row := range uint64(bindings.DataChunkGetSize(input)) {
		// SAFETY: a vector of BOOLEAN has a byte for each of the chunk's rows.
		local := *(*bool)(unsafe.Add(bindings.VectorGetData(locals), row))
		local = local && (valid == nil || bindings.ValidityRowIsValid(valid, bindings.IdxT(row)))
		shown, err := settler(names.at(row), values.at(row), local)
		if err != nil {
			return err
		}
		bindings.VectorAssignStringElement(output, bindings.IdxT(row), shown)
	}
	return nil
}

// texts are a column of a chunk of strings.
type texts struct{ data, valid unsafe.Pointer }

func newTexts(chunk bindings.DataChunk, column int) texts {
	v := bindings.DataChunkGetVector(chunk, bindings.IdxT(column))
	return texts{bindings.VectorGetData(v), bindings.VectorGetValidity(v)}
}

// at copies a row's string; nil is NULL.
func (t texts) at(row uint64) *string {
	if t.valid != nil && !bindings.ValidityRowIsValid(t.valid, bindings.IdxT(row)) {
		return nil
	}
	// SAFETY: a vector of VARCHAR has a duckdb_string_t of 16 bytes for each of the chunk's rows.
	text := string([]byte(bindings.StringTData((*bindings.StringT)(unsafe.Add(t.data, row*16)))))
	return &text
}

// Divide is the function that divides as PostgreSQL's operator does (divide.c): DuckDB's own / of two integers is a
// DOUBLE, and by zero it gives infinity.
const Divide = "csm_divide"

// registerDivide makes it known to the database, for each of the types that csm_divide_address has: DuckDB chooses
// among them as among its own, and brings a DECIMAL to a DOUBLE as its own / does.
func registerDivide(c *Connection) error {
	set := bindings.CreateScalarFunctionSet(Divide)
	defer bindings.DestroyScalarFunctionSet(&set)
	dividends := []bindings.Type{
		bindings.TypeSmallInt, bindings.TypeInteger, bindings.TypeBigInt, bindings.TypeHugeInt, bindings.TypeFloat,
		bindings.TypeDouble, bindings.TypeInterval,
	}
	for i, kind := range dividends {
		function := bindings.CreateScalarFunction()
		divisor := kind
		if kind == bindings.TypeInterval {
			divisor = bindings.TypeDouble
		}
		bindings.ScalarFunctionSetName(function, Divide)
		for _, parameter := range []bindings.Type{kind, divisor} {
			t := bindings.CreateLogicalType(parameter)
			bindings.ScalarFunctionAddParameter(function, t)
			bindings.DestroyLogicalType(&t)
		}
		t := bindings.CreateLogicalType(kind)
		bindings.ScalarFunctionSetReturnType(function, t)
		bindings.DestroyLogicalType(&t)
		bindings.ScalarFunctionSetSpecialHandling(function)
		bindings.ScalarFunctionSetFunction(function, C.csm_divide_address(C.int32_t(i)))
		state := bindings.AddScalarFunctionToSet(set, function)
		bindings.DestroyScalarFunction(&function)
		if state == bindings.StateError {
			return fmt.Errorf("DuckDB refused an overload of %s", Divide)
		}
	}
	if bindings.RegisterScalarFunctionSet(c.handle, set) == bindings.StateError {
		return fmt.Errorf("DuckDB refused the function %s", Divide)
	}
	return nil
}
