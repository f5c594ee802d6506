package dbgen_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/queries/dbgen"
)

func generator(t require.TestingT, sf float64) *dbgen.Generator {
	g, err := dbgen.New(sf)
	require.NoError(t, err)
	return g
}

func TestTableNames(t *testing.T) {
	require.Equal(t, "lineitem", dbgen.LineItem.String())
	require.Equal(t, "table(77)", dbgen.Table(77).String())
	require.Nil(t, dbgen.Schema(77))
	require.Nil(t, dbgen.PhysicalSchema(77))
	require.Zero(t, generator(t, 1).Units(77))
	require.Zero(t, generator(t, 1).Rows(77))
}

// TestKnownRowCounts compares with the published cardinalities.
func TestKnownRowCounts(t *testing.T) {
	for _, c := range []struct {
		sf   float64
		rows []int64 // in the order of Tables
	}{
		{0.001, []int64{5, 25, 10, 150, 200, 800, 1500, 6005}},
		{0.01, []int64{5, 25, 100, 1500, 2000, 8000, 15000, 60175}},
		{0.1, []int64{5, 25, 1000, 15000, 20000, 80000, 150000, 600572}},
		{1, []int64{5, 25, 10000, 150000, 200000, 800000, 1500000, 6001215}},
		{10, []int64{5, 25, 100000, 1500000, 2000000, 8000000, 15000000, 59986052}},
		{100, []int64{5, 25, 1000000, 15000000, 20000000, 80000000, 150000000, 600037902}},
	} {
		g := generator(t, c.sf)
		for i, table := range dbgen.Tables() {
			require.Equal(t, c.rows[i], g.Rows(table), "%s at scale factor %g", table, c.sf)
		}
	}
}

func TestScaleFactors(t *testing.T) {
	for thousandth := 1; thousandth < 1000; thousandth++ {
		g := generator(t, float64(thousandth)/1000)
		require.Equal(t, int64(1500*thousandth), g.Units(dbgen.Orders))
	}
	require.Equal(t, int64(29999*1500000), generator(t, 29999).Units(dbgen.Orders))
	for _, sf := range []float64{0, -1, 0.0001, 0.0015, 0.9999, 1.5, 30000, math.Inf(1), math.NaN()} {
		_, err := dbgen.New(sf)
		require.ErrorIs(t, err, dbgen.ErrScaleFactor, "%g", sf)
	}
	_, err := dbgen.New(0.0126)
	require.ErrorContains(t, err, "for instance 0.013")
}

func TestErrorsCarrySQLState(t *testing.T) {
	for err, want := range map[error]string{
		dbgen.ErrScaleFactor: "22023", dbgen.ErrUnknownTable: "42P01", dbgen.ErrUnitRange: "22023",
		dbgen.ErrBatchTooLarge: "54000", dbgen.ErrNoMemory: "53200",
	} {
		require.Equal(t, want, err.(interface{ SQLState() string }).SQLState())
	}
}

func TestRangesOutsideTheTable(t *testing.T) {
	g := generator(t, 0.01)
	units := g.Units(dbgen.Orders)
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {0, units + 1}, {units, 1}, {units + 1, 0}, {1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}} {
		_, err := g.Batch(context.Background(), memory.NewGoAllocator(), dbgen.Orders, r[0], r[1])
		require.ErrorIs(t, err, dbgen.ErrUnitRange, "%v", r)
		require.Zero(t, g.RowsIn(dbgen.Orders, r[0], r[1]))
	}
	_, err := g.Batch(context.Background(), memory.NewGoAllocator(), 77, 0, 1)
	require.ErrorIs(t, err, dbgen.ErrUnknownTable)
}

// TestMaxBatchUnits: the limit is checked before anything is allocated, and
// the bound behind it bounds every string column.
func TestMaxBatchUnits(t *testing.T) {
	g := generator(t, 29999)
	require.Zero(t, dbgen.MaxBatchUnits(77))
	for _, table := range dbgen.Tables()[2:] {
		mem := &lentMemory{}
		_, err := g.Batch(context.Background(), mem, table, 0, dbgen.MaxBatchUnits(table)+1)
		require.ErrorIs(t, err, dbgen.ErrBatchTooLarge)
		require.ErrorContains(t, err, table.String())
		require.Empty(t, mem.sizes)

		const units = 3000
		batch, err := g.Batch(context.Background(), mem, table, g.Units(table)-units, units)
		require.NoError(t, err)
		for i, column := range batch.Columns() {
			if _, ok := column.(*array.StringView); ok {
				bound := units * math.MaxInt32 / dbgen.MaxBatchUnits(table)
				require.LessOrEqual(t, int64(column.Data().Buffers()[2].Len()), bound, batch.ColumnName(i))
			}
		}
		batch.Release()
	}
}

// TestAnyDivisionMakesTheSameRows attacks D2: the rows of a table do not
// depend on how it is divided.
func TestAnyDivisionMakesTheSameRows(t *testing.T) {
	g := generator(t, 0.001)
	for _, table := range dbgen.Tables() {
		t.Run(table.String(), func(t *testing.T) {
			whole := wholeTable(t, memory.NewGoAllocator(), 0.001, table)
			defer whole.Release()
			rapid.Check(t, func(t *rapid.T) {
				var row int64
				for _, r := range drawDivision(t, g.Units(table)) {
					batch, err := g.Batch(context.Background(), memory.NewGoAllocator(), table, r.first, r.count)
					require.NoError(t, err)
					require.Equal(t, g.RowsIn(table, r.first, r.count), batch.NumRows())
					part := whole.NewSlice(row, row+batch.NumRows())
					require.True(t, array.RecordEqual(part, batch), "units %d … %d differ", r.first, r.first+r.count)
					row += batch.NumRows()
					part.Release()
					batch.Release()
				}
				require.Equal(t, whole.NumRows(), row)
			})
		})
	}
}

type unitRange struct{ first, count int64 }

func drawDivision(t *rapid.T, units int64) []unitRange {
	cuts := rapid.SliceOfN(rapid.Int64Range(0, units), 0, 6).Draw(t, "cuts")
	slices.Sort(cuts)
	var ranges []unitRange
	first := int64(0)
	for _, cut := range append(cuts, units) {
		ranges = append(ranges, unitRange{first, cut - first})
		first = cut
	}
	return ranges
}

// TestFarRangesAgreeWithTheirNeighbours reaches into a scale factor that
// cannot be made as a whole, where l_partkey needs the wide draw.
func TestFarRangesAgreeWithTheirNeighbours(t *testing.T) {
	g := generator(t, 1000)
	for _, table := range []dbgen.Table{dbgen.Supplier, dbgen.Customer, dbgen.Part, dbgen.PartSupp, dbgen.Orders, dbgen.LineItem} {
		first := g.Units(table) - 1000
		whole, err := g.Batch(context.Background(), memory.NewGoAllocator(), table, first, 1000)
		require.NoError(t, err)
		tail, err := g.Batch(context.Background(), memory.NewGoAllocator(), table, first+600, 400)
		require.NoError(t, err)
		part := whole.NewSlice(whole.NumRows()-tail.NumRows(), whole.NumRows())
		require.True(t, array.RecordEqual(part, tail), table.String())
		whole.Release()
		part.Release()
		tail.Release()
	}
}

// TestOrdersAgreeWithTheirLines recomputes o_totalprice and o_orderstatus from
// LINEITEM, far from the beginning.
func TestOrdersAgreeWithTheirLines(t *testing.T) {
	g := generator(t, 100)
	const first, count = 123_456_789, 500
	orders, err := g.Batch(context.Background(), memory.NewGoAllocator(), dbgen.Orders, first, count)
	require.NoError(t, err)
	defer orders.Release()
	lines, err := g.Batch(context.Background(), memory.NewGoAllocator(), dbgen.LineItem, first, count)
	require.NoError(t, err)
	defer lines.Release()
	integers := func(batch arrow.RecordBatch, name string) func(row int) int64 {
		column := batch.Column(batch.Schema().FieldIndices(name)[0])
		return func(row int) int64 {
			var value int64
			_, err := fmt.Sscan(canonical(column, row), &value)
			require.NoError(t, err)
			return value
		}
	}
	line := 0
	for order := range int(orders.NumRows()) {
		var total int64
		open := map[string]int{}
		key := integers(orders, "o_orderkey")(order)
		for ; line < int(lines.NumRows()) && integers(lines, "l_orderkey")(line) == key; line++ {
			discounted := integers(lines, "l_extendedprice")(line) * (100 - integers(lines, "l_discount")(line)) / 100
			total += discounted * (100 + integers(lines, "l_tax")(line)) / 100
			open[canonical(lines.Column(9), line)]++
		}
		require.Equal(t, total, integers(orders, "o_totalprice")(order))
		want := "P"
		if open["O"] == 0 {
			want = "F"
		} else if open["F"] == 0 {
			want = "O"
		}
		require.Equal(t, want, canonical(orders.Column(2), order))
	}
	require.Equal(t, int(lines.NumRows()), line)
}

func TestConcurrentBatches(t *testing.T) {
	g := generator(t, 0.01)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	whole := wholeTable(t, mem, 0.01, dbgen.LineItem)
	defer whole.Release()
	var joined sync.WaitGroup
	for worker := range 8 {
		joined.Go(func() {
			first := int64(worker) * 1800
			batch, err := g.Batch(context.Background(), mem, dbgen.LineItem, first, 1800)
			if err != nil {
				t.Error(err)
				return
			}
			defer batch.Release()
			row := g.RowsIn(dbgen.LineItem, 0, first)
			part := whole.NewSlice(row, row+batch.NumRows())
			defer part.Release()
			if !array.RecordEqual(part, batch) {
				t.Errorf("orders from %d on differ", first)
			}
		})
	}
	joined.Wait()
}

// TestDictionariesAreShared holds D4 at the level of batches.
func TestDictionariesAreShared(t *testing.T) {
	small, large := generator(t, 0.001), generator(t, 100)
	for _, table := range dbgen.Tables() {
		a, err := small.Batch(context.Background(), memory.NewGoAllocator(), table, 0, 1)
		require.NoError(t, err)
		b, err := large.Batch(context.Background(), memory.NewGoAllocator(), table, 3, 2)
		require.NoError(t, err)
		require.True(t, dbgen.PhysicalSchema(table).Equal(a.Schema()))
		for i, column := range a.Columns() {
			if dictionary, ok := column.(*array.Dictionary); ok {
				require.Same(t, dictionary.Dictionary().Data().Buffers()[2], b.Column(i).(*array.Dictionary).Dictionary().Data().Buffers()[2])
			}
		}
		a.Release()
		b.Release()
	}
}

// TestBatchesAreValidArrow checks what a reader of the Arrow format may rely on
// and what reading values does not show.
func TestBatchesAreValidArrow(t *testing.T) {
	for _, table := range dbgen.Tables() {
		batch := wholeTable(t, memory.NewGoAllocator(), 0.01, table)
		for i, column := range batch.Columns() {
			require.Zero(t, column.NullN())
			require.Nil(t, column.Data().Buffers()[0])
			switch column := column.(type) {
			case *array.StringView:
				requireValidViews(t, batch.ColumnName(i), column)
			case *array.Dictionary:
				for row := range column.Len() {
					require.Less(t, column.GetValueIndex(row), column.Dictionary().Len())
				}
			}
		}
		batch.Release()
	}
}

// requireValidViews: short strings are inline with zeros behind them, long ones
// carry their prefix and lie one behind the other in the only data buffer.
func requireValidViews(t *testing.T, name string, column *array.StringView) {
	t.Helper()
	buffers := column.Data().Buffers()
	headers := arrow.ViewHeaderTraits.CastFromBytes(buffers[1].Bytes())
	offset := 0
	for row, header := range headers {
		if header.IsInline() {
			var want arrow.ViewHeader
			want.SetString(column.Value(row))
			require.Equal(t, want, header, "%s, row %d", name, row)
			continue
		}
		prefix := header.Prefix()
		require.Zero(t, header.BufferIndex())
		require.Equal(t, int32(offset), header.BufferOffset())
		require.Equal(t, string(buffers[2].Bytes()[offset:offset+4]), string(prefix[:]), "%s, row %d", name, row)
		offset += header.Len()
	}
	if offset == 0 {
		require.Len(t, buffers, 2, "no data buffer without data")
		return
	}
	require.Len(t, buffers, 3)
	require.Equal(t, offset, buffers[2].Len(), "the data buffer holds nothing else")
}
