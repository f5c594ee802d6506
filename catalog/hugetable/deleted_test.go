package hugetable_test

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/catalog/positions"
)

// table makes versions of chunks of many rows, all alike, and commits them.
type table struct {
	t      *testing.T
	store  *pages
	lender *lendertest.Lender
	batch  arrow.RecordBatch
	number uint64
}

func newTable(t *testing.T, rows int) (*table, *hugetable.Version) {
	x := &table{t: t, store: &pages{data: map[hugetable.PageID][]byte{}}}
	x.lender = lendertest.New(t, 1, lendertest.NewMemory(64<<20), 0)
	types := []arrow.DataType{arrow.FixedWidthTypes.Boolean}
	x.batch = arraytest.Batch(rand.New(rand.NewPCG(1, 1)), memory.NewGoAllocator(), types, rows)
	name := hugetable.TableName{Schema: "s", Name: "t"}
	made := hugetable.Table{ID: 7, Name: name, Columns: x.batch.Schema()}
	return x, hugetable.NewVersion(made, hugetable.NewSource(x.store, 0))
}

func (x *table) chunks(n int) (list []*chunk.Chunk) {
	for range n {
		c, err := chunk.NewWriter(x.lender, "t", 4096).Seal(ctx, x.batch, chunk.SealOptions{})
		require.NoError(x.t, err)
		list = append(list, c)
	}
	return list
}

func (x *table) appended(v *hugetable.Version, n int) *hugetable.Version {
	next, err := v.Append(x.chunks(n))
	require.NoError(x.t, err)
	return next
}

func (x *table) deleted(v *hugetable.Version, chunk int, at ...int64) *hugetable.Version {
	next, err := v.Delete(ctx, map[int]*positions.Set{chunk: positions.Of(x.batch.NumRows(), at...)})
	require.NoError(x.t, err)
	return next
}

// commit seals a version, writes its record and reads it again.
func (x *table) commit(v *hugetable.Version) *hugetable.Version {
	x.number++
	sealed, made, err := v.Seal(ctx, x.number)
	require.NoError(x.t, err)
	for _, p := range made {
		if p.CarriedExtents == len(p.Extents) {
			require.Nil(x.t, x.store.data[p.Ref.ID], "H4")
		}
		x.store.data[p.Ref.ID] = p.Data
	}
	record, err := sealed.Encode()
	require.NoError(x.t, err)
	again, err := hugetable.Decode(record, hugetable.NewSource(x.store, 0))
	require.NoError(x.t, err)
	require.Equal(x.t, v.Rows(), again.Rows())
	require.Equal(x.t, v.StoredRows(), again.StoredRows())
	require.Equal(x.t, v.Bytes(), again.Bytes())
	return again
}

func (x *table) requireDeleted(v *hugetable.Version, want map[int][]int64) {
	count := int64(0)
	for i := range v.NumChunks() {
		s, err := v.Deleted(ctx, i)
		require.NoError(x.t, err)
		require.Equal(x.t, len(want[i]), int(s.Count()), "chunk %d", i)
		for _, at := range want[i] {
			require.True(x.t, s.Has(at), "chunk %d, row %d", i, at)
		}
		count += s.Count()
		gone, err := v.Gone(ctx, i)
		require.NoError(x.t, err)
		require.Equal(x.t, s != nil && s.Count() == s.Rows(), gone, "chunk %d", i)
	}
	require.Equal(x.t, v.StoredRows()-count, v.Rows())
}

// H6: rows go where their chunk goes, whatever else is done to the table meanwhile, and the same row is deleted once.
func TestDeletesGoTogether(t *testing.T) {
	x, v := newTable(t, 10)
	base := x.commit(x.appended(v, 3))
	own := x.deleted(x.appended(x.deleted(base, 1, 4, 5), 1), 3, 0)

	theirs := x.commit(x.deleted(x.appended(x.deleted(base, 1, 6), 2), 4, 9))
	next, err := own.Rebase(ctx, base, theirs)
	require.NoError(t, err)
	x.requireDeleted(next, map[int][]int64{1: {4, 5, 6}, 4: {9}, 5: {0}})
	x.requireDeleted(x.commit(next), map[int][]int64{1: {4, 5, 6}, 4: {9}, 5: {0}})

	old, err := base.Chunk(ctx, 1)
	require.NoError(t, err)
	moved, err := base.ReplaceChunks(ctx, map[int]hugetable.Replacement{1: {Old: old, New: x.chunks(1)[0]}})
	require.NoError(t, err)
	for _, theirs := range []*hugetable.Version{moved, x.commit(moved)} {
		next, err = own.Rebase(ctx, base, theirs)
		require.NoError(t, err, "the chunk lies elsewhere")
		x.requireDeleted(x.commit(next), map[int][]int64{1: {4, 5}, 3: {0}})
		next, err = moved.Rebase(ctx, base, x.commit(own))
		require.NoError(t, err)
		x.requireDeleted(x.commit(next), map[int][]int64{1: {4, 5}, 3: {0}})
	}
	for what, theirs := range map[string]*hugetable.Version{
		"the same row": x.deleted(base, 1, 5), "truncated": base.Truncate(), "refilled": x.appended(base.Truncate(), 3),
	} {
		_, err = own.Rebase(ctx, base, theirs)
		require.ErrorIs(t, err, hugetable.ErrDiverged, what)
		_, err = own.Rebase(ctx, base, x.commit(theirs))
		require.ErrorIs(t, err, hugetable.ErrDiverged, what)
		_, err = theirs.Rebase(ctx, base, x.commit(own))
		require.ErrorIs(t, err, hugetable.ErrDiverged, what)
	}
}

// Rows lie as the placement said when they were written: to say another one goes behind them, and they not behind it (H5).
func TestPlacementsGoBehindRows(t *testing.T) {
	x, base := newTable(t, 10)
	base = x.commit(x.appended(base, 2))
	placed := base.Place("p")
	own := x.commit(x.deleted(x.appended(base, 3), 1, 1))
	next, err := placed.Rebase(ctx, base, own)
	require.NoError(t, err)
	next = x.commit(next)
	require.Equal(t, "p", next.Table().Placement)
	require.Equal(t, own.Rows(), next.Rows())
	x.requireDeleted(next, map[int][]int64{1: {1}})
	_, err = x.appended(base, 3).Rebase(ctx, base, x.commit(placed))
	require.ErrorIs(t, err, hugetable.ErrDiverged)
	for what, theirs := range map[string]*hugetable.Version{
		"truncated": x.commit(base.Truncate()), "refilled": x.commit(x.appended(base.Truncate(), 3)),
		"another placement": x.commit(base.Place("q")),
	} {
		_, err = placed.Rebase(ctx, base, theirs)
		require.ErrorIs(t, err, hugetable.ErrDiverged, what)
	}
	_, err = x.appended(placed, 3).Rebase(ctx, base, own)
	require.ErrorIs(t, err, hugetable.ErrDiverged, "it appends as well")
}

// Rows that are left out would come back with the others of their load: its origin is forgotten, and no other's.
func TestPurgesForgetOrigins(t *testing.T) {
	x, v := newTable(t, 10)
	for _, words := range []string{"a", "b"} {
		next, err := v.AppendFrom(x.chunks(2), words)
		require.NoError(t, err)
		v = x.commit(next)
	}
	first := v.Origins()[1].First
	v = x.commit(x.deleted(v, v.Origins()[0].First+1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
	gone, err := v.Deleted(ctx, first-1)
	require.NoError(t, err)
	next, err := v.Purge(ctx, first-1, []*chunk.Chunk{one(t, v, first-1)}, nil, []*positions.Set{gone})
	require.NoError(t, err)
	require.Equal(t, []hugetable.Origin{{First: first - 1, Chunks: 2, Words: "b"}}, x.commit(next).Origins())
}

// H6.
func TestARowIsDeletedOnce(t *testing.T) {
	x, v := newTable(t, 10)
	v = x.deleted(x.commit(x.deleted(x.commit(x.appended(v, 2)), 1, 3)), 1, 4)
	for _, at := range []int64{3, 4} {
		_, err := v.Delete(ctx, map[int]*positions.Set{1: positions.Of(10, at)})
		require.ErrorIs(t, err, hugetable.ErrDeleted)
	}
	_, err := v.Delete(ctx, map[int]*positions.Set{1: positions.Of(9, 1)})
	require.ErrorIs(t, err, hugetable.ErrMismatch)
	_, err = v.Delete(ctx, map[int]*positions.Set{2: positions.Of(10, 1)})
	require.ErrorIs(t, err, hugetable.ErrRange)
	x.requireDeleted(v, map[int][]int64{1: {3, 4}})
}

// Opening a table, and asking what a page without deleted rows has of them, reads no page.
func TestTablesWithoutDeletedRowsReadNothing(t *testing.T) {
	x, v := newTable(t, 10)
	v = x.commit(x.deleted(x.commit(x.appended(v, 300)), 280, 1))
	x.store.reads = 0
	for _, i := range []int{-1, 0, 255, 300} {
		s, err := v.Deleted(ctx, i)
		require.NoError(t, err)
		require.Nil(t, s)
	}
	require.Zero(t, x.store.reads)
	x.requireDeleted(v, map[int][]int64{280: {1}})
	require.Equal(t, 1, x.store.reads)
}

// A page that is written again for rows that are deleted needs no reading, and none of its chunks decoding.
func TestRewrittenPagesKeepTheirChunks(t *testing.T) {
	x, v := newTable(t, 10)
	base := x.commit(x.appended(v, 3))
	var was []*chunk.Chunk
	for i := range 3 {
		c, err := base.Chunk(ctx, i)
		require.NoError(t, err)
		was = append(was, c)
	}
	x.store.reads = 0
	next, made, err := x.deleted(base, 1, 4).Seal(ctx, 100)
	require.NoError(t, err)
	require.Len(t, made, 1)
	for i := range 3 {
		c, err := next.Chunk(ctx, i)
		require.NoError(t, err)
		require.Same(t, was[i], c)
	}
	require.Zero(t, x.store.reads)
	x.requireDeleted(next, map[int][]int64{1: {4}})
}

// A page of which too much is said is made several, none larger than the bound, with all that the one had.
func TestPagesSplit(t *testing.T) {
	const rows = 60_000
	x, v := newTable(t, rows)
	base := x.commit(x.appended(v, 120))
	require.Len(t, base.Pages(), 1)
	gone, want := map[int]*positions.Set{}, int64(0)
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 120 {
		gone[i] = positions.New(rows)
		for gone[i].Count() < rows/3 {
			gone[i].Add(rng.Int64N(rows))
		}
		want += gone[i].Count()
	}
	next, err := base.Delete(ctx, gone)
	require.NoError(t, err)
	next = x.commit(next)
	require.Greater(t, len(next.Pages()), 1)
	for _, ref := range next.Pages() {
		require.LessOrEqual(t, len(x.store.data[ref.ID]), hugetable.PageBytes*5/4)
	}
	require.Equal(t, want, next.DeletedRows())
	for i := range 120 {
		s, err := next.Deleted(ctx, i)
		require.NoError(t, err)
		require.Equal(t, gone[i].Words(), s.Words())
		was, err := base.Chunk(ctx, i)
		require.NoError(t, err)
		is, err := next.Chunk(ctx, i)
		require.NoError(t, err)
		require.Equal(t, was.Extents(), is.Extents())
	}
	x.requireDeleted(x.commit(x.appended(x.commit(x.appended(v, 1)), 1)), nil)
	last := x.commit(x.appended(x.deleted(next, 119, first(gone[119])), 2))
	require.Equal(t, next.NumChunks()+2, last.NumChunks())
	require.Equal(t, want+1, last.DeletedRows())
}

// A table of which no row is left has no chunks, unless one came by the same change: that one is published.
func TestNothingIsLeftOfTablesWithoutRows(t *testing.T) {
	x, v := newTable(t, 2)
	base := x.commit(x.appended(v, 2))
	all := x.deleted(x.deleted(base, 0, 0, 1), 1, 0, 1)
	over, made, err := all.Seal(ctx, 9)
	require.NoError(t, err)
	require.Empty(t, made)
	require.Zero(t, over.NumChunks())
	require.EqualValues(t, 9, over.Version())
	record, err := over.Encode()
	require.NoError(t, err)
	over, err = hugetable.Decode(record, hugetable.NewSource(x.store, 0))
	require.NoError(t, err)
	require.Zero(t, over.StoredRows())
	x.requireDeleted(x.commit(x.deleted(x.appended(all, 1), 2, 0, 1)), map[int][]int64{0: {0, 1}, 1: {0, 1}, 2: {0, 1}})
	_, err = x.deleted(base, 0, 1).Rebase(ctx, base, over)
	require.ErrorIs(t, err, hugetable.ErrDiverged)
	next, err := x.appended(base, 1).Rebase(ctx, base, over)
	require.NoError(t, err)
	require.EqualValues(t, 2, next.Rows())
}

// first is a position that is not in the set.
func first(s *positions.Set) int64 {
	for from := range s.Absent() {
		return from
	}
	return -1
}

// A record with deleted rows says so by its format, so that no program shows them that does not know of them; one that
// contradicts itself is refused, and so is a page that says something else than the record.
func TestDeletedRowsOnRecord(t *testing.T) {
	x, v := newTable(t, 10)
	v = x.commit(x.deleted(x.appended(v, 2), 0, 1, 2))
	record, err := v.Encode()
	require.NoError(t, err)
	source := hugetable.NewSource(x.store, 0)
	for _, format := range []int64{1, 2, 4} {
		_, err := hugetable.Decode(append(record[:len(record):len(record)], number(1, format)...), source)
		require.ErrorIs(t, err, hugetable.ErrCorrupt, "format %d", format)
	}
	for _, deleted := range []int64{-1, 21} {
		_, err := hugetable.Decode(amend(t, record, 9, 0, number(6, deleted)), source)
		require.ErrorIs(t, err, hugetable.ErrCorrupt, "%d deleted", deleted)
	}
	other, err := hugetable.Decode(amend(t, record, 9, 0, number(6, 1)), source)
	require.NoError(t, err)
	_, err = other.Deleted(ctx, 0)
	require.ErrorIs(t, err, hugetable.ErrCorrupt)
	require.ErrorContains(t, err, "2 deleted rows, want 1")
	_, err = other.Chunk(ctx, 1)
	require.ErrorIs(t, err, hugetable.ErrCorrupt)

	page := x.store.data[v.Pages()[0].ID]
	for name, more := range map[string][]byte{
		"more than there are": fields(func(w *message.Writer) { w.Bytes(4, []byte{11, 1, 0}) }),
		"others than it says": fields(func(w *message.Writer) { w.Bytes(4, []byte{2, 1, 0}) }),
	} {
		altered := amend(t, page, 2, 0, more)
		id := hugetable.PageID(xxh3.Hash128(altered).Bytes())
		x.store.data[id] = altered
		v, err := hugetable.Decode(amend(t, record, 9, 0, fields(func(w *message.Writer) { w.Bytes(1, id[:]) })), source)
		require.NoError(t, err)
		_, err = v.Deleted(ctx, 0)
		require.ErrorIs(t, err, hugetable.ErrCorrupt, name)
	}
}
