package ingest_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
)

// G8: what equals has the same bucket, whatever layout it comes in.
func TestEqualValuesHaveEqualHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SampledFrom(layouts).Draw(t, "kind")
		field := arrow.Field{Name: "c", Type: ingest.Logical(kinds[0]), Nullable: true}
		schema := arrow.NewSchema([]arrow.Field{field}, nil)
		if ingest.CanHash(field) != nil {
			_, err := ingest.Buckets(t.Context(), one(schema, numbers(1)), schema, []int{0}, 3)
			require.Equal(t, "0A000", stateOf(t, err))
			return
		}
		const n = 1 << 20 // so many buckets distinguish hashes
		seen, used := map[any]int32{}, map[int32]bool{}
		for range 4 {
			seed := rapid.Uint64().Draw(t, "seed")
			a := generate(source{rand.New(rand.NewPCG(seed, 0))}, rapid.SampledFrom(kinds).Draw(t, "layout"), 200, false, true)
			buckets, err := ingest.Buckets(t.Context(), array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: a.DataType(), Nullable: true}}, nil), []arrow.Array{a}, 200), schema, []int{0}, n)
			require.NoError(t, err)
			for i, b := range buckets {
				value := naive(a, i)
				if have, ok := seen[value]; ok {
					require.Equal(t, have, b, "%v", value)
				}
				seen[value], used[b] = b, true
			}
		}
		if !arrow.IsFloating(field.Type.ID()) { // of which many that differ are NaN
			require.Greater(t, len(used)*10, len(seen)*9, "different values are spread")
		}
	})
}

func TestFloatsThatAreEqualHaveEqualHashes(t *testing.T) {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues([]float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0xfff8_0000_0000_1234), 1}, nil)
	batch := one(arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.PrimitiveTypes.Float64}}, nil), b.NewArray())
	buckets, err := ingest.Buckets(t.Context(), batch, batch.Schema(), []int{0}, 1<<30)
	require.NoError(t, err)
	require.Equal(t, buckets[0], buckets[1])
	require.Equal(t, buckets[2], buckets[3])
	require.NotEqual(t, buckets[0], buckets[4])
	require.NotEqual(t, buckets[2], buckets[4])
}

// Stored tables rely on these numbers (G8): if this test fails, the function has changed and every hash-split table is wrong.
func TestBucketsAreForEver(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{0, 1, -1, 42, math.MaxInt64, 7}, []bool{true, true, true, true, true, false})
	b.Field(1).(*array.StringBuilder).AppendValues([]string{"", "a", "ä", "forty-two", "z", "x"}, []bool{true, true, true, true, false, true})
	batch := b.NewRecordBatch()
	for columns, want := range map[string][]int32{"i": {652, 368, 366, 343, 413, 965}, "s": {350, 858, 404, 778, 965, 859}, "is": {38, 654, 108, 310, 247, 815}} {
		var list []int
		for _, c := range columns {
			list = append(list, schema.FieldIndices(string(c))[0])
		}
		got, err := ingest.Buckets(t.Context(), batch, schema, list, 1000)
		require.NoError(t, err)
		require.Equal(t, want, got, columns)
	}
}

// A writer that splits by hash loses and invents nothing, and every chunk lies where its rows' values say.
func TestHashWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := [][]arrow.DataType{rapid.SampledFrom(layouts[:4]).Draw(t, "key"), rapid.SampledFrom(layouts).Draw(t, "kind"), {arrow.PrimitiveTypes.Int64}}
		fields := make([]arrow.Field, len(kinds))
		for i := range kinds {
			fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: kinds[i][0], Nullable: true}
		}
		schema := ingest.LogicalSchema(arrow.NewSchema(fields, nil))
		spaces := make([]*space, rapid.IntRange(1, 5).Draw(t, "spaces"))
		hash := &ingest.Hash{Columns: []int{0, 2}}
		for i := range spaces {
			spaces[i] = newSpace(1 << 30)
			hash.Spaces = append(hash.Spaces, spaces[i])
		}
		owner := map[*catalog.Chunk]int{}
		w := ingest.NewWriter(ingest.Target{Hash: hash, Owner: "t", Schema: schema, Discard: func([]*catalog.Chunk) error { return nil }})
		many := rapid.Bool().Draw(t, "many")
		var want []string
		for range rapid.IntRange(0, 4).Draw(t, "batches") {
			b := batchOf(t, fields, kinds, rapid.IntRange(0, 80).Draw(t, "n"), many)
			want = append(want, lines(rows([]arrow.RecordBatch{b}))...)
			require.NoError(t, w.Add(t.Context(), b))
		}
		require.Equal(t, int64(len(want)), w.Rows())
		chunks, counts, err := w.FinishParts(t.Context())
		require.NoError(t, err)
		require.Len(t, counts, len(spaces))
		left := chunks
		for i, n := range counts {
			for _, c := range left[:n] {
				owner[c] = i
			}
			left = left[n:]
		}
		require.Empty(t, left)
		var got []string
		for _, c := range chunks {
			require.NoError(t, c.Descriptor().Verify(spaces[owner[c]].resolve, nil))
			b, err := c.Descriptor().Record(spaces[owner[c]].resolve)
			require.NoError(t, err)
			got = append(got, lines(rows([]arrow.RecordBatch{b}))...)
			buckets, err := ingest.Buckets(t.Context(), b, schema, hash.Columns, len(spaces))
			require.NoError(t, err)
			for _, k := range buckets {
				require.Equal(t, owner[c], int(k))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got)
	})
}

// lines are rows in words.
func lines(columns [][]any) []string {
	if len(columns) == 0 {
		return nil
	}
	out := make([]string, len(columns[0]))
	for _, c := range columns {
		for i, v := range c {
			out[i] += fmt.Sprintf("%v|", v)
		}
	}
	return out
}

// G4 with several spaces: after an error of one, none holds anything.
func TestHashWriterGivesEverythingBack(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	for _, fail := range []string{"grant", "clean", "seal"} {
		a, b := newSpace(1<<30), newSpace(1<<30)
		b.fault = func(step string) error {
			if step == fail {
				return fmt.Errorf("no %s", fail)
			}
			return nil
		}
		w := ingest.NewWriter(ingest.Target{Hash: &ingest.Hash{Columns: []int{0}, Spaces: []catalog.Space{a, b}}, Owner: "t", Schema: schema,
			Discard: func(chunks []*catalog.Chunk) error { return a.discard(chunks) }}) // only a ever seals
		require.NoError(t, w.Add(t.Context(), one(schema, numbers(5000))))
		_, err := w.Finish(t.Context())
		require.ErrorContains(t, err, "no "+fail)
		require.Zero(t, a.live()+b.live())
	}
}

// G7: going round, and dividing what is less than a chunk for each.
func TestSpread(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	for total, want := range map[int][]int64{
		0: nil, 1: {1}, 2047: {2047}, 2048: {1024, 1024}, 5000: {1666, 1667, 1667}, 3*ingest.RowsPerChunk + 1: {ingest.RowsPerChunk, ingest.RowsPerChunk, ingest.RowsPerChunk, 1},
		ingest.RowsPerChunk + 4000: {ingest.RowsPerChunk, 2000, 2000},
	} {
		spaces := []*space{newSpace(1 << 30), newSpace(1 << 30), newSpace(1 << 30)}
		next := 0
		w := ingest.NewWriter(ingest.Target{Owner: "t", Schema: schema, Spread: 3, Next: func(context.Context) (catalog.Space, error) {
			next++
			return spaces[(next-1)%3], nil
		}})
		for left := total; left > 0; left -= min(left, 1500) {
			require.NoError(t, w.Add(t.Context(), one(schema, numbers(min(left, 1500)))))
		}
		chunks, err := w.Finish(t.Context())
		require.NoError(t, err)
		var got []int64
		for i, c := range chunks {
			require.NoError(t, c.Descriptor().Verify(spaces[i%3].resolve, nil))
			got = append(got, c.Rows())
		}
		require.Equal(t, want, got, "%d rows", total)
	}
}
