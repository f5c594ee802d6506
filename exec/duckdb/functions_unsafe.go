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

// Settler is asked for every row of csm_set_config(name, value, is_local); nil is NULL. It gives what the call gives.
// DuckDB's threads may call it at once, and while they run the connection is busy.
type Settler func(name, value *string, local bool) (shown string, err error)

// OnSetConfig sets the function that csm_set_config calls on the connection. Call it before the first statement.
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
		bindings.ScalarFunctionSetError(function, stateAndText(err))
	}
}

// stateAndText is an error's text with its SQLSTATE before it, which parseError reads.
func stateAndText(err error) string {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState() + ": " + err.Error()
	}
	return err.Error()
}

func setConfig(info bindings.FunctionInfo, input bindings.DataChunk, output bindings.Vector) error {
	// SAFETY: the cells of registerSetConfig and csmGoSetConfigBind, which live longer than the call.
	number, id := *(*uint64)(bindings.ScalarFunctionGetExtraInfo(info)), *(*uint64)(bindings.ScalarFunctionGetBindData(info))
	c := connectionOf(number, id)
	if c == nil {
		return errClosing
	}
	settler := c.settler
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

var errClosing = errors.New("the connection is closing")

// connectionOf is the connection that a plan was bound by; nil: it is closing.
func connectionOf(database, id uint64) *Connection {
	found, ok := databases.Load(database)
	if ok {
		found, ok = found.(*Database).connections.Load(id)
	}
	if !ok {
		return nil
	}
	return found.(*Connection)
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

// registerClock makes csm_clock known to the database (clock.c). It is volatile: planning never calls it.
func registerClock(c *Connection) error {
	function := bindings.CreateScalarFunction()
	defer bindings.DestroyScalarFunction(&function)
	bindings.ScalarFunctionSetName(function, "csm_clock")
	t := bindings.CreateLogicalType(bindings.TypeTimestampTZ)
	bindings.ScalarFunctionSetReturnType(function, t)
	bindings.DestroyLogicalType(&t)
	bindings.ScalarFunctionSetVolatile(function)
	bindings.ScalarFunctionSetFunction(function, C.csm_clock_address())
	if bindings.RegisterScalarFunction(c.handle, function) == bindings.StateError {
		return fmt.Errorf("DuckDB refused the function csm_clock")
	}
	return nil
}

// SequenceFunction is one of the functions of sequences, by the number that it has in C.
type SequenceFunction uint8

// The functions. Those that take a number of a sequence are for texts of the engine's own.
const (
	NextValue      SequenceFunction = iota // csm_nextval(name)
	NextValueOf                            // csm_nextval__of(number)
	CurrentValue                           // csm_currval(name)
	LastValue                              // csm_lastval()
	SetValue                               // csm_setval(name, value)
	SetValueCalled                         // csm_setval(name, value, is_called)
	SequenceState                          // csm_sequence(number, what): see StateLast
	sequenceFunctionsCount
)

// What SequenceState returns: the last value, whether that was given out (1 or 0), and the last value if it was.
const (
	StateLast   = 0
	StateCalled = 1
	StateGiven  = 2
)

var sequenceFunctions = [sequenceFunctionsCount]struct {
	name       string
	parameters []bindings.Type
}{
	NextValue:      {"csm_nextval", []bindings.Type{bindings.TypeVarchar}},
	NextValueOf:    {"csm_nextval__of", []bindings.Type{bindings.TypeBigInt}},
	CurrentValue:   {"csm_currval", []bindings.Type{bindings.TypeVarchar}},
	LastValue:      {"csm_lastval", nil},
	SetValue:       {"csm_setval", []bindings.Type{bindings.TypeVarchar, bindings.TypeBigInt}},
	SetValueCalled: {"csm_setval", []bindings.Type{bindings.TypeVarchar, bindings.TypeBigInt, bindings.TypeBoolean}},
	SequenceState:  {"csm_sequence", []bindings.Type{bindings.TypeBigInt, bindings.TypeBigInt}},
}

// SequenceCall is one call of such a function, or several with the same arguments.
type SequenceCall struct {
	Function SequenceFunction
	Name     string // of the sequence
	Number   int64  // likewise, of NextValueOf and SequenceState
	Value    int64  // of SetValue, and what SequenceState is asked for
	Called   bool   // of SetValueCalled
	Rows     int    // how many values are wanted
}

// Counter answers calls of the functions of sequences, with as many values as are wanted, or none for NULL. DuckDB's
// threads may call it at once, and while they run the connection is busy.
type Counter func(call SequenceCall) ([]int64, error)

// OnSequence sets the function that answers for sequences on the connection. Call it before the first statement.
func (c *Connection) OnSequence(counter Counter) { c.counter = counter }

// registerSequences makes the functions of sequences known to the database. They are volatile: planning never calls
// them, and each row has its own call.
func registerSequences(db *Database, c *Connection) error {
	for at := SequenceFunction(0); at < sequenceFunctionsCount; at++ {
		if at == SetValueCalled { // is in the set of SetValue
			continue
		}
		last := at
		if at == SetValue {
			last = SetValueCalled
		}
		set := bindings.CreateScalarFunctionSet(sequenceFunctions[at].name)
		refused := false
		for each := at; each <= last; each++ {
			function := sequenceFunction(db, each)
			refused = bindings.AddScalarFunctionToSet(set, function) == bindings.StateError || refused
			bindings.DestroyScalarFunction(&function)
		}
		refused = bindings.RegisterScalarFunctionSet(c.handle, set) == bindings.StateError || refused
		bindings.DestroyScalarFunctionSet(&set)
		if refused {
			return fmt.Errorf("DuckDB refused the function %s", sequenceFunctions[at].name)
		}
	}
	return nil
}

func sequenceFunction(db *Database, f SequenceFunction) bindings.ScalarFunction {
	function := bindings.CreateScalarFunction()
	bindings.ScalarFunctionSetName(function, sequenceFunctions[f].name)
	for _, kind := range sequenceFunctions[f].parameters {
		t := bindings.CreateLogicalType(kind)
		bindings.ScalarFunctionAddParameter(function, t)
		bindings.DestroyLogicalType(&t)
	}
	t := bindings.CreateLogicalType(bindings.TypeBigInt)
	bindings.ScalarFunctionSetReturnType(function, t)
	bindings.DestroyLogicalType(&t)
	bindings.ScalarFunctionSetVolatile(function)
	bindings.ScalarFunctionSetSpecialHandling(function)
	// SAFETY: a C cell that DuckDB frees with the function; it holds numbers, no Go pointer.
	cell := (*[2]C.uint64_t)(C.malloc(16))
	*cell = [2]C.uint64_t{C.uint64_t(db.number), C.uint64_t(f)}
	bindings.ScalarFunctionSetExtraInfo(function, unsafe.Pointer(cell), C.free)
	bindings.ScalarFunctionSetBind(function, C.csm_set_config_bind_address())
	bindings.ScalarFunctionSetFunction(function, C.csm_sequence_address())
	return function
}

//export csmGoSequence
func csmGoSequence(info, input, output unsafe.Pointer) {
	function := bindings.FunctionInfo{Ptr: info}
	if err := callSequence(function, bindings.DataChunk{Ptr: input}, bindings.Vector{Ptr: output}); err != nil {
		bindings.ScalarFunctionSetError(function, stateAndText(err))
	}
}

func callSequence(info bindings.FunctionInfo, input bindings.DataChunk, output bindings.Vector) error {
	// SAFETY: the cells of sequenceFunction and csmGoSetConfigBind, which live longer than the call.
	cell := *(*[2]uint64)(bindings.ScalarFunctionGetExtraInfo(info))
	id := *(*uint64)(bindings.ScalarFunctionGetBindData(info))
	c := connectionOf(cell[0], id)
	if c == nil {
		return errClosing
	}
	if c.counter == nil {
		return fmt.Errorf("this connection has no sequences")
	}
	f, rows := SequenceFunction(cell[1]), uint64(bindings.DataChunkGetSize(input))
	// SAFETY: a vector of BIGINT has eight bytes for each of the chunk's rows.
	out := unsafe.Slice((*int64)(bindings.VectorGetData(output)), rows)
	for row := uint64(0); row < rows; {
		call, known := callAt(f, input, row)
		for next := row + uint64(call.Rows); known && next < rows; next++ {
			if more, also := callAt(f, input, next); !also || more != single(call) {
				break
			}
			call.Rows++
		}
		var values []int64
		if known {
			var err error
			if values, err = c.counter(call); err != nil {
				return err
			}
		}
		for i := range call.Rows {
			if len(values) > i {
				out[row+uint64(i)] = values[i]
				continue
			}
			bindings.VectorEnsureValidityWritable(output)
			bindings.ValiditySetRowInvalid(bindings.VectorGetValidity(output), bindings.IdxT(row)+bindings.IdxT(i))
		}
		row += uint64(call.Rows)
	}
	return nil
}

// single is a call of one row.
func single(call SequenceCall) SequenceCall {
	call.Rows = 1
	return call
}

// callAt is the call of one row; known is false if one of its arguments is NULL.
func callAt(f SequenceFunction, input bindings.DataChunk, row uint64) (call SequenceCall, known bool) {
	call = SequenceCall{Function: f, Rows: 1}
	for column, kind := range sequenceFunctions[f].parameters {
		vector := bindings.DataChunkGetVector(input, bindings.IdxT(column))
		valid := bindings.VectorGetValidity(vector)
		if valid != nil && !bindings.ValidityRowIsValid(valid, bindings.IdxT(row)) {
			return call, false
		}
		data := bindings.VectorGetData(vector)
		switch {
		case kind == bindings.TypeVarchar:
			call.Name = *newTexts(input, column).at(row)
		case kind == bindings.TypeBoolean:
			// SAFETY: a vector of BOOLEAN has a byte for each of the chunk's rows.
			call.Called = *(*bool)(unsafe.Add(data, row))
		default:
			// SAFETY: a vector of BIGINT has eight bytes for each of the chunk's rows.
			value := *(*int64)(unsafe.Add(data, row*8))
			if column == 0 {
				call.Number = value
			} else {
				call.Value = value
			}
		}
	}
	return call, true
}
