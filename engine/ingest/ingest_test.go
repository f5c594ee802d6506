package ingest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
)

// layouts are, per logical type, the types in which its rows can arrive.
var layouts = [][]arrow.DataType{
	{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
		dictionaryOf(arrow.PrimitiveTypes.Uint8, arrow.BinaryTypes.String), dictionaryOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.LargeString),
		dictionaryOf(arrow.PrimitiveTypes.Int16, arrow.BinaryTypes.StringView), arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String)},
	{arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView, dictionaryOf(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.Binary)},
	{&arrow.Decimal64Type{Precision: 9, Scale: 2}, &arrow.Decimal32Type{Precision: 9, Scale: 2}, &arrow.Decimal128Type{Precision: 9, Scale: 2}},
	{&arrow.Decimal64Type{Precision: 18, Scale: 4}, &arrow.Decimal128Type{Precision: 18, Scale: 4}},
	{&arrow.Decimal128Type{Precision: 38, Scale: 10}},
	{arrow.PrimitiveTypes.Int64, dictionaryOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64), arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int64)},
	{arrow.PrimitiveTypes.Float32, arrow.FixedWidthTypes.Float16},
	{arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64},
	{arrow.FixedWidthTypes.Boolean}, {arrow.PrimitiveTypes.Int8}, {arrow.PrimitiveTypes.Uint64}, {arrow.PrimitiveTypes.Float64},
	{arrow.FixedWidthTypes.Time64us}, {arrow.FixedWidthTypes.Time32s}, {&arrow.TimestampType{Unit: arrow.Microsecond}},
	{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}}, {arrow.FixedWidthTypes.MonthDayNanoInterval}, {arrow.FixedWidthTypes.Duration_us},
	{&arrow.FixedSizeBinaryType{ByteWidth: 16}},
	{arrow.ListOf(arrow.BinaryTypes.String)}, {arrow.LargeListOf(arrow.PrimitiveTypes.Int32)}, {arrow.FixedSizeListOf(3, arrow.BinaryTypes.String)},
	{arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true})},
	{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64)},
	{arrow.ListOf(arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}))},
}

func dictionaryOf(index, value arrow.DataType) arrow.DataType {
	return &arrow.DictionaryType{IndexType: index, ValueType: value}
}

// words are long and short, in and out of ASCII, with common prefixes and ends.
var words = []string{"", "a", "ab", "b", "abc", "abcd", "abcdefg", "abcdefgh", "exactly twelv", "exactly twelve", "ä", "日本語", "日本語のテキスト",
	"a much longer text that does not fit", "a much longer text thaT does not fit", "\x00", "a\x00", "zzzzzzzzzzzzzzzzz"}

// source draws what is in arrays: from one seed, since drawing every value from rapid takes most of the time.
type source struct{ *rand.Rand }

func (t source) between(low, high int) int { return low + t.IntN(high-low+1) }

// number is small as often as it is not.
func (t source) number() int64 { return int64(t.Uint64()) >> t.IntN(64) }

func text(t source, many bool) string {
	if many {
		return fmt.Sprintf("%s%d", words[t.between(0, len(words)-1)], t.between(0, 400))
	}
	return words[t.between(0, len(words)-1)]
}

// generate makes an array of n rows as a slice of a longer one.
func generate(t source, dt arrow.DataType, n int, many, nulls bool) arrow.Array {
	before, after := t.between(0, 9), t.between(0, 9)
	whole := build(t, dt, before+n+after, many, nulls)
	defer whole.Release()
	return array.NewSlice(whole, int64(before), int64(before+n))
}

func build(t source, dt arrow.DataType, n int, many, nulls bool) arrow.Array {
	switch dt := dt.(type) {
	case *arrow.DictionaryType: // with words that are NULL, come twice, or are not used
		values := build(t, dt.ValueType, 20, many, nulls)
		defer values.Release()
		b := array.NewBuilder(memory.DefaultAllocator, dt.IndexType)
		defer b.Release()
		for range n {
			if nulls && t.between(0, 4) == 0 {
				b.AppendNull()
			} else {
				if err := b.AppendValueFromString(fmt.Sprint(t.between(0, 19))); err != nil {
					panic(err)
				}
			}
		}
		codes := b.NewArray()
		defer codes.Release()
		return array.NewDictionaryArray(dt, codes, values)
	case *arrow.RunEndEncodedType:
		b := array.NewRunEndEncodedBuilder(memory.DefaultAllocator, dt.RunEnds(), dt.Encoded())
		defer b.Release()
		for left := n; left > 0; {
			run := t.between(1, left)
			b.Append(uint64(run))
			appendOne(t, b.ValueBuilder(), many, nulls)
			left -= run
		}
		return b.NewArray()
	}
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	defer b.Release()
	for range n {
		appendOne(t, b, many, nulls)
	}
	return b.NewArray()
}

func appendOne(t source, b array.Builder, many, nulls bool) {
	if nulls && t.between(0, 3) == 0 {
		b.AppendNull()
		return
	}
	v := t.number()
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(text(t, many))
	case *array.LargeStringBuilder:
		b.Append(text(t, many))
	case *array.StringViewBuilder:
		b.Append(text(t, many))
	case *array.BinaryBuilder:
		b.Append([]byte(text(t, many) + "\xff"))
	case *array.BinaryViewBuilder:
		b.Append([]byte(text(t, many) + "\xff"))
	case *array.Decimal32Builder:
		b.Append(decimal.Decimal32(v % 1e9))
	case *array.Decimal64Builder:
		b.Append(decimal.Decimal64(v % 1e9))
	case *array.Decimal128Builder:
		if b.Type().(*arrow.Decimal128Type).Precision == 38 {
			b.Append(decimal128.New(v%4_000_000_000_000_000_000, uint64(v)))
		} else {
			b.Append(decimal128.FromI64(v % 1e9))
		}
	case *array.Int64Builder:
		b.Append(v)
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Uint64Builder:
		b.Append(uint64(v))
	case *array.Float16Builder:
		b.Append(float16.New(float32(v % 2048)))
	case *array.Float32Builder:
		b.Append(float32(v % 2048))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(uint64(v)))
	case *array.BooleanBuilder:
		b.Append(v%2 == 0)
	case *array.Date32Builder:
		b.Append(arrow.Date32(v % 1e6))
	case *array.Date64Builder:
		b.Append(arrow.Date64(v % 1e6 * 86_400_000))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v & 0x7FFFFFFFF))
	case *array.Time32Builder:
		b.Append(arrow.Time32(v & 0xFFFF))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(v))
	case *array.MonthDayNanoIntervalBuilder:
		b.Append(arrow.MonthDayNanoInterval{Months: int32(v), Days: int32(v >> 32), Nanoseconds: v})
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte(fmt.Sprintf("%016x", uint64(v))))
	default:
		appendNested(t, b, many, nulls)
	}
}

func appendNested(t source, b array.Builder, many, nulls bool) {
	switch b := b.(type) {
	case *array.MapBuilder:
		b.Append(true)
		for range t.between(0, 3) {
			appendOne(t, b.KeyBuilder(), many, false)
			appendOne(t, b.ItemBuilder(), many, nulls)
		}
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for range 3 {
			appendOne(t, b.ValueBuilder(), many, nulls)
		}
	case array.ListLikeBuilder:
		b.Append(true)
		for range t.between(0, 3) {
			appendOne(t, b.ValueBuilder(), many, nulls)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			appendOne(t, b.FieldBuilder(i), many, nulls)
		}
	default:
		panic(fmt.Sprintf("no generator for %T", b))
	}
}

// naive is row i in words, or nil: what every layout of the same value agrees on.
func naive(a arrow.Array, i int) any {
	switch a := a.(type) {
	case *array.Dictionary:
		if a.IsNull(i) {
			return nil
		}
		return naive(a.Dictionary(), a.GetValueIndex(i))
	case *array.RunEndEncoded:
		return naive(a.Values(), a.GetPhysicalIndex(i))
	}
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Date64:
		return fmt.Sprint(int64(a.Value(i)) / 86_400_000)
	case *array.Date32:
		return fmt.Sprint(int64(a.Value(i)))
	case *array.Float16:
		return fmt.Sprint(a.Value(i).Float32())
	case *array.Float32:
		return fmt.Sprint(a.Value(i))
	case *array.Float64:
		return math.Float64bits(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.MonthDayNanoInterval:
		return a.Value(i)
	}
	return a.ValueStr(i)
}

// rows turns batches into columns of naive values.
func rows(batches []arrow.RecordBatch) [][]any {
	var out [][]any
	for _, b := range batches {
		for c := range int(b.NumCols()) {
			if len(out) <= c {
				out = append(out, nil)
			}
			for i := range b.Column(c).Len() {
				out[c] = append(out[c], naive(b.Column(c), i))
			}
		}
	}
	return out
}

func readBack(t require.TestingT, s *space, chunks []*catalog.Chunk) (out []arrow.RecordBatch) {
	for _, c := range chunks {
		require.NoError(t, c.Descriptor().Validate())
		require.NoError(t, c.Descriptor().Verify(s.resolve, nil))
		b, err := c.Descriptor().Record(s.resolve)
		require.NoError(t, err)
		out = append(out, b)
	}
	return out
}

// checkLayout attacks G2 and G3, and that columns are stored as doc.go says.
func checkLayout(t require.TestingT, schema *arrow.Schema, stored arrow.RecordBatch) {
	for i, f := range schema.Fields() {
		switch a := stored.Column(i).(type) {
		case *array.Dictionary:
			require.Equal(t, arrow.STRING, f.Type.ID())
			require.Equal(t, arrow.UINT8, a.Indices().DataType().ID())
			words := a.Dictionary().(*array.String)
			require.Zero(t, words.NullN())
			require.LessOrEqual(t, words.Len(), 255)
			list := make([]string, words.Len())
			for k := range list {
				list[k] = words.Value(k)
				require.True(t, utf8.ValidString(list[k]))
				require.True(t, k == 0 || list[k-1] < list[k])
			}
		case *array.StringView:
			require.Equal(t, arrow.STRING, f.Type.ID())
		case *array.BinaryView:
			require.Equal(t, arrow.BINARY, f.Type.ID())
		default:
			require.True(t, arrow.TypeEqual(f.Type, a.DataType()), "%s is stored as %s", f.Type, a.DataType())
		}
	}
}

// TestChunksHoldWhatWasAdded attacks G1 with every type, layout and cut.
func TestChunksHoldWhatWasAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := make([][]arrow.DataType, rapid.IntRange(1, 4).Draw(t, "columns"))
		fields := make([]arrow.Field, len(kinds))
		for i := range kinds {
			kinds[i] = rapid.SampledFrom(layouts).Draw(t, "kind")
			fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: kinds[i][0], Nullable: true,
				Metadata: arrow.NewMetadata([]string{"ARROW:extension:name"}, []string{"arrow.uuid"})}
		}
		schema := ingest.LogicalSchema(arrow.NewSchema(fields, nil))
		s := newSpace(1 << 30)
		w := ingest.NewWriter(ingest.Target{Space: s, Owner: "t", Discard: s.discard, Schema: schema, Plain: rapid.Bool().Draw(t, "plain")})
		w.SetRowsPerChunk(rapid.Int64Range(1, 100).Draw(t, "rows per chunk"))
		many := rapid.Bool().Draw(t, "many")
		var added []arrow.RecordBatch
		for range rapid.IntRange(0, 5).Draw(t, "batches") {
			added = append(added, batchOf(t, fields, kinds, rapid.IntRange(0, 60).Draw(t, "n"), many))
			require.NoError(t, w.Add(t.Context(), added[len(added)-1]))
		}
		want := rows(added)
		chunks, err := w.Finish(t.Context())
		require.NoError(t, err)
		stored := readBack(t, s, chunks)
		for c, column := range rows(stored) {
			require.Equal(t, want[c], column)
		}
		var held, count int64
		for i, b := range stored {
			checkLayout(t, schema, b)
			require.Equal(t, "arrow.uuid", b.Schema().Field(0).Metadata.Values()[0])
			held += chunks[i].Bytes()
			count += b.NumRows()
		}
		require.Equal(t, w.Rows(), count)
		require.Equal(t, held, s.live())
		require.NoError(t, w.Abort()) // after Finish: nothing
		require.Equal(t, held, s.live())
		require.NoError(t, s.discard(chunks))
		require.Zero(t, s.live())
	})
}

func batchOf(t *rapid.T, fields []arrow.Field, kinds [][]arrow.DataType, n int, many bool) arrow.RecordBatch {
	columns := make([]arrow.Array, len(fields))
	arrived := make([]arrow.Field, len(fields))
	for i := range columns {
		arrived[i] = fields[i]
		arrived[i].Type = rapid.SampledFrom(kinds[i]).Draw(t, "layout")
		seed := rapid.Uint64().Draw(t, "seed")
		columns[i] = generate(source{rand.New(rand.NewPCG(seed, 0))}, arrived[i].Type, n, many, rapid.Bool().Draw(t, "nulls"))
	}
	return array.NewRecordBatch(arrow.NewSchema(arrived, nil), columns, int64(n))
}

// TestDictionaryLimit: 255 values are a dictionary, 256 are not, and then never again in this writer.
func TestDictionaryLimit(t *testing.T) {
	for _, distinct := range []int{0, 1, 255, 256} {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		var list []string
		for i := range distinct {
			list = append(list, fmt.Sprintf("a word with a number and a tail %03d", (i*77)%distinct))
		}
		b.AppendValues(append(list, list...), nil)
		b.AppendNull()
		b.AppendValues(make([]string, 300), make([]bool, 300))
		s, w, schema := writerOf(b.NewArray().DataType())
		w.SetRowsPerChunk(int64(2*distinct + 1))
		require.NoError(t, w.Add(t.Context(), one(schema, b.NewArray())))
		b.AppendValues(append(list, list...), nil)
		a := b.NewArray()
		require.NoError(t, w.Add(t.Context(), one(schema, a)))
		chunks, err := w.Finish(t.Context())
		require.NoError(t, err)
		for _, stored := range readBack(t, s, chunks) {
			words, ok := stored.Column(0).(*array.Dictionary)
			require.Equal(t, distinct <= 255, ok, "%d distinct values", distinct)
			if ok {
				list, _ := words.Dictionary().(*array.String)
				require.True(t, sort.SliceIsSorted(make([]int, list.Len()), func(i, j int) bool { return list.Value(i) < list.Value(j) }))
			}
		}
	}
}

func writerOf(dt arrow.DataType) (*space, *ingest.Writer, *arrow.Schema) {
	s := newSpace(1 << 30)
	schema := ingest.LogicalSchema(arrow.NewSchema([]arrow.Field{{Name: "c", Type: dt, Nullable: true}}, nil))
	return s, ingest.NewWriter(ingest.Target{Space: s, Owner: "t", Discard: s.discard, Schema: schema}), schema
}

func one(schema *arrow.Schema, a arrow.Array) arrow.RecordBatch {
	fields := schema.Fields()
	fields[0].Type = a.DataType()
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), []arrow.Array{a}, int64(a.Len()))
}
