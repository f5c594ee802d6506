package coherence_test

import (
	"errors"
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
	require.Nil(t, g.Bytes(), "step 3: nobody stores after the clean")
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
