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

// Threads that were needed once end when nobody needs them, and none that is needed.
func TestThreadsEnd(t *testing.T) {
	const many = 100
	threads := func() int {
		list, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		return len(list)
	}
	inSystem := func() (leave func()) {
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
		return func() {
			unix.Close(pipe[1])
			left.Wait()
			unix.Close(pipe[0])
		}
	}
	leave := inSystem()
	require.Eventually(t, func() bool { return threads() > many }, 10*time.Second, 10*time.Millisecond)
	idlethreads.End(many)
	require.Greater(t, threads(), many, "they are in use")
	leave()
	require.Eventually(t, func() bool {
		idlethreads.End(0)
		return threads() < many/2+4*runtime.GOMAXPROCS(0)
	}, 10*time.Second, 10*time.Millisecond)
	inSystem()()
}

// What a process has in any case stays, and what is needed, and a few that are not worth it.
func TestExcess(t *testing.T) {
	for _, c := range []struct{ threads, processors, needed, want int }{
		{10, 2, 0, 0}, {28, 2, 0, 0}, {29, 2, 0, 9}, {120, 2, 0, 100}, {120, 2, 91, 9}, {120, 2, 92, 0}, {120, 2, 1000, 0}, {120, 40, 0, 24},
	} {
		require.Equal(t, c.want, idlethreads.Excess(c.threads, c.processors, c.needed), "%+v", c)
	}
}
