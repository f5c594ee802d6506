package descriptor

import "github.com/apache/arrow-go/v18/arrow"

// kindOf maps arrow-go's type identifiers, which are its own business, to the numbers of descriptor.proto, which must
// never change. Zero is no kind.
var kindOf = [...]uint64{
	arrow.NULL: 1, arrow.BOOL: 2, arrow.INT8: 3, arrow.INT16: 4, arrow.INT32: 5, arrow.INT64: 6,
	arrow.UINT8: 7, arrow.UINT16: 8, arrow.UINT32: 9, arrow.UINT64: 10,
	arrow.FLOAT16: 11, arrow.FLOAT32: 12, arrow.FLOAT64: 13,
	arrow.DECIMAL32: 14, arrow.DECIMAL64: 15, arrow.DECIMAL128: 16, arrow.DECIMAL256: 17,
	arrow.DATE32: 18, arrow.DATE64: 19, arrow.TIME32: 20, arrow.TIME64: 21, arrow.TIMESTAMP: 22, arrow.DURATION: 23,
	arrow.INTERVAL_MONTHS: 24, arrow.INTERVAL_DAY_TIME: 25, arrow.INTERVAL_MONTH_DAY_NANO: 26,
	arrow.STRING: 27, arrow.LARGE_STRING: 28, arrow.STRING_VIEW: 29,
	arrow.BINARY: 30, arrow.LARGE_BINARY: 31, arrow.BINARY_VIEW: 32, arrow.FIXED_SIZE_BINARY: 33,
	arrow.LIST: 34, arrow.LARGE_LIST: 35, arrow.LIST_VIEW: 36, arrow.LARGE_LIST_VIEW: 37, arrow.FIXED_SIZE_LIST: 38,
	arrow.STRUCT: 39, arrow.MAP: 40, arrow.SPARSE_UNION: 41, arrow.DENSE_UNION: 42,
	arrow.DICTIONARY: 43, arrow.RUN_END_ENCODED: 44, arrow.EXTENSION: 45,
}

var typeOf = invertKinds()

func invertKinds() (types [64]arrow.Type) {
	for i := range types {
		types[i] = -1
	}
	for id, kind := range kindOf {
		if kind != 0 {
			types[kind] = arrow.Type(id)
		}
	}
	return types
}

// plainTypes are the types without parameters, by identifier.
var plainTypes = [len(kindOf)]arrow.DataType{
	arrow.NULL: arrow.Null, arrow.BOOL: arrow.FixedWidthTypes.Boolean,
	arrow.INT8: arrow.PrimitiveTypes.Int8, arrow.INT16: arrow.PrimitiveTypes.Int16,
	arrow.INT32: arrow.PrimitiveTypes.Int32, arrow.INT64: arrow.PrimitiveTypes.Int64,
	arrow.UINT8: arrow.PrimitiveTypes.Uint8, arrow.UINT16: arrow.PrimitiveTypes.Uint16,
	arrow.UINT32: arrow.PrimitiveTypes.Uint32, arrow.UINT64: arrow.PrimitiveTypes.Uint64,
	arrow.FLOAT16: arrow.FixedWidthTypes.Float16,
	arrow.FLOAT32: arrow.PrimitiveTypes.Float32, arrow.FLOAT64: arrow.PrimitiveTypes.Float64,
	arrow.DATE32: arrow.FixedWidthTypes.Date32, arrow.DATE64: arrow.FixedWidthTypes.Date64,
	arrow.INTERVAL_MONTHS: arrow.FixedWidthTypes.MonthInterval, arrow.INTERVAL_DAY_TIME: arrow.FixedWidthTypes.DayTimeInterval,
	arrow.INTERVAL_MONTH_DAY_NANO: arrow.FixedWidthTypes.MonthDayNanoInterval,
	arrow.STRING:                  arrow.BinaryTypes.String, arrow.LARGE_STRING: arrow.BinaryTypes.LargeString, arrow.STRING_VIEW: arrow.BinaryTypes.StringView,
	arrow.BINARY: arrow.BinaryTypes.Binary, arrow.LARGE_BINARY: arrow.BinaryTypes.LargeBinary, arrow.BINARY_VIEW: arrow.BinaryTypes.BinaryView,
}
