package duckdb_test

import (
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// grouped is a table of keys and values, NULL where nil, in chunks of the given lengths (the last one takes the rest).
func grouped(keyType, valueType arrow.DataType, keys, values []any, chunks []int) *duckdb.Scan {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: keyType, Nullable: true}, {Name: "v", Type: valueType, Nullable: true}}, nil)
	var batches []arrow.RecordBatch
	for at := 0; at < len(keys); {
		count := len(keys) - at
		if len(chunks) > 0 {
			count, chunks = min(count, chunks[0]), chunks[1:]
		}
		b := array.NewRecordBuilder(offHeap, schema)
		for i := at; i < at+count; i++ {
			appendInteger(b.Field(0), keys[i])
			appendInteger(b.Field(1), values[i])
		}
		batches = append(batches, b.NewRecordBatch())
		b.Release()
		at += count
	}
	s := scanOf(schema, batches...)
	s.Release = func() {
		for _, b := range batches {
			b.Release()
		}
	}
	return s
}

func appendInteger(b array.Builder, v any) {
	n, ok := v.(int64)
	switch b := b.(type) {
	case *array.Int64Builder:
		b.AppendValues([]int64{n}, []bool{ok})
	case *array.Int32Builder:
		b.AppendValues([]int32{int32(n)}, []bool{ok})
	case *array.Uint16Builder:
		b.AppendValues([]uint16{uint16(n)}, []bool{ok})
	}
}

// The naive twin adds up in a map.
func TestBuildGroupKeySet(t *testing.T) {
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint16}
	found, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 40).Draw(t, "rows")
		var keys, values []any
		for range count {
			keys = append(keys, rapid.Int64Range(0, 9).Draw(t, "key"))
			values = append(values, rapid.Int64Range(0, 20).Draw(t, "value"))
		}
		ascending := rapid.IntRange(0, 3).Draw(t, "unsorted") > 0
		byKey := func(a, b any) int { return int(a.(int64) - b.(int64)) }
		if ascending {
			slices.SortFunc(keys, byKey)
		}
		sorted := slices.IsSortedFunc(keys, byKey)
		for i := range count {
			if rapid.IntRange(0, 9).Draw(t, "NULL") == 0 {
				keys[i] = nil
			}
			if rapid.IntRange(0, 9).Draw(t, "NULL value") == 0 {
				values[i] = nil
			}
		}
		s := grouped(rapid.SampledFrom(types).Draw(t, "key type"), rapid.SampledFrom(types).Draw(t, "value type"), keys, values,
			rapid.SliceOfN(rapid.IntRange(1, 7), 0, 20).Draw(t, "chunks"))
		defer s.Release()
		groups := duckdb.Groups{Key: 0, Sum: rapid.IntRange(-1, 1).Draw(t, "sum"), Above: rapid.Int64Range(-3, 40).Draw(t, "above")}
		sums, rows := map[int64]int64{}, map[int64]int64{}
		for i, k := range keys {
			if k == nil {
				continue
			}
			key := k.(int64)
			rows[key]++
			switch {
			case groups.Sum < 0:
				sums[key]++
			case groups.Sum == 0:
				sums[key] += key
			case values[i] != nil:
				sums[key] += values[i].(int64)
			default:
				sums[key] += 0
			}
		}
		set, err := duckdb.BuildGroupKeySet(t.Context(), s, groups, 1000)
		require.NoError(t, err)
		if set == nil {
			require.False(t, sorted, "what is sorted must be accepted")
			refused++
			return
		}
		found++
		kept, keptRows := 0, int64(0)
		for key, sum := range sums {
			require.Equal(t, sum > groups.Above, set.Contains(key), "key %d sum %d", key, sum)
			if sum > groups.Above {
				kept++
				keptRows += rows[key]
			}
		}
		require.Equal(t, kept, set.Len())
		require.Equal(t, keptRows, set.Rows())
	})
	require.Positive(t, found)
	require.Positive(t, refused)
}

// Groups go on from morsel to morsel and from chunk to chunk.
func TestGroupsOfManyMorsels(t *testing.T) {
	const rows, size = 700_000, 150_000
	keys, values := make([]any, rows), make([]any, rows)
	for i := range rows {
		keys[i], values[i] = int64(i/size*7), int64(1)
	}
	s := grouped(arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, keys, values, []int{400_000, 1, 1})
	defer s.Release()
	set, err := duckdb.BuildGroupKeySet(t.Context(), s, duckdb.Groups{Key: 0, Sum: 1, Above: size - 1}, 10)
	require.NoError(t, err)
	require.Equal(t, 4, set.Len(), "the fifth has only 100,000 rows")
	require.Equal(t, int64(4*size), set.Rows())
	none, err := duckdb.BuildGroupKeySet(t.Context(), s, duckdb.Groups{Key: 0, Sum: 1, Above: size - 1}, 3)
	require.NoError(t, err)
	require.Nil(t, none, "more than the limit")
}

func TestGroupsThatCannotBeSummed(t *testing.T) {
	half := int64(math.MaxInt64/2 + 1)
	for _, chunks := range [][]int{nil, {1}} {
		s := grouped(arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, []any{int64(1), int64(1)}, []any{half, half}, chunks)
		set, err := duckdb.BuildGroupKeySet(t.Context(), s, duckdb.Groups{Sum: 1}, 10)
		require.NoError(t, err)
		require.Nil(t, set, "the sum does not fit")
		s.Filters = []duckdb.Filter{{Column: 0, NotNull: true}}
		_, err = duckdb.BuildGroupKeySet(t.Context(), s, duckdb.Groups{Sum: 1}, 10)
		require.ErrorContains(t, err, "not complete")
		s.Release()
	}
	schema, batch := numbers(t, 10)
	_, err := duckdb.BuildGroupKeySet(t.Context(), scanOf(schema, batch), duckdb.Groups{Key: 7, Sum: -1}, 10)
	require.ErrorContains(t, err, "column 7")
	words, batch, _ := numbered(t, arrow.BinaryTypes.StringView)
	_, err = duckdb.BuildGroupKeySet(t.Context(), scanOf(words, batch), duckdb.Groups{Key: 0, Sum: 1}, 10)
	require.ErrorContains(t, err, "cannot be summed")
}
