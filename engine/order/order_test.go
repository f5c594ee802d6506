package order_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/order"
)

func floats(values ...any) arrow.Array {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	defer b.Release()
	for _, v := range values {
		if v == nil {
			b.AppendNull()
		} else {
			b.Append(v.(float64))
		}
	}
	return b.NewArray()
}

// OD2: NULL is last, NaN above all numbers, -0 is 0, and equal rows stay as they lie.
func TestSort(t *testing.T) {
	t.Parallel()
	a := floats(2.0, nil, math.NaN(), 0.0, math.Copysign(0, -1), math.Inf(-1), -3.5, nil, math.Inf(1))
	into := make([]uint32, a.Len())
	require.NoError(t, order.Sort(t.Context(), []arrow.Array{a}, into))
	require.Equal(t, []uint32{5, 6, 3, 4, 0, 8, 2, 1, 7}, into)
	sorted, known := order.InOrder([]arrow.Array{a})
	require.False(t, sorted)
	require.True(t, known)
	sorted, _ = order.InOrder([]arrow.Array{floats(-1.0, math.Copysign(0, -1), 0.0, math.NaN(), nil, nil)})
	require.True(t, sorted)
}

// Columns behind the first one order what is equal before them.
func TestSortByTwo(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 5000
	type row struct {
		word   string
		number float64
	}
	rows := make([]row, n)
	words, numbers := array.NewStringViewBuilder(memory.DefaultAllocator), make([]any, n)
	for i := range rows {
		rows[i] = row{string(rune('a'+rng.IntN(5))) + "\x00b"[:rng.IntN(3)], float64(rng.IntN(9))}
		words.Append(rows[i].word)
		numbers[i] = rows[i].number
	}
	into := make([]uint32, n)
	require.NoError(t, order.Sort(t.Context(), []arrow.Array{words.NewArray(), floats(numbers...)}, into))
	want := make([]uint32, n)
	for i := range want {
		want[i] = uint32(i)
	}
	slices.SortStableFunc(want, func(a, b uint32) int {
		x, y := rows[a], rows[b]
		switch {
		case x.word < y.word, x.word == y.word && x.number < y.number:
			return -1
		case x == y:
			return 0
		}
		return 1
	})
	require.Equal(t, want, into)
}

// Types that CanOrder takes are those whose rows are sorted, as chunks have them; others are not known.
func TestCanOrder(t *testing.T) {
	t.Parallel()
	for _, typ := range []arrow.DataType{
		arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32,
		arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32,
		arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String,
		arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Timestamp_us,
		&arrow.Decimal64Type{Precision: 10, Scale: 2}, &arrow.Decimal128Type{Precision: 30, Scale: 2},
		arrow.BinaryTypes.StringView, arrow.BinaryTypes.BinaryView, &arrow.FixedSizeBinaryType{ByteWidth: 16},
		arrow.FixedWidthTypes.MonthDayNanoInterval, arrow.ListOf(arrow.PrimitiveTypes.Int64),
		arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64}),
	} {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		b.AppendEmptyValue()
		b.AppendNull()
		_, known := order.InOrder([]arrow.Array{b.NewArray()})
		require.Equal(t, order.CanOrder(typ), known, "%v", typ)
	}
}

func TestSortEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, order.Sort(ctx, []arrow.Array{floats(2.0, 1.0)}, make([]uint32, 2)), context.Canceled)
}
