package dbgen_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/queries/dbgen"
)

// lentMemory behaves like memory in a region: it is not zero, it may run out,
// and it notices every request. Not safe for concurrent use.
type lentMemory struct {
	sizes []int
	live  int
	// failAt is the number of the request that fails, from 1; 0 for never.
	failAt int
	panics bool // whether it then panics instead of returning nothing
}

func (m *lentMemory) Allocate(size int) []byte {
	m.sizes = append(m.sizes, size)
	if len(m.sizes) == m.failAt {
		if m.panics {
			panic("region is full")
		}
		return nil
	}
	bytes := make([]byte, size)
	for i := range bytes {
		bytes[i] = 0xA5
	}
	m.live += size
	return bytes
}

func (m *lentMemory) Reallocate(int, []byte) []byte { panic("a buffer was resized (D5)") }

func (m *lentMemory) Free(bytes []byte) { m.live -= len(bytes) }

// TestAllocatesEachBufferOnceAtItsFinalSize attacks D5: the requests are
// exactly the buffers, and memory that is not zero makes the same batch.
func TestAllocatesEachBufferOnceAtItsFinalSize(t *testing.T) {
	for _, table := range dbgen.Tables() {
		t.Run(table.String(), func(t *testing.T) {
			mem := &lentMemory{}
			batch := wholeTable(t, mem, 0.001, table)
			var buffers []int
			total := 0
			for _, column := range batch.Columns() {
				for _, buffer := range column.Data().Buffers() {
					if buffer != nil {
						require.Equal(t, buffer.Cap(), buffer.Len())
						require.NotZero(t, buffer.Len())
						buffers = append(buffers, buffer.Len())
						total += buffer.Len()
					}
				}
			}
			require.ElementsMatch(t, buffers, mem.sizes)
			require.Equal(t, total, mem.live)

			clean := wholeTable(t, memory.NewGoAllocator(), 0.001, table)
			require.True(t, array.RecordEqual(clean, batch))
			requireSameBytes(t, clean, batch)
			clean.Release()
			batch.Release()
			require.Zero(t, mem.live)
		})
	}
}

// requireSameBytes compares the buffers: two batches with equal values could
// still differ in bytes that were never written.
func requireSameBytes(t *testing.T, want, got arrow.RecordBatch) {
	t.Helper()
	for i := range want.Columns() {
		wanted, gotten := want.Column(i).Data().Buffers(), got.Column(i).Data().Buffers()
		require.Equal(t, len(wanted), len(gotten))
		for j := range wanted {
			if wanted[j] != nil {
				require.Equal(t, wanted[j].Bytes(), gotten[j].Bytes(), "%s, buffer %d", want.ColumnName(i), j)
			}
		}
	}
}

func TestEmptyRangesAllocateNothing(t *testing.T) {
	g := generator(t, 0.001)
	for _, table := range dbgen.Tables() {
		mem := &lentMemory{}
		batch, err := g.Batch(context.Background(), mem, table, g.Units(table), 0)
		require.NoError(t, err)
		require.Zero(t, batch.NumRows())
		require.Empty(t, mem.sizes)
		batch.Release()
	}
}

// TestFullRegionLeaksNothing makes every single request fail once, in both
// ways in which an allocator can say no.
func TestFullRegionLeaksNothing(t *testing.T) {
	g := generator(t, 0.001)
	for _, table := range dbgen.Tables() {
		complete := &lentMemory{}
		wholeTable(t, complete, 0.001, table).Release()
		for failAt := 1; failAt <= len(complete.sizes); failAt++ {
			refusing := &lentMemory{failAt: failAt}
			_, err := g.Batch(context.Background(), refusing, table, 0, g.Units(table))
			require.ErrorIs(t, err, dbgen.ErrNoMemory)
			require.ErrorContains(t, err, table.String())
			require.Zero(t, refusing.live)

			panicking := &lentMemory{failAt: failAt, panics: true}
			require.PanicsWithValue(t, "region is full", func() {
				_, _ = g.Batch(context.Background(), panicking, table, 0, g.Units(table))
			})
			require.Zero(t, panicking.live)
		}
	}
}

func TestCheckedAllocator(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, table := range dbgen.Tables() {
		wholeTable(t, mem, 0.01, table).Release()
	}
}

// cancellingMemory cancels a context at its n-th request.
type cancellingMemory struct {
	memory.Allocator
	requests, cancelAt int
	cancel             context.CancelFunc
}

func (m *cancellingMemory) Allocate(size int) []byte {
	if m.requests++; m.requests == m.cancelAt {
		m.cancel()
	}
	return m.Allocator.Allocate(size)
}

func TestCancelledContext(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	g := generator(t, 0.001)
	ctx, cancel := context.WithCancel(context.Background())
	counting := &cancellingMemory{Allocator: mem, cancelAt: 3, cancel: cancel}
	_, err := g.Batch(ctx, counting, dbgen.LineItem, 0, 100)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, counting.requests, "a cancelled batch asks for no more memory")
	_, err = g.Batch(ctx, counting, dbgen.LineItem, 0, 100)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, counting.requests)
}
