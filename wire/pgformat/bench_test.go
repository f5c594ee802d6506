package pgformat_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/wire/pgformat"
)

const benchmarkRows = 2048 // a DuckDB vector

// mixedFields are 16 columns as TPC-H's lineitem has them: the shape of the egress figure.
func mixedFields() []arrow.Field {
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	return []arrow.Field{
		{Name: "orderkey", Type: arrow.PrimitiveTypes.Int64},
		{Name: "partkey", Type: arrow.PrimitiveTypes.Int64},
		{Name: "suppkey", Type: arrow.PrimitiveTypes.Int32},
		{Name: "linenumber", Type: arrow.PrimitiveTypes.Int32},
		{Name: "quantity", Type: &arrow.Decimal64Type{Precision: 15, Scale: 2}},
		{Name: "extendedprice", Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}},
		{Name: "discount", Type: &arrow.Decimal64Type{Precision: 15, Scale: 2}},
		{Name: "price", Type: arrow.PrimitiveTypes.Float64},
		{Name: "returnflag", Type: dictionary},
		{Name: "linestatus", Type: dictionary},
		{Name: "shipdate", Type: arrow.FixedWidthTypes.Date32},
		{Name: "committed", Type: arrow.FixedWidthTypes.Timestamp_us},
		{Name: "flag", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "shipinstruct", Type: arrow.BinaryTypes.String},
		{Name: "shipmode", Type: arrow.BinaryTypes.StringView},
		{Name: "comment", Type: arrow.BinaryTypes.StringView},
	}
}

func appendRandom(builder array.Builder, random *rand.Rand) {
	words := []string{"DELIVER IN PERSON", "RAIL", "TRUCK", "carefully final deposits sleep", "N"}
	switch builder := builder.(type) {
	case *array.Int64Builder:
		builder.Append(random.Int64N(6_000_000))
	case *array.Int32Builder:
		builder.Append(random.Int32N(10_000))
	case *array.Decimal64Builder:
		builder.Append(5000)
	case *array.Decimal128Builder:
		builder.Append(decimal128.FromI64(random.Int64N(10_000_000)))
	case *array.Float64Builder:
		builder.Append(float64(random.Int64N(10_000_000)) / 100)
	case *array.BinaryDictionaryBuilder:
		builder.AppendString(words[random.IntN(3)])
	case *array.Date32Builder:
		builder.Append(arrow.Date32(8000 + random.Int32N(2500)))
	case *array.TimestampBuilder:
		builder.Append(arrow.Timestamp(random.Int64N(1_700_000_000_000_000)))
	case *array.BooleanBuilder:
		if random.IntN(10) == 0 {
			builder.AppendNull()
			return
		}
		builder.Append(random.IntN(2) == 0)
	case *array.StringBuilder:
		builder.Append(words[random.IntN(len(words))])
	case *array.StringViewBuilder:
		builder.Append(words[random.IntN(len(words))])
	default:
		panic(fmt.Sprintf("no random values for %T", builder))
	}
}

func randomBatch(fields []arrow.Field, rows int) arrow.RecordBatch {
	random := rand.New(rand.NewPCG(1, 2))
	builder := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer builder.Release()
	for i := range fields {
		for range rows {
			appendRandom(builder.Field(i), random)
		}
	}
	return builder.NewRecordBatch()
}

func benchmarkRowsOf(b *testing.B, fields []arrow.Field, format pgformat.Format) {
	batch := randomBatch(fields, benchmarkRows)
	types, formats := make([]pgformat.Type, len(fields)), make([]pgformat.Format, len(fields))
	for i, field := range fields {
		types[i], formats[i] = pgformat.TypeOf(field), format
	}
	columns, err := pgformat.NewColumns(types, formats, time.UTC)
	if err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, 0, 256<<10)
	sent := 0
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		if err := columns.Bind(batch); err != nil {
			b.Fatal(err)
		}
		for row := 0; row < benchmarkRows; {
			if buffer, row, err = columns.AppendDataRows(buffer[:0], row, benchmarkRows, 128<<10); err != nil {
				b.Fatal(err)
			}
			sent += len(buffer)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchmarkRows/float64(len(fields)), "ns/value")
	b.SetBytes(int64(sent / b.N))
}

func BenchmarkMixedText(b *testing.B)   { benchmarkRowsOf(b, mixedFields(), pgformat.TextFormat) }
func BenchmarkMixedBinary(b *testing.B) { benchmarkRowsOf(b, mixedFields(), pgformat.BinaryFormat) }

// BenchmarkColumn is every column of the mix alone.
func BenchmarkColumn(b *testing.B) {
	for _, field := range mixedFields() {
		for format, name := range []string{"text", "binary"} {
			b.Run(field.Name+"/"+name, func(b *testing.B) {
				benchmarkRowsOf(b, []arrow.Field{field}, pgformat.Format(format))
			})
		}
	}
}
