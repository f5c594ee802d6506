package keeper_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/keeper"
)

// fakeLessor is a node in a bubble of simulated time.
type fakeLessor struct {
	mu       sync.Mutex
	renewals [][]catalog.LeaseID
	released []catalog.LeaseID
	over     map[catalog.LeaseID]bool
	fail     error
	hang     bool
}

func (f *fakeLessor) Renew(ctx context.Context, leases []catalog.LeaseID) (over []catalog.LeaseID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewals = append(f.renewals, leases)
	if f.hang {
		f.mu.Unlock()
		<-ctx.Done()
		f.mu.Lock()
		return nil, ctx.Err()
	}
	for _, id := range leases {
		if f.over[id] {
			over = append(over, id)
		}
	}
	return over, f.fail
}

func (f *fakeLessor) Release(_ context.Context, leases ...catalog.LeaseID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released = append(f.released, leases...)
	return f.fail
}

func (f *fakeLessor) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeLessor) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.renewals)
}

// bubble runs a test with a keeper in simulated time; paused moves the keeper's clock on while no goroutine runs.
func bubble(t *testing.T, test func(t *testing.T, f *fakeLessor, k *keeper.Keeper, now func() noderpc.Instant, paused *atomic.Int64)) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var paused atomic.Int64
		now := func() noderpc.Instant { return noderpc.Instant(time.Since(began)) + noderpc.Instant(paused.Load()) }
		f := &fakeLessor{over: map[catalog.LeaseID]bool{}}
		k := keeper.New(f, keeper.Options{Clock: now})
		test(t, f, k, now, &paused)
		_ = k.Close(context.Background()) // synctest fails if a goroutine is left (N8)
	})
}

func leaseOf(id catalog.LeaseID, ttl time.Duration, sent noderpc.Instant) noderpc.Lease {
	return noderpc.Lease{Record: &catalog.SnapshotRecord{Lease: id, TTL: ttl}, Sent: sent}
}

func TestKeeperRenewsAllInOneCall(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeLessor, k *keeper.Keeper, now func() noderpc.Instant, _ *atomic.Int64) {
		require.NoError(t, k.Hold(leaseOf(1, 3*time.Second, now())))
		require.NoError(t, k.Hold(leaseOf(2, 3*time.Second, now())))
		time.Sleep(time.Hour) // of simulated time
		synctest.Wait()
		require.True(t, k.Valid(1))
		require.True(t, k.Valid(2))
		require.Equal(t, 3600, f.count())
		require.ElementsMatch(t, []catalog.LeaseID{1, 2}, f.renewals[0])

		k.Release(1)
		require.False(t, k.Valid(1), "at once")
		synctest.Wait()
		require.Equal(t, []catalog.LeaseID{1}, f.released)
		require.NoError(t, k.Close(context.Background()))
		require.Equal(t, []catalog.LeaseID{1, 2}, f.released)
		require.False(t, k.Valid(2))
		require.Error(t, k.Hold(leaseOf(3, time.Second, now())))
	})
}

func TestKeeperOfAPausedProcess(t *testing.T) {
	bubble(t, func(t *testing.T, f *fakeLessor, k *keeper.Keeper, now func() noderpc.Instant, paused *atomic.Int64) {
		require.NoError(t, k.Hold(leaseOf(1, 3*time.Second, now())))
		synctest.Wait()
		paused.Add(int64(time.Minute)) // as if by SIGSTOP: no goroutine has run since
		require.False(t, k.Valid(1))
		require.Zero(t, f.count(), "the node was not asked")
		f.set(func() { f.over[1] = true }) // the node ended it meanwhile
		time.Sleep(time.Second)
		synctest.Wait()
		require.ErrorIs(t, k.Check(1), catalog.ErrLeaseOver)
		n := f.count()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, n, f.count(), "what is over is not renewed")
	})
}

func TestKeeperOfACutOffProcess(t *testing.T) {
	for _, hang := range []bool{false, true} {
		bubble(t, func(t *testing.T, f *fakeLessor, k *keeper.Keeper, now func() noderpc.Instant, _ *atomic.Int64) {
			require.NoError(t, k.Hold(leaseOf(1, 3*time.Second, now())))
			f.set(func() { f.fail, f.hang = errors.New("cut"), hang })
			time.Sleep(2699 * time.Millisecond)
			require.True(t, k.Valid(1))
			time.Sleep(time.Millisecond)
			require.False(t, k.Valid(1))
			require.Contains(t, k.Check(1).Error(), "could not be renewed")
			require.GreaterOrEqual(t, f.count(), 2, "more than one try before that")
			require.LessOrEqual(t, f.count(), 10)
			f.set(func() { f.fail, f.hang = nil, false })
			time.Sleep(2 * time.Second)
			synctest.Wait()
			require.True(t, k.Valid(1), "the node had kept it")
			f.set(func() { f.hang = true })
			time.Sleep(1100 * time.Millisecond) // Close ends the call under way
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	f := &fakeLessor{}
	k := keeper.New(f, keeper.Options{})
	defer k.Close(context.Background()) //nolint:errcheck // a benchmark's
	require.NoError(b, k.Hold(leaseOf(1, time.Second, noderpc.Now())))
	for b.Loop() {
		if !k.Valid(1) {
			b.Fatal("not valid")
		}
	}
}
