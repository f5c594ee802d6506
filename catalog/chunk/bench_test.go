package chunk_test

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
)

// BenchmarkSeal seals batches that lie in the writer's extents already, of 122,880 rows (DuckDB's row group). Target for
// fixed-width columns: 2 GB/s and core, checksums, statistics and validation included.
func BenchmarkSeal(b *testing.B) {
	const rows = 122_880
	rng := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		dt   arrow.DataType
		fill func(array.Builder)
	}{
		"int64-random":   {arrow.PrimitiveTypes.Int64, func(b array.Builder) { b.(*array.Int64Builder).UnsafeAppend(int64(rng.Uint64())) }},
		"int64-narrow":   {arrow.PrimitiveTypes.Int64, func(b array.Builder) { b.(*array.Int64Builder).UnsafeAppend(int64(rng.IntN(2500))) }},
		"int32-random":   {arrow.PrimitiveTypes.Int32, func(b array.Builder) { b.(*array.Int32Builder).UnsafeAppend(int32(rng.Uint32())) }},
		"int8":           {arrow.PrimitiveTypes.Int8, func(b array.Builder) { b.(*array.Int8Builder).UnsafeAppend(int8(rng.Uint32())) }},
		"float64-random": {arrow.PrimitiveTypes.Float64, func(b array.Builder) { b.(*array.Float64Builder).UnsafeAppend(rng.Float64()) }},
	} {
		b.Run(name, func(b *testing.B) {
			const columns = 8
			fields := make([]arrow.Field, columns)
			for i := range fields {
				fields[i] = arrow.Field{Name: string(rune('a' + i)), Type: c.dt}
			}
			l := lender(b, 64<<20)
			width := int64(c.dt.(arrow.FixedWidthDataType).Bytes())
			b.SetBytes(rows * columns * width)
			for range b.N {
				b.StopTimer()
				w := chunk.NewWriter(l, "t", columns*(rows*width+rows/8+4096))
				builder := array.NewRecordBuilder(w.Allocator(), arrow.NewSchema(fields, nil))
				builder.Reserve(rows)
				for _, column := range builder.Fields() {
					for range rows {
						c.fill(column)
					}
				}
				batch := builder.NewRecordBatch()
				b.StartTimer()
				sealed, err := w.Seal(ctx, batch, chunk.SealOptions{})
				b.StopTimer()
				require.NoError(b, err)
				require.NoError(b, l.Discard(generations(sealed)...))
			}
		})
	}
}
