package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/ingest"
)

func stateOf(t require.TestingT, err error) string {
	var e interface{ SQLState() string }
	require.ErrorAs(t, err, &e)
	return e.SQLState()
}

// badText are arrays with one string that is not UTF-8, wherever a string can be.
func badText() map[string]arrow.Array {
	const bad = "fine until \xff here, and long"
	out := map[string]arrow.Array{}
	build := func(name string, dt arrow.DataType, fill func(b array.Builder)) {
		b := array.NewBuilder(memory.DefaultAllocator, dt)
		defer b.Release()
		fill(b)
		out[name] = b.NewArray()
	}
	build("string", arrow.BinaryTypes.String, func(b array.Builder) { b.(*array.StringBuilder).AppendValues([]string{"ä", bad, "x"}, nil) })
	build("short", arrow.BinaryTypes.String, func(b array.Builder) { b.(*array.StringBuilder).AppendValues([]string{"ok", "\xc3"}, nil) })
	build("divided", arrow.BinaryTypes.String, func(b array.Builder) { b.(*array.StringBuilder).AppendValues([]string{"\xc3", "\xa4"}, nil) })
	build("large", arrow.BinaryTypes.LargeString, func(b array.Builder) { b.(*array.LargeStringBuilder).Append(bad) })
	build("view", arrow.BinaryTypes.StringView, func(b array.Builder) { b.(*array.StringViewBuilder).AppendValues([]string{"x", bad}, nil) })
	build("inline view", arrow.BinaryTypes.StringView, func(b array.Builder) { b.(*array.StringViewBuilder).Append("\xff") })
	build("list", arrow.ListOf(arrow.BinaryTypes.String), func(b array.Builder) {
		l := b.(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.StringBuilder).AppendValues([]string{"ok", bad}, nil)
	})
	build("map key", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), func(b array.Builder) {
		m := b.(*array.MapBuilder)
		m.Append(true)
		m.KeyBuilder().(*array.StringBuilder).Append(bad)
		m.ItemBuilder().(*array.Int32Builder).Append(1)
	})
	build("deep", arrow.StructOf(arrow.Field{Name: "l", Type: arrow.LargeListOf(arrow.FixedSizeListOf(1, arrow.BinaryTypes.StringView)), Nullable: true}), func(b array.Builder) {
		s := b.(*array.StructBuilder)
		s.Append(true)
		l := s.FieldBuilder(0).(*array.LargeListBuilder)
		l.Append(true)
		f := l.ValueBuilder().(*array.FixedSizeListBuilder)
		f.Append(true)
		f.ValueBuilder().(*array.StringViewBuilder).Append(bad)
	})
	words := out["string"]
	codes := array.NewInt32Builder(memory.DefaultAllocator)
	codes.AppendValues([]int32{0, 1}, nil)
	out["dictionary"] = array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, codes.NewArray(), words)
	return out
}

// TestInvalidText attacks G3 and G4.
func TestInvalidText(t *testing.T) {
	for name, a := range badText() {
		for _, plain := range []bool{false, true} {
			s, _, schema := writerOf(a.DataType())
			w := ingest.NewWriter(ingest.Target{Space: s, Owner: "t", Discard: s.discard, Schema: schema, Plain: plain})
			require.NoError(t, w.Add(t.Context(), one(schema, a)))
			_, err := w.Finish(t.Context())
			require.Error(t, err, name)
			require.Equal(t, "22021", stateOf(t, err), name)
			require.ErrorContains(t, err, `column "c"`)
			require.Zero(t, s.live(), name)
		}
	}
}

// TestInvisibleText: text that no row shows is not checked.
func TestInvisibleText(t *testing.T) {
	bad := badText()
	for name, a := range map[string]arrow.Array{
		"sliced away": array.NewSlice(bad["string"], 2, 3), "unused word": array.NewSlice(bad["dictionary"], 0, 1), "before the slice": array.NewSlice(bad["list"], 1, 1),
	} {
		s, w, schema := writerOf(a.DataType())
		require.NoError(t, w.Add(t.Context(), one(schema, a)), name)
		chunks, err := w.Finish(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, rows([]arrow.RecordBatch{one(schema, a)}), append([][]any{nil}[:1-min(a.Len(), 1)], rows(readBack(t, s, chunks))...), name)
	}
}

// G5.
func TestWideDecimals(t *testing.T) {
	for _, c := range []struct {
		to    arrow.DataType
		value decimal128.Num
		fits  bool
	}{
		{&arrow.Decimal64Type{Precision: 4, Scale: 2}, decimal128.FromI64(9999), true},
		{&arrow.Decimal64Type{Precision: 4, Scale: 2}, decimal128.FromI64(-9999), true},
		{&arrow.Decimal64Type{Precision: 4, Scale: 2}, decimal128.FromI64(10000), false},
		{&arrow.Decimal64Type{Precision: 18, Scale: 2}, decimal128.FromI64(999_999_999_999_999_999), true},
		{&arrow.Decimal64Type{Precision: 18, Scale: 2}, decimal128.FromI64(1_000_000_000_000_000_000), false},
		{&arrow.Decimal64Type{Precision: 18, Scale: 2}, decimal128.New(1, 5), false}, // whose low half fits
		{&arrow.Decimal64Type{Precision: 18, Scale: 2}, decimal128.New(-2, 5), false},
		{&arrow.Decimal128Type{Precision: 20, Scale: 2}, decimal128.New(1<<40, 0), false},
		{&arrow.Decimal128Type{Precision: 20, Scale: 2}, decimal128.FromI64(-1), true},
		{&arrow.Decimal128Type{Precision: 38, Scale: 2}, decimal128.New(1<<62, 0), true},
		{&arrow.Decimal128Type{Precision: 38, Scale: 2}, decimal128.New(math.MaxInt64, 0), false}, // a HUGEINT of 39 digits
		{&arrow.Decimal128Type{Precision: 38, Scale: 2}, decimal128.New(math.MinInt64, 0), false}, // which has no negation
	} {
		b := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: 38, Scale: 2})
		b.AppendNull()
		b.Append(c.value)
		a := b.NewArray()
		s, w, schema := writerOf(c.to)
		require.NoError(t, w.Add(t.Context(), one(schema, array.NewSlice(a, 0, 1))))
		require.NoError(t, w.Add(t.Context(), one(schema, array.NewSlice(a, 1, 2)))) // without NULL
		chunks, err := w.Finish(t.Context())
		if !c.fits {
			require.Equal(t, "22003", stateOf(t, err), "%s in %s", c.value.ToString(2), c.to)
			require.Zero(t, s.live())
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []any{nil, c.value.ToString(2)}, rows(readBack(t, s, chunks))[0])
	}
	b := array.NewDecimal64Builder(memory.DefaultAllocator, &arrow.Decimal64Type{Precision: 9, Scale: 3})
	b.Append(decimal.Decimal64(1))
	_, w, schema := writerOf(&arrow.Decimal64Type{Precision: 9, Scale: 2})
	require.NoError(t, w.Add(t.Context(), one(schema, b.NewArray())))
	_, err := w.Finish(t.Context())
	require.Equal(t, "42804", stateOf(t, err)) // another scale is another type
}

// G5.
func TestNotNull(t *testing.T) {
	for _, dt := range []arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.Binary} {
		s := newSpace(1 << 30)
		schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: dt}}, nil)
		w := ingest.NewWriter(ingest.Target{Space: s, Owner: "t", Discard: s.discard, Schema: schema})
		b := array.NewBuilder(memory.DefaultAllocator, dt)
		b.AppendEmptyValue()
		b.AppendNull()
		a := b.NewArray()
		require.NoError(t, w.Add(t.Context(), one(schema, array.NewSlice(a, 0, 1))))
		require.NoError(t, w.Add(t.Context(), one(schema, array.NewSlice(a, 1, 2))))
		_, err := w.Finish(t.Context())
		require.Equal(t, "23502", stateOf(t, err))
		require.Zero(t, s.live())
	}
}

func numbers(n int) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	for i := range n {
		b.Append(int64(i))
	}
	return b.NewArray()
}

// TestRegionFull: the space's error arrives as it is, and every earlier chunk of the writer goes back (G4).
func TestRegionFull(t *testing.T) {
	for _, a := range []arrow.Array{numbers(1000), badText()["string"]} {
		s, w, schema := writerOf(a.DataType())
		w.SetRowsPerChunk(100)
		s.capacity = 300 << 10
		var err error
		for i := 0; err == nil; i++ {
			require.Less(t, i, 10_000, "the region never fills")
			err = w.Add(t.Context(), one(schema, array.NewSlice(a, 0, 1)))
			if err == nil {
				err = w.Add(t.Context(), one(schema, array.NewSlice(a, 0, int64(a.Len()-2))))
			}
		}
		var full *fullError
		require.ErrorAs(t, err, &full)
		require.Equal(t, "53200", stateOf(t, err))
		require.Zero(t, s.live())
		require.Error(t, w.Add(t.Context(), one(schema, array.NewSlice(a, 0, 1))))
		_, err = w.Finish(t.Context())
		require.ErrorAs(t, err, &full) // rows were lost: it stays an error
		require.NoError(t, w.Abort())
	}
}

// TestFaults fails every step of the lender in turn.
func TestFaults(t *testing.T) {
	injected := errors.New("injected")
	for _, step := range []string{"grant", "shrink", "clean", "seal"} {
		for nth := range 3 {
			s, w, schema := writerOf(arrow.PrimitiveTypes.Int64)
			w.SetRowsPerChunk(50)
			count := 0
			s.fault = func(name string) error {
				if name == step {
					if count++; count > nth {
						return injected
					}
				}
				return nil
			}
			err := w.Add(t.Context(), one(schema, numbers(200)))
			require.ErrorIs(t, err, injected, "%s %d", step, nth)
			require.Zero(t, s.live(), "%s %d", step, nth)
		}
	}
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, w, schema := writerOf(arrow.PrimitiveTypes.Int64)
	w.SetRowsPerChunk(50)
	require.NoError(t, w.Add(ctx, one(schema, numbers(60))))
	require.NotZero(t, s.live())
	s.fault = func(string) error { cancel(); return nil } // in the middle of a chunk
	require.ErrorIs(t, w.Add(ctx, one(schema, numbers(60))), context.Canceled)
	require.Zero(t, s.live())

	s, w, schema = writerOf(arrow.PrimitiveTypes.Int64)
	require.ErrorIs(t, w.Add(ctx, one(schema, numbers(1))), context.Canceled)
	require.Zero(t, s.live())
}

func TestMisuse(t *testing.T) {
	_, w, schema := writerOf(arrow.PrimitiveTypes.Int64)
	two := arrow.NewSchema([]arrow.Field{schema.Field(0), schema.Field(0)}, nil)
	err := w.Add(t.Context(), array.NewRecordBatch(two, []arrow.Array{numbers(1), numbers(1)}, 1))
	require.Equal(t, "42601", stateOf(t, err))

	_, w, schema = writerOf(arrow.PrimitiveTypes.Int64)
	require.NoError(t, w.Add(t.Context(), one(schema, numbers(1))))
	require.NoError(t, w.Abort())
	require.Error(t, w.Add(t.Context(), one(schema, numbers(1))))
	_, err = w.Finish(t.Context())
	require.Error(t, err)

	s, w, schema := writerOf(arrow.BinaryTypes.String) // numbers are no strings
	require.NoError(t, w.Add(t.Context(), one(schema, numbers(1))))
	_, err = w.Finish(t.Context())
	require.Equal(t, "42804", stateOf(t, err))
	require.Zero(t, s.live())
}

// TestSlicesOfLargeBatches: a few rows of a large batch are a few rows, whatever buffers they share.
func TestSlicesOfLargeBatches(t *testing.T) {
	random := source{rand.New(rand.NewPCG(1, 2))}
	var types []arrow.DataType
	for _, kind := range layouts {
		types = append(types, kind...)
	}
	for _, dt := range types {
		if dt.ID() == arrow.RUN_END_ENCODED { // whose rows' share of the runs is not counted
			continue
		}
		whole := build(random, dt, 20_000, true, true)
		s, w, schema := writerOf(dt)
		s.capacity = 64 << 20
		for first := range int64(20) {
			require.NoError(t, w.Add(t.Context(), one(schema, array.NewSlice(whole, 1000*first, 1000*first+3))))
		}
		chunks, err := w.Finish(t.Context())
		require.NoError(t, err, dt)
		require.Len(t, chunks, 1)
		require.LessOrEqual(t, ingest.BatchBytes(one(schema, array.NewSlice(whole, 5, 8))), int64(3*1000), "%s", dt)
		require.GreaterOrEqual(t, 4*ingest.BatchBytes(one(schema, whole))+(64<<10), chunkBytes(t, schema, whole), fmt.Sprint(dt))
	}
}

// chunkBytes is what a's chunks take.
func chunkBytes(t *testing.T, schema *arrow.Schema, a arrow.Array) (n int64) {
	s, w, _ := writerOf(schema.Field(0).Type)
	require.NoError(t, w.Add(t.Context(), one(schema, a)))
	_, err := w.Finish(t.Context())
	require.NoError(t, err)
	return s.live()
}
