//go:build linux

package coherence_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// TestAGrantFlushesWhatIsNotUntouched holds the core against a list of pages: whatever parts are untouched, exactly the others are flushed, between two
// full fences, and the whole extent is where clean lines matter.
func TestAGrantFlushesWhatIsNotUntouched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SampledFrom([]coherence.Class{coherence.Coherent, coherence.Incoherent, coherence.IncoherentHomeSnoop}).Draw(t, "class")
		writer := rapid.SampledFrom([]coherence.Domain{"home", "alpha"}).Draw(t, "writer")
		core, err := coherence.NewCore(coherence.CoreConfig{Class: class, Home: "home", Unreserved: true})
		require.NoError(t, err)
		extent := pages(rapid.IntRange(0, 5).Draw(t, "first"), rapid.IntRange(1, 20).Draw(t, "count"))
		touched := map[int64]bool{}
		for at := extent.Offset; at < extent.End(); at += memregion.PageSize {
			touched[at] = true
		}
		var untouched []memregion.Range
		for at := int64(0); at < extent.End()+4*memregion.PageSize; { // parts may reach beyond the extent
			part := memregion.Range{
				Offset: at + memregion.PageSize*rapid.Int64Range(0, 4).Draw(t, "gap"),
				Length: memregion.PageSize * rapid.Int64Range(0, 4).Draw(t, "length"),
			}
			untouched = append(untouched, part)
			for at = part.Offset; at < part.End() && class == coherence.Incoherent; at += memregion.PageSize {
				delete(touched, at)
			}
			at = part.End() + 1
			at += memregion.PageSize - at%memregion.PageSize
		}
		list, err := core.Step(coherence.Event{Kind: coherence.EventGrant, Owner: "t", Domain: writer, Range: extent, Untouched: untouched})
		require.NoError(t, err)
		require.Equal(t, coherence.ActionHandOver, list[len(list)-1].Kind)
		list = list[:len(list)-1]
		if class == coherence.Coherent || writer == "home" {
			clear(touched)
		}
		require.Equal(t, len(touched) > 0, len(list) > 0)
		for i, a := range list {
			require.Equal(t, coherence.StepPrepare, a.Step)
			require.True(t, a.Paid)
			if i == 0 || i == len(list)-1 {
				require.Equal(t, coherence.ActionFenceFull, a.Kind)
				continue
			}
			require.Equal(t, coherence.ActionFlush, a.Kind)
			for at := a.Range.Offset; at < a.Range.End(); at += memregion.PageSize {
				require.True(t, touched[at], "page at %d is not to be flushed, or was", at)
				delete(touched, at)
			}
		}
		require.Empty(t, touched)
	})
}

// countedLines can be asked while they are used.
type countedLines struct {
	mu      sync.Mutex
	flushed int
}

func (l *countedLines) Flush(b []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushed += len(b)
	return 1
}
func (l *countedLines) FenceStore() {}
func (l *countedLines) FenceFull()  {}

func (l *countedLines) bytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushed
}

// cleaner is a lender of its own, with a goroutine that cleans ahead.
func cleaner(t *testing.T, class coherence.Class) (h *coherence.Home, lent *memregion.Lent, lines *countedLines, counters *coherence.Counters, stop func() error) {
	spec := memregion.Spec{ID: 9, Capacity: 64 << 20, Fabric: memregion.FabricFile, Path: filepath.Join(t.TempDir(), "region")}
	base, err := memregion.ChooseBase(nil, spec.Capacity, spec.Path)
	require.NoError(t, err)
	spec.Base = base
	lent, err = memregion.Lend(t.Context(), spec, memregion.LendOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lent.Remove()) })
	lines, counters = &countedLines{}, &coherence.Counters{}
	h, err = coherence.NewHome(coherence.HomeConfig{
		Region: spec.ID, Memory: lent, Lines: lines, Domain: "home", Class: class, Capacity: spec.Capacity, Counters: counters,
		Verify: func([]byte, coherence.Seal) error { return nil },
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.CleanAhead(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	return h, lent, lines, counters, stop
}

// once grants and gives back.
func once(t *testing.T, h *coherence.Home, writer coherence.Domain, size int64) {
	t.Helper()
	g, err := h.Grant("t", writer, size)
	require.NoError(t, err)
	require.NoError(t, g.Abort())
	if writer != h.Domain() {
		require.NoError(t, h.Cleaned(g.Generation()))
	}
}

// TestCleaningAhead: a lender with foreign writers drops its lines of what becomes free, so that the next of them waits
// for nothing. A lender without foreign writers does not begin (decision 0022).
func TestCleaningAhead(t *testing.T) {
	h, lent, lines, counters, stop := cleaner(t, coherence.Incoherent)
	once(t, h, "home", 4<<20)
	own := lines.bytes()
	require.Equal(t, 4<<20, own, "its own writer's")
	once(t, h, "alpha", 1<<20)
	require.Zero(t, counters.Unprepared.Load())
	all := func() {
		t.Helper()
		require.Eventually(t, func() bool { return lent.ToDrop() == 0 }, 10*time.Second, time.Millisecond)
	}
	all()
	once(t, h, "home", 3<<20)
	all()
	before := counters.FlushesByStep[coherence.StepPrepare].Load()
	once(t, h, "alpha", 4<<20)
	require.Equal(t, before, counters.FlushesByStep[coherence.StepPrepare].Load())
	require.Equal(t, uint64(1), counters.Unprepared.Load())
	require.GreaterOrEqual(t, counters.AheadBytes.Load(), uint64(6<<20), "three of the four at first, and three again")
	require.Positive(t, counters.AheadTime.Load())
	require.NoError(t, stop())
	once(t, h, "home", 4<<20)
	require.Positive(t, lent.ToDrop(), "it has ended")
	once(t, h, "alpha", 4<<20)
	require.Equal(t, uint64(1), counters.Unprepared.Load(), "so the grant flushes what is left")
}

// TestNothingIsCleanedAhead: where it is of no use, and before another domain has written.
func TestNothingIsCleanedAhead(t *testing.T) {
	for _, class := range []coherence.Class{coherence.Coherent, coherence.IncoherentHomeSnoop} {
		h, _, lines, counters, stop := cleaner(t, class)
		once(t, h, "alpha", 1<<20)
		once(t, h, "home", 1<<20)
		before := lines.bytes()
		bytes, err := h.DropAhead(1 << 20)
		require.NoError(t, err)
		require.Zero(t, bytes)
		require.Empty(t, coherence.DropAhead(class, pages(0, 1)))
		require.NoError(t, stop())
		require.Equal(t, before, lines.bytes())
		require.Zero(t, counters.AheadBytes.Load())
	}
	h, lent, _, counters, stop := cleaner(t, coherence.Incoherent)
	once(t, h, "home", 1<<20)
	require.NoError(t, stop())
	require.Zero(t, counters.AheadBytes.Load())
	require.Positive(t, lent.ToDrop())
	heap := newHome(t, newHeapMemory(1), func(c *coherence.HomeConfig) { c.Class, c.Lines = coherence.Incoherent, &countedLines{} })
	require.NoError(t, heap.CleanAhead(t.Context()), "a memory that does not know what was stored")
}

// TestCleaningAheadEndsWithTheMemory: what was cut off is an error, and none that ends the process.
func TestCleaningAheadEndsWithTheMemory(t *testing.T) {
	real, err := coherence.NewCPULines()
	if err != nil {
		t.Skip(err)
	}
	spec := memregion.Spec{ID: 9, Base: 0x1f00_0000_0000, Capacity: 64 << 20, Fabric: memregion.FabricFile, Path: filepath.Join(t.TempDir(), "region")}
	lent, err := memregion.Lend(t.Context(), spec, memregion.LendOptions{})
	require.NoError(t, err)
	h := newHome(t, lent, func(c *coherence.HomeConfig) { c.Class, c.Lines = coherence.Incoherent, real })
	once(t, h, "alpha", 1<<20)
	require.NoError(t, os.Truncate(spec.Path, 0))
	require.ErrorIs(t, h.CleanAhead(t.Context()), memregion.ErrRegionGone)
	require.NoError(t, lent.Remove())
}

// trackedMemory is one page of a region, which is granted again as soon as it is free.
type trackedMemory struct {
	data      []byte
	taken     bool
	untouched bool
}

func (m *trackedMemory) whole() memregion.Range { return memregion.Range{Length: memregion.PageSize} }
func (m *trackedMemory) Allocate(string, int64) (memregion.Range, error) {
	if m.taken {
		return memregion.Range{}, errFull
	}
	m.taken = true
	return m.whole(), nil
}
func (m *trackedMemory) Shrink(_ string, r memregion.Range, _ int64) (memregion.Range, error) {
	return r, nil
}
func (m *trackedMemory) Free(string, memregion.Range) error { m.taken = false; return nil }
func (m *trackedMemory) Bytes(r memregion.Range) []byte     { return m.data[r.Offset:r.End()] }
func (m *trackedMemory) Dropped(memregion.Range)            { m.untouched = true }
func (m *trackedMemory) Touch(memregion.Range)              { m.untouched = false }
func (m *trackedMemory) MoreToDrop() <-chan struct{}        { return nil }
func (m *trackedMemory) Untouched(r memregion.Range) (parts []memregion.Range) {
	if m.untouched {
		parts = append(parts, r)
	}
	return parts
}
func (m *trackedMemory) DropAhead(int64, func(memregion.Range, []byte)) (memregion.Range, error) {
	return memregion.Range{}, nil
}

// duringFlush has something happen while lines are flushed for the first time.
type duringFlush struct{ do func() }

func (l *duringFlush) Flush(b []byte) int {
	if do := l.do; do != nil {
		l.do = nil
		do()
	}
	return 1
}
func (*duringFlush) FenceStore() {}
func (*duringFlush) FenceFull()  {}

// C3: a grant that is taken away while its lines are dropped notes nothing about memory that was granted again
// meanwhile.
func TestLinesDroppedForAnEndedGrant(t *testing.T) {
	memory, lines := &trackedMemory{data: make([]byte, memregion.PageSize)}, &duringFlush{}
	h, err := coherence.NewHome(coherence.HomeConfig{Region: 1, Memory: memory, Lines: lines, Domain: "home", Class: coherence.Incoherent})
	require.NoError(t, err)
	var own *coherence.Grant
	lines.do = func() {
		_, err := h.FenceOff("alpha")
		require.NoError(t, err)
		require.NoError(t, h.Lift(1))
		own, err = h.Grant("t", "home", memregion.PageSize)
		require.NoError(t, err)
	}
	_, err = h.Grant("t", "alpha", memregion.PageSize)
	require.NoError(t, err)
	require.NotNil(t, own)
	require.Empty(t, memory.Untouched(own.Range()), "the lender's own writer stores there")
}

// C3, C2: while a writer of the lender's own flushes, the lines are still the writer's: its generation is not clean
// yet, its memory is not given back, and a tail is not free.
func TestOwnWritersFlushBeforeTheyReport(t *testing.T) {
	const size = 4 * memregion.PageSize
	for name, one := range map[string]struct {
		step  func(*coherence.Grant) error
		state coherence.State // while it flushes
	}{
		"shrink": {func(g *coherence.Grant) error { return g.Shrink(memregion.PageSize) }, coherence.Granted},
		"clean":  {(*coherence.Grant).Clean, coherence.Granted},
		"abort":  {(*coherence.Grant).Abort, coherence.Aborting},
	} {
		t.Run(name, func(t *testing.T) {
			m, lines := newHeapMemory(4), &duringFlush{}
			h := newHome(t, m, func(c *coherence.HomeConfig) { c.Class, c.Lines = coherence.Incoherent, lines })
			g, err := h.Grant("t", "home", size)
			require.NoError(t, err)
			flushed := false
			lines.do = func() {
				flushed = true
				view := h.Generation(g.Generation())
				require.Equal(t, one.state, view.State)
				require.EqualValues(t, size, view.Range.Length, "all of it is still taken")
				require.Equal(t, 1, m.liveCount())
			}
			require.NoError(t, one.step(g))
			require.True(t, flushed)
			require.NoError(t, g.Abort())
			requireNothingAlive(t, h, m)
		})
	}
}

// C3 does not hang on the flushes of those who give memory back alone: what the lender's own writer has got counts as
// stored into from then on.
func TestOwnGrantsTouch(t *testing.T) {
	memory := &trackedMemory{data: make([]byte, memregion.PageSize), untouched: true}
	h, err := coherence.NewHome(coherence.HomeConfig{Region: 1, Memory: memory, Lines: &duringFlush{}, Domain: "home", Class: coherence.Incoherent})
	require.NoError(t, err)
	g, err := h.Grant("t", "home", memregion.PageSize)
	require.NoError(t, err)
	require.Empty(t, memory.Untouched(g.Range()))
	require.NoError(t, g.Abort())
}
