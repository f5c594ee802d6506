package hugetable_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/message"
)

// forge alters chunk number chunk's descriptor in the first page, which gets the name of its new content, and the record to match:
// what a lender could send that means harm.
func forge(t *testing.T, record []byte, store *pages, chunk int, alter func(encoded []byte) []byte) []byte {
	var id hugetable.PageID
	w, page := message.Writer{}, 0
	for r := message.NewReader(record); r.Next(); {
		switch field := r.Field(); field {
		case 3, 4, 5, 6, 10:
			w.Bytes(field, r.Bytes())
		case 9:
			inner, start := r.Sub(), w.Begin(9)
			for inner.Next() {
				f := inner.Field()
				if f != 1 {
					w.Int(f, inner.Int())
					continue
				}
				id = hugetable.PageID(inner.Bytes())
				if page == 0 {
					id = forgePage(t, store, id, chunk, alter)
				}
				w.Bytes(f, id[:])
			}
			w.End(start)
			page++
		default:
			w.Uint(field, r.Uint())
		}
	}
	return w.Buf
}

func forgePage(t *testing.T, store *pages, id hugetable.PageID, chunk int, alter func(encoded []byte) []byte) hugetable.PageID {
	w, at := message.Writer{}, 0
	for r := message.NewReader(store.data[id]); r.Next(); {
		switch field := r.Field(); field {
		case 2:
			inner, start := r.Sub(), w.Begin(2)
			for inner.Next() {
				if f := inner.Field(); f != 3 {
					w.Int(f, inner.Int())
				} else if encoded := inner.Bytes(); at == chunk {
					w.Bytes(f, alter(append([]byte(nil), encoded...)))
				} else {
					w.Bytes(f, encoded)
				}
			}
			require.NoError(t, inner.Err())
			w.End(start)
			at++
		case 3:
			w.Bytes(field, r.Bytes())
		default:
			w.Uint(field, r.Uint())
		}
	}
	sum := xxh3.Hash128(w.Buf).Bytes()
	store.data[hugetable.PageID(sum)] = w.Buf
	return hugetable.PageID(sum)
}

// A page is sound and a descriptor in it is not: every way to that chunk is an error that names it, and all other
// chunks are there.
func TestCorruptDescriptorIsNamed(t *testing.T) {
	v, store := build(t, 300, 1, 0)
	record, err := v.Encode()
	require.NoError(t, err)
	for what, alter := range map[string]func([]byte) []byte{
		"cut off":  func(encoded []byte) []byte { return encoded[:len(encoded)/2] },
		"too wide": func(encoded []byte) []byte { return append(encoded, 6<<3|2, 0) }, // a column more than the schema has
		"empty":    func([]byte) []byte { return nil },
	} {
		forged := forge(t, record, store, 77, alter)
		v, err := hugetable.Decode(forged, hugetable.NewSource(store, 0))
		require.NoError(t, err)
		visited := 0
		for p, err := range v.Chunks(ctx) {
			if visited == 77 {
				requireCorrupt(t, err, what)
				require.Nil(t, p.Chunk)
				break
			}
			require.NoError(t, err)
			require.Equal(t, visited, p.Index)
			visited++
		}
		require.Equal(t, 77, visited)
		_, err = v.Chunk(ctx, 77)
		requireCorrupt(t, err, what)
		for _, i := range []int{76, 78, 299} {
			c, err := v.Chunk(ctx, i)
			require.NoError(t, err)
			require.EqualValues(t, 1, c.Rows())
		}
	}
}

func requireCorrupt(t *testing.T, err error, what string) {
	require.ErrorIs(t, err, descriptor.ErrCorrupt, what)
	require.ErrorContains(t, err, "table s.t, chunk 77")
}

// Chunks that were visited together and chunks that were asked for one by one are the same, and are decoded once.
func TestChunksAreDecodedOnce(t *testing.T) {
	v, store := build(t, 300, 1, 0)
	record, err := v.Encode()
	require.NoError(t, err)
	v, err = hugetable.Decode(record, hugetable.NewSource(store, 0))
	require.NoError(t, err)
	early, err := v.Chunk(ctx, 5)
	require.NoError(t, err)
	for p, err := range v.Chunks(ctx) {
		require.NoError(t, err)
		again, err := v.Chunk(ctx, p.Index)
		require.NoError(t, err)
		require.Same(t, p.Chunk, again)
		require.Equal(t, p.Encoded(), must(p.Descriptor().Encode()))
	}
	again, err := v.Chunk(ctx, 5)
	require.NoError(t, err)
	require.Same(t, early, again)
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// Attaching to a table visits every chunk: that must not cost an allocation for every part of each.
func TestVisitingChunksAllocatesBlocks(t *testing.T) {
	v, store := build(t, 512, 1, 0)
	record, err := v.Encode()
	require.NoError(t, err)
	allocations := testing.AllocsPerRun(10, func() {
		v, err := hugetable.Decode(record, hugetable.NewSource(store, 0))
		require.NoError(t, err)
		for _, err := range v.Chunks(ctx) {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	require.Less(t, allocations, 512.0)
}
