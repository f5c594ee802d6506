package cursor

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// numbers are rows of batches of some sizes; what is left of none blocks until the context ends.
type numbers struct {
	sizes []int
	next  int64
	ctx   context.Context
	bad   error // that Recheck gives
}

func (n *numbers) Recheck() error { return n.bad }

func (n *numbers) Next(context.Context) (arrow.RecordBatch, error) {
	if len(n.sizes) == 0 {
		return nil, io.EOF
	}
	size := n.sizes[0]
	n.sizes = n.sizes[1:]
	if size < 0 {
		<-n.ctx.Done()
		return nil, context.Cause(n.ctx)
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for range size {
		b.Append(n.next)
		n.next++
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, int64(size)), nil
}

func opened(t *testing.T, rows *numbers) *Cursor {
	c, _, err := Open(t.Context(), func(ctx context.Context) (*numbers, error) {
		rows.ctx = ctx
		return rows, nil
	})
	require.NoError(t, err)
	return c
}

// CU1: fetches of any sizes over batches of any sizes give each row once, in order.
func TestEachRowOnce(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		rows, all := &numbers{}, int64(0)
		for range random.IntN(6) {
			size := random.IntN(5)
			rows.sizes, all = append(rows.sizes, size), all+int64(size)
		}
		c := opened(t, rows)
		next, left := int64(0), all
		for ended := false; !ended; {
			count := int64(random.IntN(7))
			fetch, got := c.Fetch(count), int64(0)
			for {
				batch, err := fetch(t.Context())
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				for _, n := range batch.Column(0).(*array.Int64).Int64Values() {
					require.Equal(t, next, n, "seed %d", seed)
					next++
				}
				got += batch.NumRows()
				batch.Release()
			}
			require.Equal(t, min(count, left), got, "seed %d", seed)
			left -= got
			ended = count > 0 && got == 0
		}
		require.Equal(t, all, next)
		c.Close(func() {})
	}
}

// CU2: the end of the statement that opened the cursor is not the end of its rows; that of one that waits for them is.
func TestContexts(t *testing.T) {
	rows := &numbers{sizes: []int{1, -1}}
	opening, cancel := context.WithCancel(t.Context())
	c, _, err := Open(opening, func(ctx context.Context) (*numbers, error) {
		rows.ctx = ctx
		return rows, nil
	})
	require.NoError(t, err)
	cancel()
	batch, err := c.Take(t.Context(), 5)
	require.NoError(t, err)
	batch.Release()
	why := errors.New("the user cancels")
	fetching, end := context.WithCancelCause(t.Context())
	end(why)
	_, err = c.Take(fetching, 5)
	require.ErrorIs(t, err, why)
	closed := false
	c.Close(func() { closed = true })
	require.True(t, closed)

	_, _, err = Open(t.Context(), func(context.Context) (*numbers, error) { return nil, why })
	require.ErrorIs(t, err, why)
}

// Rows that have lain there are checked before they are given.
func TestRestIsChecked(t *testing.T) {
	rows := &numbers{sizes: []int{3}}
	c := opened(t, rows)
	batch, err := c.Take(t.Context(), 1)
	require.NoError(t, err)
	batch.Release()
	rows.bad = errors.New("altered")
	_, err = c.Take(t.Context(), 1)
	require.ErrorIs(t, err, rows.bad)
	c.Close(func() {})
}
