package constantrows

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
)

// kind is what a column takes.
type kind struct {
	id        arrow.Type
	parameter duckdb.ParameterType
	nullable  bool
	low, high int64 // of integers
	// digits and scale of decimals.
	digits, scale int
	// length is the most characters of a text, 0: any; blanks at its end mean nothing if fixed.
	length int
	fixed  bool
}

// value is what a column has in a row. Of the three fields one counts, by the column's kind.
type value struct {
	null   bool
	number int64 // of integers, booleans, decimals without their point, days, microseconds
	float  float64
	text   string // or bytes
}

// integers are the kinds of columns of integers.
var integers = map[arrow.Type]kind{
	arrow.INT8:   {parameter: duckdb.TypeInt16, low: math.MinInt8, high: math.MaxInt8},
	arrow.INT16:  {parameter: duckdb.TypeInt16, low: math.MinInt16, high: math.MaxInt16},
	arrow.INT32:  {parameter: duckdb.TypeInt32, low: math.MinInt32, high: math.MaxInt32},
	arrow.INT64:  {parameter: duckdb.TypeInt64, low: math.MinInt64, high: math.MaxInt64},
	arrow.UINT8:  {parameter: duckdb.TypeInt16, high: math.MaxUint8},
	arrow.UINT16: {parameter: duckdb.TypeInt32, high: math.MaxUint16},
	arrow.UINT32: {parameter: duckdb.TypeInt64, high: math.MaxUint32},
}

// others are the kinds of further types that need no look into them.
var others = map[arrow.Type]duckdb.ParameterType{
	arrow.BOOL: duckdb.TypeBoolean, arrow.FLOAT32: duckdb.TypeFloat32, arrow.FLOAT64: duckdb.TypeFloat64,
	arrow.STRING: duckdb.TypeText, arrow.BINARY: duckdb.TypeBytes, arrow.DATE32: duckdb.TypeDate,
}

// kindsOf are those of a table's columns; nil if there is one of a type that is left to DuckDB.
func kindsOf(columns *arrow.Schema) []kind {
	kinds := make([]kind, columns.NumFields())
	for i := range kinds {
		k, ok := kindOf(columns.Field(i))
		if !ok {
			return nil
		}
		kinds[i] = k
	}
	return kinds
}

func kindOf(f arrow.Field) (k kind, ok bool) {
	if f.Metadata.FindKey(normal.ExtensionName) >= 0 {
		return k, false
	}
	id := f.Type.ID()
	k, ok = integers[id]
	if !ok {
		k.parameter, ok = others[id]
	}
	switch t := f.Type.(type) {
	case *arrow.Decimal64Type, *arrow.Decimal128Type:
		d := t.(arrow.DecimalType)
		k.parameter, k.digits, k.scale = duckdb.TypeNumeric, int(d.GetPrecision()), int(d.GetScale())
		ok = k.digits <= digitsMost || id == arrow.DECIMAL128 && k.digits <= 38
	case *arrow.TimestampType:
		ok = t.Unit == arrow.Microsecond
		if k.parameter = duckdb.TypeTimestamp; t.TimeZone != "" {
			k.parameter = duckdb.TypeTimestampTZ
		}
	}
	k.id, k.nullable = id, f.Nullable
	if d, declared := columntype.Of(f); declared {
		k.length, k.fixed = d.Length, d.Fixed()
	}
	return k, ok
}

// same reports whether one parameter may be the value of columns of both kinds.
func (k kind) same(other kind) bool {
	return k.id == other.id && k.parameter == other.parameter && k.digits == other.digits && k.scale == other.scale
}

// takes reports whether the value keeps what the column promises (CR3).
func (k kind) takes(v value) bool {
	switch {
	case v.null:
		return k.nullable
	case k.fixed && len(v.text) > 0 && v.text[len(v.text)-1] == ' ': // which is cut
		return false
	}
	return k.length == 0 || len(v.text) <= k.length // no character is less than a byte
}
