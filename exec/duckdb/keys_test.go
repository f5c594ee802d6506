package duckdb_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// ascending is a table of the numbers from 0 in chunks of so many rows. The caller finds what is not given back in the allocator.
func ascending(mem memory.Allocator, rows ...int) (s *duckdb.Scan, release func()) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
	builder := array.NewRecordBuilder(mem, schema)
	defer builder.Release()
	var batches []arrow.RecordBatch
	next := int64(0)
	for _, n := range rows {
		for range n {
			builder.Field(0).(*array.Int64Builder).Append(next)
			next++
		}
		batches = append(batches, builder.NewRecordBatch())
	}
	return scanOf(schema, batches...), func() {
		for _, b := range batches {
			b.Release()
		}
	}
}

// TestKeysOfLargeChunks: goroutines share a chunk by morsels, and every row of it counts exactly once.
func TestKeysOfLargeChunks(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // more goroutines than chunks
	mem := memory.NewCheckedAllocator(offHeap)
	defer mem.AssertSize(t, 0)
	const m = duckdb.MorselRows
	s, release := ascending(mem, 3*m+7, 0, m-5, m)
	defer release()
	taken, err := duckdb.Morsels(s, 0)
	require.NoError(t, err)
	require.Equal(t, []int64{m, m, m, 7, m - 5, m}, taken)

	all, err := duckdb.BuildKeySet(t.Context(), s, 0, 1<<40)
	require.NoError(t, err)
	require.EqualValues(t, s.Rows, all.Rows())
	require.EqualValues(t, s.Rows, all.Len())

	low, high := int64(m-1), int64(3*m+7) // from the last row of a morsel to the first of a chunk
	s.Filters = []duckdb.Filter{{Column: 0, Low: &low, High: &high}}
	some, err := duckdb.BuildKeySet(t.Context(), s, 0, 1<<40)
	require.NoError(t, err)
	require.EqualValues(t, high-low+1, some.Rows())
	for key := range s.Rows {
		require.Equal(t, key >= low && key <= high, some.Contains(key), key)
	}
}

// A chunk that several goroutines share is closed once, however they end.
func TestSharedChunksAreClosed(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	mem := memory.NewCheckedAllocator(offHeap)
	defer mem.AssertSize(t, 0)
	s, release := ascending(mem, 4*duckdb.MorselRows, 4*duckdb.MorselRows, 10)
	defer release()
	none, err := duckdb.BuildKeySet(t.Context(), s, 0, 1000)
	require.NoError(t, err)
	require.Nil(t, none)

	open, lost := s.Open, errors.New("the third chunk is lost")
	s.Open = func(chunk int, columns []int) (arrow.RecordBatch, error) {
		if chunk == 2 {
			return nil, lost
		}
		return open(chunk, columns)
	}
	_, err = duckdb.BuildKeySet(t.Context(), s, 0, 1<<40)
	require.ErrorIs(t, err, lost)

	ctx, cancel := context.WithCancel(t.Context())
	s.Open = func(chunk int, columns []int) (arrow.RecordBatch, error) {
		cancel()
		return open(chunk, columns)
	}
	_, err = duckdb.BuildKeySet(ctx, s, 0, 1<<40)
	requireState(t, "57014", err)
}
