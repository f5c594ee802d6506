package hugetable_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/coherence"
)

// Replaced chunks in full and open pages, with and without rows appended behind them: only the touched pages are written
// again, everything is found, and what a new page has in common with an old one is said to be carried (K3).
func TestReplacedChunks(t *testing.T) {
	v, store := build(t, 600, 1, 0) // pages of 256, 256 and 88
	elsewhere := elsewhere(t)
	rng := rand.New(rand.NewPCG(2, 2))
	number := uint64(1)
	for round := range 12 {
		moved, fresh := map[int]hugetable.Replacement{}, map[descriptor.ExtentID]bool{}
		for range []int{1, 3, 40}[rng.IntN(3)] {
			i := rng.IntN(v.NumChunks())
			if round%3 == 0 {
				i = rng.IntN(256)
			}
			old, err := v.Chunk(ctx, i)
			require.NoError(t, err)
			moved[i] = hugetable.Replacement{Old: old, New: rearranged(t, rng, old, elsewhere())}
		}
		next, err := v.ReplaceChunks(ctx, moved)
		require.NoError(t, err)
		for range 2 { // and some of them once more, which are uncommitted then
			again := map[int]hugetable.Replacement{}
			for _, i := range slices.Sorted(maps.Keys(moved)) { // so that every run draws alike
				if r := moved[i]; rng.IntN(4) == 0 {
					again[i] = hugetable.Replacement{Old: r.New, New: rearranged(t, rng, r.New, elsewhere())}
				}
			}
			next, err = next.ReplaceChunks(ctx, again)
			require.NoError(t, err)
			for i, r := range again {
				moved[i] = hugetable.Replacement{Old: moved[i].Old, New: r.New}
			}
		}
		for i, r := range moved {
			for _, id := range r.Added() {
				fresh[id] = true
			}
			got, err := next.Chunk(ctx, i)
			require.NoError(t, err)
			require.Equal(t, r.New.Extents(), got.Extents())
		}
		appended := rng.IntN(2) * 3
		var tail []*chunk.Chunk
		for range appended {
			c := elsewhere()
			tail = append(tail, c)
			fresh[c.Extents()[0]] = true
		}
		next, err = next.Append(tail)
		require.NoError(t, err)
		require.Len(t, next.FreshExtents(), len(fresh))
		before := map[descriptor.ExtentID]bool{}
		for p, err := range v.Chunks(ctx) {
			require.NoError(t, err)
			for _, id := range p.Extents() {
				before[id] = true
			}
		}
		number++
		sealed, made, err := next.Seal(ctx, number)
		require.NoError(t, err)
		require.Empty(t, sealed.FreshExtents())
		for _, p := range made {
			store.data[p.Ref.ID] = p.Data
		}
		listed := 0
		for _, p := range made {
			store.data[p.Ref.ID] = p.Data
			for k, id := range p.Extents {
				require.Equal(t, k < p.CarriedExtents, before[id], "round %d", round)
				require.Equal(t, k >= p.CarriedExtents, fresh[id])
			}
			listed += len(p.Extents)
			bytes := int64(0)
			for i := range p.Ref.Chunks {
				c, err := sealed.Chunk(ctx, firstChunk(sealed, p.Ref)+i)
				require.NoError(t, err)
				listed -= len(c.Extents())
				bytes += c.Bytes()
			}
			require.Equal(t, bytes, p.Ref.Bytes)
		}
		require.Zero(t, listed, "a page lists every extent of its chunks once")
		if round%3 == 0 && appended == 0 {
			require.Len(t, made, 1, "only the first page was touched")
		}
		record, err := sealed.Encode()
		require.NoError(t, err)
		again, err := hugetable.Decode(record, hugetable.NewSource(store, 0))
		require.NoError(t, err)
		require.Equal(t, next.Rows(), again.Rows())
		require.Equal(t, next.Bytes(), again.Bytes())
		row := int64(0)
		for p, err := range again.Chunks(ctx) {
			require.NoError(t, err)
			require.Equal(t, row, p.FirstRow)
			row += p.Rows()
			want, err := next.Chunk(ctx, p.Index)
			require.NoError(t, err)
			require.Equal(t, want.Extents(), p.Extents(), "chunk %d", p.Index)
		}
		v = sealed
	}
}

// H4: a page that lists nothing new is another page each time it is made, though its chunks are the same: some node may be about to remove
// the former one. H3: the version that it was made of stays as it is.
func TestPagesWithoutNewExtentsAreNewPages(t *testing.T) {
	v, store := build(t, 10, 1, 0)
	old, err := v.Chunk(ctx, 3)
	require.NoError(t, err)
	two, err := old.In(old.Descriptor().Extents, elsewhere(t)().Descriptor().Extents)
	require.NoError(t, err)
	replace := func(v *hugetable.Version, number uint64, from, to *chunk.Chunk) (*hugetable.Version, hugetable.PageID) {
		next, err := v.ReplaceChunks(ctx, map[int]hugetable.Replacement{3: {Old: from, New: to}})
		require.NoError(t, err)
		sealed, made, err := next.Seal(ctx, number)
		require.NoError(t, err)
		require.Len(t, made, 1)
		store.data[made[0].Ref.ID] = made[0].Data
		return sealed, made[0].Ref.ID
	}
	v, _ = replace(v, 2, old, two)
	record, err := v.Encode()
	require.NoError(t, err)
	first, one := replace(v, 3, two, old)
	second, other := replace(v, 3, two, old)
	require.NotEqual(t, one, other)
	require.Equal(t, first.Rows(), second.Rows())
	again, err := v.Encode()
	require.NoError(t, err)
	require.Equal(t, record, again)
}

func firstChunk(v *hugetable.Version, ref hugetable.PageRef) (first int) {
	for _, p := range v.Pages() {
		if p.ID == ref.ID {
			break
		}
		first += p.Chunks
	}
	return first
}

// rearranged is a chunk with one replica more, in the place of another or before all, with one less, or with no old one.
func rearranged(t *testing.T, rng *rand.Rand, old, other *chunk.Chunk) *chunk.Chunk {
	var replicas [][]descriptor.Extent
	for i := range old.Replicas() {
		replicas = append(replicas, old.Descriptor().ExtentsOf(i))
	}
	added := append([]descriptor.Extent(nil), other.Descriptor().Extents...)
	for i := range added { // the rows of all chunks are alike
		require.Equal(t, old.Descriptor().Extents[i].Seal, added[i].Seal)
	}
	switch k := rng.IntN(len(replicas)); rng.IntN(5) {
	case 0:
		replicas = append(replicas, added)
	case 1:
		replicas[k] = added
	case 2:
		replicas = slices.Insert(replicas, 0, added)
	case 3:
		if len(replicas) > 1 {
			replicas = slices.Delete(replicas, k, k+1)
		}
	default:
		return other
	}
	if len(replicas) > descriptor.MaxReplicas {
		return other
	}
	c, err := old.In(replicas...)
	require.NoError(t, err)
	return c
}

// elsewhere makes chunks of the rows that every chunk of build has, in a region of their own where no two share a byte or a generation.
func elsewhere(t *testing.T) func() *chunk.Chunk {
	v, _ := build(t, 1, 1, 0)
	one, err := v.Chunk(ctx, 0)
	require.NoError(t, err)
	made := int64(0)
	return func() *chunk.Chunk {
		made++
		d := *one.Descriptor()
		d.Extents = slices.Clone(d.Extents)
		require.Len(t, d.Extents, 1)
		e := &d.Extents[0]
		e.Region, e.Generation = 9, coherence.Generation(made)
		e.Range.Offset = made * e.Range.Length
		encoded, err := d.Encode()
		require.NoError(t, err)
		return chunk.New(&d, encoded, nil)
	}
}

func TestReplacedChunksMustHaveTheSameRows(t *testing.T) {
	v, _ := build(t, 4, 1, 0)
	_, err := v.ReplaceChunks(ctx, map[int]hugetable.Replacement{4: {}})
	require.ErrorIs(t, err, hugetable.ErrRange)
	c, err := v.Chunk(ctx, 0)
	require.NoError(t, err)
	d := *c.Descriptor()
	d.Rows = 2
	_, err = v.ReplaceChunks(ctx, map[int]hugetable.Replacement{1: {Old: c, New: chunk.New(&d, nil, nil)}})
	require.ErrorIs(t, err, hugetable.ErrMismatch)
	require.ErrorContains(t, err, "2 rows in the place of the 1 of chunk 1")
	_, err = v.ReplaceChunks(ctx, map[int]hugetable.Replacement{1: {Old: c, New: c}})
	require.ErrorIs(t, err, hugetable.ErrMismatch)
	require.ErrorContains(t, err, "chunk 1 of table s.t is another one")
}
