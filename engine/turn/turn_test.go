package turn_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/turn"
)

const (
	short  = 10 * time.Millisecond
	medium = time.Second
)

// clock is the time that a test says: a thread has a processor for all of it, except what it is said to wait.
type clock struct {
	mu           sync.Mutex
	now, waiting time.Duration // guarded by mu
}

func (c *clock) pass(works, waits time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.waiting = c.now+works+waits, c.waiting+waits
}

func (c *clock) queue(lanes ...turn.Lane) *turn.Queue {
	return turn.NewQueue(turn.Clock{
		Now: func() time.Time {
			c.mu.Lock()
			defer c.mu.Unlock()
			return time.Unix(0, 0).Add(c.now)
		},
		Used: func() time.Duration {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.now - c.waiting
		},
	}, lanes...)
}

func lanes(places int) []turn.Lane {
	return []turn.Lane{{Most: short, Places: places}, {Most: medium, Places: places}, {Places: places}}
}

// enters reports whether a flow need not wait.
func enters(f *turn.Flow, atLeast time.Duration) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return f.Enter(ctx, atLeast) == nil
}

// arrive has a flow wait, and returns when it does; order hears its name when it is let in.
func arrive(q *turn.Queue, f *turn.Flow, atLeast time.Duration, name string, order chan string, group *sync.WaitGroup) {
	before := q.Waiting()
	group.Go(func() {
		if err := f.Enter(context.Background(), atLeast); err != nil {
			order <- err.Error()
			return
		}
		order <- name
		f.Leave()
	})
	for q.Waiting() == before { // it is on its way
	}
}

// T3: what takes less goes before what takes more and came before it, until that has waited for a hundred times as long.
func TestLittleGoesFirst(t *testing.T) {
	c := &clock{}
	q := c.queue(lanes(1)...)
	first := q.Flow()
	require.NoError(t, first.Enter(t.Context(), 0))
	order := make(chan string, 10)
	var group sync.WaitGroup
	arrive(q, q.Flow(), 8*time.Millisecond, "much", order, &group)
	arrive(q, q.Flow(), time.Millisecond, "little", order, &group)
	arrive(q, q.Flow(), time.Millisecond, "little later", order, &group)
	c.pass(0, 701*time.Millisecond)
	arrive(q, q.Flow(), time.Millisecond, "little, too late", order, &group)
	first.Leave()
	group.Wait()
	close(order)
	require.Equal(t, []string{"little", "little later", "much", "little, too late"}, slices.Collect(drain(order)))
}

func drain(order chan string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range order {
			if !yield(name) {
				return
			}
		}
	}
}

// A session that has planned much is expected to again, by the processor's time and not by what it waited for, and one
// that has not is not.
func TestWhatASessionUsuallyTakes(t *testing.T) {
	c := &clock{}
	q := c.queue(lanes(1)...)
	works := func(works, waits time.Duration) *turn.Flow {
		f := q.Flow()
		for range 5 {
			require.True(t, enters(f, 0))
			c.pass(works, waits)
			f.Leave()
		}
		return f
	}
	modest, greedy := works(time.Millisecond, time.Hour), works(50*time.Millisecond, 0)
	held := q.Flow()
	require.True(t, enters(held, 0))
	require.False(t, enters(modest, 0), "it is short, like the one that is there")
	require.True(t, enters(greedy, 0), "it is none of the short ones")
	greedy.Leave()
	held.Leave()
	require.True(t, enters(modest, 0))
	modest.Leave()
	for range 20 {
		require.True(t, enters(greedy, 0))
		greedy.Leave()
	}
	require.True(t, enters(held, 0))
	require.False(t, enters(greedy, 0), "it has been modest for long")
}

// T1: each lane has its places, whatever is in the others.
func TestLanesHavePlacesOfTheirOwn(t *testing.T) {
	q := (&clock{}).queue(lanes(2)...)
	for _, atLeast := range []time.Duration{0, short, short + 1, medium, medium + 1, time.Hour} {
		require.True(t, enters(q.Flow(), atLeast), atLeast)
	}
	for _, atLeast := range []time.Duration{0, short, short + 1, medium, medium + 1, time.Hour} {
		require.False(t, enters(q.Flow(), atLeast), atLeast)
	}
	require.Zero(t, q.Waiting())
}

// T4: what turns out to be long does not keep those waiting that are not.
func TestLongTurnsMoveOn(t *testing.T) {
	c := &clock{}
	q := c.queue(turn.Lane{Most: short, Places: 1}, turn.Lane{Places: 1})
	long := q.Flow()
	require.True(t, enters(long, 0))
	c.pass(short-1, 0)
	order := make(chan string, 1)
	var group sync.WaitGroup
	arrive(q, q.Flow(), 0, "short", order, &group)
	select {
	case <-order:
		require.Fail(t, "the place was taken")
	case <-time.After(3 * short): // in which it has looked
	}
	c.pass(1, 0)
	require.Equal(t, "short", <-order)
	group.Wait()
	require.False(t, enters(q.Flow(), short+1), "the long one has the place of long ones")
	long.Leave()
	require.True(t, enters(q.Flow(), short+1))
}

// A turn within a turn is a part of it, and what pauses has no place meanwhile.
func TestTurnsWithinTurnsAndPauses(t *testing.T) {
	c := &clock{}
	q := c.queue(lanes(1)...)
	f, other := q.Flow(), q.Flow()
	require.True(t, enters(f, 0))
	require.True(t, enters(f, time.Hour), "it has its turn")
	f.Leave()
	require.False(t, enters(other, 0))

	f.Pause()
	require.True(t, enters(other, 0))
	f.Resume()
	other.Leave()
	require.False(t, enters(other, 0), "it has resumed")
	f.Leave()
	f.Pause()
	f.Resume()
	require.True(t, enters(other, 0), "nothing was to be paused")
	other.Abandon()
	require.True(t, enters(f, 0))
	other.Leave()
	require.False(t, enters(other, 0), "what was abandoned had no place to leave")
	f.Pause()
	f.Abandon()
	f.Resume()
	f.Leave()
	require.True(t, enters(other, 0))
}

// A turn that is let in, is abandoned and gives up before it has seen either has no place to give back.
func TestAbandonedWhileItWaits(t *testing.T) {
	q := (&clock{}).queue(lanes(1)...)
	first, f := q.Flow(), q.Flow()
	require.True(t, enters(first, 0))
	require.True(t, f.Arrive(0))
	first.Leave()
	f.Abandon()
	f.GiveUp()
	require.True(t, enters(first, 0), "the place is free")
	require.False(t, enters(f, 0), "and one")
}

// T1, T2, and places come back from turns that give up, by flows at once.
func TestPlaces(t *testing.T) {
	const places = 3
	q := turn.NewQueue(turn.Clock{Now: time.Now, Used: func() time.Duration { return 0 }}, turn.Lane{Places: places})
	var mu sync.Mutex
	inside, most := 0, 0
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			f := q.Flow()
			for range 500 {
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				if random.IntN(3) == 0 {
					go cancel(errGone)
				}
				if err := f.Enter(ctx, time.Duration(random.Int64N(100))); err != nil {
					if !errors.Is(err, errGone) {
						panic(err)
					}
					continue
				}
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				mu.Lock()
				inside--
				mu.Unlock()
				f.Leave()
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, most, places)
	require.Zero(t, q.Waiting())
	for range places {
		require.NoError(t, q.Flow().Enter(t.Context(), 1))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	require.ErrorIs(t, q.Flow().Enter(ctx, 1), errGone, "all places are taken")
}

var errGone = errors.New("gone")
