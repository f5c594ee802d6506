package duckdb

/*
#include "scan.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// DuckDB replans a statement that has parameters for every execution, by the types of the values that are bound, and
// then the result's columns may be of other types, too: coalesce(a_smallint, $1) is a SMALLINT when it is prepared, and
// an INTEGER for the value 40000. So a value is made one of the parameter's type where that loses nothing, and what
// other values make of the columns is cast to what the statement reported (D12).

// promise is the columns that a statement reported before it ran for the first time: after that, DuckDB reports those
// of the last plan.
type promise struct {
	types []bindings.LogicalType
	names []string
}

// columns are the names and types of the statement's first plan.
func (s *Statement) columns() promise {
	if s.promise != nil {
		return *s.promise
	}
	n := int(bindings.PreparedStatementColumnCount(s.handle))
	p := promise{types: make([]bindings.LogicalType, n), names: make([]string, n)}
	for i := range n {
		p.types[i] = bindings.PreparedStatementColumnLogicalType(s.handle, bindings.IdxT(i))
		p.names[i] = bindings.PreparedStatementColumnName(s.handle, bindings.IdxT(i))
	}
	s.promise = &p
	return p
}

func (p *promise) destroy() {
	if p == nil {
		return
	}
	for i := range p.types {
		bindings.DestroyLogicalType(&p.types[i])
	}
}

// promised is the type that a statement's first plan gave a parameter.
type promised struct {
	id   bindings.Type
	kind bindings.LogicalType
}

func promises(handle bindings.PreparedStatement) []promised {
	out := make([]promised, int(bindings.NParams(handle)))
	for i := range out {
		index := bindings.IdxT(i + 1)
		out[i] = promised{id: bindings.ParamType(handle, index), kind: bindings.ParamLogicalType(handle, index)}
	}
	return out
}

// Types whose values a cast without a session makes what any other would. Text of bytes, of dates and of instants
// is not among them: it means what cast.c and the session's time zone say.
var (
	numbers = []bindings.Type{
		bindings.TypeTinyInt, bindings.TypeSmallInt, bindings.TypeInteger, bindings.TypeBigInt, bindings.TypeHugeInt,
		bindings.TypeUTinyInt, bindings.TypeUSmallInt, bindings.TypeUInteger, bindings.TypeUBigInt,
		bindings.TypeUHugeInt, bindings.TypeDecimal, bindings.TypeFloat, bindings.TypeDouble,
	}
	times = []bindings.Type{
		bindings.TypeDate, bindings.TypeTimestamp, bindings.TypeTimestampS, bindings.TypeTimestampMS,
		bindings.TypeTimestampNS,
	}
	read = append(slices.Clone(numbers),
		bindings.TypeBoolean, bindings.TypeUUID, bindings.TypeEnum, bindings.TypeInterval, bindings.TypeTime)
)

// fit makes a value one of the parameter's type, if it stays what it is; else it is left alone. It takes value and
// gives one.
func (p promised) fit(value bindings.Value) bindings.Value {
	own := bindings.GetValueType(value) // the value's, not to be destroyed
	from := bindings.GetTypeId(own)
	if from == p.id && from != bindings.TypeDecimal {
		return value
	}
	exactly := func(among []bindings.Type) bool { return slices.Contains(among, from) && slices.Contains(among, p.id) }
	switch {
	case from == bindings.TypeSQLNull, from == bindings.TypeVarchar && slices.Contains(read, p.id):
		if cast, ok := castValue(value, p.kind); ok {
			bindings.DestroyValue(&value)
			return cast
		}
	case exactly(numbers), exactly(times):
		cast, ok := castValue(value, p.kind)
		if !ok {
			break
		}
		back, ok := castValue(cast, own)
		same := ok && sameValue(back, value)
		if ok {
			bindings.DestroyValue(&back)
		}
		if same {
			bindings.DestroyValue(&value)
			return cast
		}
		bindings.DestroyValue(&cast)
	}
	return value
}

// casts is the statement's text with each column that a plan has made another one cast to what was promised: to
// itself and back if that loses nothing, else it is an error. ok is false where no cast can keep the promise.
func (p promise) casts(sql string, got []bindings.LogicalType) (text string, ok bool) {
	if len(got) != len(p.types) {
		return "", false
	}
	columns, names := make([]string, len(got)), make([]string, len(got))
	for i := range got {
		names[i] = fmt.Sprintf("c%d", i)
		columns[i] = names[i] + " AS " + QuoteIdentifier(p.names[i])
		if sameType(got[i], p.types[i]) {
			continue
		}
		from, readable := typeName(got[i])
		to, writable := typeName(p.types[i])
		if !readable || !writable {
			return "", false
		}
		cast := "CAST(" + names[i] + " AS " + to + ")"
		if strict := "TRY_" + cast; !approximate(bindings.GetTypeId(got[i]), bindings.GetTypeId(p.types[i])) {
			message := fmt.Sprintf("22003: a parameter's value makes values of %s in column %s, whose type is %s",
				from, QuoteIdentifier(p.names[i]), to)
			cast = "CASE WHEN " + names[i] + " IS NOT DISTINCT FROM CAST(" + strict + " AS " + from + ") THEN " + strict +
				" ELSE error(" + QuoteLiteral(message) + ") END"
		}
		columns[i] = cast + " AS " + QuoteIdentifier(p.names[i])
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM (" + strings.TrimRight(sql, "; \t\r\n") + "\n) AS promised(" +
		strings.Join(names, ", ") + ")", true
}

// approximate reports whether a cast keeps what values mean, though they may not cast back: to a floating-point number,
// from text and to text.
func approximate(from, to bindings.Type) bool {
	return from == bindings.TypeVarchar || to == bindings.TypeVarchar || to == bindings.TypeDouble || to == bindings.TypeFloat
}

const castHint = "Say of what type the parameter is: $1::numeric(20,4)."

// errPromise is PostgreSQL's error, word for word: drivers look for it.
func errPromise() error {
	return &Error{Message: "cached plan must not change result type", State: "0A000", Byte: -1,
		HintText: "Say of what type the parameters are ($1::bigint), or prepare the statement again."}
}

// typeNames are SQL's names of types without parts.
var typeNames = map[bindings.Type]string{
	bindings.TypeBoolean: "BOOLEAN", bindings.TypeTinyInt: "TINYINT", bindings.TypeSmallInt: "SMALLINT",
	bindings.TypeInteger: "INTEGER", bindings.TypeBigInt: "BIGINT", bindings.TypeHugeInt: "HUGEINT",
	bindings.TypeUTinyInt: "UTINYINT", bindings.TypeUSmallInt: "USMALLINT", bindings.TypeUInteger: "UINTEGER",
	bindings.TypeUBigInt: "UBIGINT", bindings.TypeUHugeInt: "UHUGEINT", bindings.TypeFloat: "FLOAT",
	bindings.TypeDouble:  "DOUBLE",
	bindings.TypeVarchar: "VARCHAR", bindings.TypeBlob: "BLOB", bindings.TypeDate: "DATE", bindings.TypeTime: "TIME",
	bindings.TypeTimestamp: "TIMESTAMP", bindings.TypeTimestampS: "TIMESTAMP_S", bindings.TypeTimestampMS: "TIMESTAMP_MS",
	bindings.TypeTimestampNS: "TIMESTAMP_NS", bindings.TypeTimestampTZ: "TIMESTAMPTZ", bindings.TypeTimeTZ: "TIMETZ",
	bindings.TypeTimeNS: "TIME_NS", bindings.TypeInterval: "INTERVAL", bindings.TypeUUID: "UUID", bindings.TypeBit: "BIT",
	bindings.TypeBigNum: "BIGNUM",
}

// typeName is a type in SQL; ok is false for types to which nothing is cast here.
func typeName(t bindings.LogicalType) (name string, ok bool) {
	if bindings.LogicalTypeGetAlias(t) != "" {
		return "", false
	}
	var element bindings.LogicalType
	suffix := "[]"
	switch id := bindings.GetTypeId(t); id {
	case bindings.TypeDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", bindings.DecimalWidth(t), bindings.DecimalScale(t)), true
	case bindings.TypeEnum:
		words := make([]string, bindings.EnumDictionarySize(t))
		for i := range words {
			words[i] = QuoteLiteral(bindings.EnumDictionaryValue(t, bindings.IdxT(i)))
		}
		return "ENUM(" + strings.Join(words, ", ") + ")", true
	case bindings.TypeList:
		element = bindings.ListTypeChildType(t)
	case bindings.TypeArray:
		element = bindings.ArrayTypeChildType(t)
		suffix = fmt.Sprintf("[%d]", bindings.ArrayTypeArraySize(t))
	default:
		name, ok = typeNames[id]
		return name, ok
	}
	defer bindings.DestroyLogicalType(&element)
	name, ok = typeName(element)
	return name + suffix, ok
}

// castValue is the value as one of the type, which the caller destroys. ok is false where there is none.
func castValue(value bindings.Value, kind bindings.LogicalType) (cast bindings.Value, ok bool) {
	made := C.csm_cast_value(C.duckdb_value(value.Ptr), C.duckdb_logical_type(kind.Ptr))
	return bindings.Value{Ptr: unsafe.Pointer(made)}, made != nil // SAFETY: the library's own pointer
}

// sameValue reports whether two values of one type have one text.
func sameValue(a, b bindings.Value) bool {
	return bool(C.csm_same_value(C.duckdb_value(a.Ptr), C.duckdb_value(b.Ptr)))
}

func sameType(a, b bindings.LogicalType) bool {
	return bool(C.csm_same_type(C.duckdb_logical_type(a.Ptr), C.duckdb_logical_type(b.Ptr)))
}

// kept reports whether the result's columns are of the types that the statement reported.
func (p promise) kept(result *C.struct_csm_result) bool {
	if len(p.types) == 0 {
		return bool(C.csm_same_columns(result, nil, 0))
	}
	types := make([]unsafe.Pointer, len(p.types))
	for i, t := range p.types {
		types[i] = t.Ptr
	}
	// SAFETY: an array of pointers into the library's memory, read during the call.
	return bool(C.csm_same_columns(result, &types[0], C.idx_t(len(types))))
}

// ofText distinguishes errors of what a text says from those of running out of time or of memory.
func ofText(err error) bool {
	var e *Error
	return errors.As(err, &e) && (strings.HasPrefix(e.State, "42") || strings.HasPrefix(e.State, "0A"))
}

// keep starts the statement once more with its columns cast to what they were promised to be. result is what it has
// become; it is destroyed.
func (s *Statement) keep(ctx context.Context, result *C.struct_csm_result) (*Rows, error) {
	p := s.columns()
	got := make([]bindings.LogicalType, int(C.csm_column_count(result)))
	for i := range got {
		kind := C.csm_column_type(result, C.idx_t(i))
		got[i] = bindings.LogicalType{Ptr: unsafe.Pointer(kind)} // SAFETY: the library's own pointer
		defer bindings.DestroyLogicalType(&got[i])
	}
	C.csm_result_destroy(result)
	s.connection.settle()
	startSession(s.connection.session)
	if err := ctx.Err(); err != nil {
		return nil, canceled(err)
	}
	text, ok := p.casts(s.sql, got)
	// Without parameters, the columns differ only if a name in the text means another object now: no cast mends that.
	if !ok || s.casts || len(s.parameters) == 0 || s.Kind() != KindSelect {
		return nil, errPromise()
	}
	casting, err := s.connection.Prepare(text)
	if err != nil {
		if err = s.explain(ctx, err); ofText(err) {
			err = errPromise() // it cannot be a sub-query
		}
		return nil, err
	}
	if err := casting.Bind(s.args); err != nil {
		casting.Close()
		return nil, err
	}
	casting.casts = true
	rows, err := casting.start(ctx)
	if err != nil {
		casting.Close()
		return nil, err
	}
	rows.casts = casting
	return rows, nil
}
