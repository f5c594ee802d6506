package compute_test

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/plan"
)

// sliceSource gives batches as they are.
type sliceSource []arrow.RecordBatch

func (s *sliceSource) Next(context.Context) (arrow.RecordBatch, error) {
	if len(*s) == 0 {
		return nil, io.EOF
	}
	next := (*s)[0]
	*s = (*s)[1:]
	return next, nil
}

// X8: every row has its own number, whichever rows are deleted, filtered out, or in another morsel or slice.
func TestNumbersOfRows(t *testing.T) {
	const rows, chunks = 150_000, 3
	rng := rand.New(rand.NewPCG(5, 5))
	for _, where := range []string{"", "WHERE k < 10", "WHERE k >= 990", "WHERE k = 5 OR k > 700", "WHERE k < 0"} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		columns := []plan.Column{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}
		relation := &plan.Relation{Schema: "main", Name: "r", Columns: columns, Rows: rows * chunks, Numbered: true}
		want := map[int64]int64{}
		var source sliceSource
		for c := range int64(chunks) {
			b := array.NewInt64Builder(mem)
			deleted := make([]uint64, (rows+63)/64)
			values := make([]int64, rows)
			for i := range values {
				values[i] = rng.Int64N(1000)
				if c > 0 && rng.IntN(3) == 0 {
					deleted[i/64] |= 1 << (i % 64)
				}
			}
			b.AppendValues(values, nil)
			a := b.NewArray()
			b.Release()
			batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "k", Type: a.DataType()}}, nil), []arrow.Array{a}, rows)
			a.Release()
			if c == 0 {
				deleted = nil
			}
			numbered := compute.Numbered(compute.Without(batch, deleted), "n", c<<32)
			from := int64(0)
			if c == 2 { // as a reader that knows that the first ones do not matter
				from = 8192
				source = append(source, numbered.NewSlice(from, rows))
				numbered.Release()
			} else {
				source = append(source, numbered)
			}
			for i, v := range values {
				dead := deleted != nil && deleted[i/64]>>(i%64)&1 == 1
				if int64(i) >= from && !dead && matches(where, v) {
					want[c<<32+int64(i)] = v
				}
			}
		}
		text := "SELECT k, n FROM r " + where
		tree, err := pg.Parse(text)
		require.NoError(t, err)
		resolver := plan.ResolverFunc(func(string, string, string) *plan.Relation { return relation })
		q, unsupported := plan.Read(text, tree, resolver).Compute()
		require.Nil(t, unsupported)
		open := func(context.Context, plan.TableScan) (compute.Source, error) { return &source, nil }
		r, err := compute.Run(t.Context(), q, open, nil, 3, mem)
		require.NoError(t, err)
		got := map[int64]int64{}
		for r.Next() {
			b := r.RecordBatch()
			for i, n := range b.Column(1).(*array.Int64).Int64Values() {
				_, twice := got[n]
				require.False(t, twice, where)
				got[n] = b.Column(0).(*array.Int64).Value(i)
			}
		}
		require.NoError(t, r.Err())
		r.Release()
		require.Equal(t, want, got, where)
		mem.AssertSize(t, 0)
	}
}

func matches(where string, k int64) bool {
	switch where {
	case "WHERE k < 10":
		return k < 10
	case "WHERE k >= 990":
		return k >= 990
	case "WHERE k = 5 OR k > 700":
		return k == 5 || k > 700
	}
	return where == ""
}
