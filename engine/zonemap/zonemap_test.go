package zonemap

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/exec/plan"
)

// ZM1.
func TestValuesAreWithinTheirZones(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, typ := range []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32,
		arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Microsecond},
	} {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		const rows = 3*RunRows + 5
		for i := range rows {
			if i/RunRows == 1 || rng.IntN(10) == 0 { // the second run has NULLs only
				b.AppendNull()
				continue
			}
			require.NoError(t, b.AppendValueFromString(valueString(typ, rng.IntN(100))))
		}
		a := b.NewArray()
		z := &Zones{typ, rows, zonesOf(a)}
		require.Len(t, z.zones, 4, "%v", typ)
		for run := range z.zones {
			stats := z.Stats(run)
			require.EqualValues(t, min(rows-run*RunRows, RunRows), stats.Rows)
			require.Equal(t, run == 1, stats.NullsKnown && stats.Nulls == stats.Rows, "%v run %d", typ, run)
			for i := run * RunRows; i < min((run+1)*RunRows, rows); i++ {
				if a.IsNull(i) {
					continue
				}
				v := integerAt(a, i)
				require.True(t, z.zones[run].min <= v && v <= z.zones[run].max, "%v row %d", typ, i)
			}
		}
		a.Release()
		b.Release()
	}
	for _, typ := range []arrow.DataType{
		arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Uint64, &arrow.Decimal64Type{Precision: 5},
		&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, &arrow.TimestampType{Unit: arrow.Nanosecond},
	} {
		require.Equal(t, plan.Value{}, valueOf(typ, 1), "%v", typ)
	}
}

func valueString(typ arrow.DataType, i int) string {
	switch typ.ID() {
	case arrow.DATE32:
		return arrow.Date32(i).ToTime().Format("2006-01-02")
	case arrow.TIMESTAMP:
		return arrow.Timestamp(i).ToTime(arrow.Second).Format("2006-01-02 15:04:05")
	}
	return string(rune('0'+i/10)) + string(rune('0'+i%10))
}

func integerAt(a arrow.Array, i int) int64 {
	switch a := a.(type) {
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Uint8:
		return int64(a.Value(i))
	case *array.Uint16:
		return int64(a.Value(i))
	case *array.Uint32:
		return int64(a.Value(i))
	case *array.Date32:
		return int64(a.Value(i))
	}
	return int64(a.(*array.Timestamp).Value(i))
}

// ZM2, and that nothing is made for a single query.
func TestZonesAreBounded(t *testing.T) {
	c := &Cache{}
	k := key{descriptor.ExtentID{Region: 1, Generation: 1}, 0}
	z, known := c.known(k)
	require.True(t, known, "the first time nothing is to be made")
	require.Nil(t, z)
	_, known = c.known(k)
	require.False(t, known)
	large := &Zones{zones: make([]zone, 1000)}
	c.keep(k, large)
	z, known = c.known(k)
	require.True(t, known)
	require.Same(t, large, z)
	for i := range 3 * most {
		c.keep(key{descriptor.ExtentID{Region: 2, Generation: descriptor.Generation(i)}, 0}, large)
		c.known(key{descriptor.ExtentID{Region: 3, Generation: descriptor.Generation(i)}, 0})
		require.LessOrEqual(t, c.charged, int64(bytesMost))
		require.LessOrEqual(t, len(c.zones), most)
		require.LessOrEqual(t, len(c.asked), most)
	}
}
