package compute_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/plan"
)

// testColumns are one column of every type that computes, and one that is only carried.
var testColumns = []plan.Column{
	{Name: "i", Type: arrow.PrimitiveTypes.Int32},
	{Name: "k", Type: arrow.PrimitiveTypes.Int32},
	{Name: "l", Type: arrow.PrimitiveTypes.Int64},
	{Name: "t", Type: arrow.PrimitiveTypes.Int8},
	{Name: "u", Type: arrow.PrimitiveTypes.Uint16},
	{Name: "ul", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "d", Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}},
	{Name: "e", Type: &arrow.Decimal128Type{Precision: 4, Scale: 1}},
	{Name: "w", Type: &arrow.Decimal128Type{Precision: 30, Scale: 3}},
	{Name: "x", Type: arrow.PrimitiveTypes.Float64},
	{Name: "f", Type: arrow.PrimitiveTypes.Float32},
	{Name: "s", Type: arrow.BinaryTypes.String},
	{Name: "m", Type: arrow.BinaryTypes.String},
	{Name: "dt", Type: arrow.FixedWidthTypes.Date32},
	{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
	{Name: "b", Type: arrow.FixedWidthTypes.Boolean},
}

// cell is a value of the twin's world: nil, *big.Int (exact numbers unscaled, dates, timestamps), float64, bool or string.
type cell = any

// table is random rows in random chunks, and the same rows once more for the twin.
type table struct {
	relation *plan.Relation
	chunks   []arrow.RecordBatch
	rows     [][]cell
}

func (t *table) release() {
	for _, c := range t.chunks {
		c.Release()
	}
}

func (t *table) resolver() plan.Resolver {
	return plan.ResolverFunc(func(_, schema, name string) *plan.Relation {
		if name == t.relation.Name && (schema == "" || schema == t.relation.Schema) {
			return t.relation
		}
		return nil
	})
}

var (
	someTexts = []string{"", "a", "A", "ab", "abc", "b", "zebra", "a longer string than twelve bytes", "ab longer string than twelve too", "é", "z"}
	someInts  = []int64{0, 1, 2, -1, 5, 7, 100, -100}
	someReals = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, 1e300, math.Inf(1), math.Inf(-1), math.NaN()}
)

// drawCell draws a value of a type, NULL now and then, often a small one so that rows meet.
func drawCell(t *rapid.T, kind plan.Type, nulls bool) cell {
	if nulls && rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		return nil
	}
	wide := rapid.IntRange(0, 9).Draw(t, "wide") == 0
	whole := func(low, high int64) cell {
		if wide {
			return big.NewInt(rapid.Int64Range(low, high).Draw(t, "int"))
		}
		return big.NewInt(min(max(rapid.SampledFrom(someInts).Draw(t, "int"), low), high))
	}
	switch kind.Kind {
	case plan.KindInteger:
		return whole(math.MinInt32, math.MaxInt32)
	case plan.KindBigInt, plan.KindTimestamp:
		return whole(math.MinInt64/2, math.MaxInt64/2)
	case plan.KindTinyInt:
		return whole(math.MinInt8, math.MaxInt8)
	case plan.KindUSmallInt:
		return whole(0, math.MaxUint16)
	case plan.KindUBigInt:
		return whole(0, math.MaxInt64)
	case plan.KindDecimal:
		limit := int64(math.Pow10(int(min(kind.Precision, 18)))) - 1
		return whole(-limit, limit)
	case plan.KindDate:
		return whole(-10000, 30000)
	case plan.KindDouble, plan.KindFloat:
		f := rapid.SampledFrom(someReals).Draw(t, "real")
		if kind.Kind == plan.KindFloat && f == 1e300 {
			return 1.25
		}
		return f
	case plan.KindBoolean:
		return rapid.Bool().Draw(t, "bool")
	}
	return rapid.SampledFrom(someTexts).Draw(t, "text")
}

// drawTable draws chunks with random layouts. Every chunk of a column has the same one, as the sources here have no Schema.
func drawTable(t *rapid.T, mem memory.Allocator, columns []plan.Column) *table {
	tab := &table{relation: &plan.Relation{Schema: "main", Name: "r", Columns: columns}}
	layouts := make([]int, len(columns))
	nulls := make([]bool, len(columns))
	for i := range columns {
		layouts[i] = rapid.IntRange(0, 3).Draw(t, "layout")
		nulls[i] = rapid.Bool().Draw(t, "nullable")
	}
	for range rapid.IntRange(0, 3).Draw(t, "chunks") {
		rows := make([][]cell, rapid.IntRange(0, 20).Draw(t, "rows"))
		for r := range rows {
			rows[r] = make([]cell, len(columns))
			for c := range columns {
				rows[r][c] = drawCell(t, plan.TypeOf(columns[c].Type), nulls[c])
			}
		}
		rows = slices.Repeat(rows, rapid.SampledFrom([]int{1, 11}).Draw(t, "times")) // kernels take many values at once, and the rest apart
		from := rapid.IntRange(0, len(rows)).Draw(t, "offset")
		whole := buildChunk(mem, columns, rows, layouts)
		deleted, living := drawDeleted(t, rows[from:])
		tab.chunks = append(tab.chunks, compute.Without(whole.NewSlice(int64(from), int64(len(rows))), deleted))
		whole.Release()
		tab.rows = append(tab.rows, living...)
	}
	tab.relation.Rows = int64(len(tab.rows))
	return tab
}

// drawDeleted draws which rows of a chunk are deleted: none, mostly; and gives those that live.
func drawDeleted(t *rapid.T, rows [][]cell) (deleted []uint64, living [][]cell) {
	if rapid.IntRange(0, 2).Draw(t, "deleted") < 2 {
		return nil, rows
	}
	deleted = make([]uint64, (len(rows)+63)/64)
	rng, share := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "which"), 1)), rapid.Float64Range(0, 1).Draw(t, "share")
	for i := range rows {
		if rng.Float64() < share {
			deleted[i/64] |= 1 << (i % 64)
		} else {
			living = append(living, rows[i])
		}
	}
	return deleted, living
}

func buildChunk(mem memory.Allocator, columns []plan.Column, rows [][]cell, layouts []int) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	arrays := make([]arrow.Array, len(columns))
	for c := range columns {
		cells := make([]cell, len(rows))
		for r := range rows {
			cells[r] = rows[r][c]
		}
		arrays[c] = buildArray(mem, columns[c].Type, cells, layouts[c])
		defer arrays[c].Release()
		fields[c] = arrow.Field{Name: columns[c].Name, Type: arrays[c].DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(len(rows)))
}

// physical gives the layout that a column has in a chunk.
func physical(t arrow.DataType, layout int) arrow.DataType {
	switch d := t.(type) {
	case *arrow.StringType:
		return []arrow.DataType{t, arrow.BinaryTypes.StringView, arrow.BinaryTypes.LargeString,
			&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String, Ordered: true}}[layout]
	case *arrow.Decimal128Type:
		if d.Precision <= 18 && layout >= 2 {
			return &arrow.Decimal64Type{Precision: d.Precision, Scale: d.Scale}
		}
	}
	return t
}

func buildArray(mem memory.Allocator, t arrow.DataType, cells []cell, layout int) arrow.Array {
	b := array.NewBuilder(mem, physical(t, layout))
	defer b.Release()
	for _, c := range cells {
		if c == nil {
			b.AppendNull()
			continue
		}
		appendCell(b, c)
	}
	a := b.NewArray()
	poison(a)
	return a
}

// poison puts the least integer where NULL is: nothing may look there.
func poison(a arrow.Array) {
	f, ok := a.DataType().(arrow.FixedWidthDataType)
	if !ok || f.BitWidth() < 8 || f.BitWidth() > 64 || a.DataType().ID() == arrow.DICTIONARY {
		return
	}
	for i := range a.Len() {
		if bytes := f.BitWidth() / 8; a.IsNull(i) {
			value := a.Data().Buffers()[1].Bytes()[i*bytes : (i+1)*bytes]
			clear(value)
			value[bytes-1] = 0x80
		}
	}
}

func appendCell(b array.Builder, c cell) {
	i, _ := c.(*big.Int)
	f, _ := c.(float64)
	s, _ := c.(string)
	switch x := b.(type) {
	case *array.Int64Builder:
		x.Append(i.Int64())
	case *array.Int32Builder:
		x.Append(int32(i.Int64()))
	case *array.Int16Builder:
		x.Append(int16(i.Int64()))
	case *array.Int8Builder:
		x.Append(int8(i.Int64()))
	case *array.Uint16Builder:
		x.Append(uint16(i.Int64()))
	case *array.Uint64Builder:
		x.Append(i.Uint64())
	case *array.Decimal128Builder:
		x.Append(decimal128.FromBigInt(i))
	case *array.Decimal64Builder:
		x.Append(decimal.Decimal64(i.Int64()))
	case *array.Float64Builder:
		x.Append(f)
	case *array.Float32Builder:
		x.Append(float32(f))
	case *array.StringBuilder:
		x.Append(s)
	case *array.StringViewBuilder:
		x.Append(s)
	case *array.LargeStringBuilder:
		x.Append(s)
	case *array.BinaryDictionaryBuilder:
		if err := x.AppendString(s); err != nil {
			panic(err)
		}
	case *array.Date32Builder:
		x.Append(arrow.Date32(i.Int64()))
	case *array.TimestampBuilder:
		x.Append(arrow.Timestamp(i.Int64()))
	case *array.BooleanBuilder:
		x.Append(c.(bool))
	default:
		panic(fmt.Sprintf("no builder for %T", b))
	}
}

// readCell is appendCell's inverse, for any layout.
func readCell(a arrow.Array, i int) cell {
	if a.IsNull(i) {
		return nil
	}
	switch x := a.(type) {
	case *array.Int64:
		return big.NewInt(x.Value(i))
	case *array.Int32:
		return big.NewInt(int64(x.Value(i)))
	case *array.Int16:
		return big.NewInt(int64(x.Value(i)))
	case *array.Int8:
		return big.NewInt(int64(x.Value(i)))
	case *array.Uint16:
		return big.NewInt(int64(x.Value(i)))
	case *array.Uint64:
		return new(big.Int).SetUint64(x.Value(i))
	case *array.Decimal128:
		return x.Value(i).BigInt()
	case *array.Decimal64:
		return big.NewInt(int64(x.Value(i)))
	case *array.Float64:
		return x.Value(i)
	case *array.Float32:
		return float64(x.Value(i))
	case *array.Dictionary:
		return readCell(x.Dictionary(), x.GetValueIndex(i))
	case interface{ Value(int) string }:
		return x.Value(i)
	case *array.Date32:
		return big.NewInt(int64(x.Value(i)))
	case *array.Timestamp:
		return big.NewInt(int64(x.Value(i)))
	case *array.Boolean:
		return x.Value(i)
	}
	panic(fmt.Sprintf("no reader for %T", a))
}

// chunkSource is a Source over a table's chunks.
type chunkSource struct {
	chunks  []arrow.RecordBatch
	project []int
	closed  *int
}

func (s *chunkSource) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.chunks) == 0 {
		return nil, io.EOF
	}
	c := s.chunks[0]
	s.chunks = s.chunks[1:]
	columns := make([]arrow.Array, len(s.project))
	fields := make([]arrow.Field, len(s.project))
	for i, p := range s.project {
		columns[i], fields[i] = c.Column(p), c.Schema().Field(p)
	}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, c.NumRows())
	return compute.Without(batch, compute.DeletedOf(c)), nil
}

func (s *chunkSource) Close() error {
	*s.closed++
	return nil
}

func mustPlan(t require.TestingT, sql string, resolver plan.Resolver) (*plan.Query, *plan.Unsupported) {
	tree, err := pg.Parse(sql)
	require.NoError(t, err, sql)
	return plan.Read(sql, tree, resolver).Compute()
}

// run executes a plan over the table and returns all rows. It checks what every run must keep: the schema on every batch, the
// source closed once.
func (t *table) run(tb require.TestingT, mem memory.Allocator, q *plan.Query, args ...any) ([][]cell, error) {
	closed := 0
	r, err := compute.Run(context.Background(), q, func(_ context.Context, scan plan.TableScan) (compute.Source, error) {
		return &chunkSource{t.chunks, scan.Project, &closed}, nil
	}, args, 2, mem)
	if err != nil {
		return nil, err
	}
	rows := [][]cell{}
	for r.Next() {
		batch := r.RecordBatch()
		require.True(tb, r.Schema().Equal(batch.Schema()))
		require.Positive(tb, batch.NumRows())
		for i := range int(batch.NumRows()) {
			row := make([]cell, batch.NumCols())
			for c := range row {
				row[c] = readCell(batch.Column(c), i)
			}
			rows = append(rows, row)
		}
	}
	err = r.Err()
	r.Release()
	if q.Table != nil {
		require.Equal(tb, 1, closed)
	}
	return rows, err
}
