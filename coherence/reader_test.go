package coherence_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/coherence"
)

// loggedLines writes down what it is asked to do.
type loggedLines struct{ log []string }

func (l *loggedLines) Flush(b []byte) int {
	l.log = append(l.log, fmt.Sprintf("flush %d", len(b)))
	return (len(b) + 63) / 64
}
func (l *loggedLines) FenceStore() { l.log = append(l.log, "store") }
func (l *loggedLines) FenceFull()  { l.log = append(l.log, "full") }

func TestAcquireFlushesOncePerWriting(t *testing.T) {
	lines, counters := &loggedLines{}, &coherence.Counters{}
	r := coherence.NewReader(coherence.Incoherent, lines, counters)
	ctx, data := context.Background(), make([]byte, 100)
	verify := func() error { lines.log = append(lines.log, "verify"); return nil }
	require.NoError(t, r.Acquire(ctx, 1, 5, data, verify))
	require.Equal(t, []string{"full", "flush 100", "full", "verify"}, lines.log)
	require.NoError(t, r.Acquire(ctx, 1, 5, data, verify))
	require.Len(t, lines.log, 4, "a second query flushes nothing")
	require.NoError(t, r.Acquire(ctx, 1, 6, data, verify), "the same address, the next generation")
	require.NoError(t, r.Acquire(ctx, 2, 5, data, verify), "the same generation of another region")
	require.Len(t, lines.log, 12)
	r.Release(1, 5, 99)
	require.NoError(t, r.Acquire(ctx, 1, 5, data, verify))
	require.Len(t, lines.log, 16, "a released writing is acquired afresh")
	require.Equal(t, 2, r.Forget(1))
	require.Equal(t, 1, r.Held())
	require.Equal(t, uint64(4), counters.Acquires.Load())
	require.Equal(t, uint64(1), counters.Reacquires.Load())
	require.Equal(t, uint64(8), counters.FlushedLines.Load())
	require.Equal(t, uint64(400), counters.FlushedBytes.Load())
	require.Equal(t, uint64(3), counters.Releases.Load())
}

func TestMismatchIsTriedAgainAndBounded(t *testing.T) {
	r := coherence.NewReader(coherence.Incoherent, &loggedLines{}, nil)
	calls := 0
	cured := func() error {
		if calls++; calls < coherence.MaxAttempts {
			return fmt.Errorf("buffer 3: %w", coherence.ErrChecksum)
		}
		return nil
	}
	require.NoError(t, r.Acquire(context.Background(), 1, 1, nil, cured), "the last attempt may succeed")
	calls = 0
	wrong := func() error { calls++; return coherence.ErrChecksum }
	err := r.Acquire(context.Background(), 1, 2, nil, wrong)
	var failed *coherence.AcquireError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, coherence.ErrChecksum)
	require.Equal(t, "XX001", failed.SQLState())
	require.Equal(t, coherence.MaxAttempts, calls)
	require.Equal(t, 1, r.Held(), "a failed acquire is not remembered")

	gone := errors.New("file truncated")
	calls = 0
	err = r.Acquire(context.Background(), 1, 2, nil, func() error { calls++; return gone })
	require.ErrorIs(t, err, gone)
	require.Equal(t, 1, calls, "only checksums are tried again")
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "58030", failed.SQLState())
}

// TestConcurrentFirstUsesAreOne: many acquire, one verifies; its outcome is that of all.
func TestConcurrentFirstUsesAreOne(t *testing.T) {
	for _, outcome := range []error{nil, errors.New("lost")} {
		synctest.Test(t, func(t *testing.T) {
			r := coherence.NewReader(coherence.Coherent, nil, nil)
			release := make(chan struct{})
			calls := 0 // guarded by the single flight: the race detector would say
			var group errgroup.Group
			for range 10 {
				group.Go(func() error {
					err := r.Acquire(context.Background(), 1, 1, nil, func() error { calls++; <-release; return outcome })
					if !errors.Is(err, outcome) {
						return fmt.Errorf("not everybody's outcome: %w", err)
					}
					return nil
				})
			}
			synctest.Wait() // one is in verify, nine wait for it
			require.Equal(t, 1, r.Flights())
			close(release)
			require.NoError(t, group.Wait())
			require.Equal(t, 1, calls)
			require.Equal(t, outcome == nil, r.Held() == 1, "a failed acquire is not remembered")
			require.Zero(t, r.Flights())
		})
	}
}

// TestALeadersCancellationIsItsOwn: C6, waiters get data although the first one gave up.
func TestALeadersCancellationIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := coherence.NewReader(coherence.Coherent, nil, nil)
		ctx, cancel := context.WithCancel(context.Background())
		release := make(chan struct{})
		var leader, follower, impatient error
		var group errgroup.Group
		group.Go(func() error {
			leader = r.Acquire(ctx, 1, 1, nil, func() error { <-release; return coherence.ErrChecksum })
			return nil
		})
		synctest.Wait()
		group.Go(func() error {
			follower = r.Acquire(context.Background(), 1, 1, nil, func() error { return nil })
			return nil
		})
		group.Go(func() error {
			impatient = r.Acquire(ctx, 1, 1, nil, nil)
			return nil
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		require.ErrorIs(t, impatient, context.Canceled, "a waiter's own cancellation does not wait for the leader")
		close(release)
		require.NoError(t, group.Wait())
		require.ErrorIs(t, leader, context.Canceled)
		require.NoError(t, follower)
		require.Equal(t, 1, r.Held())
		require.Zero(t, r.Flights())
	})
}

// TestAPanicInVerifyLeavesNoWaiter: C6 again.
func TestAPanicInVerifyLeavesNoWaiter(t *testing.T) {
	r := coherence.NewReader(coherence.Coherent, nil, nil)
	require.Panics(t, func() { _ = r.Acquire(context.Background(), 1, 1, nil, func() error { panic("bug") }) })
	require.Zero(t, r.Held())
	require.Zero(t, r.Flights())
	require.NoError(t, r.Acquire(context.Background(), 1, 1, nil, nil))
}

// TestForgottenWhileAcquiring: a region that is detached meanwhile is not remembered.
func TestForgottenWhileAcquiring(t *testing.T) {
	r := coherence.NewReader(coherence.Coherent, nil, nil)
	require.NoError(t, r.Acquire(context.Background(), 1, 1, nil, func() error { r.Forget(1); return nil }))
	require.Zero(t, r.Held())
}
