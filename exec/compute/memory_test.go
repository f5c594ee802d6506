package compute_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/plan"
)

// stingy is a compute.Memory that has so many bytes.
type stingy struct {
	*memory.CheckedAllocator
	most      int
	allocated atomic.Int64 // the most that was in use
	refused   atomic.Bool
}

var errStingy = errors.New("there is no more")

func (s *stingy) note() {
	for now := int64(s.CurrentAlloc()); ; {
		before := s.allocated.Load()
		if now <= before || s.allocated.CompareAndSwap(before, now) {
			break
		}
	}
	if s.CurrentAlloc() > s.most {
		s.refused.Store(true)
	}
}

func (s *stingy) Allocate(bytes int) []byte {
	defer s.note()
	return s.CheckedAllocator.Allocate(bytes)
}

func (s *stingy) Reallocate(bytes int, b []byte) []byte {
	defer s.note()
	return s.CheckedAllocator.Reallocate(bytes, b)
}

func (s *stingy) Fits(bytes int64) error {
	if s.refused.Load() || int64(s.CurrentAlloc())+bytes > int64(s.most) {
		return errStingy
	}
	return nil
}

func (s *stingy) Try(bytes int) ([]byte, error) {
	if err := s.Fits(int64(bytes)); err != nil {
		return nil, err
	}
	return s.Allocate(bytes), nil
}

func (s *stingy) Refused() error {
	if s.refused.Load() {
		return errStingy
	}
	return nil
}

// X9: whatever the point at which there is no more memory, the run ends with that error, and everything goes back (X6).
func TestRunEndsWithItsMemory(t *testing.T) {
	defer compute.CutMorsels(64)()
	for layout := range 4 {
		tab := fixture(memory.DefaultAllocator, 300, 150, layout)
		tab.chunks[1] = compute.Without(tab.chunks[1], []uint64{0xF0F0, 0, 1})
		for _, sql := range []string{
			"SELECT id, s, d FROM r WHERE id > 20", "SELECT id + 1, d * 2, s, 'constant text' FROM r", "SELECT id * 2 + id - 7 FROM r WHERE b",
			"SELECT sum(id * 2), max(s), min(d) FROM r WHERE b AND d < 5", "SELECT s, d FROM r WHERE s LIKE '%a%' OR id IN (1, 2, 3) LIMIT 20",
		} {
			q, unsupported := mustPlan(t, sql, tab.resolver())
			require.Nil(t, unsupported, sql)
			whole, err := tab.run(t, nil, q)
			require.NoError(t, err)
			ended := 0
			for most := 0; ; most += 32 {
				mem := &stingy{CheckedAllocator: memory.NewCheckedAllocator(memory.NewGoAllocator()), most: most}
				rows, err := tab.run(t, mem, q)
				mem.AssertSize(t, 0)
				if err == nil && !mem.refused.Load() {
					require.Equal(t, whole, rows, sql)
					break
				}
				if err != nil { // what was refused when all was done is no loss
					require.ErrorIs(t, err, errStingy, sql)
					ended++
				}
			}
			require.Greater(t, ended, 3, sql)
		}
		tab.release()
	}
}

// X9: texts are not copied before there is room for them.
func TestLongTextsAreAskedFor(t *testing.T) {
	const rows, most = 2000, 1 << 20
	for _, to := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString} {
		b := array.NewBuilder(memory.DefaultAllocator, to)
		b.(interface{ Append(string) }).Append("a") // which is left out: the others are copied
		for range rows - 1 {
			b.(interface{ Append(string) }).Append(strings.Repeat("x", 10_000))
		}
		texts := b.NewArray()
		schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: to}, {Name: "n", Type: to}}, nil)
		batch := array.NewRecordBatch(schema, []arrow.Array{texts, texts}, rows)
		columns := []plan.Column{{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.BinaryTypes.String}}
		tab := &table{relation: &plan.Relation{Schema: "main", Name: "r", Rows: rows, Columns: columns}, chunks: []arrow.RecordBatch{batch}}
		for _, sql := range []string{"SELECT s FROM r WHERE s > 'a'", "SELECT n, '" + strings.Repeat("y", 1000) + "' FROM r"} {
			q, unsupported := mustPlan(t, sql, tab.resolver())
			require.Nil(t, unsupported)
			mem := &stingy{CheckedAllocator: memory.NewCheckedAllocator(memory.NewGoAllocator()), most: most}
			_, err := tab.run(t, mem, q)
			require.ErrorIs(t, err, errStingy, sql)
			require.Less(t, mem.allocated.Load(), int64(most), "20 MB of texts")
		}
	}
}

// A copy takes what Bytes says, or a little less: of slices, too.
func TestBytes(t *testing.T) {
	mem := memory.DefaultAllocator
	texts := array.NewStringBuilder(mem)
	lists := array.NewListBuilder(mem, arrow.BinaryTypes.String)
	words := lists.ValueBuilder().(*array.StringBuilder)
	blobs := array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary)
	ints := array.NewInt64Builder(mem)
	codes := array.NewDictionaryBuilder(mem, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String})
	pairs := array.NewStructBuilder(mem, arrow.StructOf(arrow.Field{Name: "b", Type: arrow.BinaryTypes.Binary}))
	for i := range 1000 {
		text := strings.Repeat("z", i%100)
		texts.Append(text)
		lists.Append(true)
		words.Append(text)
		words.Append(text)
		blobs.Append([]byte(text))
		ints.Append(int64(i))
		require.NoError(t, codes.(*array.BinaryDictionaryBuilder).AppendString(text))
		pairs.Append(true)
		pairs.FieldBuilder(0).(*array.BinaryBuilder).Append([]byte(text))
	}
	for _, b := range []array.Builder{texts, lists, blobs, ints, codes, pairs} {
		whole := b.NewArray()
		for _, a := range []arrow.Array{whole, array.NewSlice(whole, 100, 300), array.NewSlice(whole, 999, 1000), array.NewSlice(whole, 5, 5)} {
			counted := memory.NewCheckedAllocator(mem)
			copied, err := array.Concatenate([]arrow.Array{a}, counted)
			require.NoError(t, err)
			bytes := compute.Bytes(a, a.DataType())
			require.GreaterOrEqual(t, bytes+640, int64(counted.CurrentAlloc()), "%s of %d", a.DataType(), a.Len())
			require.LessOrEqual(t, bytes, 2*int64(counted.CurrentAlloc())+int64(a.Len())*32, "%s of %d", a.DataType(), a.Len())
			copied.Release()
		}
	}
}

// A query holds what its client has not asked for: few rows, whatever the filter leaves of how large a chunk. Only after
// many rows that it has left out there is a round of more.
func TestFewRowsAreComputedAhead(t *testing.T) {
	const rows, atOnce = 200_000, 16_384
	tab := fixture(memory.DefaultAllocator, rows, rows, 1)
	defer tab.release()
	for _, test := range []struct {
		sql         string
		want, large int64
	}{
		{"SELECT id + 1 FROM r", rows, 0}, {"SELECT id + 1 FROM r WHERE id <> 5", rows, 0},
		{"SELECT id + 1, s FROM r WHERE id < 10 OR id >= 100000", rows / 2, 2},
	} {
		sql, want := test.sql, test.want
		q, unsupported := mustPlan(t, sql, tab.resolver())
		require.Nil(t, unsupported)
		mem := &stingy{CheckedAllocator: memory.NewCheckedAllocator(memory.NewGoAllocator()), most: math.MaxInt}
		r, err := compute.Run(t.Context(), q, func(_ context.Context, scan plan.TableScan) (compute.Source, error) {
			return &chunkSource{tab.chunks, scan.Project, new(int)}, nil
		}, nil, 2, mem)
		require.NoError(t, err)
		got, large := int64(0), int64(0)
		for r.Next() {
			got += r.RecordBatch().NumRows()
			if r.RecordBatch().NumRows() > atOnce {
				large++
			}
		}
		require.NoError(t, r.Err())
		r.Release()
		mem.AssertSize(t, 0)
		require.InDelta(t, want, got, rows/20, sql)
		require.LessOrEqual(t, large, test.large, sql)
		if test.large == 0 {
			require.Less(t, mem.allocated.Load(), int64(2<<20), sql)
		}
	}
}

// Texts whose places a batch cannot tell are an error, before one is copied.
func TestMoreTextsThanABatchHolds(t *testing.T) {
	tab := fixture(memory.DefaultAllocator, 16_384, 16_384, 1) // one morsel
	defer tab.release()
	q, unsupported := mustPlan(t, "SELECT id, '"+strings.Repeat("y", 140_000)+"' FROM r", tab.resolver())
	require.Nil(t, unsupported)
	mem := &stingy{CheckedAllocator: memory.NewCheckedAllocator(memory.NewGoAllocator()), most: math.MaxInt}
	_, err := tab.run(t, mem, q)
	require.ErrorIs(t, err, compute.ErrTooLarge)
	require.Less(t, mem.allocated.Load(), int64(1<<20))
	mem.AssertSize(t, 0)
}
