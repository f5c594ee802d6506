package ingest_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/queries/dbgen"
)

// Rows have the same sum in whatever order and batches they come, whatever lies below their NULLs; another value, also deep inside, or one row
// for another, makes another sum.
func TestSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	sum := func(schema *arrow.Schema, batches []arrow.RecordBatch) ingest.Sum {
		s := ingest.Sum{}
		for _, b := range batches {
			require.NoError(t, s.Add(context.Background(), b, schema))
		}
		return s
	}
	schema, some := rowsWithGarbage(rng, 1000, 100)
	want := sum(schema, some)
	_, others := rowsWithGarbage(rng, 1000, 7)
	slices.Reverse(others)
	require.Equal(t, want, sum(schema, others))
	require.NotEqual(t, want, sum(schema, append(others[:len(others)-1:len(others)-1], others[0])), "one batch twice, one missing")

	one := func(text string) ingest.Sum {
		field := arrow.Field{Name: "x", Nullable: true, Type: arrow.StructOf(
			arrow.Field{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), Nullable: true},
			arrow.Field{Name: "l", Type: arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Float64)), Nullable: true},
		)}
		schema := arrow.NewSchema([]arrow.Field{field}, nil)
		batch, _, err := array.RecordFromJSON(memory.NewGoAllocator(), schema, strings.NewReader(`[{"x": `+text+`}]`))
		require.NoError(t, err)
		return sum(schema, []arrow.RecordBatch{batch})
	}
	seen := map[uint64]string{}
	for _, text := range []string{
		`null`, `{}`, `{"m": [], "l": null}`, `{"m": [{"key": "a", "value": 1}], "l": []}`, `{"m": [{"key": "a", "value": 2}], "l": []}`, `{"m": [{"key": "a", "value": null}], "l": []}`,
		`{"l": [[]]}`, `{"l": [[], []]}`, `{"l": [[1], [2]]}`, `{"l": [[1, 2]]}`, `{"l": [[1, 2], null]}`, `{"l": [[2, 1], null]}`,
	} {
		s := one(text)
		require.Equal(t, s, one(text))
		require.Empty(t, seen[s.Total], text)
		seen[s.Total] = text
	}
	for _, c := range []struct{ few, many arrow.DataType }{ // the short way and the long one, and every layout
		{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64},
		{&arrow.Decimal64Type{Precision: 18, Scale: 2}, &arrow.Decimal128Type{Precision: 18, Scale: 2}},
	} {
		of := func(stored arrow.DataType, nulls bool) ingest.Sum {
			schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: c.few, Nullable: true}}, nil)
			b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "x", Type: stored, Nullable: true}}, nil))
			for i := range 50 {
				require.NoError(t, b.Field(0).AppendValueFromString(strconv.Itoa(i*i-700)))
			}
			s := sum(schema, []arrow.RecordBatch{b.NewRecordBatch()})
			if nulls { // all values once more, by the long way
				for i := range 50 {
					require.NoError(t, b.Field(0).AppendValueFromString(strconv.Itoa(i*i-700)))
				}
				b.Field(0).AppendNull()
				all := sum(schema, []arrow.RecordBatch{b.NewRecordBatch()})
				b.Field(0).AppendNull()
				s = ingest.Sum{Rows: all.Rows - 1, Total: all.Total - sum(schema, []arrow.RecordBatch{b.NewRecordBatch()}).Total}
			}
			return s
		}
		require.Equal(t, of(c.few, false), of(c.few, true), "%v", c.few)
		require.Equal(t, of(c.few, false), of(c.many, false), "%v", c.many)
		require.Equal(t, of(c.few, false), of(c.many, true), "%v", c.many)
	}
	words := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "w", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	texts := make([]arrow.RecordBatch, len(some))
	for i, b := range some {
		texts[i] = array.NewRecordBatch(words, b.Columns()[2:4], b.NumRows())
	}
	for _, plain := range []bool{false, true} { // as a writer lays them out
		s := newSpace(8 << 20)
		laid := &ingest.Sum{}
		w := ingest.NewWriter(ingest.Target{Space: s, Owner: "t", Discard: s.discard, Schema: words, Plain: plain, Sum: laid})
		for _, b := range texts {
			require.NoError(t, w.Add(context.Background(), b))
		}
		_, err := w.Finish(context.Background())
		require.NoError(t, err)
		require.Equal(t, sum(words, texts), *laid)
	}
	dense := arrow.NewSchema([]arrow.Field{{Name: "d", Type: &arrow.Decimal256Type{Precision: 50, Scale: 0}}}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), dense)
	b.Field(0).AppendNull()
	require.Error(t, (&ingest.Sum{}).Add(context.Background(), b.NewRecordBatch(), dense), "what has no hash has no sum")
}

// BenchmarkSum adds up lineitem as it is laid out.
func BenchmarkSum(b *testing.B) {
	g, err := dbgen.New(0.01)
	require.NoError(b, err)
	batch, err := g.Batch(context.Background(), memory.NewGoAllocator(), dbgen.LineItem, 0, 15000)
	require.NoError(b, err)
	schema := dbgen.Schema(dbgen.LineItem)
	for b.Loop() {
		s := ingest.Sum{}
		require.NoError(b, s.Add(context.Background(), batch, schema))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch.NumRows()*batch.NumCols()), "ns/value")
}

// What it takes to hash rows does not grow with them: those of a chunk took as much as a column.
func TestSumTakesLittle(t *testing.T) {
	const rows = 1 << 20
	builder := array.NewInt64Builder(memory.DefaultAllocator)
	defer builder.Release()
	for i := range rows {
		builder.Append(int64(i))
	}
	column := builder.NewInt64Array()
	defer column.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{column}, rows)
	defer batch.Release()
	var s ingest.Sum
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, s.Add(t.Context(), batch, schema))
	runtime.ReadMemStats(&after)
	require.EqualValues(t, rows, s.Rows)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(rows))
}
