package arraytest

import (
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

// Flat lists one of every type without children.
func Flat() []arrow.DataType {
	return []arrow.DataType{
		arrow.Null, arrow.FixedWidthTypes.Boolean,
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		&arrow.Decimal32Type{Precision: 9, Scale: 2}, &arrow.Decimal64Type{Precision: 18, Scale: 4},
		&arrow.Decimal128Type{Precision: 38, Scale: -3}, &arrow.Decimal256Type{Precision: 76, Scale: 10},
		arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64,
		arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time64ns,
		&arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Europe/Berlin"},
		arrow.FixedWidthTypes.Duration_ms,
		arrow.FixedWidthTypes.MonthInterval, arrow.FixedWidthTypes.DayTimeInterval, arrow.FixedWidthTypes.MonthDayNanoInterval,
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
		arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView,
		&arrow.FixedSizeBinaryType{ByteWidth: 5},
	}
}

// Type draws a type of at most the given depth of nesting.
func Type(rng *rand.Rand, depth int) arrow.DataType {
	flat := Flat()
	if depth == 0 || rng.IntN(3) == 0 {
		return flat[rng.IntN(len(flat))]
	}
	inner := func() arrow.DataType { return Type(rng, depth-1) }
	field := func(name string) arrow.Field {
		return arrow.Field{Name: name, Type: inner(), Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"k": name})}
	}
	codes := []arrow.UnionTypeCode{3, 100}
	switch rng.IntN(12) {
	case 0:
		return arrow.ListOf(inner())
	case 1:
		return arrow.LargeListOfField(field("element"))
	case 2:
		return arrow.FixedSizeListOf(int32(1+rng.IntN(4)), inner())
	case 3:
		return arrow.ListViewOf(inner())
	case 4:
		return arrow.LargeListViewOf(inner())
	case 5:
		return arrow.StructOf(field("a"), field("b"))
	case 6:
		// Not MapOf: arrow.TypeEqual compares large lists by reflection and sees how a map inside was constructed.
		dt := arrow.MapOfFields(arrow.Field{Name: "key", Type: arrow.BinaryTypes.String}, field("value"))
		dt.KeysSorted = rng.IntN(2) == 0
		return dt
	case 7:
		return arrow.SparseUnionOf([]arrow.Field{field("x"), field("y")}, codes)
	case 8:
		return arrow.DenseUnionOf([]arrow.Field{field("x"), field("y")}, codes)
	case 9:
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: flat[1+rng.IntN(len(flat)-1)], Ordered: rng.IntN(2) == 0}
	case 10:
		ends := []arrow.DataType{arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64}
		return arrow.RunEndEncodedOf(ends[rng.IntN(3)], flat[1+rng.IntN(len(flat)-1)])
	default:
		return extensions.NewUUIDType()
	}
}

// Nested lists one of every type with children, so that no run misses one.
func Nested() []arrow.DataType {
	text := arrow.BinaryTypes.String
	fields := []arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, {Name: "y", Type: text, Nullable: true}}
	codes := []arrow.UnionTypeCode{7, 2}
	return []arrow.DataType{
		arrow.ListOf(text), arrow.LargeListOf(text), arrow.FixedSizeListOf(3, text), arrow.ListViewOf(text), arrow.LargeListViewOf(text),
		arrow.StructOf(fields...), arrow.MapOf(text, arrow.PrimitiveTypes.Float64),
		arrow.SparseUnionOf(fields, codes), arrow.DenseUnionOf(fields, codes),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: text},
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: text, Ordered: true},
		arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int16, text), arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int8),
		extensions.NewUUIDType(), arrow.ListOf(arrow.StructOf(fields...)), arrow.StructOf(),
	}
}
