//go:build amd64 || arm64 || ppc64le

package coherence

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func probed(t testing.TB) *CPULines {
	t.Helper()
	lines, err := NewCPULines()
	require.NoError(t, err)
	return lines
}

func TestProbeFindsALine(t *testing.T) {
	f := probed(t).Features()
	t.Logf("%s, lines of %d bytes", f.Instruction, f.LineSize)
	require.True(t, f.HaveFlush())
	require.GreaterOrEqual(t, f.LineSize, 16)
	require.Zero(t, f.LineSize&(f.LineSize-1))
}

// TestGuardFaults shows that the sweep above can fail: one byte into the forbidden page faults.
func TestGuardFaults(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	l := probed(t)
	page := guarded(t)
	require.Panics(t, func() { l.flush(&page[0], len(page)+1, l.LineSize()) })
}

// guarded returns three pages of which only the middle one can be touched: a flush of a neighbour faults, since a
// flush is checked like a load.
func guarded(t *testing.T) []byte {
	t.Helper()
	page := unix.Getpagesize()
	b, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	require.NoError(t, unix.Mprotect(b[:page], unix.PROT_NONE))
	require.NoError(t, unix.Mprotect(b[2*page:], unix.PROT_NONE))
	return b[page : 2*page : 2*page]
}

// TestFlushTouchesExactlyTheLines sweeps every offset and size around both edges of a page between forbidden ones: one
// line too many faults, one too few is missing in the count, which is taken where the instruction is issued.
func TestFlushTouchesExactlyTheLines(t *testing.T) {
	l := probed(t)
	page := guarded(t)
	line := l.LineSize()
	base := addressOf(page)
	sweep := func(from, to int) { // without require: there are hundreds of thousands
		first, count := lineSpan(base+uintptr(from), to-from, line)
		want := naiveLines(from, to, line)
		if flushed := l.Flush(page[from:to]); count != want || flushed != want || first < base {
			t.Fatalf("[%d, %d): %d lines by arithmetic, %d flushed, %d are right", from, to, count, flushed, want)
		}
	}
	for from := range 2*line + 1 {
		for size := range 3*line + 1 {
			sweep(from, from+size)
			sweep(len(page)-from-size, len(page)-from)
		}
	}
	sweep(0, len(page))
}

// naiveLines counts byte by byte.
func naiveLines(from, to, line int) (lines int) {
	for at, last := from, -1; at < to; at++ {
		if at/line != last {
			last = at / line
			lines++
		}
	}
	return lines
}

// TestPiecesCoverARangeOnce: a call stays within 1 MiB, and no line is in two of them.
func TestPiecesCoverARangeOnce(t *testing.T) {
	for _, line := range []int{32, 64, 128, 256} {
		for _, start := range []int{0, 1, line - 1, line, line + 1, 4095} {
			for _, size := range []int{0, 1, line, maxPiece - line, maxPiece - 1, maxPiece, maxPiece + 1, 3*maxPiece + 17} {
				total, at := 0, 0
				for at < size {
					n := piece(uintptr(start+at), size-at, line)
					require.Positive(t, n)
					require.LessOrEqual(t, n, maxPiece)
					_, count := lineSpan(uintptr(start+at), n, line)
					require.LessOrEqual(t, count*line, maxPiece)
					total += count
					at += n
				}
				_, want := lineSpan(uintptr(start), size, line)
				require.Equal(t, want, total, "line %d, %d bytes at %d", line, size, start)
			}
		}
	}
}

// TestFlushKeepsTheBytes: whatever it does to caches, memory is what was stored.
func TestFlushKeepsTheBytes(t *testing.T) {
	l := probed(t)
	b := make([]byte, 3*maxPiece+77)
	for i := range b {
		b[i] = byte(i * 7)
	}
	l.FenceStore()
	require.GreaterOrEqual(t, l.Flush(b)*l.LineSize(), len(b))
	l.FenceFull()
	for i := range b {
		if b[i] != byte(i*7) {
			t.Fatalf("byte %d changed", i)
		}
	}
}

// TestFlushByTwoProcessors: a long flush is shared out, each line to one of them. A helper has fenced when Flush
// returns: no other processor's fence completes its flushes.
func TestFlushByTwoProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const line = 64
	b := make([]byte, 2*flushShare+5*line)[7:]
	half := addressOf(b) + uintptr(len(b)/2)
	var mu sync.Mutex
	var helper []string
	seen := map[uintptr]bool{}
	does := func(what string) {
		if len(helper) == 0 || helper[len(helper)-1] != what {
			helper = append(helper, what)
		}
	}
	l, err := newCPULines(Features{LineSize: line, Instruction: "a fake"}, func(at *byte, size, _ int) int {
		mu.Lock()
		defer mu.Unlock()
		first, count := lineSpan(uintptr(unsafe.Pointer(at)), size, line)
		if first+line < half {
			does("flush")
		}
		for i := range count {
			seen[first+uintptr(i*line)] = true
		}
		return count
	})
	require.NoError(t, err)
	l.fence = func() {
		mu.Lock()
		defer mu.Unlock()
		does("fence")
	}
	_, lines := lineSpan(addressOf(b), len(b), line)
	require.Equal(t, lines, l.Flush(b))
	require.Len(t, seen, lines, "each line once")
	require.Equal(t, []string{"fence", "flush", "fence"}, helper)
}

// TestFaultInASharedFlush: a fault on another goroutine is the caller's, whose guard makes an error of it.
func TestFaultInASharedFlush(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	l := probed(t)
	b, err := unix.Mmap(-1, 0, 2*flushShare, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(b)) }()
	for _, gone := range []int{0, flushShare} { // in the helper's half, and in the caller's
		require.NoError(t, unix.Mprotect(b[gone:gone+flushShare], unix.PROT_NONE))
		func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() {
				fault, is := recover().(interface{ Addr() uintptr })
				require.True(t, is, "the caller sees the fault, and where it was")
				require.Equal(t, addressOf(b[gone:]), fault.Addr())
			}()
			l.Flush(b)
		}()
		require.NoError(t, unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE))
	}
	l.Flush(b)
}

// BenchmarkFlush is of memory that one processor flushes, and, with -cpu 1,2, of such that two share (decision 0023).
func BenchmarkFlush(b *testing.B) {
	l := probed(b)
	for _, size := range []int{16 << 20, 1 << 30} {
		for _, dirty := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dMiB/dirty=%v", size>>20, dirty), func(b *testing.B) {
				data := make([]byte, size)
				store := func() {
					for i := 0; i < len(data); i += l.LineSize() {
						data[i]++
					}
				}
				store()
				b.SetBytes(int64(size))
				for b.Loop() {
					if dirty {
						b.StopTimer()
						store()
						b.StartTimer()
					}
					l.FenceStore()
					l.Flush(data)
					l.FenceFull()
				}
			})
		}
	}
}
