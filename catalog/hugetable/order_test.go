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
)

// orders are chunks, and orders for them, of tables of three columns.
type orders struct {
	t      *testing.T
	lender chunk.Space
	store  *pages
}

const orderedRows = 10

func newOrders(t *testing.T) (*orders, *hugetable.Version) {
	o := &orders{t: t, lender: lendertest.New(t, 1, lendertest.NewMemory(1<<24), 0)}
	o.store = &pages{data: map[hugetable.PageID][]byte{}}
	fields := []arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int64},
		{Name: "c", Type: arrow.PrimitiveTypes.Int64}}
	columns := arrow.NewSchema(fields, nil)
	table := hugetable.Table{ID: 7, Name: hugetable.TableName{Schema: "s", Name: "t"}, Columns: columns}
	return o, hugetable.NewVersion(table, hugetable.NewSource(o.store, 0))
}

func (o *orders) seal(b array.Builder, columns int, schema *arrow.Schema) *chunk.Chunk {
	values := b.NewArray()
	defer values.Release()
	batch := array.NewRecordBatch(schema, slices.Repeat([]arrow.Array{values}, columns), orderedRows)
	defer batch.Release()
	c, err := chunk.NewWriter(o.lender, "t", 4096).Seal(ctx, batch, chunk.SealOptions{})
	require.NoError(o.t, err)
	return c
}

func (o *orders) rows(v *hugetable.Version) *chunk.Chunk {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	for i := range orderedRows {
		b.Append(int64(i))
	}
	fields := slices.Clone(v.Table().Columns.Fields())
	return o.seal(b, len(fields), hugetable.Written(v.Table().Columns, fields))
}

func (o *orders) positions() *chunk.Chunk {
	b := array.NewUint32Builder(memory.DefaultAllocator)
	defer b.Release()
	for i := range orderedRows {
		b.Append(uint32(orderedRows - 1 - i))
	}
	return o.seal(b, 1, arrow.NewSchema([]arrow.Field{{Name: "position", Type: arrow.PrimitiveTypes.Uint32}}, nil))
}

// sealed commits a version and reads it back.
func (o *orders) sealed(v *hugetable.Version) *hugetable.Version {
	next, made, err := v.Seal(ctx, v.Version()+1)
	require.NoError(o.t, err)
	for _, p := range made {
		o.store.data[p.Ref.ID] = p.Data
	}
	record, err := next.Encode()
	require.NoError(o.t, err)
	again, err := hugetable.Decode(record, hugetable.NewSource(o.store, 0))
	require.NoError(o.t, err)
	require.Equal(o.t, next.Bytes(), again.Bytes())
	return again
}

// H10, at random: orders come and go, columns too, and chunks are as they were except for their orders.
func TestOrders(t *testing.T) {
	o, v := newOrders(t)
	rng := rand.New(rand.NewPCG(3, 3))
	type known struct {
		first   descriptor.ExtentID
		columns []descriptor.Extent
		orders  map[string]bool // by the names of columns
	}
	var chunks []known
	name := func(columns []int) (words string) {
		for _, i := range columns {
			words += v.Table().Columns.Field(i).Name
		}
		return words
	}
	added := 0
	for range 200 {
		switch n := v.Table().Columns.NumFields(); rng.IntN(6) {
		case 0:
			c := o.rows(v)
			next, err := v.Append([]*chunk.Chunk{c})
			require.NoError(t, err)
			v = next
			chunks = append(chunks, known{c.Extents()[0], slices.Clone(c.Descriptor().Extents), map[string]bool{}})
		case 1:
			columns, err := hugetable.AddColumn(v.Table().Columns,
				arrow.Field{Name: fmt.Sprintf("n%d.", added), Type: arrow.PrimitiveTypes.Int64, Nullable: true}, nil)
			require.NoError(t, err)
			added++
			v, err = v.Alter(columns)
			require.NoError(t, err)
		case 2:
			if n < 3 {
				continue
			}
			gone := rng.IntN(n)
			word := v.Table().Columns.Field(gone).Name
			columns, err := hugetable.DropColumn(v.Table().Columns, gone)
			require.NoError(t, err)
			v, err = v.Alter(columns)
			require.NoError(t, err)
			for i := range chunks { // an order by it is none any more, and its memory is to be given back
				for is := range chunks[i].orders {
					if slices.Contains(wordsIn(is), word) {
						delete(chunks[i].orders, is)
					}
				}
			}
		case 3, 4:
			if len(chunks) == 0 {
				continue
			}
			i := rng.IntN(len(chunks))
			p, err := v.At(ctx, i)
			require.NoError(t, err)
			columns := rng.Perm(n)[:1+rng.IntN(2)]
			var add []hugetable.Order
			stored := !slices.ContainsFunc(columns, func(c int) bool { return p.Descriptor().Value(c) != nil })
			if !v.HasOrder(p.Chunk, columns) && stored {
				add = append(add, hugetable.Order{Columns: columns})
				if rng.IntN(3) > 0 {
					add[0].Rows = o.positions()
				}
			}
			kept := map[string]bool{}
			made, err := v.WithOrders(p.Chunk, func(columns []int) bool {
				kept[name(columns)] = rng.IntN(3) > 0
				return kept[name(columns)]
			}, add...)
			require.NoError(t, err)
			for is := range chunks[i].orders {
				if !kept[is] {
					delete(chunks[i].orders, is)
				}
			}
			for _, a := range add {
				chunks[i].orders[name(a.Columns)] = a.Rows != nil
			}
			v, err = v.ReplaceChunks(ctx, map[int]hugetable.Replacement{i: {Old: p.Chunk, New: made}})
			require.NoError(t, err)
		case 5:
			v = o.sealed(v)
		}
		for i, want := range chunks {
			p, err := v.At(ctx, i)
			require.NoError(t, err)
			require.Equal(t, want.first, p.Extents()[0])
			require.Equal(t, v.Table().Columns.NumFields(), p.Descriptor().Schema.NumFields())
			have := map[string]bool{}
			for _, columns := range v.Orders(p.Chunk) {
				shown := v.Ordered(p.Chunk, columns)
				require.NotNil(t, shown)
				list := shown.Descriptor().Columns
				require.Len(t, list, len(columns)+1)
				for k, c := range columns {
					require.Equal(t, p.Descriptor().Columns[c], list[k])
				}
				b := list[len(columns)].Buffers
				have[name(columns)] = len(b) > 1 && b[1].Present()
				if have[name(columns)] { // it lies behind the columns
					require.Greater(t, int(b[1].Extent), len(want.columns))
					require.LessOrEqual(t, int(b[1].Extent), len(shown.Descriptor().Extents))
				}
			}
			require.Equal(t, want.orders, have, "chunk %d", i)
			alone, err := hugetable.WithoutOrders(p.Chunk)
			require.NoError(t, err)
			require.Equal(t, want.columns, alone.Stored().Extents)
		}
	}
}

// wordsIn are the names of columns of which one is made.
func wordsIn(name string) (words []string) {
	for name != "" {
		n := 1
		if name[0] == 'n' {
			for name[n-1] != '.' {
				n++
			}
		}
		words, name = append(words, name[:n]), name[n:]
	}
	return words
}

// What is no order for a chunk is refused, and a chunk that has one is shown as its columns wherever it goes.
func TestOrdersThatDoNotFit(t *testing.T) {
	o, v := newOrders(t)
	c := o.rows(v)
	all := func([]int) bool { return true }
	next, err := v.Append([]*chunk.Chunk{c})
	require.NoError(t, err)
	_, err = next.WithOrders(c, all, hugetable.Order{Columns: []int{0}}, hugetable.Order{Columns: []int{0}})
	require.ErrorIs(t, err, hugetable.ErrMismatch)
	_, err = next.WithOrders(c, all, hugetable.Order{Columns: []int{0}, Rows: o.rows(v)})
	require.ErrorIs(t, err, hugetable.ErrMismatch, "no positions")
	made, err := next.WithOrders(c, all, hugetable.Order{Columns: []int{1, 0}, Rows: o.positions()})
	require.NoError(t, err)
	require.Len(t, made.Extents(), 2)
	require.False(t, next.HasOtherOrders(made, all))
	require.True(t, next.HasOtherOrders(made, func([]int) bool { return false }))
	require.True(t, next.HasOrder(made, []int{1, 0}))
	require.False(t, next.HasOrder(made, []int{0, 1}))
	require.Nil(t, next.Ordered(made, []int{1}))

	other, err := made.In([]descriptor.Extent{made.Stored().Extents[0], made.Stored().Extents[1]})
	require.NoError(t, err)
	require.Len(t, other.Descriptor().Columns, 4, "as it is stored")
	moved, err := next.ReplaceChunks(ctx, map[int]hugetable.Replacement{0: {Old: c, New: other}})
	require.NoError(t, err)
	got, err := moved.Chunk(ctx, 0)
	require.NoError(t, err)
	require.Len(t, got.Descriptor().Columns, 3)
	require.Equal(t, [][]int{{1, 0}}, moved.Orders(got))
	require.True(t, moved.HasOrders())
	require.True(t, o.sealed(moved).HasOrders(), "a program that knows of none would take it for a column")
}
