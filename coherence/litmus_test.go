//go:build amd64 || arm64 || ppc64le

package coherence

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Litmus tests: two threads run over an array of cells with plain loads and stores, ordered by our fences and flushes alone,
// and no cell may show an outcome that these forbid. One host is coherent, so this says nothing about flushes, but it
// does about fences: with an SFENCE for a full one, store buffering shows within some batches, if two CPUs are there for it.
const (
	litmusCells = 4096
	litmusLine  = 256 // bytes from one word to the next: no two share a line or a prefetch pair
)

// cells are words of mapped memory, so that the race detector lets them race.
type cells []byte

func newCells(t *testing.T) cells {
	t.Helper()
	b, err := unix.Mmap(-1, 0, litmusCells*litmusLine, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	return b
}

// word returns the line of cell i.
func (c cells) word(i int) []byte { return c[i*litmusLine:][:1] }

//go:noinline
func store(w []byte, v byte) { w[0] = v }

//go:noinline
func load(w []byte) byte { return w[0] }

// emulatedVariable is set where an emulator runs the tests, which takes longer for fences and shows less.
const emulatedVariable = "CSMSQL_TEST_EMULATED"

// litmus runs first and second side by side over every cell, and check after each batch.
func litmus(batches int, reset func(), first, second func(cell int), check func(cell int)) {
	if os.Getenv(emulatedVariable) != "" {
		batches = 5
	}
	for range batches {
		reset()
		var ready atomic.Int32
		var done sync.WaitGroup
		for _, side := range []func(int){first, second} {
			done.Go(func() {
				for ready.Add(1); ready.Load() < 2; { // both begin at once; neither waits for longer than the other needs to be scheduled
				}
				for cell := range litmusCells {
					side(cell)
				}
			})
		}
		done.Wait()
		for cell := range litmusCells {
			check(cell)
		}
	}
}

// TestLitmusMessagePassing: a reader that sees the flag, and then does what an acquire does, sees the data.
func TestLitmusMessagePassing(t *testing.T) {
	l := probed(t)
	data, flag := newCells(t), newCells(t)
	seen := make([][2]byte, litmusCells)
	met := 0
	litmus(20, func() { clear(data); clear(flag) },
		func(cell int) {
			store(data.word(cell), 1)
			l.FenceStore()
			l.Flush(data.word(cell))
			l.FenceFull()
			store(flag.word(cell), 1)
		},
		func(cell int) {
			f := load(flag.word(cell))
			l.FenceFull()
			l.Flush(data.word(cell))
			l.FenceFull()
			seen[cell] = [2]byte{f, load(data.word(cell))}
		},
		func(cell int) {
			if seen[cell][0] == 1 {
				met++
				require.Equal(t, byte(1), seen[cell][1], "cell %d: the flag was seen, the data was not", cell)
			}
		})
	t.Logf("%d cells were passed before the other side looked", met)
}

// TestLitmusStoreBuffering: of two that store, fence and load the other's, one sees the other.
func TestLitmusStoreBuffering(t *testing.T) {
	l := probed(t)
	x, y := newCells(t), newCells(t)
	seen := make([][2]byte, litmusCells)
	side := func(mine, others cells, result int) func(int) {
		return func(cell int) {
			store(mine.word(cell), 1)
			l.Flush(mine.word(cell))
			l.FenceFull()
			seen[cell][result] = load(others.word(cell))
		}
	}
	litmus(20, func() { clear(x); clear(y) }, side(x, y, 0), side(y, x, 1), func(cell int) {
		require.NotEqual(t, [2]byte{0, 0}, seen[cell], "cell %d: both loads went ahead of both stores", cell)
	})
}

// TestLitmusStoreBufferingWithoutFlush: the fence alone does it, without the time that a flush takes.
func TestLitmusStoreBufferingWithoutFlush(t *testing.T) {
	l := probed(t)
	x, y := newCells(t), newCells(t)
	seen := make([][2]byte, litmusCells)
	side := func(mine, others cells, result int) func(int) {
		return func(cell int) {
			store(mine.word(cell), 1)
			l.FenceFull()
			seen[cell][result] = load(others.word(cell))
		}
	}
	litmus(200, func() { clear(x); clear(y) }, side(x, y, 0), side(y, x, 1), func(cell int) {
		require.NotEqual(t, [2]byte{0, 0}, seen[cell], "cell %d: both loads went ahead of both stores", cell)
	})
}
