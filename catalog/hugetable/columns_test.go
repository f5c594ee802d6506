package hugetable_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/catalog/positions"
)

// altered is a table of one-row chunks of integers whose columns come and go, and what it should be.
type altered struct {
	*table
	rng   *rand.Rand
	next  int64
	model []map[string]any // by chunk: what each column has; nil is NULL
}

func newAltered(t *testing.T, seed uint64) (*altered, *hugetable.Version) {
	x := &altered{table: &table{t: t, store: &pages{data: map[hugetable.PageID][]byte{}}}, rng: rand.New(rand.NewPCG(seed, 3))}
	x.lender = lendertest.New(t, 1, lendertest.NewMemory(64<<20), 0)
	columns := arrow.NewSchema([]arrow.Field{column("a"), column("b")}, nil)
	name := hugetable.TableName{Schema: "s", Name: "t"}
	return x, hugetable.NewVersion(hugetable.Table{ID: 7, Name: name, Columns: columns}, hugetable.NewSource(x.store, 0))
}

func column(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
}

// alone is an array of one value.
func alone(v any) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	if v == nil {
		b.AppendNull()
	} else {
		b.Append(v.(int64))
	}
	return b.NewArray()
}

func (x *altered) value() any {
	if x.next++; x.rng.IntN(4) == 0 {
		return nil
	}
	return x.next
}

// insert appends a chunk that has been written for the version's table.
func (x *altered) insert(v *hugetable.Version) *hugetable.Version {
	row := map[string]any{}
	var arrays []arrow.Array
	for _, f := range v.Table().Columns.Fields() {
		row[f.Name] = x.value()
		arrays = append(arrays, alone(row[f.Name]))
	}
	schema := hugetable.Written(v.Table().Columns, v.Table().Columns.Fields())
	c, err := chunk.NewWriter(x.lender, "t", 4096).Seal(ctx, array.NewRecordBatch(schema, arrays, 1), chunk.SealOptions{})
	require.NoError(x.t, err)
	next, err := v.Append([]*chunk.Chunk{c})
	require.NoError(x.t, err)
	x.model = append(x.model, row)
	return next
}

func (x *altered) alter(v *hugetable.Version) *hugetable.Version {
	columns := v.Table().Columns
	i, made := x.rng.IntN(columns.NumFields()), fmt.Sprintf("c%d", x.next)
	x.next++
	var err error
	switch op := x.rng.IntN(3); {
	case op == 0 && columns.NumFields() > 1:
		for _, row := range x.model {
			delete(row, columns.Field(i).Name)
		}
		columns, err = hugetable.DropColumn(columns, i)
	case op == 1:
		for _, row := range x.model {
			row[made] = row[columns.Field(i).Name]
			delete(row, columns.Field(i).Name)
		}
		columns, err = hugetable.RenameColumn(columns, i, made)
	default:
		value := x.value()
		for _, row := range x.model {
			row[made] = value
		}
		columns, err = hugetable.AddColumn(columns, column(made), alone(value))
	}
	require.NoError(x.t, err)
	next, err := v.Alter(columns)
	require.NoError(x.t, err)
	return next
}

// move puts copies of some chunks in their places.
func (x *altered) move(v *hugetable.Version) *hugetable.Version {
	i := x.rng.IntN(v.NumChunks())
	old, err := v.Chunk(ctx, i)
	require.NoError(x.t, err)
	extents, err := chunk.Copy(x.lender, old.Descriptor(), func(e *descriptor.Extent) ([]byte, error) {
		return x.lender.Resolve(e.Region, e.Range)
	})
	require.NoError(x.t, err)
	moved, err := old.In(extents)
	require.NoError(x.t, err)
	next, err := v.ReplaceChunks(ctx, map[int]hugetable.Replacement{i: {Old: old, New: moved}})
	require.NoError(x.t, err)
	return next
}

// check is H9.
func (x *altered) check(v *hugetable.Version) {
	columns := v.Table().Columns
	require.Equal(x.t, len(x.model), v.NumChunks())
	nulls, least := make([]int64, columns.NumFields()), make([]int64, columns.NumFields())
	for p, err := range v.Chunks(ctx) {
		require.NoError(x.t, err)
		require.Equal(x.t, columns.NumFields(), p.Descriptor().Schema.NumFields())
		for i, f := range columns.Fields() {
			require.Equal(x.t, f.Name, p.Descriptor().Schema.Field(i).Name)
			s, want := p.Statistics(i), x.model[p.Index][f.Name]
			if want == nil {
				require.EqualValues(x.t, 1, s.NullCount, "chunk %d, %s", p.Index, f.Name)
				nulls[i]++
				continue
			}
			require.Equal(x.t, want, s.Min.Int(), "chunk %d, %s", p.Index, f.Name)
			require.Equal(x.t, want, s.Max.Int())
			require.Zero(x.t, s.NullCount)
			if least[i] == 0 || want.(int64) < least[i] {
				least[i] = want.(int64)
			}
		}
	}
	for i := range columns.NumFields() {
		s := v.Statistics(i)
		require.Equal(x.t, nulls[i], s.NullCount)
		if least[i] != 0 {
			require.Equal(x.t, least[i], s.Min.Int())
		}
	}
}

// H9: whatever chunks store, and whatever pages they are in, a version has the columns that its table has, with the
// values that they were stored or added with; so has each version that was before.
func TestColumnsComeAndGo(t *testing.T) {
	for seed := range uint64(30) {
		x, v := newAltered(t, seed)
		v = x.insert(v)
		for range 60 {
			switch op := x.rng.IntN(10); {
			case op < 5:
				v = x.insert(v)
			case op < 7:
				v = x.alter(v)
			case op == 7:
				v = x.move(v)
			default:
				v = x.commit(v)
				var before []map[string]any
				for _, row := range x.model {
					kept := map[string]any{}
					for name, value := range row {
						kept[name] = value
					}
					before = append(before, kept)
				}
				next := x.alter(v)
				after := x.model
				x.model = before
				x.check(v)
				x.model = after
				v = next
			}
			x.check(v)
		}
	}
}

// What does not have the table's columns by number is not taken for it.
func TestChunksOfOtherNumbers(t *testing.T) {
	x, v := newAltered(t, 1)
	v = x.commit(x.insert(v))
	old := v.Table().Columns
	columns, err := hugetable.AddColumn(old, column("c"), alone(int64(7)))
	require.NoError(t, err)
	columns, err = hugetable.DropColumn(columns, 0)
	require.NoError(t, err)
	next, err := v.Alter(columns)
	require.NoError(t, err)
	for _, schema := range []*arrow.Schema{old, arrow.NewSchema(columns.Fields(), nil), hugetable.Written(columns, []arrow.Field{column("c"), column("b")})} {
		batch := array.NewRecordBatch(schema, []arrow.Array{alone(nil), alone(nil)}, 1)
		c, err := chunk.NewWriter(x.lender, "t", 4096).Seal(ctx, batch, chunk.SealOptions{})
		require.NoError(t, err)
		_, err = next.Append([]*chunk.Chunk{c})
		require.ErrorIs(t, err, hugetable.ErrMismatch)
	}

	// A number is never given again.
	again, err := hugetable.AddColumn(old, column("d"), nil)
	require.NoError(t, err)
	_, err = next.Alter(again)
	require.ErrorIs(t, err, hugetable.ErrMismatch)
	_, err = next.Alter(old)
	require.ErrorIs(t, err, hugetable.ErrMismatch)
	_, err = next.Redeclare(arrow.NewSchema(columns.Fields(), nil))
	require.ErrorIs(t, err, hugetable.ErrMismatch)

	// A change of the rows that does not know of it is another one's.
	_, err = x.insert(v).Rebase(ctx, v, next)
	require.ErrorIs(t, err, hugetable.ErrDiverged)

	// A program that knows no numbers refuses the record by its format.
	record, err := x.commit(next).Encode()
	require.NoError(t, err)
	r := message.NewReader(record)
	require.True(t, r.Next())
	require.EqualValues(t, 5, r.Uint())
	require.Len(t, x.store.data, 1, "no page was written")
}

// Numbers that make no sense are damage.
func TestDamagedNumbers(t *testing.T) {
	x, v := newAltered(t, 1)
	v = x.insert(v)
	for _, words := range []string{"0 0; 2", "0; 2", "0 x; 2", "0 -1; 2", "0 5; 2", "0 1; x"} {
		meta := arrow.NewMetadata([]string{"csm.columns"}, []string{words})
		_, err := v.Alter(arrow.NewSchema(v.Table().Columns.Fields(), &meta))
		require.ErrorIs(t, err, hugetable.ErrCorrupt, words)
	}
	bad := column("c")
	bad.Metadata = arrow.NewMetadata([]string{"csm.missing"}, []string{"AAAA"})
	meta := arrow.NewMetadata([]string{"csm.columns"}, []string{"0 1 2; 3"})
	_, err := v.Alter(arrow.NewSchema(append(slices.Clone(v.Table().Columns.Fields()), bad), &meta))
	require.ErrorIs(t, err, hugetable.ErrCorrupt)
}

// Repeat has a value in every row, however it lies.
func TestRepeat(t *testing.T) {
	words := array.NewStringBuilder(memory.DefaultAllocator)
	words.AppendValues([]string{"x", "y"}, nil)
	codes := array.NewUint8Builder(memory.DefaultAllocator)
	codes.Append(1)
	kind := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	views := array.NewBinaryViewBuilder(memory.DefaultAllocator)
	views.Append([]byte("longer than what fits into a view's header"))
	lists := array.NewListBuilder(memory.DefaultAllocator, arrow.BinaryTypes.StringView)
	lists.Append(true)
	lists.ValueBuilder().(*array.StringViewBuilder).AppendValues(
		[]string{"x", "longer than what fits into a header", "and longer than that, too"}, []bool{true, true, true})
	view := views.NewArray()
	for _, value := range []arrow.Array{
		alone(int64(3)), alone(nil), array.NewDictionaryArray(kind, codes.NewArray(), words.NewArray()), view,
		lists.NewArray(),
	} {
		for _, rows := range []int64{0, 1, 2, 3, 1000, 1025} {
			made, err := hugetable.Repeat(value, rows, mem)
			require.NoError(t, err)
			require.EqualValues(t, rows, made.Len())
			for i := range made.Len() {
				require.Equal(t, value.ValueStr(0), made.ValueStr(i))
			}
			if value == view && rows > 0 {
				require.Len(t, made.Data().Buffers(), 3, "all rows point to the same bytes")
				require.True(t, value.Data().Buffers()[2] != made.Data().Buffers()[2], "which are mem's")
			}
			made.Release()
		}
	}
	mem.AssertSize(t, 0)
}

// A fold's chunk has the columns of the table as it is, whatever the run stores. Rows that were deleted may have NULL
// where the table has none by now: they are moved and folded as the others are.
func TestFoldedAndMovedAcrossColumns(t *testing.T) {
	x, v := newAltered(t, 1)
	seal := func(schema *arrow.Schema, columns ...arrow.Array) *chunk.Chunk {
		batch := array.NewRecordBatch(schema, columns, int64(columns[0].Len()))
		c, err := chunk.NewWriter(x.lender, "t", 4096).Seal(ctx, batch, chunk.SealOptions{})
		require.NoError(t, err)
		return c
	}
	both := func(values ...any) arrow.Array {
		var alones []arrow.Array
		for _, value := range values {
			alones = append(alones, alone(value))
		}
		all, err := array.Concatenate(alones, memory.DefaultAllocator)
		require.NoError(t, err)
		return all
	}
	must := func(next *hugetable.Version, err error) *hugetable.Version {
		require.NoError(t, err)
		return next
	}
	old := v.Table().Columns
	v = x.commit(must(v.Append([]*chunk.Chunk{seal(old, alone(int64(1)), alone(nil))})))
	columns, err := hugetable.AddColumn(old, column("c"), alone(int64(7)))
	require.NoError(t, err)
	v = must(v.Alter(columns))
	v = must(v.Append([]*chunk.Chunk{seal(hugetable.Written(columns, columns.Fields()), both(int64(2)), both(int64(3)), both(int64(4)))}))
	v = must(v.Delete(ctx, map[int]*positions.Set{0: positions.Of(1, 0)}))
	fields, meta := columns.Fields(), columns.Metadata()
	fields[1].Nullable = false
	v = x.commit(must(v.Redeclare(arrow.NewSchema(fields, &meta))))
	_, err = v.Append([]*chunk.Chunk{seal(hugetable.Written(columns, columns.Fields()), both(int64(2)), both(nil), both(int64(4)))})
	require.ErrorIs(t, err, hugetable.ErrNull)

	v = x.commit(x.move(v))
	v = x.commit(x.move(v))
	var olds []*chunk.Chunk
	for p, err := range v.Chunks(ctx) {
		require.NoError(t, err)
		olds = append(olds, p.Chunk)
	}
	_, err = v.Fold(ctx, 0, olds, []*chunk.Chunk{seal(old, both(int64(1), int64(2)), both(nil, int64(3)))})
	require.ErrorIs(t, err, hugetable.ErrMismatch)
	made := seal(hugetable.Written(columns, columns.Fields()), both(int64(1), int64(2)), both(nil, int64(3)), both(int64(7), int64(4)))
	v = x.commit(must(v.Fold(ctx, 0, olds, []*chunk.Chunk{made})))
	require.EqualValues(t, 1, v.Rows())
	c, err := v.Chunk(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, made.Extents(), c.Extents())
	require.EqualValues(t, 7, c.Statistics(2).Max.Int())
}

// What a transaction does to a table whose columns it changes is done behind folds of others, which are no conflict.
func TestAlteredBehindFolds(t *testing.T) {
	x, v := newAltered(t, 1)
	must := func(next *hugetable.Version, err error) *hugetable.Version {
		require.NoError(t, err)
		return next
	}
	first := v.Table().Columns
	v = x.commit(x.insert(x.insert(x.insert(v))))
	folded := x.folded(v, 0, 2)
	columns, err := hugetable.AddColumn(first, column("c"), alone(int64(7)))
	require.NoError(t, err)
	own := x.insert(v) // 3
	own = must(own.Delete(ctx, map[int]*positions.Set{1: positions.Of(1, 0)}))
	own = must(own.Alter(columns))
	own = x.insert(own) // 4
	own = must(own.Delete(ctx, map[int]*positions.Set{3: positions.Of(1, 0)}))
	columns, err = hugetable.DropColumn(columns, 0)
	require.NoError(t, err)
	own = must(own.Alter(columns))
	next := x.commit(must(own.Rebase(ctx, v, folded)))
	require.Equal(t, 4, next.NumChunks())
	require.EqualValues(t, 3, next.Rows())
	require.Equal(t, columns, next.Table().Columns)
	for i, gone := range []int64{1, 0, 1, 0} {
		dead, err := next.Deleted(ctx, i)
		require.NoError(t, err)
		require.EqualValues(t, gone, dead.Count(), i)
		c, err := next.Chunk(ctx, i)
		require.NoError(t, err)
		require.Equal(t, 2, c.Descriptor().Schema.NumFields())
		require.Equal(t, i == 3, c.Descriptor().Value(1) == nil)
	}
	for i := range 4 {
		x.model[i]["c"] = int64(7)
	}
	x.sumsUp(next, x.model)
	require.ErrorIs(t, func() error { _, err := own.Rebase(ctx, v, x.insert(v)); return err }(), hugetable.ErrDiverged)
}

// A purge sums up again what pages of former columns say, those that it writes and others.
func TestPagesOfFormerColumnsAreSummedUp(t *testing.T) {
	x, v := newAltered(t, 1)
	for range 300 {
		v = x.insert(v)
	}
	v = x.commit(v) // pages of 256 and 44 chunks
	columns, err := hugetable.AddColumn(v.Table().Columns, column("c"), alone(int64(-7)))
	require.NoError(t, err)
	columns, err = hugetable.DropColumn(columns, 0)
	require.NoError(t, err)
	v, err = v.Alter(columns)
	require.NoError(t, err)
	v, err = v.Delete(ctx, map[int]*positions.Set{299: positions.Of(1, 0)})
	require.NoError(t, err)
	v = x.commit(v)
	for _, row := range x.model {
		row["c"] = int64(-7)
	}
	x.sumsUp(v, x.model)
	var run []*chunk.Chunk
	for i := 297; i < 300; i++ {
		c, err := v.Chunk(ctx, i)
		require.NoError(t, err)
		run = append(run, c)
	}
	made := x.sealed(columns, x.model[297:299]...)
	v, err = v.Purge(ctx, 297, run, []*chunk.Chunk{made}, []*positions.Set{nil, nil, positions.Of(1, 0)})
	require.NoError(t, err)
	v = x.commit(v)
	require.Equal(t, 298, v.NumChunks())
	x.sumsUp(v, x.model[:299])
}

// sumsUp holds a version's statistics to rows.
func (x *altered) sumsUp(v *hugetable.Version, rows []map[string]any) {
	require.EqualValues(x.t, len(rows), v.StoredRows())
	for i, f := range v.Table().Columns.Fields() {
		var values []int64
		for _, row := range rows {
			if value := row[f.Name]; value != nil {
				values = append(values, value.(int64))
			}
		}
		s := v.Statistics(i)
		require.EqualValues(x.t, len(rows)-len(values), s.NullCount, f.Name)
		require.Equal(x.t, slices.Min(values), s.Min.Int(), f.Name)
		require.Equal(x.t, slices.Max(values), s.Max.Int(), f.Name)
	}
}

// sealed is a chunk of rows for a table of these columns.
func (x *altered) sealed(columns *arrow.Schema, rows ...map[string]any) *chunk.Chunk {
	var arrays []arrow.Array
	for _, f := range columns.Fields() {
		var alones []arrow.Array
		for _, row := range rows {
			alones = append(alones, alone(row[f.Name]))
		}
		all, err := array.Concatenate(alones, memory.DefaultAllocator)
		require.NoError(x.t, err)
		arrays = append(arrays, all)
	}
	batch := array.NewRecordBatch(hugetable.Written(columns, columns.Fields()), arrays, int64(len(rows)))
	c, err := chunk.NewWriter(x.lender, "t", 4096).Seal(ctx, batch, chunk.SealOptions{})
	require.NoError(x.t, err)
	return c
}

// folded has some chunks from a number on be one.
func (x *altered) folded(v *hugetable.Version, first, n int) *hugetable.Version {
	var olds []*chunk.Chunk
	for i := range n {
		c, err := v.Chunk(ctx, first+i)
		require.NoError(x.t, err)
		olds = append(olds, c)
	}
	next, err := v.Fold(ctx, first, olds, []*chunk.Chunk{x.sealed(v.Table().Columns, x.model[first:first+n]...)})
	require.NoError(x.t, err)
	return x.commit(next)
}
