package worker

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// everyType is a batch of the kinds of columns that DuckDB gives.
func everyType(t *testing.T) arrow.RecordBatch {
	uuid := arrow.NewMetadata([]string{"ARROW:extension:name"}, []string{"arrow.uuid"})
	inner := arrow.StructOf(arrow.Field{Name: "u", Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}, Nullable: true, Metadata: uuid}, arrow.Field{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "v", Type: arrow.BinaryTypes.StringView, Nullable: true},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 30, Scale: 3}, Nullable: true},
		{Name: "e", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
		{Name: "n", Type: inner, Nullable: true},
		{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64), Nullable: true},
		{Name: "x", Type: arrow.Null, Nullable: true},
		{Name: "f", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int16), Nullable: true},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[
		{"i": 1, "b": true, "s": "one", "v": "a text that is longer than twelve bytes", "d": "1.500", "e": "red", "n": {"u": "AAAAAAAAAAAAAAAAAAAAAA==", "l": ["x", null]},
		 "m": [{"key": "k", "value": 1.5}], "x": null, "f": [1, 2]},
		{"i": null, "b": null, "s": null, "v": null, "d": null, "e": null, "n": null, "m": null, "x": null, "f": null},
		{"i": 3, "b": false, "s": "", "v": "short", "d": "-2", "e": "blue", "n": {"u": null, "l": []}, "m": [], "x": null, "f": [3, 4]}]`))
	require.NoError(t, err)
	return batch
}

// through is a batch on the other side of a window.
func through(t *testing.T, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	encoded, err := EncodeSchema(batch.Schema())
	require.NoError(t, err)
	schema, err := DecodeSchema(encoded)
	require.NoError(t, err)
	require.True(t, batch.Schema().Equal(schema), "%v\n%v", batch.Schema(), schema)
	shape, buffers, size := shapeOf(batch)
	return batchOf(schema, batch.NumRows(), shape, laid(buffers, size))
}

func laid(buffers [][]byte, size int64) []byte {
	bytes, at := make([]byte, size), int64(0)
	for _, b := range buffers {
		copy(bytes[at:], b)
		at += aligned(int64(len(b)))
	}
	return bytes
}

func TestBatchesComeThroughAsTheyWere(t *testing.T) {
	batch := everyType(t)
	for _, b := range []arrow.RecordBatch{batch, batch.NewSlice(1, 3), batch.NewSlice(2, 2)} {
		got, err := through(t, b)
		require.NoError(t, err)
		require.True(t, array.RecordEqual(b, got), "%v\n%v", b, got)
	}
}

// WK3: whatever a worker that is about to crash has written, the node has an error of it, or values, and never a panic.
func TestShapesAndBytesThatMakeNoSenseAreErrors(t *testing.T) {
	batch := everyType(t)
	shape, buffers, size := shapeOf(batch)
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 20_000 {
		bad := append([]int64(nil), shape...)
		bytes := laid(buffers, size)
		for range 1 + random.IntN(3) {
			switch random.IntN(4) {
			case 0:
				bad[random.IntN(len(bad))] = int64(random.Uint64())
			case 1:
				bad[random.IntN(len(bad))] += int64(random.IntN(9) - 4)
			case 2:
				bad = bad[:1+random.IntN(len(bad))]
			case 3:
				bytes[random.IntN(len(bytes))] = byte(random.Uint32())
			}
		}
		got, err := batchOf(batch.Schema(), batch.NumRows(), bad, bytes)
		if err != nil {
			refused++
			continue
		}
		for _, c := range got.Columns() {
			for i := range c.Len() {
				_ = c.ValueStr(i)
			}
		}
	}
	require.Greater(t, refused, 10_000)
}
