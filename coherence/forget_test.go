package coherence_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/coherence"
)

// What a reader remembers is bounded by what is alive, or by a number.

// TestTheLendersReaderForgetsWhatIsOver: tables come and go for ever, and the reader of the lender's process knows those that are there.
func TestTheLendersReaderForgetsWhatIsOver(t *testing.T) {
	counters := &coherence.Counters{}
	reader := coherence.NewReader(coherence.Coherent, nil, counters)
	m := newHeapMemory(64)
	m.recycle = true
	h := newHome(t, m, func(c *coherence.HomeConfig) { c.Reader, c.Counters = reader, counters })
	acquire := func(g coherence.Generation) {
		require.NoError(t, reader.Acquire(context.Background(), h.Region(), g, nil, nil))
	}
	require.NoError(t, reader.Acquire(context.Background(), h.Region()+1, 2, nil, nil), "another region's generation of the same number")
	kept := publish(t, h, "t", 100)
	acquire(kept)
	for range 1000 {
		g := publish(t, h, "t", 100)
		acquire(g)
		require.NoError(t, h.Pin("home", []coherence.Generation{g}))
		require.NoError(t, h.Retire(g))
		require.Equal(t, 3, reader.Held(), "C1: what is pinned may be read")
		require.NoError(t, h.Unpin("home", []coherence.Generation{g}))
		require.Equal(t, 2, reader.Held())
	}
	require.EqualValues(t, 1000, counters.Releases.Load())
	reacquires := counters.Reacquires.Load()
	acquire(kept)
	require.Equal(t, reacquires+1, counters.Reacquires.Load(), "what is alive is remembered")
	require.NoError(t, h.Retire(kept))
	requireNothingAlive(t, h, m)
	require.Equal(t, 1, reader.Held())
}

// TestAReaderWithoutReleasesIsBounded: it forgets old generations, never one that is being acquired, and what it forgot is acquired again.
func TestAReaderWithoutReleasesIsBounded(t *testing.T) {
	const bound = 8
	synctest.Test(t, func(t *testing.T) {
		counters := &coherence.Counters{}
		r := coherence.NewReader(coherence.Coherent, nil, counters)
		coherence.BoundReader(r, bound)
		release := make(chan struct{})
		var slow errgroup.Group
		slow.Go(func() error {
			return r.Acquire(context.Background(), 1, 1, nil, func() error { <-release; return nil })
		})
		synctest.Wait()
		const last = 64 * bound * coherence.ReaderShards
		for g := coherence.Generation(2); g <= last; g++ {
			require.NoError(t, r.Acquire(context.Background(), 1, g, nil, nil))
			require.LessOrEqual(t, r.Held(), bound*coherence.ReaderShards)
		}
		require.Equal(t, 1, r.Flights())
		close(release)
		require.NoError(t, slow.Wait())
		known := func(g coherence.Generation) bool {
			before := counters.Reacquires.Load()
			require.NoError(t, r.Acquire(context.Background(), 1, g, nil, nil))
			return counters.Reacquires.Load() > before
		}
		require.True(t, known(1), "it was being acquired all the time")
		for g := coherence.Generation(last - 2*coherence.ReaderShards); g <= last; g++ {
			require.True(t, known(g), "generation %d is young", g)
		}
		require.False(t, known(2))
		require.True(t, known(2), "forgotten is not forbidden")
		require.Zero(t, r.Flights())
	})
}

// TestShed against a twin: the oldest that are held go, those under way stay, and no more go than must.
func TestShed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := coherence.NewReaderCore(coherence.Coherent)
		held, under := map[coherence.Generation]bool{}, 0
		for g := coherence.Generation(1); g <= coherence.Generation(rapid.IntRange(0, 40).Draw(t, "writings")); g++ {
			w := coherence.Writing{Region: 1, Generation: g}
			c.Acquire(w)
			if rapid.Bool().Draw(t, "verified") {
				c.Verified(w)
				held[g] = true
			} else {
				under++
			}
		}
		keep := rapid.IntRange(0, 50).Draw(t, "keep")
		before := c.Len()
		released := c.Shed(keep)
		require.Equal(t, max(0, min(before-keep, len(held))), released)
		require.Equal(t, before-released, c.Len())
		gone := 0
		for g := coherence.Generation(1); g <= 40; g++ {
			if held[g] && !c.Held(coherence.Writing{Region: 1, Generation: g}) {
				gone++
				require.LessOrEqual(t, gone, released)
			} else if held[g] {
				require.Equal(t, released, gone, "generation %d stayed and a younger one went", g)
			}
		}
		require.GreaterOrEqual(t, c.Len(), under)
	})
}

// TestInvalidatedIsVerifiedAgain: what a region's readers have acquired is forgotten, and so is an acquire under way
// when it ends.
func TestInvalidatedIsVerifiedAgain(t *testing.T) {
	counters := &coherence.Counters{}
	r := coherence.NewReader(coherence.Coherent, nil, counters)
	verified := 0
	acquire := func(g coherence.Generation) error {
		return r.Acquire(context.Background(), 1, g, nil, func() error { verified++; return nil })
	}
	for _, g := range rand.Perm(100) {
		require.NoError(t, acquire(coherence.Generation(g+1)))
	}
	require.NoError(t, r.Acquire(context.Background(), 2, 1, nil, nil))
	require.NoError(t, acquire(7))
	require.Equal(t, 100, verified)
	require.Equal(t, 100, r.Invalidate(1))
	require.Equal(t, 1, r.Held(), "the other region's")
	require.NoError(t, acquire(7))
	require.Equal(t, 101, verified)
	require.NoError(t, r.Acquire(context.Background(), 1, 200, nil, func() error { r.Invalidate(1); return nil }))
	require.Equal(t, 1, r.Held())
	require.EqualValues(t, 101, counters.Invalidated.Load())
	require.Zero(t, counters.Releases.Load())
}
