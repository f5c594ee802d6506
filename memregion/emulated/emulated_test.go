package emulated_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/memregion/emulated"
)

const size = 16 << 10

// machine is a domain with one cache of the memory.
type machine struct {
	domain *emulated.Domain
	cache  *emulated.Cache
	sees   []byte // what its programs see
	shadow []byte
}

func aligned(n int) []byte {
	return make([]byte, n+64)[:n] // large enough for Go to put it on a page
}

func newMachine(name string, seed uint64, line int64, memory, home []byte) *machine {
	m := &machine{domain: emulated.NewDomain(name, seed), sees: aligned(size), shadow: aligned(size + emulated.IntentBytes)}
	m.cache = m.domain.Attach(emulated.Options{Line: line, Copy: m.sees, Shadow: m.shadow, Memory: memory, Home: home, Size: func() int64 { return int64(len(memory)) }})
	m.cache.Show(m.sees, 0)
	return m
}

func (m *machine) clean(from, to int) {
	m.domain.FenceStore()
	m.domain.Flush(m.sees[from:to])
	m.domain.FenceFull()
}

func (m *machine) acquire(from, to int) {
	m.domain.FenceFull()
	m.domain.Flush(m.sees[from:to])
	m.domain.FenceFull()
}

func fill(b []byte, value byte) {
	for i := range b {
		b[i] = value
	}
}

// A store is invisible to other domains before it was flushed, and to a reader until its own domain has flushed, too.
// Whole lines move.
func TestWhoSeesWhat(t *testing.T) {
	for _, line := range []int64{64, 128} {
		memory := aligned(size)
		a, b := newMachine("a", 1, line, memory, nil), newMachine("b", 2, line, memory, nil)
		fill(memory, 9)
		require.Zero(t, b.sees[0], "a new cache has zeros, whatever the memory has")
		b.acquire(0, 4096)
		require.EqualValues(t, 9, b.sees[4095])
		require.Zero(t, b.sees[4096])

		a.cache.Zeroed(0, 4096)
		fill(a.sees[:4096], 1)
		require.EqualValues(t, 9, b.sees[0])
		a.clean(0, 4096)
		require.Equal(t, bytes.Repeat([]byte{1}, 4096), memory[:4096], line)
		require.EqualValues(t, 9, memory[4096], "N1: nothing beside it")
		require.EqualValues(t, 9, b.sees[0], "a stale line that is not dropped stays")
		b.acquire(0, 4096)
		require.True(t, bytes.Equal(bytes.Repeat([]byte{1}, 4096), b.sees[:4096]))

		// One byte of a line is flushed with the line, and no other line.
		fill(a.sees[4096:8192], 2)
		a.clean(4096+int(line), 4096+int(line)+1)
		require.EqualValues(t, 9, memory[4096+line-1])
		require.Equal(t, bytes.Repeat([]byte{2}, int(line)), memory[4096+line:4096+2*line])
	}
}

// EM1: a flush of lines that are stale and not modified writes nothing.
func TestAStaleLineIsNotWrittenBack(t *testing.T) {
	memory := aligned(size)
	a, b := newMachine("a", 1, 64, memory, nil), newMachine("b", 2, 64, memory, nil)
	a.cache.Zeroed(0, size)
	fill(a.sees, 1)
	a.clean(0, size)
	for range 100 {
		b.acquire(0, size)
		b.domain.FenceStore()
	}
	require.True(t, bytes.Equal(bytes.Repeat([]byte{1}, size), memory))
	require.Zero(t, b.domain.Moves().WrittenBack)
	require.NotZero(t, b.domain.Moves().Adversary)
}

// EM3: a flush without a fence leaves lines where they are; a store fence does not help.
func TestAFlushWaitsForTheFence(t *testing.T) {
	late := 0
	for seed := range uint64(20) {
		memory := aligned(size)
		fill(memory, 7)
		a := newMachine("a", seed, 64, memory, nil)
		a.domain.Flush(a.sees)
		a.domain.FenceStore()
		if !bytes.Equal(a.sees, memory) {
			late++
		}
		a.domain.FenceFull()
		require.True(t, bytes.Equal(memory, a.sees))
	}
	require.Equal(t, 20, late)
}

// A store that changes nothing: by a writer that opens the extent first, and by the lender.
func TestAStoreThatChangesNothing(t *testing.T) {
	memory := aligned(size)
	fill(memory, 7)
	a := newMachine("a", 1, 64, memory, nil)
	a.cache.Open(0, 4096)
	fill(a.sees[:4096], 0) // what it had before it was opened
	a.clean(0, 4096)
	require.True(t, bytes.Equal(make([]byte, 4096), memory[:4096]))
	a.cache.Zeroed(4096, 4096)
	fill(a.sees[4096:8192], 0)
	a.clean(4096, 8192)
	require.True(t, bytes.Equal(make([]byte, 4096), memory[4096:8192]))
}

// All ones over zeros, in an extent that the lender has just got: each word that is stored is there in the end.
func TestStoresOfEveryPattern(t *testing.T) {
	for _, pattern := range []byte{0xff, 0, 0x55, 0xaa} {
		memory := aligned(size)
		a := newMachine("a", 1, 64, memory, nil)
		for round := range 50 {
			fill(memory[:4096], byte(round)) // of another domain, before this one gets it
			a.cache.Zeroed(0, 4096)
			fill(a.sees[:4096], pattern)
			for range 20 {
				a.domain.Flush(a.sees[4096:]) // another extent; the adversary is busy
			}
			a.clean(0, 4096)
			require.True(t, bytes.Equal(bytes.Repeat([]byte{pattern}, 4096), memory[:4096]))
			fill(a.sees[:4096], 0)
		}
	}
}

// The adversary writes back what was stored and never flushed, at some time.
func TestLateWriteBacks(t *testing.T) {
	memory := aligned(size)
	a := newMachine("a", 3, 64, memory, nil)
	a.cache.Zeroed(0, 4096)
	fill(a.sees[:4096], 1)
	written := 0
	for range 1000 {
		fill(memory[:4096], 2)
		a.domain.FenceStore()
		written += bytes.Count(memory[:4096], []byte{1})
	}
	require.NotZero(t, written)
}

// The adversary fetches lines unasked: between a flush and the next one a domain gets what others store, line by line,
// and keeps what it has fetched. So a flush before the write is worth nothing (the papers' order).
func TestLinesComeBackUnasked(t *testing.T) {
	memory := aligned(size)
	a := newMachine("a", 3, 64, memory, nil)
	a.acquire(0, 4096)
	fill(memory, 1)
	for range 200 {
		a.domain.FenceStore() // which is no flush
	}
	fetched := bytes.Count(a.sees[:4096], []byte{1})
	require.Positive(t, fetched)
	require.Zero(t, fetched%64, "whole lines")
	require.Zero(t, bytes.Count(a.sees[4096+8*64:], []byte{1}), "nor is it far from where lines were used")
}

// The adversary evicts lines of an extent that is being written: one that is not modified comes back as the memory has it, one that is modified is
// written back first, and no store is lost.
func TestLinesAreEvictedWhileTheyAreWritten(t *testing.T) {
	memory := aligned(size)
	a := newMachine("a", 3, 64, memory, nil)
	a.cache.Open(0, 4096) // nothing is stored yet
	fill(a.sees[:2048], 1)
	fill(memory[2048:4096], 2) // another domain's late write-back
	for range 1000 {
		a.domain.FenceStore()
	}
	require.Equal(t, bytes.Repeat([]byte{1}, 2048), a.sees[:2048])
	require.Positive(t, bytes.Count(memory[:2048], []byte{1}), "written back early")
	require.Positive(t, bytes.Count(a.sees[2048:4096], []byte{2}), "evicted")
}

// A flush is done line by line, whenever it likes: before the fence some lines may be in the memory, and others are not.
func TestAFlushIsDoneInPieces(t *testing.T) {
	pieces := 0
	for seed := range uint64(50) {
		memory := aligned(size)
		a := newMachine("a", seed, 64, memory, nil)
		fill(a.sees[:4096], 1) // in an extent that the adversary does not know
		a.domain.Flush(a.sees[:4096])
		n := bytes.Count(memory, []byte{1})
		require.Less(t, n, 4096, "one turn of the adversary is not enough for all")
		if n > 0 {
			pieces++
		}
		a.domain.FenceFull()
		require.Equal(t, 4096, bytes.Count(memory, []byte{1}))
	}
	require.Positive(t, pieces)
}

// On a home-snoop fabric the lender's cache answers, and a borrower's write-back goes past it.
func TestHomeSnoop(t *testing.T) {
	memory := aligned(size)
	home := newMachine("home", 1, 128, memory, nil)
	b := newMachine("b", 2, 128, memory, home.sees)
	home.cache.Zeroed(0, 4096)
	fill(home.sees[:4096], 1)
	b.acquire(0, 4096)
	require.EqualValues(t, 1, b.sees[5], "from the lender's cache, where it still is")
	home.clean(0, 4096)

	b.cache.Open(0, 4096)
	fill(b.sees[:4096], 2)
	b.clean(0, 4096)
	require.EqualValues(t, 2, memory[5])
	require.EqualValues(t, 1, home.sees[5], "it went past")
	require.EqualValues(t, 1, b.sees[5], "and is answered by the lender's stale line")
	home.acquire(0, 4096) // step 4
	b.acquire(0, 4096)
	require.EqualValues(t, 2, b.sees[5])
}

// EM4.
func TestTheSameSeedMakesTheSameMoves(t *testing.T) {
	play := func(seed uint64) string {
		memory := aligned(size)
		a := newMachine("a", seed, 64, memory, nil)
		out := ""
		for i := range 50 {
			a.cache.Zeroed(int64(i%4*4096), 4096)
			fill(a.sees[i%4*4096:][:4096], byte(i))
			if i%3 == 0 {
				a.clean(i%4*4096, i%4*4096+4096)
			}
			out += fmt.Sprint(bytes.Count(memory, []byte{byte(i)}), a.domain.Moves(), " ")
		}
		return out
	}
	require.Equal(t, play(5), play(5))
	require.NotEqual(t, play(5), play(6))
}

// storeAll and snapshot are the program's accesses, by whole words as a program's are.
func storeAll(b []byte, value byte) {
	for i := 0; i < len(b); i += 8 {
		emulated.StoreWord(b[i:], value)
	}
}

func snapshot(b []byte) []byte {
	out := make([]byte, len(b))
	for i := 0; i < len(b); i += 8 {
		out[i] = emulated.LoadWord(b[i:])
	}
	return out
}

// EM2: a program stores while lines are dropped and fetched around it, and no store is lost.
func TestNoStoreIsLost(t *testing.T) {
	memory := aligned(size)
	a := newMachine("a", 9, 64, memory, nil)
	a.cache.Zeroed(0, size)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 300 {
			a.domain.Flush(a.sees)
			a.domain.FenceFull()
		}
	}()
	for value := byte(1); ; value++ {
		storeAll(a.sees, value)
		for i, v := range snapshot(a.sees) {
			require.False(t, i%8 == 0 && v != value, "byte %d is %d and not %d", i, v, value)
		}
		select {
		case <-done:
			a.clean(0, size)
			require.True(t, bytes.Equal(a.sees, memory))
			return
		default:
		}
	}
}

// EM5: the next process finds what a killed one stored, also if it was killed in the middle of a fetch.
func TestWhatADeadProcessLeaves(t *testing.T) {
	memory := aligned(size)
	a := newMachine("a", 1, 64, memory, nil)
	a.cache.Open(0, 4096)
	fill(a.sees[:128], 3)
	next := emulated.NewDomain("a", 2)
	a.shadow[size], a.shadow[size+1] = 513&0xff, 513>>8 // the line at word 512 was being fetched: half of it is there
	fill(a.sees[4096:4128], 4)
	c := next.Attach(emulated.Options{Line: 64, Copy: a.sees, Shadow: a.shadow, Memory: memory, Size: func() int64 { return size }})
	defer c.Detach()
	c.Show(a.sees, 0)
	fill(memory[4096:], 5)
	next.Flush(a.sees)
	next.FenceFull()
	require.Equal(t, bytes.Repeat([]byte{3}, 128), memory[:128])
	require.EqualValues(t, 5, memory[4100], "it was not stored")
}

// The memory may be shorter than the region: its file is cut off, or grows later.
func TestShortMemory(t *testing.T) {
	memory := aligned(size)
	short := int64(8192)
	d := emulated.NewDomain("a", 1)
	copied := aligned(size)
	c := d.Attach(emulated.Options{Line: 64, Copy: copied, Shadow: aligned(size + emulated.IntentBytes), Memory: memory, Size: func() int64 { return short }})
	c.Show(copied, 0)
	fill(memory, 1)
	require.Equal(t, size/64, d.Flush(copied))
	d.FenceFull()
	require.EqualValues(t, 1, copied[8191])
	require.Zero(t, copied[8192])
	require.Zero(t, d.Flush(make([]byte, 10)), "it is no region's")
	c.Detach()
	require.Zero(t, d.Flush(copied))
}
