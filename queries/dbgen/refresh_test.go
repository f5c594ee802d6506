package dbgen_test

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/queries/dbgen"
)

// insertSet is both tables' part of a set of RF1.
func insertSet(t *testing.T, g *dbgen.Generator, set int64) (orders, lines arrow.RecordBatch) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	orders, err := g.InsertSet(t.Context(), mem, dbgen.Orders, set)
	require.NoError(t, err)
	t.Cleanup(orders.Release)
	lines, err = g.InsertSet(t.Context(), mem, dbgen.LineItem, set)
	require.NoError(t, err)
	t.Cleanup(lines.Release)
	return orders, lines
}

func int64s(batch arrow.RecordBatch, column string) []int64 {
	return batch.Column(batch.Schema().FieldIndices(column)[0]).(*array.Int64).Int64Values()
}

// D6: keys are of the second 8 of each 32 where those of the table are of the first, no set has another's, and RF2 has
// the table's own, from its beginning.
func TestRefreshKeys(t *testing.T) {
	for _, sf := range []float64{0.001, 0.013} { // whose orders are no multiples of 8
		g := generator(t, sf)
		require.Equal(t, int64(1500*sf), g.RefreshOrders())
		table, err := g.Batch(t.Context(), memory.DefaultAllocator, dbgen.Orders, 0, g.Units(dbgen.Orders))
		require.NoError(t, err)
		defer table.Release()
		var deleted []int64
		inserted := map[int64]bool{}
		for set := range int64(dbgen.RefreshSets) {
			keys, err := g.DeleteSet(set)
			require.NoError(t, err)
			deleted = append(deleted, keys...)
			if set > 20 && set < dbgen.RefreshSets-2 {
				continue
			}
			orders, lines := insertSet(t, g, set)
			for i, key := range int64s(orders, "o_orderkey") {
				require.Equal(t, keys[i]+8, key)
				require.True(t, key%32 >= 8 && key%32 < 16, key)
				require.False(t, inserted[key])
				inserted[key] = true
			}
			last := int64(-1)
			found := map[int64]bool{}
			for _, key := range int64s(lines, "l_orderkey") {
				require.GreaterOrEqual(t, key, last)
				last = key
				found[key] = true
				require.True(t, inserted[key])
			}
			require.Len(t, found, int(orders.NumRows()), "every order has lines")
		}
		require.Equal(t, int64s(table, "o_orderkey")[:len(deleted)], deleted)
		require.Less(t, int(g.Units(dbgen.Orders))-len(deleted), dbgen.RefreshSets, "after all sets hardly any is left")
	}
}

// A set has the very orders that a larger table has behind the smaller one's, where columns do not depend on its size.
func TestInsertedRowsAreDrawnOn(t *testing.T) {
	small, large := generator(t, 0.01), generator(t, 0.02)
	orders, lines := insertSet(t, small, 3)
	first := small.Units(dbgen.Orders) + 3*small.RefreshOrders()
	for table, got := range map[dbgen.Table]arrow.RecordBatch{dbgen.Orders: orders, dbgen.LineItem: lines} {
		want, err := large.Batch(t.Context(), memory.DefaultAllocator, table, first, small.RefreshOrders())
		require.NoError(t, err)
		defer want.Release()
		require.Equal(t, want.NumRows(), got.NumRows())
		depend := map[string]bool{"o_orderkey": true, "o_custkey": true, "o_totalprice": true, "l_orderkey": true,
			"l_partkey": true, "l_suppkey": true, "l_extendedprice": true}
		compared := 0
		for i, f := range got.Schema().Fields() {
			if !depend[f.Name] {
				require.True(t, array.Equal(want.Column(i), got.Column(i)), f.Name)
				compared++
			}
		}
		require.GreaterOrEqual(t, compared, 6)
	}
	for _, key := range int64s(orders, "o_custkey") {
		require.LessOrEqual(t, key, small.Units(dbgen.Customer))
	}
	for _, key := range int64s(lines, "l_partkey") {
		require.LessOrEqual(t, key, small.Units(dbgen.Part))
	}
}

func TestRefreshSetsThatAreNone(t *testing.T) {
	g := generator(t, 0.01)
	for _, set := range []int64{-1, dbgen.RefreshSets, math.MaxInt64} {
		_, err := g.InsertSet(t.Context(), memory.DefaultAllocator, dbgen.Orders, set)
		require.ErrorIs(t, err, dbgen.ErrUnitRange)
		_, err = g.DeleteSet(set)
		require.ErrorIs(t, err, dbgen.ErrUnitRange)
	}
	_, err := g.InsertSet(t.Context(), memory.DefaultAllocator, dbgen.Part, 0)
	require.ErrorContains(t, err, "a refresh changes orders and lineitem, not part")
}
