package hugetable_test

import (
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
	"github.com/csmsql/csmsql/catalog/positions"
)

var counted = arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)

// folding is a table and, as a naive twin, the values of each of its chunks.
type folding struct {
	t      *testing.T
	rng    *rand.Rand
	lender *lendertest.Lender
	store  *pages
	v      *hugetable.Version
	chunks [][]int64
	next   int64
}

func newFolding(t *testing.T, seed uint64) *folding {
	f := &folding{t: t, rng: rand.New(rand.NewPCG(seed, 7)), store: &pages{data: map[hugetable.PageID][]byte{}}}
	f.lender = lendertest.New(t, 1, lendertest.NewMemory(64<<20), 0)
	table := hugetable.Table{ID: 7, Name: hugetable.TableName{Schema: "s", Name: "t"}, Columns: counted}
	f.v = hugetable.NewVersion(table, hugetable.NewSource(f.store, 0))
	return f
}

func (f *folding) chunk(values []int64) *chunk.Chunk {
	b := array.NewInt64Builder(memory.NewGoAllocator())
	defer b.Release()
	b.AppendValues(values, nil)
	batch := array.NewRecordBatch(counted, []arrow.Array{b.NewArray()}, int64(len(values)))
	c, err := chunk.NewWriter(f.lender, "t", 4096).Seal(ctx, batch, chunk.SealOptions{})
	require.NoError(f.t, err)
	return c
}

// values are so many that no other chunk has.
func (f *folding) values(n int) (list []int64) {
	for range n {
		list = append(list, f.next)
		f.next++
	}
	return list
}

// seal commits a version, of which it holds every page to what it says it carries (K3) and is named (H4).
func (f *folding) seal(next *hugetable.Version) {
	before := map[descriptor.ExtentID]bool{}
	for p, err := range f.v.Chunks(ctx) {
		require.NoError(f.t, err)
		for _, id := range p.Extents() {
			before[id] = true
		}
	}
	sealed, made, err := next.Seal(ctx, f.v.Version()+1)
	require.NoError(f.t, err)
	for _, p := range made {
		require.Nil(f.t, f.store.data[p.Ref.ID], "H4")
		f.store.data[p.Ref.ID] = p.Data
		for k, id := range p.Extents {
			require.Equal(f.t, k < p.CarriedExtents, before[id])
		}
	}
	record, err := sealed.Encode()
	require.NoError(f.t, err)
	f.v, err = hugetable.Decode(record, hugetable.NewSource(f.store, 0))
	require.NoError(f.t, err)
	f.is(sealed, f.chunks)
	f.is(f.v, f.chunks)
}

// is holds a version's chunks to the values that they must have, by their number and by their bytes.
func (f *folding) is(v *hugetable.Version, want [][]int64) {
	require.Equal(f.t, len(want), v.NumChunks())
	row, listed, bytes := int64(0), 0, int64(0)
	for p, err := range v.Chunks(ctx) {
		require.NoError(f.t, err)
		require.Equal(f.t, row, p.FirstRow)
		one, err := v.At(ctx, p.Index)
		require.NoError(f.t, err)
		require.Equal(f.t, p.Extents(), one.Extents())
		require.Equal(f.t, row, one.FirstRow)
		require.Equal(f.t, want[p.Index], f.valuesOf(p.Chunk))
		row += p.Rows()
		bytes += p.Bytes()
		listed++
	}
	require.Equal(f.t, len(want), listed)
	require.Equal(f.t, row, v.Rows())
	require.Equal(f.t, bytes, v.Bytes())
	if row > 0 {
		all := slices.Concat(want...)
		s := v.Statistics(0)
		require.Equal(f.t, slices.Min(all), s.Min.Int())
		require.Equal(f.t, slices.Max(all), s.Max.Int())
	}
}

func (f *folding) valuesOf(c *chunk.Chunk) []int64 {
	batch, err := c.Descriptor().Record(f.lender.Resolve)
	require.NoError(f.t, err)
	return batch.Column(0).(*array.Int64).Int64Values()
}

// run is some chunks that follow each other, and what they become.
func (f *folding) run(v *hugetable.Version, chunks [][]int64,
	first, n int) (olds, news []*chunk.Chunk, folded [][]int64) {
	for i := first; i < first+n; i++ {
		c, err := v.Chunk(ctx, i)
		require.NoError(f.t, err)
		olds = append(olds, c)
	}
	all := slices.Concat(chunks[first : first+n]...)
	folded = [][]int64{all}
	if cut := len(chunks[first]) + 1; n > 2 && cut < len(all)-len(chunks[first+n-1]) && f.rng.IntN(3) == 0 {
		folded = [][]int64{all[:cut], all[cut:]}
	}
	for _, values := range folded {
		news = append(news, f.chunk(values))
	}
	return olds, news, folded
}

func (f *folding) append(n int) {
	var tail []*chunk.Chunk
	for range n {
		values := f.values(1 + f.rng.IntN(3))
		tail, f.chunks = append(tail, f.chunk(values)), append(f.chunks, values)
	}
	next, err := f.v.Append(tail)
	require.NoError(f.t, err)
	f.seal(next)
}

// Folds of runs in one page and over several, in a table of many pages: every row stays where it is (H7), and nothing
// is listed twice.
func TestFoldedChunks(t *testing.T) {
	for seed := range uint64(2) {
		f := newFolding(t, seed)
		for f.v.NumChunks() < 700 {
			f.append([]int{1, 2, 30, 300}[f.rng.IntN(4)])
		}
		for range 25 {
			first := f.rng.IntN(len(f.chunks) - 1)
			n := min(2+f.rng.IntN([]int{3, 40, 300}[f.rng.IntN(3)]), len(f.chunks)-first)
			olds, news, folded := f.run(f.v, f.chunks, first, n)
			next, err := f.v.Fold(ctx, first, olds, news)
			require.NoError(t, err)
			f.chunks = slices.Replace(f.chunks, first, first+n, folded...)
			f.is(next, f.chunks) // before it is committed, too
			require.Len(t, next.FreshExtents(), len(news))
			f.seal(next)
			f.append(f.rng.IntN(20))
		}
	}
}

// What was done to a version before others folded some of its chunks is done to the same chunks, whatever their numbers
// are by then (H5).
func TestChangesAreFoundBehindFolds(t *testing.T) {
	for seed := range uint64(4) {
		f := newFolding(t, seed)
		f.append(300)
		f.append(300)
		base, had := f.v, slices.Clone(f.chunks)
		first, n := 20+f.rng.IntN(200), 2+f.rng.IntN(200)
		olds, news, folded := f.run(base, had, first, n)
		next, err := base.Fold(ctx, first, olds, news)
		require.NoError(t, err)
		f.chunks = slices.Replace(f.chunks, first, first+n, folded...)
		f.seal(next)
		current := f.v

		tail := f.values(1)
		v, err := base.Append([]*chunk.Chunk{f.chunk(tail)})
		require.NoError(t, err)
		v, err = v.Rebase(ctx, base, current)
		require.NoError(t, err)
		f.is(v, append(slices.Clone(f.chunks), tail))

		whole := positions.New(int64(len(had[first+1]))) // of which some may lie in another chunk than the others
		for k := range had[first+1] {
			whole.Add(int64(k))
		}
		v, err = base.Delete(ctx, map[int]*positions.Set{
			first + 1: whole, first + n: positions.Of(int64(len(had[first+n])), 0),
		})
		require.NoError(t, err)
		v, err = v.Rebase(ctx, base, current)
		require.NoError(t, err)
		gone := append(slices.Clone(had[first+1]), had[first+n][0])
		for p, err := range v.Chunks(ctx) {
			require.NoError(t, err)
			dead, err := v.Deleted(ctx, p.Index)
			require.NoError(t, err)
			for k, value := range f.chunks[p.Index] {
				require.Equal(t, slices.Contains(gone, value), dead.Has(int64(k)))
			}
		}
		require.Equal(t, int64(len(gone)), v.DeletedRows())

		at := func(chunk int) (number int, inside bool) {
			switch {
			case chunk < first:
				return chunk, false
			case chunk < first+n:
				return 0, true
			}
			return chunk - n + len(folded), false
		}
		for _, i := range []int{0, first - 2, first - 1, first, first + n - 1, first + n, 598} {
			old, err := base.Chunk(ctx, i)
			require.NoError(t, err)
			copied := f.chunk(had[i])
			v, err := base.ReplaceChunks(ctx, map[int]hugetable.Replacement{i: {Old: old, New: copied}})
			require.NoError(t, err)
			v, err = v.Rebase(ctx, base, current)
			require.NoError(t, err)
			f.is(v, f.chunks)
			number, inside := at(i)
			if inside {
				require.Empty(t, v.FreshExtents(), "chunk %d was folded: it is not moved", i)
				continue
			}
			moved, err := v.Chunk(ctx, number)
			require.NoError(t, err)
			require.Equal(t, copied.Extents(), moved.Extents())

			if _, inside := at(i + 1); inside {
				continue
			}
			one, two, three := f.run(base, had, i, 2) // and folded by another
			v, err = base.Fold(ctx, i, one, two)
			require.NoError(t, err)
			v, err = v.Rebase(ctx, base, current)
			require.NoError(t, err)
			f.is(v, slices.Replace(slices.Clone(f.chunks), number, number+2, three...))
		}
		again, others, _ := f.run(base, had, first+n-1, 2) // the first of it is not there any more
		v, err = base.Fold(ctx, first+n-1, again, others)
		require.NoError(t, err)
		_, err = v.Rebase(ctx, base, current)
		require.ErrorIs(t, err, hugetable.ErrDiverged)
		require.False(t, v.ByRows(base), "nothing is committed together with a fold")
	}
}

// Rows that were taken away are not found again where others lie now that have their numbers.
func TestRowsThatAreGoneWereNotFolded(t *testing.T) {
	f := newFolding(t, 1)
	f.append(4)
	base := f.v
	old, err := base.Chunk(ctx, 1)
	require.NoError(t, err)
	values := slices.Concat(f.chunks...)
	moved, err := base.ReplaceChunks(ctx, map[int]hugetable.Replacement{1: {Old: old, New: f.chunk(f.chunks[1])}})
	require.NoError(t, err)
	f.chunks = [][]int64{f.values(len(values))}
	next, err := base.Truncate().Append([]*chunk.Chunk{f.chunk(f.chunks[0])})
	require.NoError(t, err)
	f.seal(next)
	_, err = moved.Rebase(ctx, base, f.v)
	require.ErrorIs(t, err, hugetable.ErrDiverged)
	require.False(t, base.SameRows(f.v))
}

// A version reports whether it has the rows of another one: after folds and moves it does, after anything else it does
// not.
func TestSameRows(t *testing.T) {
	f := newFolding(t, 2)
	f.append(5)
	base := f.v
	olds, news, folded := f.run(f.v, f.chunks, 1, 3)
	next, err := f.v.Fold(ctx, 1, olds, news)
	require.NoError(t, err)
	require.False(t, base.SameRows(next), "nothing is said of what is not committed")
	f.chunks = slices.Replace(f.chunks, 1, 4, folded...)
	f.seal(next)
	require.True(t, base.SameRows(f.v))
	f.append(1)
	require.False(t, base.SameRows(f.v))
	require.True(t, f.v.SameRows(f.v))
}

func TestFoldsThatAreRefused(t *testing.T) {
	f := newFolding(t, 3)
	f.append(10)
	olds, news, _ := f.run(f.v, f.chunks, 2, 3)
	for says, fold := range map[string]func() (*hugetable.Version, error){
		"chunks 8 to 10 of table s.t, which has 10": func() (*hugetable.Version, error) {
			return f.v.Fold(ctx, 8, olds, news)
		},
		"chunks 0 to -1":          func() (*hugetable.Version, error) { return f.v.Fold(ctx, 0, nil, news) },
		"chunk 3 of table s.t is": func() (*hugetable.Version, error) { return f.v.Fold(ctx, 3, olds, news) },
		"rows less": func() (*hugetable.Version, error) {
			return f.v.Fold(ctx, 2, olds, []*chunk.Chunk{f.chunk(f.values(100))})
		},
		"chunk 3 of table s.t is not folded but moved": func() (*hugetable.Version, error) {
			return f.v.Fold(ctx, 3, []*chunk.Chunk{one(t, f.v, 3), one(t, f.v, 4)},
				[]*chunk.Chunk{f.chunk(f.chunks[3]), f.chunk(f.chunks[4])})
		},
		"chunk 4 of table s.t is not folded but moved": func() (*hugetable.Version, error) {
			return f.v.Fold(ctx, 2, olds, []*chunk.Chunk{f.chunk(slices.Concat(f.chunks[2:4]...)), f.chunk(f.chunks[4])})
		},
	} {
		_, err := fold()
		require.ErrorContains(t, err, says)
	}
	v, err := f.v.Fold(ctx, 2, olds, news)
	require.NoError(t, err)
	_, err = v.Fold(ctx, 0, olds[:1], olds[:1])
	require.ErrorContains(t, err, "all that a transaction does")
	_, err = v.Append(news)
	require.ErrorContains(t, err, "all that a transaction does")
	_, err = v.ReplaceChunks(ctx, map[int]hugetable.Replacement{0: {}})
	require.ErrorContains(t, err, "all that a transaction does")
	v, err = f.v.Append(news)
	require.NoError(t, err)
	_, err = v.Fold(ctx, 2, olds, news)
	require.ErrorContains(t, err, "all that a transaction does")

	f.chunks = append(f.chunks, f.values(1))
	v, err = f.v.AppendFrom([]*chunk.Chunk{f.chunk(f.chunks[10])}, "from a file")
	require.NoError(t, err)
	f.seal(v)
	last := f.v.Origins()[0].First
	v, err = f.v.Fold(ctx, 2, olds, []*chunk.Chunk{f.chunk(slices.Concat(f.chunks[2:5]...))})
	require.NoError(t, err)
	require.Equal(t, last-2, v.Origins()[0].First, "it is the same chunk, of another number")
	_, err = f.v.Fold(ctx, 9, []*chunk.Chunk{one(t, f.v, 9), one(t, f.v, 10)}, nil)
	require.ErrorContains(t, err, "came from where they could be rebuilt")
}

func one(t *testing.T, v *hugetable.Version, i int) *chunk.Chunk {
	c, err := v.Chunk(ctx, i)
	require.NoError(t, err)
	return c
}
