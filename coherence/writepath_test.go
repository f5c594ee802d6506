//go:build amd64 || arm64 || ppc64le

package coherence

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/memregion"
)

// copiersHere are those of this processor.
func copiersHere(t testing.TB) (list []*Copier) {
	t.Helper()
	lines := probed(t)
	for _, p := range Paths() {
		c, err := lines.Copier(p)
		if err != nil {
			require.ErrorIs(t, err, ErrUnsupported)
			t.Logf("%v: not here", p)
			continue
		}
		list = append(list, c)
	}
	require.GreaterOrEqual(t, len(list), 2, "write back and one pass are everywhere")
	return list
}

// waysHere are those of this processor, and of one that cannot flush while it streams.
func waysHere(t testing.TB) (list []*Copier) {
	t.Helper()
	for _, c := range copiersHere(t) {
		list = append(list, c)
		if c.behind != nil {
			older := *c
			older.behind = nil
			list = append(list, &older)
		}
	}
	return list
}

// requireCopied copies length bytes to offset to of a page-aligned target, from offset from of a source, and looks at every byte,
// those around the target included, and at what is called flushed.
func requireCopied(t testing.TB, c *Copier, target, source []byte, to, from, length int) {
	t.Helper()
	for i := range target {
		target[i] = 0xee
	}
	done := c.Copy(target[to:to+length+1], source[from:from+length])
	if !bytes.Equal(target[to:to+length], source[from:from+length]) {
		t.Fatalf("%v: %d bytes to %d from %d differ", c.path, length, to, from)
	}
	for i, b := range target {
		if (i < to || i >= to+length) && b != 0xee {
			t.Fatalf("%v: %d bytes to %d from %d: byte %d was stored", c.path, length, to, from, i)
		}
	}
	line := c.lines.(*CPULines).LineSize()
	begin, end := int(addressOf(target))+to+done.From, int(addressOf(target))+to+done.To
	switch {
	case done.From == done.To:
		require.Zero(t, done.Lines)
	case begin%line != 0 || end%line != 0 || done.From < 0 || done.To > length || done.Lines*line != done.To-done.From:
		t.Fatalf("%v: %d bytes to %d: [%d, %d) and %d lines are called flushed", c.path, length, to, done.From, done.To, done.Lines)
	}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// TestCopyEveryAlignment sweeps offsets of both sides and lengths around lines and pieces.
func TestCopyEveryAlignment(t *testing.T) {
	source, target := randomBytes(6*streamPiece), make([]byte, 6*streamPiece)
	for _, c := range waysHere(t) {
		small := target[:16*c.unit]
		for to := 0; to <= c.unit+1; to += 1 + to%3*5 {
			for length := 0; length <= 4*c.unit+1; length += 1 + length/c.unit*3 {
				requireCopied(t, c, small, source, to, to*7%61, length)
			}
		}
		for _, length := range []int{copyPiece - 1, copyPiece, copyPiece + 1, 2*copyPiece + c.unit, 2*copyPiece + 77,
			4*streamPiece - 1, 4 * streamPiece, 4*streamPiece + 1, 5*streamPiece + c.unit + 9} {
			for _, to := range []int{0, 1, c.unit - 1, c.unit} {
				requireCopied(t, c, target, source, to, 3, length)
			}
		}
	}
}

// FuzzCopy looks for bytes that any path copies otherwise than copy does.
func FuzzCopy(f *testing.F) {
	f.Add(uint8(0), uint8(0), uint16(4096))
	f.Add(uint8(63), uint8(1), uint16(copyPiece+65))
	f.Add(uint8(127), uint8(16), uint16(129))
	source, target := randomBytes(1<<17), make([]byte, 1<<17)
	f.Fuzz(func(t *testing.T, to, from uint8, length uint16) {
		for _, c := range waysHere(t) {
			requireCopied(t, c, target, source, int(to), int(from), int(length))
		}
	})
}

// TestCopyStaysWithinItsPages: a routine that reads or writes one byte too many faults.
func TestCopyStaysWithinItsPages(t *testing.T) {
	target, source := guarded(t), guarded(t)
	copy(source, randomBytes(len(source)))
	for _, c := range waysHere(t) {
		for _, cut := range []int{0, 1, c.unit - 1, c.unit, c.unit + 1} {
			c.Copy(target[cut:], source[cut:])
			require.True(t, bytes.Equal(source[cut:], target[cut:]))
			clear(target)
			c.Copy(target[:len(target)-cut], source[:len(source)-cut])
			require.True(t, bytes.Equal(source[:len(source)-cut], target[:len(target)-cut]))
		}
	}
}

// TestCleanFlushesWhatACopyDidNot: every line of the grant is flushed by one of the two, whatever the copies were (C3), and none twice by Clean.
func TestCleanFlushesWhatACopyDidNot(t *testing.T) {
	const line, size = memregion.LineSize, 64 * memregion.LineSize
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		grant := memregion.Range{Offset: 1 << 20, Length: size}
		w := NewWriterCore(Incoherent, 1, grant)
		var covered [size / line]int
		for range random.IntN(80) { // in any order, overlapping or not: what is not remembered is flushed again
			from := random.IntN(size / line)
			r := memregion.Range{Offset: grant.Offset + int64(from)*line, Length: int64(random.IntN(size/line-from+1)) * line}
			before := len(w.flushed)
			total := sum(w.flushed)
			w.Flushed(r)
			require.LessOrEqual(t, len(w.flushed), flushedRanges)
			require.Contains(t, []int{before, before + 1}, len(w.flushed))
			require.Contains(t, []int64{total, total + r.Length}, sum(w.flushed))
		}
		kept := int64(size)
		if random.IntN(3) == 0 {
			kept = int64(1+random.IntN(size/line)) * line
			w.Shrunk(memregion.Range{Offset: grant.Offset, Length: kept})
		}
		mark := func(r memregion.Range) {
			for at := r.Offset; at < min(r.End(), grant.Offset+kept); at += line {
				covered[(at-grant.Offset)/line]++
			}
		}
		for _, r := range w.flushed {
			mark(r)
		}
		list, err := w.Clean()
		require.NoError(t, err)
		require.Equal(t, ActionFenceStore, list[0].Kind)
		require.Equal(t, []ActionKind{ActionFenceFull, ActionReport}, kinds(list[len(list)-2:]))
		for _, a := range list[1 : len(list)-2] {
			require.Equal(t, ActionFlush, a.Kind)
			require.True(t, a.Paid)
			require.LessOrEqual(t, a.Range.End(), grant.Offset+kept)
			mark(a.Range)
		}
		for i, times := range covered[:kept/line] {
			require.Equal(t, 1, times, "line %d", i)
		}
	}
}

func sum(ranges []memregion.Range) (total int64) {
	for _, r := range ranges {
		total += r.Length
	}
	return total
}

// TestFastest: ordinary stores stay unless another way is clearly faster.
func TestFastest(t *testing.T) {
	ms := func(path Path, n int) PathTime { return PathTime{path, time.Duration(n) * time.Millisecond} }
	for _, c := range []struct {
		times []PathTime
		want  Path
	}{
		{nil, WriteBack},
		{[]PathTime{ms(WriteBack, 100)}, WriteBack},
		{[]PathTime{ms(WriteBack, 100), ms(Streaming, 96), ms(OnePass, 97)}, WriteBack},
		{[]PathTime{ms(WriteBack, 100), ms(Streaming, 95), ms(OnePass, 97)}, Streaming},
		{[]PathTime{ms(WriteBack, 100), ms(Streaming, 60), ms(OnePass, 40), ms(WriteThrough, 40)}, OnePass},
		{[]PathTime{ms(WriteBack, 100), ms(Streaming, 160), ms(OnePass, 140), ms(WriteThrough, 30)}, WriteThrough},
		{[]PathTime{ms(WriteBack, 0), ms(Streaming, 0)}, WriteBack},
	} {
		require.Equal(t, c.want, Fastest(c.times), "%v", c.times)
	}
}

// steps is a clock that is moved by what it is asked: each answer is one of its steps after the one before.
type steps struct {
	now   time.Time
	next  []time.Duration
	asked int
}

func (s *steps) read() time.Time {
	s.now = s.now.Add(s.next[s.asked%len(s.next)])
	s.asked++
	return s.now
}

// TestChooserMeasuresOnce: the times decide, memory that is too short to measure in decides nothing, and what was
// chosen stays.
func TestChooserMeasuresOnce(t *testing.T) {
	copiers := copiersHere(t)
	fastest := copiers[len(copiers)-1].path
	clock := &steps{next: []time.Duration{0}} // measure begins
	for i := range copiers {
		took := 2 * time.Millisecond
		if i == len(copiers)-1 {
			took = time.Millisecond
		}
		clock.next = append(clock.next, 0, 0, took) // is there time; begins; ends
	}
	clock.next = append(clock.next, time.Hour) // there is no time for a second round
	c := NewChooser(probed(t), clock.read)
	require.Equal(t, WriteBack, c.For(make([]byte, measuredBytes-1)).Path())
	require.Zero(t, clock.asked)
	require.Nil(t, c.Times())
	require.Equal(t, fastest, c.For(make([]byte, measuredBytes)).Path())
	require.Len(t, c.Times(), len(copiers))
	asked := clock.asked
	require.Equal(t, fastest, c.For(nil).Path())
	require.Equal(t, fastest, c.For(make([]byte, measuredBytes)).Path())
	require.Equal(t, asked, clock.asked, "measured again")
}

// TestChooserIsBounded: where a copy takes very long, one is measured and the ordinary path stays.
func TestChooserIsBounded(t *testing.T) {
	clock := &steps{next: []time.Duration{measuredLimit / 3}}
	c := NewChooser(probed(t), clock.read)
	c.For(make([]byte, measuredBytes))
	require.Less(t, clock.asked, 3+3*2, "%d readings of a clock that is a third of the limit later at each", clock.asked)
	late := &steps{next: []time.Duration{measuredLimit}}
	c = NewChooser(probed(t), late.read)
	require.Equal(t, WriteBack, c.For(make([]byte, measuredBytes)).Path(), "there was no time at all")
	require.Empty(t, c.Times())
}

// TestGrantCopies drives a lender's own grant: the bytes are there, lines are counted once, and a coherent fabric neither
// measures nor flushes.
func TestGrantCopies(t *testing.T) {
	source := randomBytes(3*measuredBytes + 1000)
	for _, class := range []Class{Coherent, Incoherent, IncoherentHomeSnoop} {
		clock := &steps{next: []time.Duration{time.Microsecond}}
		lines, counters := probed(t), &Counters{}
		memory := &oneExtent{data: make([]byte, 4*measuredBytes)}
		h, err := NewHome(HomeConfig{Region: 1, Memory: memory, Lines: lines, Domain: "home", Class: class, Counters: counters, Chooser: NewChooser(lines, clock.read)})
		require.NoError(t, err)
		g, err := h.Grant("t", "home", int64(len(memory.data)))
		require.NoError(t, err)
		_, err = g.Copy(-1, source)
		require.ErrorIs(t, err, ErrInput)
		_, err = g.Copy(int64(len(memory.data))-9, source[:10])
		require.ErrorIs(t, err, ErrInput)
		half := 2 * measuredBytes
		near, err := g.Copy(0, source[:half])
		require.NoError(t, err)
		require.True(t, near || class != Coherent)
		_, err = g.Copy(int64(half), source[half:])
		require.NoError(t, err)
		clear(g.Bytes()[len(source):])
		require.NoError(t, g.Clean())
		_, err = g.Copy(0, source)
		require.ErrorIs(t, err, ErrInput, "after Clean nothing is the writer's")
		require.True(t, bytes.Equal(source, memory.data[:len(source)]), "%v", class)
		require.Equal(t, class != Coherent, clock.asked > 0, "%v", class)
		whole := uint64(0)
		if class != Coherent {
			whole = uint64(len(memory.data))
		}
		require.Equal(t, whole, counters.FlushedBytes.Load(), "%v: every byte once", class)
		require.Equal(t, whole/uint64(lines.LineSize()), counters.FlushedLines.Load(), "%v", class)
	}
}

// oneExtent is a region that is granted as a whole.
type oneExtent struct{ data []byte }

func (m *oneExtent) Allocate(string, int64) (memregion.Range, error) {
	return memregion.Range{Length: int64(len(m.data))}, nil
}
func (m *oneExtent) Shrink(_ string, r memregion.Range, _ int64) (memregion.Range, error) {
	return r, nil
}
func (m *oneExtent) Free(string, memregion.Range) error { return nil }
func (m *oneExtent) Bytes(r memregion.Range) []byte {
	return m.data[r.Offset:r.End():r.End()]
}

// BenchmarkWritePath64MiB is a copy with everything up to the end of step 3.
func BenchmarkWritePath64MiB(b *testing.B) {
	source, target := randomBytes(256<<10), make([]byte, 64<<20)
	clear(target)
	for _, c := range copiersHere(b) {
		b.Run(c.path.String(), func(b *testing.B) {
			b.SetBytes(int64(len(target)))
			for b.Loop() {
				for at := 0; at < len(target); at += len(source) {
					to := target[at : at+len(source)]
					if done := c.Copy(to, source); done.To == 0 && c.path != WriteBack && c.path != WriteThrough {
						b.Fatal("nothing was flushed")
					}
				}
				c.lines.FenceStore()
				if c.path == WriteBack || c.path == WriteThrough {
					c.lines.Flush(target)
				}
				c.lines.FenceFull()
			}
		})
	}
	b.Run("copy alone", func(b *testing.B) {
		b.SetBytes(int64(len(target)))
		for b.Loop() {
			for at := 0; at < len(target); at += len(source) {
				copy(target[at:], source)
			}
		}
	})
}
