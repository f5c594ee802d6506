package chunk_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/coherence"
)

var ctx = context.Background()

func lender(t require.TestingT, bytes int64) *lendertest.Lender {
	return lendertest.New(t, 1, lendertest.NewMemory(bytes), 0)
}

// dirty fills a region with what a former owner left there.
func dirty(t require.TestingT, l *lendertest.Lender, bytes int64) {
	g, err := l.Grant("former", bytes)
	require.NoError(t, err)
	for i := range g.Bytes() {
		g.Bytes()[i] = 0xAB
	}
	require.NoError(t, g.Abort())
}

// requireSealed checks everything that must hold of a sealed chunk over a lender.
func requireSealed(t require.TestingT, l *lendertest.Lender, c *chunk.Chunk, want arrow.RecordBatch) {
	decoded, err := descriptor.Decode(c.Encoded())
	require.NoError(t, err)
	got, err := decoded.Record(l.Resolve)
	require.NoError(t, err)
	require.NoError(t, descriptor.ValidateData(got, false))
	require.Equal(t, want.NumRows(), got.NumRows())
	for i := range int(want.NumCols()) {
		require.True(t, array.Equal(want.Column(i), got.Column(i)), "%v", want.Schema().Field(i).Type)
		require.Zero(t, got.Column(i).Data().Offset(), "slices are normalised")
	}
	require.NoError(t, decoded.Verify(l.Resolve, nil))
	covered := map[int][]bool{}
	for i, x := range decoded.Extents {
		require.Equal(t, coherence.Sealed, l.Generation(x.Generation).State)
		data := l.Memory.Bytes(x.Range)
		require.Equal(t, x.Seal.Checksum, xxh3.Hash(data[:x.Seal.Length]))
		covered[i] = make([]bool, len(data))
	}
	for i := range decoded.Columns {
		cover(&decoded.Columns[i], covered)
	}
	for i, x := range decoded.Extents { // K1: nothing of a former owner, nothing of the builders' leavings
		for at, b := range l.Memory.Bytes(x.Range) {
			if !covered[i][at] && b != 0 {
				require.FailNow(t, "garbage", "extent %d has %#x at %d, outside every buffer", i, b, at)
			}
		}
	}
}

func cover(n *descriptor.Node, covered map[int][]bool) {
	for _, b := range n.Buffers {
		for at := b.Offset; b.Present() && at < b.Offset+b.Length; at++ {
			covered[int(b.Extent)-1][at] = true
		}
	}
	for i := range n.Children {
		cover(&n.Children[i], covered)
	}
	if n.Dictionary != nil {
		cover(n.Dictionary, covered)
	}
}

func TestSealEveryTypeFromOutsideAndInside(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		rng := rand.New(rand.NewPCG(seed, 1))
		types := append(arraytest.Flat(), arraytest.Nested()...)
		rng.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] })
		types = append(types[:3], arraytest.Type(rng, 2))
		l := lender(rt, 4<<20)
		dirty(rt, l, 256<<10)
		w := chunk.NewWriter(l, "t", int64(rng.IntN(1<<16)))
		mem := memory.Allocator(memory.NewGoAllocator())
		if rng.IntN(2) == 0 {
			mem = w.Allocator()
		}
		rows := rng.IntN(300)
		batch := arraytest.Batch(rand.New(rand.NewPCG(seed, 2)), mem, types, rows)
		c, err := w.Seal(ctx, batch, chunk.SealOptions{})
		require.NoError(rt, err)
		twin := arraytest.Batch(rand.New(rand.NewPCG(seed, 2)), memory.NewGoAllocator(), types, rows)
		requireSealed(rt, l, c, twin)
		require.NoError(rt, l.Discard(generations(c)...))
		require.Zero(rt, l.Memory.Live(), "a discarded chunk leaves nothing")
	})
}

func generations(c *chunk.Chunk) (gens []coherence.Generation) {
	for _, x := range c.Descriptor().Extents {
		gens = append(gens, x.Generation)
	}
	return gens
}

func threeColumns(mem memory.Allocator, rows int) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "small", Type: arrow.PrimitiveTypes.Int32}, {Name: "price", Type: arrow.PrimitiveTypes.Float64},
	}, nil)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	b.Reserve(rows)
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int32Builder).Append(int32(i * 7919))
		b.Field(2).(*array.Float64Builder).Append(float64(i) / 4)
	}
	return b.NewRecordBatch()
}

func TestBuildersInTheArenaAreNotCopied(t *testing.T) {
	l := lender(t, 64<<20)
	w := chunk.NewWriter(l, "t", 4<<20)
	batch := threeColumns(w.Allocator(), 100_000)
	defer batch.Release()
	c, err := w.Seal(ctx, batch, chunk.SealOptions{})
	require.NoError(t, err)
	require.Zero(t, w.Copied())
	require.Len(t, c.Descriptor().Extents, 1, "one extent is enough when the size was known")
	require.Less(t, c.Bytes(), int64(100_000*20)*4/3, "the unused tail went back")
	require.Equal(t, c.Bytes(), l.Memory.Live())
	requireSealed(t, l, c, threeColumns(memory.NewGoAllocator(), 100_000))
}

func grown(mem memory.Allocator) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.BinaryTypes.StringView}, {Name: "c", Type: arrow.BinaryTypes.String},
	}, nil))
	defer b.Release()
	for i := range 200_000 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringViewBuilder).Append("a text that is longer than twelve bytes")
		b.Field(2).(*array.StringBuilder).Append("short")
	}
	return b.NewRecordBatch()
}

// Builders that grow by doubling leave holes; the writer reuses them and packs the chunk when too much is lost.
func TestGrowingBuildersDoNotWaste(t *testing.T) {
	l := lender(t, 256<<20)
	w := chunk.NewWriter(l, "t", 0)
	batch := grown(w.Allocator())
	defer batch.Release()
	c, err := w.Seal(ctx, batch, chunk.SealOptions{})
	require.NoError(t, err)
	requireSealed(t, l, c, grown(memory.NewGoAllocator()))
	var needed int64
	for i := range c.Descriptor().Columns {
		for _, b := range c.Descriptor().Columns[i].Buffers {
			needed += b.Length
		}
	}
	require.Less(t, c.Bytes(), needed*3/2+256<<10)
	require.Equal(t, c.Bytes(), l.Memory.Live())
}

func TestFullRegionIsAnErrorAndLeavesNothing(t *testing.T) {
	l := lender(t, 1<<20)
	w := chunk.NewWriter(l, "t", 64<<10)
	batch := threeColumns(w.Allocator(), 100_000)
	require.ErrorIs(t, w.Err(), lendertest.ErrFull)
	_, err := w.Seal(ctx, batch, chunk.SealOptions{})
	require.ErrorIs(t, err, lendertest.ErrFull)
	require.Zero(t, l.Memory.Live())
	batch.Release() // after the end of the arena: nothing happens
	_, err = w.Seal(ctx, batch, chunk.SealOptions{})
	require.ErrorIs(t, err, chunk.ErrClosed)
}

func TestAbortGivesEverythingBack(t *testing.T) {
	l := lender(t, 64<<20)
	w := chunk.NewWriter(l, "t", 4096)
	batch := threeColumns(w.Allocator(), 50_000)
	require.NotZero(t, l.Memory.Live())
	require.NoError(t, w.Abort())
	require.NoError(t, w.Abort())
	batch.Release()
	require.Zero(t, l.Memory.Live())
}

func TestCancelledSealGivesEverythingBack(t *testing.T) {
	l := lender(t, 64<<20)
	w := chunk.NewWriter(l, "t", 4096)
	batch := threeColumns(w.Allocator(), 1000)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err := w.Seal(over, batch, chunk.SealOptions{})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, l.Memory.Live())
}

// A batch whose offsets point anywhere must be refused, with and without validation, and never take the process along.
func TestMalformedBatch(t *testing.T) {
	for _, skip := range []bool{false, true} {
		offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 900, 3}))
		data := array.NewData(arrow.BinaryTypes.String, 2, []*memory.Buffer{nil, offsets, memory.NewBufferBytes([]byte("abc"))}, nil, 0, 0)
		column := array.MakeFromData(data)
		batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil), []arrow.Array{column}, 2)
		l := lender(t, 1<<20)
		w := chunk.NewWriter(l, "t", 0)
		_, err := w.Seal(ctx, batch, chunk.SealOptions{SkipValidation: skip})
		require.ErrorIs(t, err, descriptor.ErrData)
		require.ErrorContains(t, err, "s")
		require.Zero(t, l.Memory.Live())
	}
}

func TestEmptyBatch(t *testing.T) {
	l := lender(t, 1<<20)
	w := chunk.NewWriter(l, "t", 0)
	batch := threeColumns(memory.NewGoAllocator(), 0)
	c, err := w.Seal(ctx, batch, chunk.SealOptions{})
	require.NoError(t, err)
	require.Zero(t, c.Rows())
	require.Empty(t, c.Extents())
	require.Zero(t, l.Memory.Live())
}
