package hugetable_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// What a commit of one chunk of one row writes does not grow with the table: its chunks' pages double until they are
// full.
func TestWhatOneRowWrites(t *testing.T) {
	for _, columns := range []int{1, 50} {
		types := make([]arrow.DataType, columns)
		for i := range types {
			types[i] = arrow.PrimitiveTypes.Int64
		}
		store := &pages{data: map[hugetable.PageID][]byte{}}
		l := lendertest.New(t, 1, lendertest.NewMemory(64<<20), 0)
		batch := arraytest.Batch(rand.New(rand.NewPCG(1, 1)), memory.NewGoAllocator(), types, 1)
		table := hugetable.Table{ID: 7, Name: hugetable.TableName{Schema: "s", Name: "t"}, Columns: batch.Schema()}
		v := hugetable.NewVersion(table, hugetable.NewSource(store, 0))
		const commits = 1024
		var inPages, inRecords, descriptor, stored int
		for k := range commits {
			batch := arraytest.Batch(rand.New(rand.NewPCG(uint64(k), 1)), memory.NewGoAllocator(), types, 1)
			c, err := chunk.NewWriter(l, "t", 4096).Seal(ctx, batch, chunk.SealOptions{})
			require.NoError(t, err)
			next, err := v.Append([]*chunk.Chunk{c})
			require.NoError(t, err)
			sealed, made, err := next.Seal(ctx, uint64(k+1))
			require.NoError(t, err)
			for _, p := range made {
				store.data[p.Ref.ID] = p.Data
				inPages += len(p.Data)
			}
			record, err := sealed.EncodeStored(made)
			require.NoError(t, err)
			stored += len(record)
			again, err := hugetable.Decode(record, hugetable.NewSource(store, 0))
			require.NoError(t, err)
			record, err = sealed.Encode()
			require.NoError(t, err)
			inRecords += len(record)
			read, err := again.Encode()
			require.NoError(t, err)
			require.Equal(t, record, read)
			for i := range made {
				in := made[i].Stored()
				stored += len(in)
				out, err := hugetable.Expand(made[i].Ref.ID, in)
				require.NoError(t, err)
				require.Equal(t, made[i].Data, out)
			}
			descriptor = len(c.Encoded())
			v = sealed
			full := hugetable.PageBytes / max(descriptor, hugetable.PageBytes/hugetable.PageChunks)
			require.LessOrEqual(t, len(v.Pages()), 2*k/full+9)
		}
		t.Logf("%d columns: a descriptor has %d bytes; a commit writes %d in pages and %d in the record, stored as %d",
			columns, descriptor, inPages/commits, inRecords/commits, stored/commits)
		require.Less(t, inPages/commits, 9*(descriptor+60*columns))
	}
}

// A record whose sketches are as they were written before they were packed is read.
func TestSketchesThatAreNotPacked(t *testing.T) {
	v, store := build(t, 3, 1, 0)
	record, err := v.Encode()
	require.NoError(t, err)
	sketch := statistics.NewSketch()
	sketch[3] = 9
	with := func(field int, sketch []byte) *hugetable.Version {
		more := fields(func(w *message.Writer) { w.Bytes(field, sketch) })
		v, err := hugetable.Decode(amend(t, record, 10, 0, more), hugetable.NewSource(store, 0))
		require.NoError(t, err)
		return v
	}
	old, packed := with(2, sketch), with(4, sketch.Pack())
	want, err := packed.Encode()
	require.NoError(t, err)
	got, err := old.Encode()
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NotEqual(t, record, got)
}

// A table whose record is large is stored compressed from then on, however small the record becomes; others are stored
// as programs read them that know no compression.
func TestLargeTablesAreStoredCompressed(t *testing.T) {
	const format = 11
	storedAs := func(v *hugetable.Version) []byte {
		stored, err := v.EncodeStored(nil)
		require.NoError(t, err)
		return stored
	}
	formatOf := func(stored []byte) uint64 {
		r := message.NewReader(stored)
		require.True(t, r.Next())
		return r.Uint()
	}
	small, store := build(t, 300, 2, 0)
	plain, err := small.Encode()
	require.NoError(t, err)
	require.Less(t, len(plain), 1<<10)
	require.Equal(t, plain, storedAs(small))

	stored := storedAs(small.Rename(hugetable.TableName{Schema: "s", Name: strings.Repeat("long", 500)}))
	require.Equal(t, uint64(format), formatOf(stored))
	large, err := hugetable.Decode(stored, hugetable.NewSource(store, 0))
	require.NoError(t, err)
	again := storedAs(large.Rename(small.Table().Name))
	require.Equal(t, uint64(format), formatOf(again), "its pages may be compressed")
	read, err := hugetable.Decode(again, hugetable.NewSource(store, 0))
	require.NoError(t, err)
	record, err := read.Encode()
	require.NoError(t, err)
	require.Equal(t, plain, record)

	for _, damaged := range [][]byte{
		stored[:len(stored)-1], fields(func(w *message.Writer) { w.Uint(1, format) }),
		fields(func(w *message.Writer) { w.Uint(1, format); w.Bytes(25, stored) }),
		fields(func(w *message.Writer) { w.Uint(1, format); w.Bytes(25, []byte{0x28, 0xb5, 0x2f, 0xfd, 1}) }),
		fields(func(w *message.Writer) { w.Uint(1, format+1) }),
	} {
		_, err := hugetable.Decode(damaged, nil)
		require.ErrorIs(t, err, hugetable.ErrCorrupt)
	}
	_, err = hugetable.Expand(hugetable.PageID{}, []byte{0x28, 0xb5, 0x2f, 0xfd, 1})
	require.ErrorIs(t, err, hugetable.ErrCorrupt)
}
