package idlethreads_test

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/idlethreads"
)

func nothing() bool { return false }

// count is how many threads this process has.
func count(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(list)
}

// block has so many threads wait in the kernel, until leave.
func block(t *testing.T, many int) (leave func()) {
	var pipe [2]int
	require.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	var inside, left sync.WaitGroup
	inside.Add(many)
	for range many {
		left.Go(func() {
			inside.Done()
			var one [1]byte
			_, _ = unix.Read(pipe[0], one[:]) // which blocks the thread, up to the end
		})
	}
	inside.Wait()
	require.Eventually(t, func() bool { return count(t) > many }, 10*time.Second, 10*time.Millisecond)
	return func() {
		unix.Close(pipe[1])
		left.Wait()
		unix.Close(pipe[0])
	}
}

// Every idle thread is asked what it can give back, none twice, and asking needs no more threads each time.
func TestThreadsGiveBack(t *testing.T) {
	const many, none = 12, 1000 // none is to end
	block(t, many)()
	before := count(t)
	for round := range 30 {
		var mu sync.Mutex
		asked := map[int]int{}
		given := idlethreads.Rest(none, func() bool {
			mu.Lock()
			defer mu.Unlock()
			asked[unix.Gettid()]++
			return len(asked) == 1
		})
		require.Equal(t, len(asked) > 0, given, "one of them gave something back")
		if round == 0 {
			require.GreaterOrEqual(t, len(asked), many/2, "others have work just now, or none yet")
		}
		for thread, times := range asked {
			require.Equal(t, 1, times, "thread %d", thread)
		}
		require.False(t, idlethreads.Rest(none, nothing))
	}
	require.LessOrEqual(t, count(t), before+12)
}

// Threads end when they are no longer needed, and none ends that is still needed.
func TestThreadsEnd(t *testing.T) {
	const many = 100
	leave := block(t, many)
	idlethreads.Rest(many, nothing)
	require.Greater(t, count(t), many, "they are in use")
	leave()
	require.Eventually(t, func() bool {
		idlethreads.Rest(0, nothing)
		return count(t) < many/2+4*runtime.GOMAXPROCS(0)
	}, 10*time.Second, 10*time.Millisecond)
	block(t, many)()
}

// What a process has in any case stays, and what is needed, and a few that are not worth it.
func TestExcess(t *testing.T) {
	for _, c := range []struct{ threads, processors, needed, want int }{
		{10, 2, 0, 0}, {16, 2, 0, 0}, {17, 2, 0, 9}, {108, 2, 0, 100}, {108, 2, 91, 9}, {108, 2, 92, 0}, {120, 2, 1000, 0}, {108, 40, 0, 24},
	} {
		require.Equal(t, c.want, idlethreads.Excess(c.threads, c.processors, c.needed), "%+v", c)
	}
}
