package statistics_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// valueAt is the naive reading of one element, or false for null and NaN.
func valueAt(a arrow.Array, i int) (descriptor.Value, bool) {
	if a.IsNull(i) {
		return descriptor.Value{}, false
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return valueAt(a.Dictionary(), a.GetValueIndex(i))
	case *array.RunEndEncoded:
		return valueAt(a.Values(), a.GetPhysicalIndex(i))
	case *array.Boolean:
		if a.Value(i) {
			return descriptor.IntOf(1), true
		}
		return descriptor.IntOf(0), true
	case *array.Float16:
		return descriptor.FloatOf(float64(a.Value(i).Float32())), true
	case *array.Float32:
		return descriptor.FloatOf(float64(a.Value(i))), true
	case *array.Float64:
		return descriptor.FloatOf(a.Value(i)), true
	case *array.Decimal128:
		return descriptor.DecimalOf(decimal256.FromDecimal128(a.Value(i))), true
	case *array.Decimal256:
		return descriptor.DecimalOf(a.Value(i)), true
	case *array.FixedSizeBinary:
		return descriptor.BytesOf(a.Value(i)), true
	case array.ExtensionArray:
		return valueAt(a.Storage(), i)
	}
	return wholeOrText(a, i)
}

func wholeOrText(a arrow.Array, i int) (descriptor.Value, bool) {
	width, fixed := a.DataType().(arrow.FixedWidthDataType)
	if !fixed {
		switch a := a.(type) {
		case array.StringLike:
			return descriptor.BytesOf([]byte(a.Value(i))), true
		case interface{ Value(int) []byte }:
			return descriptor.BytesOf(a.Value(i)), true
		}
		return descriptor.Value{}, false
	}
	if id := a.DataType().ID(); id == arrow.INTERVAL_MONTHS || id == arrow.INTERVAL_DAY_TIME || id == arrow.INTERVAL_MONTH_DAY_NANO {
		return descriptor.Value{}, false
	}
	raw := a.Data().Buffers()[1].Bytes()[(a.Data().Offset()+i)*width.Bytes():][:width.Bytes()]
	var bits uint64
	for k, b := range raw {
		bits |= uint64(b) << (8 * k)
	}
	if arrow.IsUnsignedInteger(a.DataType().ID()) {
		return descriptor.UintOf(bits), true
	}
	shift := 64 - 8*len(raw)
	return descriptor.IntOf(int64(bits<<shift) >> shift), true
}

// T1: the measured statistics against the naive ones, for every type and random nulls.
func TestAgainstNaiveTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		types := append(arraytest.Flat(), arraytest.Nested()...)
		dt := types[rng.IntN(len(types))]
		a := arraytest.Array(rng, memory.NewGoAllocator(), dt, rng.IntN(400))
		got, sketch := statistics.Of(a)
		var low, high descriptor.Value
		distinct, nulls := map[string]bool{}, int64(0)
		for i := range a.Len() {
			v, ok := valueAt(a, i)
			if !ok {
				nulls++
				continue
			}
			distinct[v.String()] = true
			if order, ok := v.Compare(low); !ok || order < 0 {
				low = v
			}
			if order, ok := v.Compare(high); !ok || order > 0 {
				high = v
			}
		}
		if !low.Known() {
			require.False(rt, got.Min.Known(), "%v", dt)
			return
		}
		long := func(v descriptor.Value) bool { return v.Kind() == descriptor.BytesValue && len(v.Bytes()) > 64 } // cut: TestLongStrings
		require.Equal(rt, !long(low), got.MinExact, "%v", dt)
		require.Equal(rt, !long(high), got.MaxExact, "%v", dt)
		if got.MinExact {
			require.Equal(rt, low.String(), got.Min.String(), "%v", dt)
		}
		if got.MaxExact {
			require.Equal(rt, high.String(), got.Max.String(), "%v", dt)
		}
		require.Equal(rt, nulls, got.NullCount, "%v", dt)
		if _, ok := a.(*array.Dictionary); !ok { // random dictionaries have values twice
			off := 3 + 6*0.065*float64(len(distinct)) // six standard errors: four are met by chance in one of 25,000 columns
			require.InDelta(rt, len(distinct), got.Distinct, off, "%v", dt)
			require.InDelta(rt, len(distinct), sketch.Estimate(), off, "%v", dt)
		}
	})
}

func TestFloatsWithoutOrder(t *testing.T) {
	b := array.NewFloat64Builder(memory.NewGoAllocator())
	b.AppendValues([]float64{math.NaN(), math.Inf(1), math.Copysign(0, -1), 0, -3}, nil)
	s, _ := statistics.Of(b.NewArray())
	require.True(t, s.HasNaN)
	require.Equal(t, "-3", s.Min.String())
	require.Equal(t, "+Inf", s.Max.String())
	require.Equal(t, int64(4), s.Distinct, "NaN, infinity, zero, minus three")
}

// Bounds of long strings are cut outwards and stay text.
func TestLongStrings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		letters := []rune{'a', 'z', 'é', 0xD7FF, 0xE000, 0xFFFD, utf8.MaxRune}
		text := rapid.SliceOfN(rapid.SampledFrom(letters), 0, 80)
		values := rapid.SliceOfN(rapid.Map(text, func(r []rune) string { return string(r) }), 1, 8).Draw(rt, "values")
		b := array.NewStringBuilder(memory.NewGoAllocator())
		b.AppendStringValues(values, nil)
		s, _ := statistics.Of(b.NewArray())
		for _, v := range values {
			require.LessOrEqual(rt, s.Min.Bytes(), v)
			if s.Max.Known() {
				require.GreaterOrEqual(rt, s.Max.Bytes(), v)
			}
		}
		require.LessOrEqual(rt, len(s.Min.Bytes()), 64)
		require.LessOrEqual(rt, len(s.Max.Bytes()), 68)
		require.True(rt, utf8.ValidString(s.Min.Bytes()) && utf8.ValidString(s.Max.Bytes()))
	})
	b := array.NewStringBuilder(memory.NewGoAllocator())
	b.Append(strings.Repeat(string(utf8.MaxRune), 40))
	s, _ := statistics.Of(b.NewArray())
	require.False(t, s.Max.Known(), "nothing is greater")
}

func TestSketchEstimates(t *testing.T) {
	for _, n := range []int{0, 1, 10, 300, 5_000, 100_000, 1_000_000} {
		b := array.NewInt64Builder(memory.NewGoAllocator())
		half := array.NewInt64Builder(memory.NewGoAllocator())
		for i := range n {
			b.Append(int64(i) << 20)
			half.Append(int64(i+n/2) << 20)
		}
		s, sketch := statistics.Of(b.NewArray())
		require.InEpsilon(t, float64(n)+1, float64(s.Distinct)+1, 0.2, "%d", n)
		_, other := statistics.Of(half.NewArray())
		union := statistics.Merge(sketch, other).Estimate()
		require.InEpsilon(t, 1.5*float64(n)+1, float64(union)+1, 0.2, "union of %d", n)
	}
}

// T2: the summary of parts is the summary of the whole.
func TestSummariesMerge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(-50, 50), 0, 60).Draw(rt, "values")
		valid := rapid.SliceOfN(rapid.Bool(), len(values), len(values)).Draw(rt, "valid")
		cut := rapid.IntRange(0, len(values)).Draw(rt, "cut")
		of := func(from, to int) statistics.Summary {
			b := array.NewInt64Builder(memory.NewGoAllocator())
			b.AppendValues(values[from:to], valid[from:to])
			s, sketch := statistics.Of(b.NewArray())
			return statistics.SummaryOf(s, sketch, int64(to-from))
		}
		whole, parts := of(0, len(values)), of(0, cut).Add(of(cut, len(values)))
		require.Equal(rt, whole.Min, parts.Min)
		require.Equal(rt, whole.Max, parts.Max)
		require.Equal(rt, whole.NullCount, parts.NullCount)
		require.Equal(rt, whole.Sketch, parts.Sketch)
	})
}

func TestDecimalsOfDifferentWidthsMeetInOneOrder(t *testing.T) {
	b := array.NewDecimal128Builder(memory.NewGoAllocator(), &arrow.Decimal128Type{Precision: 20, Scale: 2})
	b.AppendValues([]decimal128.Num{decimal128.FromI64(-7), decimal128.FromI64(12)}, nil)
	s, _ := statistics.Of(b.NewArray())
	require.Equal(t, "-7", s.Min.String())
	require.Equal(t, "12", s.Max.String())
}

func BenchmarkOf(b *testing.B) {
	const rows = 122_880
	rng := rand.New(rand.NewPCG(1, 1))
	text := array.NewStringViewBuilder(memory.NewGoAllocator())
	for range rows {
		text.Append(fmt.Sprintf("Customer#%09d", rng.IntN(1<<30)))
	}
	column := text.NewArray()
	b.SetBytes(rows * 16)
	for b.Loop() {
		statistics.Of(column)
	}
}
