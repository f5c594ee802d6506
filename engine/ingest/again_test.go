package ingest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
)

// rowsWithGarbage are rows whose NULLs have values below them that differ from time to time, in batches of some size.
func rowsWithGarbage(rng *rand.Rand, rows, size int) (schema *arrow.Schema, batches []arrow.RecordBatch) {
	schema = arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "f", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "w", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
	}, nil)
	for first := 0; first < rows; first += size {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
		for i := first; i < min(first+size, rows); i++ {
			valid := i%7 != 0
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			b.Field(1).(*array.BooleanBuilder).AppendValues([]bool{i%3 == 0}, []bool{valid})
			b.Field(2).(*array.StringBuilder).AppendValues([]string{fmt.Sprint("few ", i%5)}, []bool{valid})
			b.Field(3).(*array.StringBuilder).AppendValues([]string{fmt.Sprint("all of these are different: ", i)}, []bool{valid})
			l := b.Field(4).(*array.ListBuilder)
			l.Append(valid)
			if valid {
				l.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{int32(i), -1, 7}, []bool{true, false, true})
			}
		}
		batch := b.NewRecordBatch()
		k := batch.Column(0).Data()
		validity := memory.NewResizableBuffer(memory.NewGoAllocator())
		validity.Resize((k.Len() + 7) / 8)
		nulls := 0
		values := arrow.Int64Traits.CastFromBytes(k.Buffers()[1].Bytes())
		for i := range k.Len() {
			if (first+i)%5 != 0 {
				validity.Bytes()[i/8] |= 1 << (i % 8)
				continue
			}
			nulls++
			values[i] = rng.Int64()
		}
		columns := append([]arrow.Array(nil), batch.Columns()...)
		columns[0] = array.MakeFromData(array.NewData(k.DataType(), k.Len(), []*memory.Buffer{validity, k.Buffers()[1]}, nil, nulls, 0))
		batches = append(batches, array.NewRecordBatch(schema, columns, int64(k.Len())))
	}
	return schema, batches
}

// G9: of the same rows, however they come, the same chunks are rebuilt, also when a hash divided them, and those only
// that are wanted.
func TestAgain(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, 2))
	const rows = 9000
	for _, columns := range [][]int{nil, {0}, {2, 1}} {
		s := newSpace(64 << 20)
		schema, batches := rowsWithGarbage(rng, rows, 1000)
		target := ingest.Target{Space: s, Owner: "t", Discard: s.discard, Schema: schema, HoldBytes: 100 << 10} // several chunks
		if columns != nil {
			target.Hash = &ingest.Hash{Columns: columns, Spaces: []catalog.Space{s, s, s}}
		}
		w := ingest.NewWriter(target)
		for _, b := range batches {
			require.NoError(t, w.Add(ctx, b))
		}
		chunks, counts, err := w.FinishParts(ctx)
		require.NoError(t, err)
		require.Greater(t, len(chunks), 3)
		if counts == nil {
			counts = []int{len(chunks)}
		}
		for _, wanted := range []func(i int) bool{func(int) bool { return true }, func(i int) bool { return i == len(chunks)/2 }, func(i int) bool { return i%2 == 1 }} {
			var parts [][]ingest.Piece
			number, want := 0, 0
			for _, n := range counts {
				var pieces []ingest.Piece
				for range n {
					piece := ingest.Piece{Number: number, Rows: chunks[number].Rows()}
					if wanted(number) {
						piece.Stored = chunks[number].Descriptor().Schema
						want++
					}
					pieces, number = append(pieces, piece), number+1
				}
				parts = append(parts, pieces)
			}
			made := 0
			a := ingest.NewAgain(schema, columns, parts, func(ctx context.Context, number int, batch arrow.RecordBatch) error {
				require.True(t, wanted(number))
				made++
				_, err := catalog.ChunkImage(ctx, chunks[number].Descriptor(), batch)
				return err
			})
			_, again := rowsWithGarbage(rng, rows, 777)
			for _, b := range again {
				if err = a.Add(ctx, b); err != nil {
					break
				}
			}
			if err != nil {
				require.ErrorIs(t, err, ingest.ErrEnough)
			}
			require.Equal(t, want, made)
			require.Zero(t, a.Missing())
			a.Close()
		}
	}
}

// Rows before the first chunk that is wanted need not be read; too few rows leave some missing.
func TestAgainSkips(t *testing.T) {
	ctx := context.Background()
	schema, batches := rowsWithGarbage(rand.New(rand.NewPCG(1, 2)), 100, 10)
	stored := arrow.NewSchema(append(schema.Fields()[:2:2], arrow.Field{Name: "s", Type: arrow.BinaryTypes.StringView}, arrow.Field{Name: "w", Type: arrow.BinaryTypes.StringView}, schema.Field(4)), nil)
	var got []int64
	a := ingest.NewAgain(schema, nil, [][]ingest.Piece{{{Number: 0, Rows: 15}, {Number: 1, Rows: 20}, {Number: 2, Rows: 30, Stored: stored}, {Number: 3, Rows: 35, Stored: stored}}},
		func(_ context.Context, number int, batch arrow.RecordBatch) error {
			require.Equal(t, arrow.STRING_VIEW, batch.Column(2).DataType().ID(), "as it was, though it would be a dictionary")
			got = append(got, int64(number), batch.NumRows(), batch.Column(0).(*array.Int64).Value(1))
			return nil
		})
	defer a.Close()
	require.True(t, a.Skip(10))
	require.True(t, a.Skip(20))
	require.False(t, a.Skip(10), "the last five are wanted")
	for _, b := range batches[3:7] {
		require.NoError(t, a.Add(ctx, b))
	}
	require.Equal(t, []int64{2, 30, 36}, got)
	require.Equal(t, 1, a.Missing())
}
