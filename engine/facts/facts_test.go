package facts

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/exec/plan"
)

// A dictionary whose bytes another process has written over is an error, and not the end of the process.
func TestWordsThatWereOverwritten(t *testing.T) {
	offsets := arrow.Int32Traits.CastToBytes([]int32{0, 3, 6})
	data := array.NewData(arrow.BinaryTypes.String, 2, []*memory.Buffer{nil, memory.NewBufferBytes(offsets), memory.NewBufferBytes([]byte("onetwo"))}, nil, 0, 0)
	words := array.NewStringData(data)
	require.NoError(t, addWords(map[string]bool{}, words))
	copy(offsets[4:], arrow.Int32Traits.CastToBytes([]int32{-606348325}))
	require.ErrorIs(t, addWords(map[string]bool{}, words), descriptor.ErrData)
}

// FA3: a bound is one of the column's type, or none: a planner that took an unsigned number for a signed one would leave rows out.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		of   arrow.DataType
		from descriptor.Value
		want plan.Value
	}{
		{arrow.PrimitiveTypes.Int32, descriptor.IntOf(-3), plan.IntValue(-3)},
		{arrow.PrimitiveTypes.Uint64, descriptor.UintOf(1 << 63), plan.UintValue(1 << 63)},
		{arrow.PrimitiveTypes.Float64, descriptor.FloatOf(0.5), plan.DoubleValue(0.5)},
		{arrow.BinaryTypes.String, descriptor.BytesOf([]byte("a")), plan.TextValue("a")},
		{arrow.FixedWidthTypes.Date32, descriptor.IntOf(1), plan.DateValue(1)},
		{arrow.FixedWidthTypes.Timestamp_us, descriptor.IntOf(1), plan.Value{}}, // it has a zone
		{&arrow.TimestampType{Unit: arrow.Microsecond}, descriptor.IntOf(1), plan.TimestampValue(1)},
		{&arrow.TimestampType{Unit: arrow.Second}, descriptor.IntOf(1), plan.Value{}},
		{arrow.PrimitiveTypes.Int32, descriptor.Value{}, plan.Value{}},
	} {
		require.Equal(t, c.want, bound(c.of, c.from), "%s %v", c.of, c.from)
	}
	require.False(t, columnStats(arrow.PrimitiveTypes.Int8, descriptor.Statistics{NullCount: descriptor.UnknownNullCount}, 3).NullsKnown)
}

func TestUnfitWords(t *testing.T) {
	require.True(t, unfitWords(nil))
	require.True(t, unfitWords([]string{"a", "b\x00"}))
	require.True(t, unfitWords(make([]string, domainMax+1)))
	require.False(t, unfitWords([]string{"", "a"}))
}

// Facts of a version that is in no contents any more are forgotten, also if they were derived after the last commit.
func TestKeepForgetsWhatCameLate(t *testing.T) {
	c, now := Cache{}, new(catalog.Contents)
	v, err := catalog.Collect(catalog.TableName{Schema: "public", Name: "t"}, arrow.NewSchema(nil, nil), nil)
	require.NoError(t, err)
	c.Keep(now)
	late := c.Of(v)
	require.Same(t, late, c.Of(v))
	c.Keep(now)
	require.Empty(t, c.byID)
	require.NotSame(t, late, c.Of(v))
}
