package hugetable_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/positions"
)

// purging is a table whose earlier versions are changed, too, and a naive twin of each of them.
type purging struct {
	*folding
	made    int
	history []moment
}

// moment is a version and what is in it.
type moment struct {
	v      *hugetable.Version
	chunks []purged
	dead   map[int64]bool
}

// purged is a chunk: made is its number, which it keeps when it moves.
type purged struct {
	values      []int64
	made, place int
}

func (p *purging) now() moment { return p.history[len(p.history)-1] }

func (p *purging) draw() int { p.made++; return p.made }

// commit seals next, in which the chunks are, and holds it to them.
func (p *purging) commit(next *hugetable.Version, chunks []purged, dead map[int64]bool) {
	p.chunks = nil
	stored, gone := int64(0), int64(0)
	for _, c := range chunks {
		p.chunks = append(p.chunks, c.values)
		stored += int64(len(c.values))
	}
	was := p.v.DeletedRows()
	p.v = p.now().v
	sealed := p.sealed(next)
	for i, c := range chunks {
		set, err := sealed.Deleted(ctx, i)
		require.NoError(p.t, err)
		for at, value := range c.values {
			require.Equal(p.t, dead[value], set.Has(int64(at)), "value %d, was %d", value, was)
			if dead[value] {
				gone++
			}
		}
	}
	require.Equal(p.t, stored-gone, sealed.Rows())
	require.Equal(p.t, gone, sealed.DeletedRows())
	p.history = append(p.history, moment{sealed, chunks, dead})
}

// sealed commits a version, whose chunks are p.chunks, and reads it again.
func (p *purging) sealed(next *hugetable.Version) *hugetable.Version {
	sealed, made, err := next.Seal(ctx, p.now().v.Version()+1)
	require.NoError(p.t, err)
	for _, x := range made {
		require.Nil(p.t, p.store.data[x.Ref.ID], "H4")
		p.store.data[x.Ref.ID] = x.Data
	}
	record, err := sealed.Encode()
	require.NoError(p.t, err)
	again, err := hugetable.Decode(record, hugetable.NewSource(p.store, 0))
	require.NoError(p.t, err)
	for i, values := range p.chunks {
		c, err := again.At(ctx, i)
		require.NoError(p.t, err)
		require.Equal(p.t, values, p.valuesOf(c.Chunk))
	}
	require.Equal(p.t, len(p.chunks), again.NumChunks())
	first := int64(0)
	for c, err := range again.Chunks(ctx) {
		require.NoError(p.t, err)
		require.Equal(p.t, first, c.FirstRow, "H1")
		first += c.Rows()
	}
	if all := slices.Concat(p.chunks...); len(all) > 0 {
		s := again.Statistics(0)
		require.LessOrEqual(p.t, s.Min.Int(), slices.Min(all))
		require.GreaterOrEqual(p.t, s.Max.Int(), slices.Max(all))
		require.LessOrEqual(p.t, s.Distinct, again.StoredRows()+again.StoredRows()/4)
	}
	return again
}

func (p *purging) append(n int) {
	at := p.now()
	var tail []*chunk.Chunk
	chunks := slices.Clone(at.chunks)
	for range n {
		values := p.values(1 + p.rng.IntN(20))
		tail, chunks = append(tail, p.chunk(values)), append(chunks, purged{values, p.draw(), p.draw()})
	}
	next, err := at.v.Append(tail)
	require.NoError(p.t, err)
	p.commit(next, chunks, at.dead)
}

// somewhere is a chunk: at the beginning or the end for the most part, so that changes meet.
func (p *purging) somewhere(base moment) int {
	n := len(base.chunks)
	if n < 20 {
		return p.rng.IntN(min(n, 1+p.rng.IntN(n)))
	}
	return []int{p.rng.IntN(1 + p.rng.IntN(12)), p.rng.IntN(n), n - 1 - p.rng.IntN(10)}[p.rng.IntN(3)]
}

// delete deletes some rows of an earlier version; it fails if one of them is deleted since.
func (p *purging) delete(base moment) {
	rows, gone, conflict := map[int]*positions.Set{}, maps.Clone(p.now().dead), false
	from, seldom := p.somewhere(base), 1+p.rng.IntN(10)
	for i := from; i < min(from+1+p.rng.IntN(3), len(base.chunks)); i++ {
		rows[i] = positions.New(int64(len(base.chunks[i].values)))
		for at, value := range base.chunks[i].values {
			if !base.dead[value] && p.rng.IntN(seldom) == 0 {
				conflict = conflict || gone[value]
				rows[i].Add(int64(at))
				gone[value] = true
			}
		}
	}
	v, err := base.v.Delete(ctx, rows)
	require.NoError(p.t, err)
	next, err := v.Rebase(ctx, base.v, p.now().v)
	if conflict {
		require.ErrorIs(p.t, err, hugetable.ErrDiverged)
		return
	}
	require.NoError(p.t, err)
	if next.Rows() > 0 {
		p.commit(next, p.now().chunks, gone)
	}
}

// purge folds a run of an earlier version without some of its deleted rows; it fails if the run is not there any more.
func (p *purging) purge(base moment) {
	first := p.somewhere(base)
	n := min(1+p.rng.IntN(6), len(base.chunks)-first)
	made, out := purged{made: p.draw(), place: p.draw()}, 0
	var olds, news []*chunk.Chunk
	var left []*positions.Set
	for i := first; i < first+n; i++ {
		values := base.chunks[i].values
		olds, left = append(olds, one(p.t, base.v, i)), append(left, positions.New(int64(len(values))))
		for at, value := range values {
			if base.dead[value] && p.rng.IntN(5) > 0 {
				left[i-first].Add(int64(at))
				out++
			} else {
				made.values = append(made.values, value)
			}
		}
	}
	if n == 1 && out == 0 {
		return
	}
	var became []purged
	if len(made.values) > 0 {
		news, became = append(news, p.chunk(made.values)), append(became, made)
	}
	v, err := base.v.Purge(ctx, first, olds, news, left)
	require.NoError(p.t, err)
	now := p.now()
	at := slices.IndexFunc(now.chunks, func(c purged) bool { return c.place == base.chunks[first].place })
	next, err := v.Rebase(ctx, base.v, now.v)
	if at < 0 || at+n > len(now.chunks) || !slices.EqualFunc(now.chunks[at:at+n], base.chunks[first:first+n],
		func(a, b purged) bool { return a.place == b.place }) {
		require.ErrorIs(p.t, err, hugetable.ErrDiverged)
		return
	}
	require.NoError(p.t, err)
	p.commit(next, slices.Replace(slices.Clone(now.chunks), at, at+n, became...), now.dead)
}

// move moves a chunk of an earlier version; it fails if it has been moved since, and does nothing if it was folded.
func (p *purging) move(base moment) {
	i := p.somewhere(base)
	old, copied := base.chunks[i], p.chunk(base.chunks[i].values)
	v, err := base.v.ReplaceChunks(ctx, map[int]hugetable.Replacement{i: {Old: one(p.t, base.v, i), New: copied}})
	require.NoError(p.t, err)
	now := p.now()
	next, err := v.Rebase(ctx, base.v, now.v)
	at := slices.IndexFunc(now.chunks, func(c purged) bool { return c.made == old.made })
	switch {
	case at < 0:
		require.NoError(p.t, err)
		require.Empty(p.t, next.FreshExtents())
	case now.chunks[at].place != old.place:
		require.ErrorIs(p.t, err, hugetable.ErrDiverged)
	default:
		require.NoError(p.t, err)
		chunks := slices.Clone(now.chunks)
		chunks[at].place = p.draw()
		p.commit(next, chunks, now.dead)
	}
}

func newPurging(t *testing.T, seed uint64) *purging {
	p := &purging{folding: newFolding(t, seed)}
	p.history = []moment{{p.v, nil, map[int64]bool{}}}
	return p
}

// Rows are deleted, folded, left out and moved by changes of versions that are older or younger: each finds its rows and
// chunks wherever they are by then, or fails because another one had them first (H5 to H8).
func TestPurgesGoTogether(t *testing.T) {
	for seed := range uint64(12) {
		p, steps := newPurging(t, seed), 250
		if p.append(30); seed%4 == 0 { // with pages behind that are full, and stay as they are
			p.append(600)
			steps = 50
		}
		for range steps {
			if len(p.now().chunks) < 12 || p.rng.IntN(9) == 0 {
				p.append(1 + p.rng.IntN(10))
			}
			base := p.history[len(p.history)-1-p.rng.IntN(min(6, len(p.history)-1))]
			if seed%4 == 0 && len(p.history) < 5 {
				base = p.now()
			}
			if len(base.chunks) == 0 {
				continue
			}
			switch p.rng.IntN(6) {
			case 0, 1, 2:
				p.delete(base)
			case 3, 4:
				p.purge(base)
			default:
				p.move(base)
			}
		}
	}
}

// A version remembers only so many purges: rows of a version before those are deleted if their chunk is there as it was,
// and a conflict otherwise.
func TestForgottenPurges(t *testing.T) {
	p := newPurging(t, 1)
	p.append(4)
	base := p.now()
	last := len(base.chunks) - 1
	for range 70 { // the first row goes, and comes again behind the others
		p.append(1)
		now := p.now()
		gone := maps.Clone(now.dead)
		gone[now.chunks[0].values[0]] = true
		v, err := now.v.Delete(ctx, map[int]*positions.Set{0: positions.Of(int64(len(now.chunks[0].values)), 0)})
		require.NoError(t, err)
		p.commit(v, now.chunks, gone)
		now = p.now()
		values := now.chunks[0].values[1:]
		var news []*chunk.Chunk
		var became []purged
		if len(values) > 0 {
			news, became = append(news, p.chunk(values)), append(became, purged{values, p.draw(), p.draw()})
		}
		left := []*positions.Set{positions.Of(int64(len(values)+1), 0)}
		v, err = now.v.Purge(ctx, 0, []*chunk.Chunk{one(t, now.v, 0)}, news, left)
		require.NoError(t, err)
		p.commit(v, append(became, now.chunks[1:]...), gone)
		if slices.IndexFunc(p.now().chunks, func(c purged) bool { return c.made == base.chunks[last].made }) < 2 {
			break
		}
	}
	record, err := p.now().v.Encode()
	require.NoError(t, err)
	require.Less(t, len(record), 16<<10)
	old := base.chunks[last]
	v, err := base.v.Delete(ctx, map[int]*positions.Set{last: positions.Of(int64(len(old.values)), 0)})
	require.NoError(t, err)
	v, err = v.Rebase(ctx, base.v, p.now().v)
	require.NoError(t, err)
	at := slices.IndexFunc(p.now().chunks, func(c purged) bool { return c.made == old.made })
	dead, err := v.Deleted(ctx, at)
	require.NoError(t, err)
	require.True(t, dead.Has(0))
	require.Equal(t, int64(1), dead.Count())

	// more than is remembered of rows at once
	p = newPurging(t, 2)
	values := p.values(40_000)
	other := p.values(10)
	next, err := p.v.Append([]*chunk.Chunk{p.chunk(values), p.chunk(other)})
	require.NoError(t, err)
	p.commit(next, []purged{{values, 1, 1}, {other, 2, 2}}, map[int64]bool{})
	base = p.now()
	gone, dead2 := positions.New(40_000), map[int64]bool{}
	var kept []int64
	for i, value := range values {
		if p.rng.IntN(3) == 0 {
			gone.Add(int64(i))
			dead2[value] = true
		} else {
			kept = append(kept, value)
		}
	}
	next, err = base.v.Delete(ctx, map[int]*positions.Set{0: gone})
	require.NoError(t, err)
	p.commit(next, base.chunks, dead2)
	deleted := p.now()
	next, err = deleted.v.Purge(ctx, 0, []*chunk.Chunk{one(t, deleted.v, 0)}, []*chunk.Chunk{p.chunk(kept)},
		[]*positions.Set{gone})
	require.NoError(t, err)
	p.commit(next, []purged{{kept, 3, 3}, {other, 2, 2}}, dead2)
	record, err = p.now().v.Encode()
	require.NoError(t, err)
	require.Less(t, len(record), hugetable.PurgeBytes)
	for i, want := range map[int]error{0: hugetable.ErrDiverged, 1: nil} {
		at := int64(5)
		for ; i == 0 && gone.Has(at); at++ {
		}
		v, err := base.v.Delete(ctx, map[int]*positions.Set{i: positions.Of(int64(len(base.chunks[i].values)), at)})
		require.NoError(t, err)
		v, err = v.Rebase(ctx, base.v, p.now().v)
		require.ErrorIs(t, err, want)
		if want == nil {
			dead, err := v.Deleted(ctx, i)
			require.NoError(t, err)
			require.True(t, dead.Has(at))
		}
	}
}

// Only rows that are deleted are left out, and bounds are of what is left.
func TestPurgesThatAreRefused(t *testing.T) {
	p := newPurging(t, 3)
	p.append(3)
	now := p.now()
	n := int64(len(now.chunks[1].values))
	for _, left := range [][]*positions.Set{{positions.Of(n, 0)}, {positions.Of(n+1, 0)}, {nil, nil}} {
		_, err := now.v.Purge(ctx, 1, []*chunk.Chunk{one(t, now.v, 1)}, []*chunk.Chunk{p.chunk(now.chunks[1].values[1:])}, left)
		require.Error(t, err)
	}
	whole, dead := positions.New(n), map[int64]bool{}
	for i, value := range now.chunks[1].values {
		whole.Add(int64(i))
		dead[value] = true
	}
	next, err := now.v.Delete(ctx, map[int]*positions.Set{1: whole})
	require.NoError(t, err)
	p.commit(next, now.chunks, dead)
	next, err = p.now().v.Purge(ctx, 1, []*chunk.Chunk{one(t, p.now().v, 1)}, nil, []*positions.Set{whole})
	require.NoError(t, err)
	p.commit(next, []purged{now.chunks[0], now.chunks[2]}, dead)
	require.True(t, p.now().v.SameRows(p.history[len(p.history)-2].v), "what lives is the same")
	require.Equal(t, p.now().v.StoredRows(), p.now().v.Rows())
}
