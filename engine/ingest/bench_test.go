package ingest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/engine/ingest"
)

// lineitem makes batches as DuckDB sends them: 2,048 rows, decimals of 128 or 64 bits, strings of one layout.
func lineitem(rows int, text, money arrow.DataType) (*arrow.Schema, []arrow.RecordBatch) {
	random := rand.New(rand.NewPCG(1, 1))
	fields := []arrow.Field{
		{Name: "l_orderkey", Type: arrow.PrimitiveTypes.Int64}, {Name: "l_partkey", Type: arrow.PrimitiveTypes.Int64}, {Name: "l_suppkey", Type: arrow.PrimitiveTypes.Int64},
		{Name: "l_linenumber", Type: arrow.PrimitiveTypes.Int32}, {Name: "l_quantity", Type: money}, {Name: "l_extendedprice", Type: money},
		{Name: "l_discount", Type: money}, {Name: "l_tax", Type: money}, {Name: "l_returnflag", Type: text}, {Name: "l_linestatus", Type: text},
		{Name: "l_shipdate", Type: arrow.FixedWidthTypes.Date32}, {Name: "l_commitdate", Type: arrow.FixedWidthTypes.Date32},
		{Name: "l_receiptdate", Type: arrow.FixedWidthTypes.Date32}, {Name: "l_shipinstruct", Type: text}, {Name: "l_shipmode", Type: text}, {Name: "l_comment", Type: text},
	}
	instructions := []string{"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"}
	modes := []string{"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"}
	schema := arrow.NewSchema(fields, nil)
	var out []arrow.RecordBatch
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for done := 0; done < rows; done += 2048 {
		for range 2048 {
			for i, f := range fields {
				switch c := b.Field(i).(type) {
				case *array.Int64Builder:
					c.Append(random.Int64N(200_000))
				case *array.Int32Builder:
					c.Append(1 + random.Int32N(7))
				case *array.Date32Builder:
					c.Append(arrow.Date32(8000 + random.Int32N(2500)))
				case *array.Decimal64Builder:
					c.Append(decimal.Decimal64(random.Int64N(10_000_000)))
				case *array.Decimal128Builder:
					c.Append(decimal128.FromI64(random.Int64N(10_000_000)))
				case interface{ Append(string) }:
					switch f.Name {
					case "l_returnflag", "l_linestatus":
						c.Append("ANRFO"[random.IntN(5):][:1])
					case "l_shipinstruct":
						c.Append(instructions[random.IntN(4)])
					case "l_shipmode":
						c.Append(modes[random.IntN(7)])
					default:
						c.Append(fmt.Sprintf("carefully final deposits %d across the furiously", random.IntN(1e9))[random.IntN(20):])
					}
				}
			}
		}
		out = append(out, b.NewRecordBatch())
	}
	return schema, out
}

// processorTime is what this process has used, which a busy machine falsifies less than the clock.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLineitem is what a bulk load costs beside making the rows: encode, statistics, checksum.
func BenchmarkLineitem(b *testing.B) {
	for name, types := range map[string][2]arrow.DataType{
		"utf8,decimal128":    {arrow.BinaryTypes.String, &arrow.Decimal128Type{Precision: 15, Scale: 2}},
		"utf8view,decimal64": {arrow.BinaryTypes.StringView, &arrow.Decimal64Type{Precision: 15, Scale: 2}},
		"utf8,decimal64":     {arrow.BinaryTypes.String, &arrow.Decimal64Type{Precision: 15, Scale: 2}},
	} {
		b.Run(name, func(b *testing.B) {
			schema, batches := lineitem(ingest.RowsPerChunk, types[0], types[1])
			s := newSpace(1 << 40)
			s.spare = map[int64][]byte{}
			var bytes, rows int64
			before := processorTime()
			for b.Loop() {
				w := ingest.NewWriter(ingest.Target{Space: s, Owner: "t", Discard: s.discard, Schema: ingest.LogicalSchema(schema)})
				for _, batch := range batches {
					if err := w.Add(b.Context(), batch); err != nil {
						b.Fatal(err)
					}
				}
				chunks, err := w.Finish(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				bytes, rows = s.live(), rows+w.Rows()
				if err := s.discard(chunks); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(bytes)
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
			b.ReportMetric((processorTime()-before).Seconds()*1e9/float64(rows), "cpu-ns/row")
		})
	}
}
