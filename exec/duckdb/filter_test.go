package duckdb_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/exec/duckdb"
)

var mixedTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Int64, // the row's number
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.Decimal64Type{Precision: 15, Scale: 2},
	arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32, arrow.FixedWidthTypes.Boolean,
	arrow.BinaryTypes.StringView, arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString,
	arrow.BinaryTypes.String, arrow.BinaryTypes.String, // these two are stored as dictionaries, the second shown as ENUM
	&arrow.Decimal128Type{Precision: 30, Scale: 2},
	arrow.ListOf(arrow.PrimitiveTypes.Int32), // goes through DuckDB's conversion
	arrow.PrimitiveTypes.Int32,               // to compare the other one with
}

const (
	viewColumn       = 15
	dictionaryColumn = 18
	enumColumn       = 19
	listColumn       = 21
	twinColumn       = 22
)

var dictionaryType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}

var domain = func() (out []string) {
	for i := range 26 {
		out = append(out, string(rune('a'+i))+text(i)) // around string_t's 12 inline bytes
	}
	return out
}()

func text(i int) string { return fmt.Sprintf("%0*d", i%20, i) }

// mixed is a table of random values with chunks of random sizes and offsets, and the naive twin of its filters.
type mixed struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	values  map[int64][]any // by the row's number
}

func newMixed(t testing.TB, rows int, nulls bool) *mixed {
	m := &mixed{values: map[int64][]any{}}
	fields := make([]arrow.Field, len(mixedTypes))
	stored := make([]arrow.Field, len(mixedTypes))
	for i, typ := range mixedTypes {
		fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: typ, Nullable: true}
		stored[i] = fields[i]
		if i == dictionaryColumn || i == enumColumn {
			stored[i].Type = dictionaryType
		}
	}
	m.schema = arrow.NewSchema(fields, nil)
	source := rand.New(rand.NewPCG(uint64(rows), 1)) // the tables are the same each time; rapid draws what is asked of them
	random := source.IntN
	for number := 0; number < rows; {
		builder := array.NewRecordBuilder(offHeap, arrow.NewSchema(stored, nil))
		count, skip := min(random(6000)+1, rows-number), random(100)
		for i := range count + skip {
			row := make([]any, len(fields))
			for c := range fields {
				v := random(100)
				if c == 0 {
					v = number + i - skip
				}
				if c > 0 && nulls && random(10) == 0 {
					builder.Field(c).AppendNull()
					continue
				}
				row[c] = appendValue(builder.Field(c), v)
			}
			if i >= skip {
				m.values[int64(number+i-skip)] = row
			}
		}
		batch := builder.NewRecordBatch()
		builder.Release()
		m.batches = append(m.batches, batch.NewSlice(int64(skip), int64(skip+count)))
		batch.Release()
		number += count
		t.Cleanup(m.batches[len(m.batches)-1].Release)
	}
	return m
}

// GoString keeps failures readable.
func (m *mixed) GoString() string { return fmt.Sprintf("%d rows", len(m.values)) }

func mixedTables(t testing.TB) []*mixed {
	return []*mixed{newMixed(t, 0, false), newMixed(t, 1, true), newMixed(t, 3000, true), newMixed(t, 8000, false), newMixed(t, 12_000, true)}
}

// appendValue appends what v means in the builder's type and returns it as the naive twin sees it: int64, float64 or string.
func appendValue(b array.Builder, v int) any {
	signed := int64(v) - 50
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(signed))
	case *array.Int16Builder:
		b.Append(int16(signed) * 300)
		return signed * 300
	case *array.Int32Builder:
		b.Append(int32(signed))
	case *array.Int64Builder:
		b.Append(int64(v))
		return int64(v)
	case *array.Uint8Builder:
		b.Append(uint8(v) + 100)
		return int64(v) + 100
	case *array.Uint16Builder:
		b.Append(uint16(v) * 600)
		return int64(v) * 600
	case *array.Uint32Builder:
		b.Append(uint32(v) + math.MaxInt32)
		return int64(v) + math.MaxInt32
	case *array.Uint64Builder:
		b.Append(uint64(v))
		return int64(v)
	case *array.Date32Builder:
		b.Append(arrow.Date32(signed))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(signed))
	case *array.Decimal64Builder:
		b.Append(decimal.Decimal64(signed))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(signed))
	case *array.Float64Builder:
		b.Append(float64(v) / 4)
		return float64(v) / 4
	case *array.Float32Builder:
		b.Append(float32(v) / 4)
		return float64(v) / 4
	case *array.BooleanBuilder:
		b.Append(v%2 == 0)
	case *array.StringViewBuilder:
		b.Append(text(v))
		return text(v)
	case *array.StringBuilder:
		b.Append(text(v))
		return text(v)
	case *array.LargeStringBuilder:
		b.Append(text(v))
		return text(v)
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(domain[v%len(domain)]); err != nil {
			panic(err)
		}
		return domain[v%len(domain)]
	case *array.ListBuilder:
		b.Append(true)
		for i := range v % 4 {
			b.ValueBuilder().(*array.Int32Builder).Append(int32(i + v))
		}
	}
	return signed
}

func (m *mixed) scan(filters []duckdb.Filter) *duckdb.Scan {
	s := scanOf(m.schema, m.batches...)
	s.Domains = map[int][]string{enumColumn: domain}
	s.Filters = filters
	return s
}

// drawFilter makes a random filter of a random column.
func drawFilter(t *rapid.T) duckdb.Filter {
	f := duckdb.Filter{Column: rapid.IntRange(0, len(mixedTypes)-1).Draw(t, "column")}
	bound := func(name string) *int64 {
		if rapid.Bool().Draw(t, "no "+name) {
			return nil
		}
		v := rapid.OneOf(rapid.Int64Range(-60, 110), rapid.Int64(), rapid.Int64Range(math.MaxInt32, math.MaxInt32+100)).Draw(t, name)
		return &v
	}
	number := func(v *int64) *float64 {
		if v == nil {
			return nil
		}
		w := float64(*v) / 4
		return &w
	}
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0, 1:
		f.Low, f.High = bound("low"), bound("high")
		f.LowFloat, f.HighFloat = number(f.Low), number(f.High)
	case 2:
		keys := rapid.SliceOf(rapid.OneOf(rapid.Int64Range(-60, 110), rapid.Int64())).Draw(t, "keys")
		set, err := duckdb.NewKeySet(keys)
		require.NoError(t, err)
		f.Keys = set
	case 3:
		kept := rapid.Byte().Draw(t, "kept")
		f.Keep = func(v string) bool { return v[0]%16 < kept%16 }
	case 4:
		f.NotNull = true
	case 5:
		f.IsNull = true
	case 6:
		f.Column = rapid.SampledFrom([]int{viewColumn, viewColumn, viewColumn + 1, viewColumn + 2, dictionaryColumn, enumColumn, f.Column}).Draw(t, "string column")
		f.Words = rapid.SliceOfN(rapid.Custom(drawWord), 1, 40).Draw(t, "words")
	case 7:
		f.Compare = rapid.SampledFrom(comparisons).Draw(t, "comparison")
		pair := rapid.SampledFrom([][2]int{{0, 4}, {4, 0}, {3, twinColumn}, {twinColumn, 3}, {f.Column, f.Column}, {f.Column, 0}, {1, 2}}).Draw(t, "columns")
		f.Column, f.Other = pair[0], pair[1]
	}
	return f
}

var comparisons = []duckdb.Comparison{duckdb.Less, duckdb.LessEqual, duckdb.Equal, duckdb.NotEqual}

// drawWord makes a word that may well be one of the table's strings, or their beginning, or nearly so.
func drawWord(t *rapid.T) duckdb.Word {
	i := rapid.IntRange(0, 99).Draw(t, "like")
	word := rapid.SampledFrom([]string{text(i), domain[i%len(domain)], text(i) + "x", "é" + text(i), "\xff", ""}).Draw(t, "word")
	return duckdb.Word{Text: word[:rapid.IntRange(0, len(word)).Draw(t, "cut")], Prefix: rapid.Bool().Draw(t, "prefix")}
}

// passes is the definition of Filter, where it says that the filter must hold.
func passes(f *duckdb.Filter, row []any) bool {
	v := row[f.Column]
	if v == nil {
		return f.IsNull || f.Low == nil && f.High == nil && f.Keys == nil && f.Keep == nil && !f.NotNull && len(f.Words) == 0 && !compares(f)
	}
	if compares(f) {
		other := row[f.Other]
		return other != nil && related(f.Compare, v.(int64), other.(int64))
	}
	if f.IsNull {
		return false
	}
	if number, ok := v.(float64); ok {
		return (f.LowFloat == nil || number >= *f.LowFloat) && (f.HighFloat == nil || number <= *f.HighFloat)
	}
	if s, ok := v.(string); ok {
		return (f.Keep == nil || f.Keep(s)) && (len(f.Words) == 0 || slices.ContainsFunc(f.Words, func(w duckdb.Word) bool {
			return w.Text == s || w.Prefix && len(w.Text) <= len(s) && s[:len(w.Text)] == w.Text
		}))
	}
	if f.Column > 11 && f.Column != twinColumn {
		return true // no integers
	}
	i := v.(int64)
	return (f.Low == nil || i >= *f.Low) && (f.High == nil || i <= *f.High) && (f.Keys == nil || f.Keys.Contains(i))
}

// compares: the filter compares two columns of one type that is signed and has 32 or 64 bits.
func compares(f *duckdb.Filter) bool {
	switch f.Column {
	case 0, 3, 4, 9, 10, 11, twinColumn:
		return f.Compare != duckdb.Uncompared && arrow.TypeEqual(mixedTypes[f.Column], mixedTypes[f.Other])
	}
	return false
}

func related(c duckdb.Comparison, a, b int64) bool {
	return map[duckdb.Comparison]bool{duckdb.Less: a < b, duckdb.LessEqual: a <= b, duckdb.Equal: a == b, duckdb.NotEqual: a != b}[c]
}

func (m *mixed) passing(filters []duckdb.Filter) map[string]bool {
	out := map[string]bool{}
rows:
	for number, row := range m.values {
		for i := range filters {
			if !passes(&filters[i], row) {
				continue rows
			}
		}
		out[strconv.FormatInt(number, 10)] = true
	}
	return out
}

// D6: a filtered scan gives every row that passes, none twice, each unchanged, and nothing that the table does not have.
func TestFilteredScanLosesNothing(t *testing.T) {
	_, c := open(t)
	tables := mixedTables(t)
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(tables).Draw(t, "table")
		columns := "c0"
		for i := 1; i < len(mixedTypes); i++ {
			if rapid.IntRange(0, 3).Draw(t, "projected") == 0 && (i != listColumn || rapid.Bool().Draw(t, "list")) {
				columns += fmt.Sprint(", c", i)
			}
		}
		var filters []duckdb.Filter
		for range rapid.IntRange(0, 3).Draw(t, "filters") {
			filters = append(filters, drawFilter(t))
		}
		all, filtered := c.Register(m.scan(nil)), c.Register(m.scan(filters))
		defer c.Forget(all)
		defer c.Forget(filtered)
		foreign, err := tryAsk(c, fmt.Sprintf("SELECT %s FROM csm_scan(%d) EXCEPT ALL SELECT %s FROM csm_scan(%d)", columns, filtered, columns, all))
		require.NoError(t, err)
		require.Empty(t, foreign, "rows that are not in the table, or twice")
		numbers, err := tryAsk(c, fmt.Sprintf("SELECT c0 FROM (SELECT %s FROM csm_scan(%d))", columns, filtered))
		require.NoError(t, err)
		got := map[string]bool{}
		for _, n := range numbers {
			got[n] = true
		}
		for number := range m.passing(filters) {
			require.True(t, got[number], number)
		}
	})
}

// A filter that can only be left out must not hide that the others work: few rows pass, and no other row comes.
func TestFilteredScanThinsOut(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 300_000)
	low, high := int64(250_000), int64(250_009)
	keys, err := duckdb.NewKeySet([]int64{2_500_010, 2_500_050, 7})
	require.NoError(t, err)
	s := scanOf(schema, batch, batch)
	s.Filters = []duckdb.Filter{{Column: 0, Low: &low, High: &high}}
	number := c.Register(s)
	defer c.Forget(number)
	require.Equal(t, []string{"20|50000900"}, ask(t, c, fmt.Sprintf("SELECT count(*), sum(b) FROM csm_scan(%d)", number)))
	require.Equal(t, []string{"20"}, ask(t, c, fmt.Sprintf("SELECT count(*) FROM csm_scan(%d)", number)), "no column is projected")
	narrow := *s
	narrow.Filters = append(narrow.Filters, duckdb.Filter{Column: 1, Keys: keys})
	number = c.Register(&narrow)
	defer c.Forget(number)
	require.Equal(t, []string{"25000100", "25000100", "25000500", "25000500"}, ask(t, c, fmt.Sprintf("SELECT c FROM csm_scan(%d) ORDER BY 1", number)))
}

// Filters that let everything through rest; a filter that later thins out wakes up again.
func TestFilterRestsAndWakes(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 1_000_000)
	high := int64(499_999)
	s := scanOf(schema, batch)
	s.Filters = []duckdb.Filter{{Column: 0, High: &high}}
	number := c.Register(s)
	defer c.Forget(number)
	count, err := strconv.Atoi(ask(t, c, fmt.Sprintf("SELECT count(*) FROM csm_scan(%d)", number))[0])
	require.NoError(t, err)
	require.GreaterOrEqual(t, count, 500_000)
	require.Less(t, count, 800_000, "the filter never woke up")
}

func TestKeySetIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.Int64().Draw(t, "near")
		keys := rapid.SliceOf(rapid.OneOf(rapid.Int64(), rapid.Map(rapid.Int64Range(0, 5000), func(i int64) int64 { return near + i }),
			rapid.SampledFrom([]int64{0, 1, -1, math.MinInt64, math.MaxInt64, math.MaxInt64 - 63}))).Draw(t, "keys")
		set, err := duckdb.NewKeySet(keys)
		require.NoError(t, err)
		model := map[int64]bool{}
		for _, k := range keys {
			model[k] = true
		}
		require.Equal(t, len(model), set.Len())
		for _, k := range keys {
			for _, probe := range []int64{k, k + 1, k - 1, -k, k + 64} {
				require.Equal(t, model[probe], set.Contains(probe), probe)
			}
		}
	})
}

func TestBuildKeySet(t *testing.T) {
	ctx := context.Background()
	tables := mixedTables(t)
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(tables).Draw(t, "table")
		column := rapid.IntRange(0, 11).Draw(t, "key")
		filters := []duckdb.Filter{drawFilter(t)}
		set, err := duckdb.BuildKeySet(ctx, m.scan(filters), column, 20_000)
		require.NoError(t, err)
		model := map[int64]bool{}
		for number := range m.passing(filters) {
			i, err := strconv.ParseInt(number, 10, 64)
			require.NoError(t, err)
			if v, ok := m.values[i][column].(int64); ok {
				model[v] = true
			}
		}
		for key := range model {
			require.True(t, set.Contains(key))
		}
		if mustHold(filters[0]) {
			require.Equal(t, len(model), set.Len())
		}
		if set.Len() > 0 {
			none, err := duckdb.BuildKeySet(ctx, m.scan(filters), column, int64(set.Len())-1)
			require.NoError(t, err)
			require.Nil(t, none)
		}
	})
}

// mustHold reports whether a filter is of a kind and on a column where the scan has no reason to leave it out.
func mustHold(f duckdb.Filter) bool {
	switch {
	case f.Keep != nil:
		return f.Column == dictionaryColumn || f.Column == enumColumn
	case f.Words != nil:
		return f.Column == dictionaryColumn || f.Column == enumColumn || f.Column == viewColumn && len(f.Words) <= 32
	case f.Compare != duckdb.Uncompared:
		return compares(&f)
	case f.Keys != nil || f.Low != nil || f.High != nil:
		return f.Column <= 13 && (f.Keys == nil || f.Column <= 11) || f.Column == twinColumn
	}
	return true
}

func TestGreatest(t *testing.T) {
	require.Zero(t, duckdb.Greatest(nil))
	r := rand.New(rand.NewPCG(1, 2))
	bytes := make([]byte, 400)
	for i := range bytes {
		bytes[i] = byte(r.IntN(250))
	}
	for range 2000 {
		from := r.IntN(len(bytes))
		part := bytes[from : from+1+r.IntN(len(bytes)-from)]
		at := r.IntN(len(part))
		before := part[at]
		if r.IntN(2) == 0 {
			part[at] = byte(250 + r.IntN(6))
		}
		require.Equal(t, slices.Max(part), duckdb.Greatest(part))
		part[at] = before
	}
}
