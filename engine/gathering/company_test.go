package gathering_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/gathering"
)

// sessions have so many insert so often, each a while after it was acknowledged, into a store that takes its time; it
// gives how many gatherings that made, and how long it took.
func sessions(t *testing.T, count, times int, pause, stores time.Duration) (groups int64, took time.Duration) {
	q := &gathering.Queue{Store: func(context.Context, catalog.Table, []*gathering.Insertion) error {
		time.Sleep(stores) // in a bubble, where time is what all wait for
		return nil
	}}
	began := time.Now()
	var group sync.WaitGroup
	for range count {
		group.Go(func() {
			for range times {
				if err := q.Insert(t.Context(), insertion(t, 1, 1)); err != nil {
					t.Error(err)
				}
				time.Sleep(pause)
			}
		})
	}
	group.Wait()
	require.Equal(t, int64(count*times), q.Sizes.Members())
	return q.Sizes.Groups(), time.Since(began)
}

// Sessions that come again soon after they were acknowledged go together, and do not meet in two halves that wait for
// each other's commits.
func TestThoseThatComeAgainAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		groups, took := sessions(t, 8, 100, time.Millisecond, 4*time.Millisecond)
		require.Less(t, groups, int64(110))
		require.Less(t, took, 100*5500*time.Microsecond)
	})
}

// GA5: one that is alone does not wait, nor does one whose commit takes no time.
func TestNoOneWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, took := sessions(t, 1, 100, time.Millisecond, 4*time.Millisecond)
		require.Equal(t, 100*5*time.Millisecond, took)
		_, took = sessions(t, 4, 100, 50*time.Microsecond, 100*time.Microsecond)
		require.LessOrEqual(t, took, 100*300*time.Microsecond)
	})
}

// GA5: sessions that take longer to come again than is waited for cost a few waits.
func TestWaitsInVainBecomeRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		groups, took := sessions(t, 2, 500, 7*time.Millisecond, 4*time.Millisecond)
		alone := 500 * 11 * time.Millisecond
		require.Less(t, took, alone+alone/20, "%d gatherings", groups)
	})
}

// What was long ago says nothing of one that comes now.
func TestCompanyIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stores = 4 * time.Millisecond
		q := &gathering.Queue{Store: func(context.Context, catalog.Table, []*gathering.Insertion) error {
			time.Sleep(stores)
			return nil
		}}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() { _ = q.Insert(t.Context(), insertion(t, 1, 1)) })
		}
		group.Wait()
		time.Sleep(time.Minute)
		began := time.Now()
		require.NoError(t, q.Insert(t.Context(), insertion(t, 1, 1)))
		require.Equal(t, stores, time.Since(began))
	})
}
