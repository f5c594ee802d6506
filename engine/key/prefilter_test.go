package key

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// KY1: a prefilter leaves out no integer that is there, in whatever width, and most of the others.
func TestPrefilterKeepsWhatIsThere(t *testing.T) {
	p := arrow.PrimitiveTypes
	one := func(typ arrow.DataType, values ...int64) integerColumn {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		defer b.Release()
		for _, v := range values {
			switch b := b.(type) {
			case *array.Int8Builder:
				b.Append(int8(v))
			case *array.Int32Builder:
				b.Append(int32(v))
			case *array.Int64Builder:
				b.Append(v)
			case *array.Uint16Builder:
				b.Append(uint16(v))
			case *array.TimestampBuilder:
				b.Append(arrow.Timestamp(v))
			}
		}
		return integersOf(b.NewArray())
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int64{1, 2, 100, 500} {
		f := newPrefilter(rows)
		in := map[int64]bool{}
		for i := range rows {
			v := random.Int64N(100 * rows)
			if i%3 == 0 {
				v = -v % 128 // so that narrow ones have it, too
			}
			in[v] = true
			one(p.Int64, v).add(f, 0)
		}
		var all []int64
		for v := -100 * rows; v < 100*rows; v++ {
			all = append(all, v)
		}
		column, passed := one(p.Int64, all...), 0
		for i := column.next(f, 0); i < len(all); i = column.next(f, i+1) {
			if !in[all[i]] {
				passed++
			}
		}
		require.Less(t, passed, len(all)/8)
		for v := range in {
			for _, narrow := range []struct {
				typ        arrow.DataType
				first, end int64
			}{{p.Int64, -1 << 62, 1 << 62}, {p.Int8, -128, 128}, {p.Int32, -1 << 31, 1 << 31}, {p.Uint16, 0, 1 << 16}, {&arrow.TimestampType{Unit: arrow.Microsecond}, -1 << 40, 1 << 40}} {
				if v >= narrow.first && v < narrow.end {
					require.Zero(t, one(narrow.typ, v, v).next(f, 0), "%d as %v", v, narrow.typ)
				}
			}
		}
	}
	f := newPrefilter(1)
	column := one(p.Int32, 5, 6, 7, 5)
	require.Equal(t, 4, column.next(f, 0))
	column.add(f, 0)
	require.Equal(t, 0, column.next(f, 0))
	require.Equal(t, 3, column.next(f, 1))
	require.Equal(t, 4, column.next(f, 4))
	require.Nil(t, integersOf(array.NewNull(1)))
}
