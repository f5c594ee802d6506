package main_test

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stalls notices that processes of this machine do not run: its ticks come late. Sessions are as short as etcd allows,
// so a node that does not run for as long loses its own, as it must. A test that learns of a stall does not count that
// as a failure of the product.
type stalls struct {
	now      func() time.Time
	runnable func() int   // threads that run or want to
	seen     atomic.Int64 // when the watcher ran last, in nanoseconds
	ended    atomic.Int64 // when the last stall ended; 0: there was none
	lost     atomic.Int64 // nanoseconds of stalls and crowds
	count    atomic.Int64
}

// stallCrowd is how many threads for each processor make busy threads wait for long: to renew a session takes etcd and
// a node a tenth of a second. The watcher, which does little, runs at once.
const stallCrowd = 8

const (
	stallTick  = 50 * time.Millisecond
	stallBound = sessionTTL / 4 // more than that is a stall: others may have waited for longer than the watcher
	stallHeals = 2 * sessionTTL // until those that lost their sessions have new ones
)

func newStalls(now func() time.Time, runnable func() int) *stalls {
	s := &stalls{now: now, runnable: runnable}
	s.seen.Store(now().UnixNano())
	return s
}

// watchStalls looks until the test has ended.
func watchStalls(t *testing.T) *stalls {
	s := newStalls(time.Now, func() int { return runnableThreads(t) })
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.watch(end)
	}()
	t.Cleanup(func() {
		close(end)
		<-ended
	})
	return s
}

// watch looks until the end.
func (s *stalls) watch(end <-chan struct{}) {
	tick := time.NewTicker(stallTick)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
			s.look()
		}
	}
}

func (s *stalls) look() {
	now := s.now().UnixNano()
	passed := now - s.seen.Swap(now)
	if passed > int64(stallBound) || s.runnable() > stallCrowd*runtime.NumCPU() {
		s.ended.Store(now)
		s.lost.Add(passed)
		s.count.Add(1)
	}
}

// stopwatch gives the time since now in which processes got on: without stalls and crowds. Where ten processes want to
// run on each processor, what takes a node two seconds takes twenty.
func (s *stalls) stopwatch() (spent func() time.Duration) {
	start, lost := s.now(), s.lost.Load()
	return func() time.Duration { return s.now().Sub(start) - time.Duration(s.lost.Load()-lost) }
}

// runnableThreads is the kernel's count (proc_loadavg(5)).
func runnableThreads(t *testing.T) int {
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		var n int
		if _, err = fmt.Sscanf(string(text), "%f %f %f %d/", new(float64), new(float64), new(float64), &n); err == nil {
			return n
		}
	}
	t.Error(err)
	return 0
}

// recent reports whether there is a stall, or was one a moment ago.
func (s *stalls) recent() bool {
	now, ended := s.now().UnixNano(), s.ended.Load()
	return now-s.seen.Load() > int64(stallBound) || ended != 0 && now-ended < int64(stallHeals)
}

func TestStalls(t *testing.T) {
	now := time.Unix(1, 0)
	crowd := 0
	s := newStalls(func() time.Time { return now }, func() int { return crowd })
	after := func(d time.Duration) { now = now.Add(d) }
	require.False(t, s.recent())
	after(stallBound)
	s.look()
	require.False(t, s.recent(), "late, but no stall")
	after(stallBound + 1)
	require.True(t, s.recent(), "in a stall that the watcher has not seen yet")
	s.look()
	after(stallBound)
	s.look()
	require.True(t, s.recent(), "what it broke is not whole yet")
	for range 2 * stallHeals / stallBound {
		after(stallBound / 2)
		s.look()
	}
	require.False(t, s.recent())
	require.EqualValues(t, 1, s.count.Load())
	crowd = stallCrowd * runtime.NumCPU()
	s.look()
	require.False(t, s.recent())
	spent := s.stopwatch()
	after(time.Second)
	s.look()
	require.Equal(t, time.Duration(0), spent(), "the watcher came late")
	after(stallTick)
	s.look()
	require.Equal(t, stallTick, spent())
	crowd++
	after(stallTick)
	s.look()
	require.True(t, s.recent(), "too many want to run")
	require.Equal(t, stallTick, spent())
	require.Positive(t, runnableThreads(t))
}
