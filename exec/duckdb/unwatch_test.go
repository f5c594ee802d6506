package duckdb_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// watchedContext counts the watchers of its end, which does not come.
type watchedContext struct {
	context.Context
	done     chan struct{}
	watchers atomic.Int64
}

func (c *watchedContext) Done() <-chan struct{} { return c.done }

// AfterFunc is what context.AfterFunc calls.
func (c *watchedContext) AfterFunc(func()) (stop func() bool) {
	c.watchers.Add(1)
	return sync.OnceValue(func() bool {
		c.watchers.Add(-1)
		return true
	})
}

// A statement whose rows were all fetched is interrupted no more: a caller that ends its context before Close, as the
// server does, would start a goroutine for nothing, and Close would wait for it.
func TestNothingWatchesWhatHasEnded(t *testing.T) {
	_, c := open(t)
	s, err := c.Prepare("SELECT i FROM range(5000) r(i)")
	require.NoError(t, err)
	defer s.Close()
	for range 2 { // the statement may be executed again
		ctx := &watchedContext{Context: t.Context(), done: make(chan struct{})}
		rows, err := s.Execute(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, ctx.watchers.Load())
		for {
			batch, err := rows.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			require.EqualValues(t, 1, ctx.watchers.Load(), "it can be interrupted until then")
			batch.Release()
		}
		require.Zero(t, ctx.watchers.Load())
		rows.Close()
		require.Zero(t, ctx.watchers.Load())
	}
}
