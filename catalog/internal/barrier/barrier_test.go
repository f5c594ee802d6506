package barrier_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/internal/barrier"
	"github.com/csmsql/csmsql/catalog/store"
)

// committed is a store that answers when it is let: with the revision that is its last one when it was asked.
type committed struct {
	last  atomic.Int64
	asked chan struct{} // one element for each question
	goOn  chan error
}

func (c *committed) Get(ctx context.Context, _ string) (store.Item, bool, error) {
	item := store.Item{Revision: store.Revision(c.last.Load())}
	c.asked <- struct{}{}
	select {
	case err := <-c.goOn:
		return item, true, err
	case <-ctx.Done():
		return store.Item{}, false, ctx.Err()
	}
}

func newCommitted() (*committed, *barrier.Barrier) {
	c := &committed{asked: make(chan struct{}, 100), goOn: make(chan error)}
	return c, &barrier.Barrier{Store: c}
}

type answer struct {
	revision store.Revision
	err      error
}

// wait has one wait; in a bubble it does when this returns.
func wait(ctx context.Context, b *barrier.Barrier) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		r, err := b.Wait(ctx)
		out <- answer{r, err}
	}()
	synctest.Wait()
	return out
}

// BR1, BR3.
func TestAnAnswerIsForThoseThatWereThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCommitted()
		c.last.Store(1)
		first := wait(t.Context(), b)
		c.last.Store(2) // after the store was asked
		second, third := wait(t.Context(), b), wait(t.Context(), b)
		require.Len(t, c.asked, 1)
		c.goOn <- nil
		require.Equal(t, answer{revision: 1}, <-first)
		synctest.Wait()
		require.Len(t, c.asked, 2)
		c.goOn <- nil
		require.Equal(t, answer{revision: 2}, <-second)
		require.Equal(t, answer{revision: 2}, <-third)
		synctest.Wait()
		require.Len(t, c.asked, 2, "one question for both")
		fourth := wait(t.Context(), b)
		c.goOn <- nil
		require.Equal(t, answer{revision: 2}, <-fourth)
	})
}

// BR2, and one that waits alone and leaves is in the way of none.
func TestOneThatLeavesTakesNoOneAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCommitted()
		ctx, cancel := context.WithCancel(t.Context())
		leader := wait(ctx, b)
		waiting := wait(ctx, b)
		cancel()
		require.ErrorIs(t, (<-leader).err, context.Canceled)
		require.ErrorIs(t, (<-waiting).err, context.Canceled)
		synctest.Wait()

		after := wait(t.Context(), b)
		c.goOn <- nil
		require.NoError(t, (<-after).err)

		ctx, cancel = context.WithCancel(t.Context())
		running := wait(t.Context(), b)
		leader = wait(ctx, b) // of the next round, in which others wait
		others := []<-chan answer{wait(t.Context(), b), wait(t.Context(), b)}
		c.goOn <- nil
		require.NoError(t, (<-running).err)
		synctest.Wait()
		cancel() // it may lead, or wait
		synctest.Wait()
		for done := 0; done < 2; {
			select {
			case c.goOn <- nil:
			case a := <-others[done]:
				require.NoError(t, a.err)
				done++
			}
		}
		<-leader
	})
}

// An error of the store is that of all that wait.
func TestAnErrorIsOfTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := newCommitted()
		running := wait(t.Context(), b)
		a, z := wait(t.Context(), b), wait(t.Context(), b)
		broken := errors.New("no majority")
		c.goOn <- nil
		c.goOn <- broken
		require.NoError(t, (<-running).err)
		require.ErrorIs(t, (<-a).err, broken)
		require.ErrorIs(t, (<-z).err, broken)
	})
}

// quick answers at once.
type quick struct{ last, asked atomic.Int64 }

func (q *quick) Get(ctx context.Context, _ string) (store.Item, bool, error) {
	q.asked.Add(1)
	item := store.Item{Revision: store.Revision(q.last.Load())}
	time.Sleep(time.Millisecond) // what a round trip takes; in a bubble, no time
	return item, true, ctx.Err()
}

// BR1 to BR3 with many, some of which leave.
func TestManyAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &quick{}
		b := &barrier.Barrier{Store: q}
		var group sync.WaitGroup
		var failed atomic.Int64
		const askers, each = 16, 200
		for i := range askers {
			group.Go(func() {
				for n := range each {
					ctx, cancel := context.WithCancel(t.Context())
					if i%4 == 0 {
						time.AfterFunc(time.Duration(i*n%1500)*time.Microsecond, cancel)
					}
					since := q.last.Add(1)
					revision, err := b.Wait(ctx)
					if err != nil && ctx.Err() == nil || err == nil && int64(revision) < since {
						failed.Add(1)
					}
					cancel()
				}
			})
		}
		group.Wait()
		require.Zero(t, failed.Load())
		require.Less(t, q.asked.Load(), int64(askers*each/4))
	})
}
