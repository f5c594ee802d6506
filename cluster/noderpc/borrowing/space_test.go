package borrowing_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/borrowing"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
)

func TestAChunkInAnothersMemory(t *testing.T) {
	w := newWorld(t, 64*mebibyte)
	client := w.dial(t, "writer")
	counters := &coherence.Counters{}
	space := borrowing.NewSpace(client, w.view, borrowing.Options{Counters: counters})
	c := write(t, space, 20_000)
	require.Equal(t, "public.t", c.Descriptor().Owner)
	for _, id := range c.Extents() {
		require.Equal(t, coherence.Sealed, w.home.Generation(id.Generation).State)
	}
	require.Equal(t, c.Bytes(), w.lent.Stats().Used, "the tails went back")
	require.NotZero(t, counters.SkippedFlushesByStep[coherence.StepClean].Load(), "a coherent fabric needs no flush, and the step is counted")
	require.Zero(t, counters.FlushedBytes.Load())
	require.EqualValues(t, len(c.Extents()), counters.Seals.Load())

	require.NoError(t, client.Publish(ctx, false, c.Extents()...))
	requireRows(t, w.view, c.Encoded(), 20_000)
	require.NoError(t, catalog.Homes{7: w.home}.Retire(c.Extents()...))

	discarded := write(t, space, 100)
	var generations []coherence.Generation
	for _, id := range discarded.Extents() {
		generations = append(generations, id.Generation)
	}
	require.NoError(t, space.Discard(generations...))
	require.Equal(t, "55000", state(t, space.Discard(generations...)))

	aborted := chunk.NewWriter(space, "t", 0)
	batch(aborted.Allocator(), 1000).Release()
	require.NotZero(t, w.lent.Stats().Used)
	require.NoError(t, aborted.Abort())
	require.Zero(t, w.lent.Stats().Used)
}

func state(t testing.TB, err error) string {
	var stated interface{ SQLState() string }
	require.ErrorAs(t, err, &stated)
	return stated.SQLState()
}

// A full region is the writer's error and nothing else's.
func TestTheLenderIsFull(t *testing.T) {
	w := newWorld(t, 2*mebibyte)
	space := borrowing.NewSpace(w.dial(t, "writer"), w.view, borrowing.Options{})
	writer := chunk.NewWriter(space, "t", 0)
	built := batch(writer.Allocator(), 200_000)
	defer built.Release()
	require.Equal(t, "53200", state(t, writer.Err()))
	_, err := writer.Seal(ctx, built, chunk.SealOptions{})
	require.Equal(t, "53200", state(t, err))
	require.Zero(t, w.lent.Stats().Used)
}

// A column that outgrows its extent is copied where the memory is (thesis §3.8.1).
func TestReallocationHappensAtTheOwner(t *testing.T) {
	w := newWorld(t, 256*mebibyte)
	client := w.dial(t, "writer")
	space := borrowing.NewSpace(client, w.view, borrowing.Options{})
	writer := chunk.NewWriter(space, "t", page)
	b := array.NewInt64Builder(writer.Allocator())
	defer b.Release()
	for i := range 1_000_000 {
		b.Append(int64(i))
	}
	column := b.NewArray()
	defer column.Release()
	built := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{column}, -1)
	defer built.Release()
	c, err := writer.Seal(ctx, built, chunk.SealOptions{})
	require.NoError(t, err)
	require.Zero(t, writer.Copied())
	var moved uint64
	w.lending.Each(func(s coherence.Sample) {
		if s.Name == "lent_moved_bytes_total" {
			moved = s.Value
		}
	})
	require.NotZero(t, moved)
	got, err := read(w.view, c.Encoded())
	require.NoError(t, err)
	for i, v := range got.Column(0).(*array.Int64).Int64Values() {
		if v != int64(i) {
			require.EqualValues(t, i, v)
		}
	}
	require.NoError(t, client.Free(ctx, noderpc.FreeRequest{Extents: c.Extents()}))
}

// R2: a statement that is canceled while it asks leaves nothing.
func TestACanceledGrant(t *testing.T) {
	w := newWorld(t, 64*mebibyte)
	space := borrowing.NewSpace(w.dial(t, "writer"), w.view, borrowing.Options{})
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err := space.WithContext(canceled).Grant("t", page)
	require.Equal(t, "57014", state(t, err))
	g, err := space.Grant("t", page)
	require.NoError(t, err)
	require.EqualValues(t, page, w.lent.Stats().Used)
	require.NoError(t, g.Abort())
	require.NoError(t, g.Abort())
	require.Nil(t, g.Bytes())
}

// The steps of a grant in an order that is not theirs.
func TestStepsOutOfOrder(t *testing.T) {
	w := newWorld(t, 64*mebibyte)
	space := borrowing.NewSpace(w.dial(t, "writer"), w.view, borrowing.Options{})
	given, err := space.Grant("t", 4*page)
	require.NoError(t, err)
	g := given.(*borrowing.Grant)
	require.ErrorIs(t, g.Seal(coherence.Seal{}), coherence.ErrOrder, "not clean")
	require.ErrorIs(t, g.Shrink(100), coherence.ErrInput)
	require.ErrorIs(t, g.Shrink(5*page), coherence.ErrInput)
	require.Error(t, g.Grow(page, 0), "that is shorter")
	require.Len(t, g.Bytes(), 4*page, "as before")
	require.NoError(t, g.Grow(8*page, 4*page))
	require.Len(t, g.Bytes(), 8*page)
	require.NoError(t, g.Shrink(2*page))
	require.Len(t, g.Bytes(), 2*page)
	require.EqualValues(t, 2*page, g.Range().Length)
	seal := coherence.Seal{Length: 1, Checksum: xxh3.Hash(g.Bytes()[:1])}
	require.NoError(t, g.Clean())
	require.Nil(t, g.Bytes())
	require.ErrorIs(t, g.Clean(), coherence.ErrOrder)
	require.ErrorIs(t, g.Shrink(page), coherence.ErrOrder)
	require.ErrorIs(t, g.Grow(9*page, 0), coherence.ErrOrder)
	require.Equal(t, "XX001", state(t, g.Seal(coherence.Seal{Length: 1, Checksum: seal.Checksum + 1})), "not what lies there")
	require.Error(t, g.Seal(seal), "too late: an extent is cleaned once")
	require.NoError(t, g.Abort())
	require.Zero(t, w.lent.Stats().Used)

	given, err = space.Grant("t", page)
	require.NoError(t, err)
	seal.Checksum = xxh3.Hash(given.Bytes()[:1])
	require.NoError(t, given.Clean())
	require.NoError(t, given.Seal(seal))
	require.ErrorIs(t, given.Seal(seal), coherence.ErrOrder)
	require.NoError(t, given.Abort(), "after a seal it does nothing")
	require.EqualValues(t, page, w.lent.Stats().Used)
	require.NoError(t, space.Discard(given.Generation()))
}

// Two Spaces are two borrowers if their clients say so, and neither can touch the other's.
func TestSpacesOfTwoNodes(t *testing.T) {
	w := newWorld(t, 64*mebibyte)
	first, second := w.dial(t, "n1"), w.dial(t, "n2")
	c := write(t, borrowing.NewSpace(first, w.view, borrowing.Options{}), 10)
	require.Equal(t, "42501", state(t, second.Publish(ctx, false, c.Extents()...)))
	require.Equal(t, "42501", state(t, second.Free(ctx, noderpc.FreeRequest{Extents: c.Extents()})))
	require.EqualValues(t, 2, w.refusals.Calls(refusal.Forged))
	require.NoError(t, first.Free(ctx, noderpc.FreeRequest{Extents: c.Extents()}))
}
