package hugetable_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/memregion"
)

var ctx = context.Background()

// pages is a store of pages that counts reads.
type pages struct {
	data  map[hugetable.PageID][]byte
	reads int
}

func (p *pages) Page(_ context.Context, id hugetable.PageID) ([]byte, error) {
	p.reads++
	if data, ok := p.data[id]; ok {
		return append([]byte(nil), data...), nil
	}
	return nil, hugetable.ErrLost
}

// build commits n chunks of one row, in the given number of versions.
func build(t require.TestingT, n, versions int, cacheBytes int64) (*hugetable.Version, *pages) {
	store := &pages{data: map[hugetable.PageID][]byte{}}
	l := lendertest.New(t, 1, lendertest.NewMemory(int64(n)*4096+1<<20), 0)
	rng := rand.New(rand.NewPCG(1, 1))
	batch := arraytest.Batch(rng, memory.NewGoAllocator(), []arrow.DataType{arrow.PrimitiveTypes.Int64}, 1)
	table := hugetable.Table{ID: 7, Name: hugetable.TableName{Schema: "s", Name: "t"}, Columns: batch.Schema()}
	v := hugetable.NewVersion(table, hugetable.NewSource(store, cacheBytes))
	for k := range versions {
		var list []*chunk.Chunk
		for range n / versions {
			c, err := chunk.NewWriter(l, "t", 4096).Seal(ctx, batch, chunk.SealOptions{})
			require.NoError(t, err)
			list = append(list, c)
		}
		next, err := v.Append(list)
		require.NoError(t, err)
		sealed, made, err := next.Seal(ctx, uint64(k+1))
		require.NoError(t, err)
		for _, p := range made {
			store.data[p.Ref.ID] = p.Data
		}
		v = sealed
	}
	return v, store
}

func TestEveryChunkIsWhereItsRowsSay(t *testing.T) {
	v, store := build(t, 1000, 10, 0)
	record, err := v.Encode()
	require.NoError(t, err)
	again, err := hugetable.Decode(record, hugetable.NewSource(store, 0))
	require.NoError(t, err)
	require.Equal(t, v.Rows(), again.Rows())
	require.Equal(t, v.Bytes(), again.Bytes())
	require.Equal(t, 1000, again.NumChunks())
	for _, i := range []int{0, 1, 255, 256, 511, 999} {
		p, err := again.At(ctx, i)
		require.NoError(t, err)
		require.Equal(t, int64(i), p.FirstRow)
	}
	for _, i := range []int{-1, 1000} {
		_, err := again.Chunk(ctx, i)
		require.ErrorIs(t, err, hugetable.ErrRange)
	}
}

// The cache is bounded: with room for one page only, walking back and forth reads again and stays right.
func TestCacheIsBounded(t *testing.T) {
	v, store := build(t, 600, 1, 1)
	record, err := v.Encode()
	require.NoError(t, err)
	v, err = hugetable.Decode(record, hugetable.NewSource(store, 1))
	require.NoError(t, err)
	store.reads = 0
	for _, i := range []int{0, 1, 2, 300, 301, 0, 599} {
		p, err := v.At(ctx, i)
		require.NoError(t, err)
		require.Equal(t, int64(i), p.FirstRow)
	}
	require.Equal(t, 4, store.reads)
}

// A record whose pages leave rows out or have them twice is refused, and the error names the rows (H1).
func TestGapsAndOverlapsAreNamed(t *testing.T) {
	v, _ := build(t, 600, 1, 0)
	record, err := v.Encode()
	require.NoError(t, err)
	for first, want := range map[int64]string{300: "rows 256 to 299 are missing before page 1", 200: "rows 200 to 255 are there twice, again in page 1"} {
		altered := rewrite(t, record, first)
		_, err := hugetable.Decode(altered, nil)
		require.ErrorIs(t, err, hugetable.ErrRows)
		require.ErrorContains(t, err, want)
	}
}

// rewrite changes the first row of the second page in a record.
func rewrite(t *testing.T, record []byte, first int64) []byte {
	r, w, page := message.NewReader(record), message.Writer{}, 0
	for r.Next() {
		field := r.Field()
		switch field {
		case 3, 4, 5, 6, 10:
			w.Bytes(field, r.Bytes())
		case 9:
			inner, start := r.Sub(), w.Begin(9)
			for inner.Next() {
				switch f := inner.Field(); {
				case f == 1:
					w.Bytes(f, inner.Bytes())
				case f == 3 && page == 1:
					_ = inner.Int()
					w.Int(f, first)
				default:
					w.Int(f, inner.Int())
				}
			}
			w.End(start)
			page++
		default:
			w.Uint(field, r.Uint())
		}
	}
	require.NoError(t, r.Err())
	return w.Buf
}

func TestLostPage(t *testing.T) {
	v, store := build(t, 300, 1, 0)
	record, err := v.Encode()
	require.NoError(t, err)
	clear(store.data)
	v, err = hugetable.Decode(record, hugetable.NewSource(store, 0))
	require.NoError(t, err)
	_, err = v.Chunk(ctx, 5)
	require.ErrorIs(t, err, hugetable.ErrLost)
	require.ErrorContains(t, err, "table s.t, chunk 5")
}

func TestStores(t *testing.T) {
	text, view := arrow.BinaryTypes.String, arrow.BinaryTypes.StringView
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: text, Ordered: true}
	wide, narrow := &arrow.Decimal128Type{Precision: 15, Scale: 2}, &arrow.Decimal64Type{Precision: 15, Scale: 2}
	for _, pair := range [][2]arrow.DataType{
		{text, view}, {text, dictionary}, {view, dictionary}, {dictionary, view}, {wide, narrow}, {narrow, wide},
		{arrow.ListOf(text), arrow.ListOfField(arrow.Field{Name: "l", Type: view})},
		{arrow.LargeListOf(arrow.MapOf(text, text)), arrow.LargeListOf(arrow.MapOf(text, view))},
	} {
		require.True(t, hugetable.Stores(pair[0], pair[1]), "%v", pair)
	}
	for _, pair := range [][2]arrow.DataType{
		{text, arrow.BinaryTypes.Binary}, {wide, &arrow.Decimal64Type{Precision: 15, Scale: 3}}, {arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32},
		{arrow.ListOf(text), arrow.LargeListOf(text)}, {arrow.StructOf(arrow.Field{Name: "a", Type: text}), arrow.StructOf(arrow.Field{Name: "b", Type: text})},
		{arrow.FixedSizeListOf(2, text), arrow.FixedSizeListOf(3, text)},
	} {
		require.False(t, hugetable.Stores(pair[0], pair[1]), "%v", pair)
	}
}

// How many replicas there are to be is on record, and says so in the record's format; a number that makes no sense is refused.
func TestReplicasOnRecord(t *testing.T) {
	v, store := build(t, 4, 1, 0)
	plain, err := v.Encode()
	require.NoError(t, err)
	require.EqualValues(t, 1, formatOf(plain))
	require.Zero(t, v.Table().Replicas)
	for _, k := range []int{1, 3, descriptor.MaxReplicas} {
		record, err := v.Replicate(k).Encode()
		require.NoError(t, err)
		require.EqualValues(t, 2, formatOf(record), "a program that does not know of replicas must not read it")
		again, err := hugetable.Decode(record, hugetable.NewSource(store, 0))
		require.NoError(t, err)
		require.Equal(t, k, again.Table().Replicas)
		require.Equal(t, v.Rows(), again.Rows())
	}
	record, err := v.Replicate(descriptor.MaxReplicas + 1).Encode()
	require.NoError(t, err)
	_, err = hugetable.Decode(record, hugetable.NewSource(store, 0))
	require.ErrorIs(t, err, hugetable.ErrCorrupt)
	require.ErrorContains(t, err, "33 replicas")
}

func formatOf(record []byte) uint64 {
	r := message.NewReader(record)
	r.Next()
	return r.Uint()
}

// A page that says of a chunk what cannot be of its replicas: the chunk is refused by name, the others are there.
func TestHostileReplicas(t *testing.T) {
	v, store := build(t, 300, 1, 0)
	record, err := v.Encode()
	require.NoError(t, err)
	c, err := v.Chunk(ctx, 77)
	require.NoError(t, err)
	for what, others := range map[string][]descriptor.Extent{
		"the same place":  {c.Descriptor().Extents[0]},
		"no region":       {{}},
		"behind the end":  {{ExtentID: descriptor.ExtentID{Region: 9, Generation: 9}, Range: memregion.Range{Offset: 1 << 60}}},
		"a replica twice": {{ExtentID: descriptor.ExtentID{Region: 9, Generation: 9}}, {ExtentID: descriptor.ExtentID{Region: 9, Generation: 9}}},
	} {
		forged := forge(t, record, store, 77, func([]byte) []byte {
			d := *c.Descriptor()
			for _, x := range others {
				d.Others = append(d.Others, []descriptor.Extent{x})
			}
			encoded, err := d.Encode()
			require.NoError(t, err)
			return encoded
		})
		v, err := hugetable.Decode(forged, hugetable.NewSource(store, 0))
		require.NoError(t, err)
		_, err = v.Chunk(ctx, 77)
		requireCorrupt(t, err, what)
		_, err = v.Chunk(ctx, 78)
		require.NoError(t, err)
		for _, ref := range v.Pages() {
			_, err := v.PageExtents(ctx, ref) // is for pages of our own, and does not panic
			require.NoError(t, err)
		}
	}
}

// FuzzRecord: a record from a hostile lender is refused or can be used without a panic.
func FuzzRecord(f *testing.F) {
	v, store := build(f, 300, 2, 0)
	record, err := v.Encode()
	require.NoError(f, err)
	f.Add(record)
	replicated, err := v.Replicate(2).Encode()
	require.NoError(f, err)
	f.Add(replicated)
	stored, err := v.Rename(hugetable.TableName{Schema: "s", Name: strings.Repeat("long", 500)}).EncodeStored(nil)
	require.NoError(f, err)
	f.Add(stored)
	for _, data := range store.data {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := hugetable.Decode(data, hugetable.NewSource(store, 0))
		if err != nil {
			var state interface{ SQLState() string }
			require.True(t, errors.As(err, &state), "%v", err)
			return
		}
		for i := range min(v.NumChunks(), 3) {
			_, _ = v.Chunk(ctx, i)
		}
		for i := range v.Table().Columns.NumFields() {
			_ = fmt.Sprint(v.Statistics(i))
		}
	})
}

// Where rows came from is known of the chunks that came from there, whatever is appended, moved, stored and read again, until the rows go.
func TestOrigins(t *testing.T) {
	v, store := build(t, 3, 1, 0)
	other, _ := build(t, 2, 1, 0)
	var more []*chunk.Chunk
	for p, err := range other.Chunks(ctx) {
		require.NoError(t, err)
		more = append(more, p.Chunk)
	}
	v, err := v.AppendFrom(more, "files")
	require.NoError(t, err)
	v, err = v.Append(more[:1])
	require.NoError(t, err)
	v, err = v.AppendFrom(more[1:], "query")
	require.NoError(t, err)
	want := []hugetable.Origin{{First: 3, Chunks: 2, Words: "files"}, {First: 6, Chunks: 1, Words: "query"}}
	require.Equal(t, want, v.Origins())
	sealed, made, err := v.Rename(hugetable.TableName{Schema: "s", Name: "u"}).Seal(ctx, 2)
	require.NoError(t, err)
	for _, p := range made {
		store.data[p.Ref.ID] = p.Data
	}
	record, err := sealed.Encode()
	require.NoError(t, err)
	again, err := hugetable.Decode(record, hugetable.NewSource(store, 0))
	require.NoError(t, err)
	require.Equal(t, want, again.Origins())
	for i, words := range []string{"", "", "", "files", "files", "", "query"} {
		o, ok := again.Origin(i)
		require.Equal(t, words != "", ok, i)
		require.Equal(t, words, o.Words)
	}
	require.Empty(t, again.Truncate().Origins())
	require.Equal(t, want, v.Origins(), "a version never changes")

	long, err := again.AppendFrom(more, string(make([]byte, hugetable.OriginsBytes)))
	require.NoError(t, err)
	require.Equal(t, want, long.Origins(), "too long to be remembered")
	for range 2 * hugetable.OriginsMax {
		again, err = again.AppendFrom(more[:1], "x")
		require.NoError(t, err)
	}
	require.Len(t, again.Origins(), hugetable.OriginsMax)

	for _, bad := range []hugetable.Origin{{First: 7, Chunks: 1}, {First: 5, Chunks: 3}, {First: 4, Chunks: 1}, {First: 1 << 40, Chunks: 1}, {First: 0, Chunks: 0}} {
		w := message.Writer{Buf: append([]byte(nil), record...)}
		start := w.Begin(13)
		w.Uint(1, uint64(bad.First))
		w.Uint(2, uint64(bad.Chunks))
		w.End(start)
		_, err = hugetable.Decode(w.Buf, hugetable.NewSource(store, 0))
		require.ErrorIs(t, err, hugetable.ErrCorrupt, "%v", bad)
	}
}
