package coherence_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

func newHome(t testing.TB, memory coherence.Memory, change func(*coherence.HomeConfig)) *coherence.Home {
	t.Helper()
	config := coherence.HomeConfig{Region: 1, Memory: memory, Domain: "home", Counters: &coherence.Counters{}}
	if change != nil {
		change(&config)
	}
	h, err := coherence.NewHome(config)
	require.NoError(t, err)
	return h
}

// seal grants, writes, cleans and seals one extent.
func seal(t testing.TB, h *coherence.Home, owner string, size int64) coherence.Generation {
	t.Helper()
	g, err := h.Grant(owner, h.Domain(), size)
	require.NoError(t, err)
	clear(g.Bytes())
	require.NoError(t, g.Clean())
	require.NoError(t, g.Seal(coherence.Seal{Length: size, Checksum: 7}))
	return g.Generation()
}

func publish(t testing.TB, h *coherence.Home, owner string, size int64) coherence.Generation {
	t.Helper()
	g := seal(t, h, owner, size)
	require.NoError(t, h.Publish(g))
	return g
}

func requireNothingAlive(t testing.TB, h *coherence.Home, m *heapMemory) {
	t.Helper()
	census := h.Stats().Census
	census.Next = 0
	require.Equal(t, coherence.Census{}, census)
	require.Zero(t, m.liveCount(), "every extent went back to the allocator")
}

func TestOneGenerationFromGrantToFree(t *testing.T) {
	m := newHeapMemory(16)
	h := newHome(t, m, nil)
	g, err := h.Grant("lineitem", "home", 5000)
	require.NoError(t, err)
	require.Equal(t, coherence.Generation(1), g.Generation())
	require.Equal(t, memregion.Range{Length: 8192}, g.Range())
	require.Len(t, g.Bytes(), 8192)
	clear(g.Bytes())
	require.ErrorIs(t, g.Seal(coherence.Seal{}), coherence.ErrOrder, "a seal before the clean")
	require.NoError(t, g.Clean())
	require.Nil(t, g.Bytes(), "step 3: nothing is stored after the clean")
	require.NoError(t, g.Seal(coherence.Seal{Length: 5000, Checksum: 1}))
	require.NoError(t, g.Abort(), "a deferred abort after the seal does nothing")
	require.ErrorIs(t, h.Pin("reader", []coherence.Generation{1}), coherence.ErrOrder, "a pin before the publish")
	require.NoError(t, h.Publish(1))
	require.NoError(t, h.Pin("reader", []coherence.Generation{1}))
	require.NoError(t, h.Retire(1))
	require.Equal(t, coherence.Retired, h.Generation(1).State)
	require.ErrorIs(t, h.Pin("late", []coherence.Generation{1}), coherence.ErrRetired)
	require.NoError(t, h.Pin("reader", []coherence.Generation{1}), "who holds it may hold it once more")
	require.NoError(t, h.Unpin("reader", []coherence.Generation{1}))
	require.Equal(t, 1, m.liveCount(), "C5: one pin is left")
	require.NoError(t, h.Unpin("reader", []coherence.Generation{1}))
	require.ErrorIs(t, h.Unpin("reader", []coherence.Generation{1}), coherence.ErrNotPinned)
	requireNothingAlive(t, h, m)
}

func TestPublishIsAllOrNothing(t *testing.T) {
	m := newHeapMemory(16)
	h := newHome(t, m, nil)
	a, b := seal(t, h, "t", 1), seal(t, h, "t", 1)
	open, err := h.Grant("t", "home", 1)
	require.NoError(t, err)
	require.ErrorIs(t, h.Publish(a, open.Generation(), b), coherence.ErrOrder)
	require.ErrorIs(t, h.Publish(a, b, a), coherence.ErrInput, "one named twice")
	require.ErrorIs(t, h.Publish(a, 99), coherence.ErrUnknown)
	require.Equal(t, coherence.Sealed, h.Generation(a).State)
	require.NoError(t, h.Publish(a, b))
	require.NoError(t, open.Abort())
	require.NoError(t, open.Abort(), "twice is once")
	require.NoError(t, h.Retire(b, a))
	requireNothingAlive(t, h, m)
}

func TestReservesGenerationsBeforeUse(t *testing.T) {
	m := newHeapMemory(1 << 10)
	var marks []coherence.Generation
	refuse := errors.New("disk full")
	var fail error
	h := newHome(t, m, func(c *coherence.HomeConfig) {
		c.FirstGeneration = 100
		c.ReserveGenerations = func(upTo coherence.Generation) error {
			if fail != nil {
				return fail
			}
			marks = append(marks, upTo)
			return nil
		}
	})
	fail = refuse
	_, err := h.Grant("t", "home", 1)
	require.ErrorIs(t, err, refuse)
	requireNothingAlive(t, h, m)
	fail = nil
	require.Equal(t, coherence.Generation(100), publish(t, h, "t", 1))
	require.Equal(t, coherence.Generation(101), publish(t, h, "t", 1))
	require.Equal(t, []coherence.Generation{100 + coherence.ReserveStep}, marks)
}

func TestShrinkFlushesTheTailBeforeItGoes(t *testing.T) {
	m := newHeapMemory(16)
	lines, counters := &loggedLines{}, &coherence.Counters{}
	h := newHome(t, m, func(c *coherence.HomeConfig) { c.Class, c.Lines, c.Counters = coherence.Incoherent, lines, counters })
	g, err := h.Grant("t", "home", 4*memregion.PageSize)
	require.NoError(t, err)
	require.ErrorIs(t, g.Shrink(0), coherence.ErrInput)
	require.ErrorIs(t, g.Shrink(5*memregion.PageSize), coherence.ErrInput)
	require.NoError(t, g.Shrink(memregion.PageSize+1))
	require.Equal(t, []string{"store", fmt.Sprintf("flush %d", 3*memregion.PageSize), "full"}, lines.log, "C3: from the last kept line on")
	require.Len(t, g.Bytes(), 2*memregion.PageSize)
	require.Equal(t, 2*memregion.PageSize, cap(g.Bytes()), "an append cannot reach the tail")
	again, err := h.Grant("t", "home", 2*memregion.PageSize)
	require.NoError(t, err, "the tail can be granted")
	require.NoError(t, g.Clean())
	require.ErrorIs(t, g.Shrink(1), coherence.ErrOrder, "before Clean only")
	require.ErrorIs(t, g.Clean(), coherence.ErrOrder)
	require.NoError(t, g.Abort())
	lines.log = nil
	require.NoError(t, again.Abort())
	require.Equal(t, []string{"store", fmt.Sprintf("flush %d", 2*memregion.PageSize), "full"}, lines.log, "step 9: as clean as a finished one")
	require.Equal(t, uint64(2), counters.Aborts.Load())
	requireNothingAlive(t, h, m)
}

func TestDurableRegionsSyncBeforePublish(t *testing.T) {
	m := &durableMemory{heapMemory: newHeapMemory(16)}
	h := newHome(t, m, nil)
	a, b := seal(t, h, "t", 1), seal(t, h, "t", 1)
	m.fail = errors.New("disk full")
	require.ErrorIs(t, h.Publish(a, b), m.fail)
	require.Equal(t, coherence.Sealed, h.Generation(a).State, "nothing is published that is not on the disk")
	m.fail = nil
	require.NoError(t, h.Publish(a, b))
	require.Equal(t, []memregion.Range{{Length: 2 * memregion.PageSize}}, m.synced, "neighbours in one call")
	require.NoError(t, h.Retire(a, b))
	requireNothingAlive(t, h, m.heapMemory)
}

func TestExpiredDomainLetsGoOfEverything(t *testing.T) {
	m := newHeapMemory(64)
	h := newHome(t, m, nil)
	var gens []coherence.Generation
	for range 20 {
		gens = append(gens, publish(t, h, "t", 1))
	}
	require.NoError(t, h.Pin("alpha", gens))
	require.NoError(t, h.Pin("alpha", gens[:3]))
	require.NoError(t, h.Pin("beta", gens[:1]))
	require.NoError(t, h.Retire(gens...))
	require.Equal(t, 20, m.liveCount())
	require.Equal(t, 20, h.ExpireDomain("alpha"))
	require.Zero(t, h.ExpireDomain("alpha"))
	require.Equal(t, 1, m.liveCount(), "beta holds one")
	require.ErrorIs(t, h.Unpin("alpha", gens[:1]), coherence.ErrNotPinned, "a late message takes no other domain's pin")
	require.NoError(t, h.Unpin("beta", gens[:1]))
	requireNothingAlive(t, h, m)
}

func TestFailedStepsChangeNothing(t *testing.T) {
	m := newHeapMemory(64)
	h := newHome(t, m, nil)
	a, b := publish(t, h, "t", 1), publish(t, h, "t", 1)
	require.NoError(t, h.Pin("alpha", []coherence.Generation{a, b}))
	before := h.Stats()
	require.ErrorIs(t, h.Pin("alpha", []coherence.Generation{a, b, 77}), coherence.ErrUnknown)
	require.ErrorIs(t, h.Pin("new", []coherence.Generation{a, 77}), coherence.ErrUnknown)
	require.ErrorIs(t, h.Pin("", []coherence.Generation{a}), coherence.ErrInput)
	require.ErrorIs(t, h.Unpin("alpha", []coherence.Generation{a, b, a}), coherence.ErrNotPinned)
	require.ErrorIs(t, h.Unpin("new", []coherence.Generation{a}), coherence.ErrNotPinned)
	require.ErrorIs(t, h.Retire(a, 77), coherence.ErrUnknown)
	require.ErrorIs(t, h.Discard(a), coherence.ErrOrder, "published memory goes by Retire")
	require.ErrorIs(t, h.AbortGeneration(a), coherence.ErrOrder)
	require.ErrorIs(t, h.Cleaned(a), coherence.ErrOrder)
	_, err := h.Grant("t", "home", 0)
	require.ErrorIs(t, err, coherence.ErrInput)
	_, err = h.Grant("t", "home", 1<<30)
	require.ErrorIs(t, err, errFull)
	_, err = h.Grant("t", "", 1)
	require.ErrorIs(t, err, coherence.ErrInput)
	require.Equal(t, before, h.Stats())
	require.NoError(t, h.Retire(a, b))
	require.Equal(t, 2, h.ExpireDomain("alpha"))
	requireNothingAlive(t, h, m)
}

func TestForeignWriterIsDrivenByMessages(t *testing.T) {
	m := newHeapMemory(16)
	lines, counters := &loggedLines{}, &coherence.Counters{}
	wrong := coherence.ErrChecksum
	change := func(c *coherence.HomeConfig) {
		c.Class, c.Lines, c.Counters = coherence.IncoherentHomeSnoop, lines, counters
	}
	_, err := newHome(t, m, change).Grant("t", "alpha", 1)
	require.ErrorIs(t, err, coherence.ErrConfig, "without a Verify a foreign line may be lost in part")
	h := newHome(t, m, func(c *coherence.HomeConfig) {
		change(c)
		c.Verify = func(data []byte, s coherence.Seal) error {
			require.Len(t, data, int(s.Length))
			return wrong
		}
	})
	lost, err := h.Grant("t", "alpha", 1)
	require.NoError(t, err)
	require.NoError(t, h.Cleaned(lost.Generation()))
	require.ErrorIs(t, h.SealGeneration(lost.Generation(), coherence.Seal{Length: 7}), coherence.ErrChecksum)
	require.Equal(t, coherence.Free, h.Generation(lost.Generation()).State, "what was lost can be written again")
	require.Equal(t, uint64(1), counters.Mismatches.Load())
	wrong, lines.log = nil, nil
	g, err := h.Grant("t", "alpha", 1)
	require.NoError(t, err)
	require.Equal(t, []string{"full", "flush 4096", "full"}, lines.log, "C3: the lender's own lines go first")
	require.Nil(t, g.Bytes(), "the lender never stores into a foreign grant")
	require.ErrorIs(t, g.Clean(), coherence.ErrOrder)
	require.NoError(t, h.Cleaned(g.Generation()))
	require.Len(t, lines.log, 6, "step 4 after step 3")
	require.NoError(t, h.SealGeneration(g.Generation(), coherence.Seal{Length: 1}))
	require.NoError(t, h.Publish(g.Generation()))
	require.NoError(t, h.Retire(g.Generation()))
	require.Equal(t, uint64(2), counters.HomeCleans.Load())

	dead, err := h.Grant("t", "alpha", 1)
	require.NoError(t, err)
	n, err := h.FenceOff("alpha")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, m.liveCount(), "quarantined")
	require.Error(t, h.Cleaned(dead.Generation()), "a late message of the dead writer")
	require.NoError(t, h.Lift(dead.Generation()))
	requireNothingAlive(t, h, m)
}

func TestConfigurationIsChecked(t *testing.T) {
	memory := newHeapMemory(1)
	for name, config := range map[string]coherence.HomeConfig{
		"no memory": {Domain: "home"},
		"no domain": {Memory: memory},
		"no lines":  {Memory: memory, Domain: "home", Class: coherence.Incoherent},
		"class":     {Memory: memory, Domain: "home", Class: 9, Lines: &loggedLines{}},
	} {
		_, err := coherence.NewHome(config)
		require.ErrorIs(t, err, coherence.ErrConfig, name)
	}
}

// TestEveryCounterHasAName: metrics show each, once.
func TestEveryCounterHasAName(t *testing.T) {
	seen := map[string]bool{}
	new(coherence.Counters).Each(func(s coherence.Sample) {
		require.False(t, seen[s.Name+s.Step], s.Name)
		require.NotEmpty(t, s.Help)
		seen[s.Name+s.Step] = true
	})
	fields := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[coherence.Counters]()) {
		if f.Type.Kind() == reflect.Array {
			fields += f.Type.Len() - 1 // no step none
		} else {
			fields++
		}
	}
	require.Len(t, seen, fields)
}
