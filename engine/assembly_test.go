package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine"
)

var assembled = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "price", Type: &arrow.Decimal128Type{Precision: 25, Scale: 2}, Nullable: true},
	{Name: "tags", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
}, nil)

// assembledSQL makes what fillAssembled makes.
const assembledSQL = `SELECT i AS id, CASE WHEN i %% 7 = 3 THEN NULL ELSE 'a name that is long: ' || i END AS name, (i * 1.25)::DECIMAL(25, 2) AS price,
	CASE WHEN i %% 5 = 0 THEN NULL ELSE [i::INT, (i %% 3)::INT] END AS tags, DATE '2020-01-01' + (i %% 1000)::INT AS day FROM range(%d) r(i)`

func fillAssembled(b *array.RecordBuilder, first, last int64) arrow.RecordBatch {
	for i := first; i < last; i++ {
		b.Field(0).(*array.Int64Builder).Append(i)
		if name := b.Field(1).(*array.StringBuilder); i%7 == 3 {
			name.AppendNull()
		} else {
			name.Append(fmt.Sprintf("a name that is long: %d", i))
		}
		b.Field(2).(*array.Decimal128Builder).Append(decimal128.FromI64(i * 125))
		if tags := b.Field(3).(*array.ListBuilder); i%5 == 0 {
			tags.AppendNull()
		} else {
			tags.Append(true)
			tags.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{int32(i), int32(i % 3)}, nil)
		}
		b.Field(4).(*array.Date32Builder).Append(arrow.Date32(18262 + i%1000))
	}
	return b.NewRecordBatch()
}

// fillPart builds rows of a part in place, in batches of 1,000.
func fillPart(ctx context.Context, p *engine.Part, first, last int64) error {
	b := array.NewRecordBuilder(p.Allocator(), assembled)
	defer b.Release()
	for at := first; at < last; at += 1000 {
		batch := fillAssembled(b, at, min(at+1000, last))
		err := p.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// Builders write into the memory of three nodes at the same time, and what they wrote becomes one table, where it was written.
func TestAssembly(t *testing.T) {
	t.Parallel()
	c, ctx := newCluster(t, 3), t.Context()
	s := c.session(1)
	name := catalog.TableName{Name: "parts"}
	assemble := func(columns *arrow.Schema, base int64) {
		a, err := c.nodes[0].Assemble(ctx, engine.AssembleOptions{Table: name, Columns: columns})
		require.NoError(t, err)
		var group sync.WaitGroup
		for i, node := range []string{"n2", "n0", "n1"} {
			first := int64(2-i) * 2500 // the last one begins first
			p, err := a.Part(ctx, node, first)
			require.NoError(t, err)
			group.Go(func() {
				if err := fillPart(ctx, p, base+first, base+first+2500); err != nil || p.Copied() > 0 {
					t.Errorf("%d bytes were copied: %v", p.Copied(), err)
				}
			})
		}
		group.Wait()
		require.NoError(t, a.Commit(ctx))
		require.ErrorIs(t, a.Commit(ctx), engine.ErrAssemblyOver)
		require.NoError(t, a.Abort())
	}
	assemble(assembled, 0)
	require.Equal(t, []string{"n0|3|2500", "n1|3|0", "n2|3|5000"},
		rows(t, s, "SELECT node, count(*), min(first_row) FROM csm.chunks WHERE name = 'parts' GROUP BY node ORDER BY node"))
	assemble(nil, 7500)
	exec(t, s, "CREATE TABLE asked AS "+fmt.Sprintf(assembledSQL, 15000))
	require.Equal(t, []string{"15000|0"}, rows(t, s, `SELECT (SELECT count(*) FROM parts),
		(SELECT count(*) FROM ((FROM parts EXCEPT ALL FROM asked) UNION ALL (FROM asked EXCEPT ALL FROM parts)))`))
	require.Equal(t, rows(t, s, "SELECT id FROM parts"), rows(t, s, "SELECT i FROM range(15000) r(i)"), "rows keep their order")
	for _, e := range c.nodes {
		require.NoError(t, e.VerifyChecksums(ctx))
	}
	c.requireSpace()
}

func TestAssemblyErrors(t *testing.T) {
	t.Parallel()
	c, ctx := newCluster(t, 2), t.Context()
	e, s := c.nodes[0], c.session(0)
	exec(t, s, "CREATE TABLE old (id BIGINT NOT NULL, name TEXT)")
	exec(t, s, "CREATE TABLE spread (id BIGINT) WITH (placement = 'hash(id)')")
	numbers := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	for _, o := range []struct {
		options engine.AssembleOptions
		state   string
	}{
		{engine.AssembleOptions{Table: catalog.TableName{Name: "none"}}, "42P01"},
		{engine.AssembleOptions{Table: catalog.TableName{Schema: "none", Name: "t"}, Columns: numbers}, "3F000"},
		{engine.AssembleOptions{Table: catalog.TableName{Name: "old"}, Columns: numbers}, "42P07"},
		{engine.AssembleOptions{Table: catalog.TableName{Name: "spread"}}, "0A000"},
	} {
		_, err := e.Assemble(ctx, o.options)
		require.Equal(t, o.state, state(t, err), "%v", o.options.Table)
	}

	begin := func(columns *arrow.Schema, table string) *engine.Assembly {
		a, err := e.Assemble(ctx, engine.AssembleOptions{Table: catalog.TableName{Name: table}, Columns: columns})
		require.NoError(t, err)
		return a
	}
	part := func(a *engine.Assembly, node string, first, rows int64) *engine.Part {
		p, err := a.Part(ctx, node, first)
		require.NoError(t, err)
		require.NoError(t, fillPart(ctx, p, first, first+rows))
		require.Equal(t, rows, p.Rows())
		return p
	}
	for _, g := range []struct {
		parts [][2]int64
		says  string
	}{
		{[][2]int64{{1, 10}}, "rows 0 to 0 of public.t are missing: they lie between the beginning and the part of node \"n1\""},
		{[][2]int64{{0, 1000}, {1200, 10}}, "rows 1000 to 1199 of public.t are missing: they lie between the part of node \"n1\" and the part of node \"n1\""},
		{[][2]int64{{0, 1000}, {900, 300}}, "rows 900 to 999 of public.t are there twice"},
		{[][2]int64{{0, 1000}, {100, 30}}, "rows 100 to 129 of public.t are there twice"},
	} {
		a := begin(assembled, "t")
		for _, p := range g.parts {
			part(a, "n1", p[0], p[1])
		}
		err := a.Commit(ctx)
		require.Equal(t, "22023", state(t, err))
		require.ErrorContains(t, err, g.says)
	}

	a := begin(nil, "old")
	_, err := a.Part(ctx, "elsewhere", 0)
	require.Equal(t, "42704", state(t, err))
	_, err = a.Part(ctx, "", -1)
	require.Equal(t, "22023", state(t, err))
	p, err := a.Part(ctx, "", 0)
	require.NoError(t, err)
	batch := func(columns ...arrow.Array) arrow.RecordBatch {
		var fields []arrow.Field
		for _, c := range columns {
			fields = append(fields, arrow.Field{Name: "any", Type: c.DataType(), Nullable: true})
		}
		return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, -1)
	}
	ids := array.NewInt64Builder(memory.DefaultAllocator)
	ids.AppendValues([]int64{1, 2}, []bool{true, false})
	names := array.NewStringBuilder(memory.DefaultAllocator)
	names.AppendValues([]string{"a", "b"}, nil)
	holed, texts := ids.NewArray(), names.NewArray()
	ids.AppendValues([]int64{1, 2}, nil)
	whole := ids.NewArray()
	words := array.NewDictionaryBuilder(memory.DefaultAllocator, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	require.NoError(t, words.AppendString("b"))
	require.NoError(t, words.AppendString("a"))
	coded := words.NewArray()
	require.Equal(t, "42601", state(t, p.Add(ctx, batch(whole))))
	require.Equal(t, "42804", state(t, p.Add(ctx, batch(texts, texts))))
	require.Equal(t, "23502", state(t, p.Add(ctx, batch(holed, texts))))
	require.Equal(t, "0A000", state(t, p.Add(ctx, batch(whole, coded))))
	require.NoError(t, p.Add(ctx, batch(whole, texts)), "after errors the part goes on")
	require.Positive(t, p.Copied(), "it was made elsewhere")
	exec(t, s, "DROP TABLE old; CREATE TABLE old (id BIGINT NOT NULL, name TEXT)")
	require.Equal(t, "40001", state(t, a.Commit(ctx)), "it is another table")
	require.ErrorIs(t, p.Add(ctx, batch(whole, texts)), engine.ErrAssemblyOver)
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM old"))

	a = begin(nil, "old")
	require.ErrorContains(t, tooMuch(ctx, a), "n1")
	require.NoError(t, a.Abort())
	a = begin(assembled, "t")
	part(a, "n0", 0, 2000)
	part(a, "n1", 2000, 2000)
	require.NoError(t, a.Abort())
	require.NoError(t, a.Abort())
	c.requireSpace()
}

// An engine that is closed takes the memory of parts with it: what builders ask for afterwards is ordinary memory, and nothing of it is added.
func TestAssemblyOfAClosedEngine(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Config{Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 16 << 20, MemoryBytes: 256 << 20})
	require.NoError(t, err)
	a, err := e.Assemble(ctx, engine.AssembleOptions{Table: catalog.TableName{Name: "t"}, Columns: assembled})
	require.NoError(t, err)
	p, err := a.Part(ctx, "", 0)
	require.NoError(t, err)
	require.NoError(t, fillPart(ctx, p, 0, 1000))
	p.Allocator().Free(p.Allocator().Allocate(100)) // a chunk is begun
	require.NoError(t, e.Close())

	b := array.NewRecordBuilder(p.Allocator(), assembled)
	defer b.Release()
	batch := fillAssembled(b, 1000, 2000)
	defer batch.Release()
	require.ErrorIs(t, p.Add(ctx, batch), engine.ErrClosed)
	_, err = a.Part(ctx, "", 2000)
	require.ErrorIs(t, err, engine.ErrClosed)
	require.ErrorIs(t, a.Commit(ctx), engine.ErrClosed)
	require.NoError(t, a.Abort())
}

// tooMuch builds more than a node has memory for.
func tooMuch(ctx context.Context, a *engine.Assembly) error {
	p, err := a.Part(ctx, "n1", 0)
	if err != nil {
		return err
	}
	b := array.NewRecordBuilder(p.Allocator(), a.Schema())
	defer b.Release()
	for i := range int64(3 << 19) {
		b.Field(0).(*array.Int64Builder).Append(i)
		b.Field(1).(*array.StringBuilder).Append("a text of more than twelve bytes")
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	return p.Add(ctx, batch)
}

// A table from Arrow builders: what they make lies in lent memory from the first byte on.
func ExampleEngine_Assemble() {
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Config{})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	columns := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	a, err := e.Assemble(ctx, engine.AssembleOptions{Table: catalog.TableName{Name: "numbers"}, Columns: columns})
	if err != nil {
		panic(err)
	}
	defer a.Abort()
	part, err := a.Part(ctx, "", 0) // in this node's memory; in a cluster, in any node's
	if err != nil {
		panic(err)
	}
	builder := array.NewRecordBuilder(part.Allocator(), columns)
	defer builder.Release()
	builder.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, nil)
	batch := builder.NewRecordBatch()
	defer batch.Release()
	if err := part.Add(ctx, batch); err != nil {
		panic(err)
	}
	if err := a.Commit(ctx); err != nil {
		panic(err)
	}
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SELECT sum(n)::BIGINT FROM numbers")
	if err != nil {
		panic(err)
	}
	defer rows.Release()
	for rows.Next() {
		fmt.Println(rows.RecordBatch().Column(0))
	}
	// Output: [6]
}
