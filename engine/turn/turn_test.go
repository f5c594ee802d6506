package turn_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/turn"
)

// arrive has a flow wait, and returns when it does; order hears its name when it is let in.
func arrive(t testing.TB, q *turn.Queue, f *turn.Flow, cost int64, name string, order chan string, group *sync.WaitGroup) {
	t.Helper()
	before := q.Waiting()
	group.Go(func() {
		leave, err := f.Enter(context.Background(), cost)
		if err != nil {
			order <- err.Error()
			return
		}
		order <- name
		leave()
	})
	for q.Waiting() == before { // it is on its way
	}
}

// T3: who asks for little goes before who asked for much earlier, and a flow that asks again and again behind those that ask seldom.
func TestLittleGoesFirst(t *testing.T) {
	q := turn.NewQueue(1)
	greedy, modest, other := q.Flow(), q.Flow(), q.Flow()
	leave, err := q.Flow().Enter(t.Context(), 1)
	require.NoError(t, err)
	order := make(chan string, 10)
	var group sync.WaitGroup
	arrive(t, q, greedy, 1000, "much", order, &group)
	arrive(t, q, greedy, 1000, "much again", order, &group)
	arrive(t, q, modest, 10, "little", order, &group)
	arrive(t, q, other, 10, "little later", order, &group)
	arrive(t, q, modest, 10, "little again", order, &group)
	leave()
	group.Wait()
	close(order)
	var got []string
	for name := range order {
		got = append(got, name)
	}
	require.Equal(t, []string{"little", "little later", "little again", "much", "much again"}, got)
}

// Who asks for much is let in however many come that ask for little: no more of them than it asked for.
func TestMuchIsNotStarved(t *testing.T) {
	type entered struct {
		much  bool
		leave func()
	}
	q := turn.NewQueue(1)
	let := make(chan entered, 2)
	enter := func(f *turn.Flow, cost int64, much bool) {
		before := q.Waiting()
		go func() {
			leave, _ := f.Enter(context.Background(), cost)
			let <- entered{much, leave}
		}()
		for q.Waiting() == before { // it is on its way
		}
	}
	leave, err := q.Flow().Enter(t.Context(), 0)
	require.NoError(t, err)
	enter(q.Flow(), 100, true)
	little, before := q.Flow(), 0
	for {
		enter(little, 10, false)
		leave()
		next := <-let
		if leave = next.leave; next.much {
			break
		}
		before++
		require.LessOrEqual(t, before, 10, "ten of ten are as much")
	}
	require.Greater(t, before, 8)
	leave()
	(<-let).leave()
}

// T1, T2, and places come back from who gives up, by flows at once.
func TestPlaces(t *testing.T) {
	const places = 3
	q := turn.NewQueue(places)
	var inside, most atomic.Int64
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
				leave, err := f.Enter(ctx, random.Int64N(100))
				if err != nil {
					if !errors.Is(err, errGone) {
						panic(err)
					}
					continue
				}
				now := inside.Add(1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				inside.Add(-1)
				leave()
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, most.Load(), int64(places))
	require.Zero(t, q.Waiting())
	for range places {
		_, err := q.Flow().Enter(t.Context(), 1)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	_, err := q.Flow().Enter(ctx, 1)
	require.ErrorIs(t, err, errGone, "all places are taken")
}

var errGone = errors.New("gone")
