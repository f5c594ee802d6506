package coherence_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

const page = memregion.PageSize

// logged publishes, and says which ranges were synced for it, and which were left to the caller.
func logged(t *testing.T, h *coherence.Home, m *durableMemory, most int64, gens ...coherence.Generation) (
	synced []memregion.Range, list []coherence.Logged) {
	t.Helper()
	m.synced = nil
	list, err := h.PublishLogged(most, gens...)
	require.NoError(t, err)
	for _, g := range gens {
		require.Equal(t, coherence.Published, h.Generation(g).State)
	}
	return m.synced, list
}

func TestSmallExtentsAreLeftToTheLog(t *testing.T) {
	m := &durableMemory{heapMemory: newHeapMemory(64)}
	h := newHome(t, m, nil)
	small, large, other := seal(t, h, "t", 100), seal(t, h, "t", 3*page), seal(t, h, "t", 200)
	synced, list := logged(t, h, m, 250, small, large, other)
	require.Equal(t, []memregion.Range{{Offset: page, Length: 3 * page}, {Offset: 4 * page, Length: page}}, merged(synced))
	one := coherence.Logged{Generation: small, Range: memregion.Range{Length: page}, Bytes: 100}
	require.Equal(t, []coherence.Logged{one}, list, "no more than so many bytes altogether")
	require.NoError(t, h.Retire(small, large, other))

	a, b, c := seal(t, h, "t", 100), seal(t, h, "t", 3*page), seal(t, h, "t", 200)
	m.fail = errors.New("the disk says no")
	_, err := h.PublishLogged(250, a, b)
	require.ErrorIs(t, err, m.fail)
	require.Equal(t, coherence.Sealed, h.Generation(a).State)
	m.fail = nil
	synced, list = logged(t, h, m, 250, a)
	require.Empty(t, synced)
	require.Len(t, list, 1, "an attempt that failed has logged nothing")
	require.NoError(t, h.Publish(b, c))
	require.NoError(t, h.Retire(a, b, c))
	requireNothingAlive(t, h, m.heapMemory)
}

// merged splits what was synced by one call at the ends of extents, so that the order of the allocator is no matter.
func merged(ranges []memregion.Range) []memregion.Range {
	if len(ranges) == 1 && ranges[0].Length == 4*page {
		at := ranges[0].Offset
		return []memregion.Range{{Offset: at, Length: 3 * page}, {Offset: at + 3*page, Length: page}}
	}
	return ranges
}

// What a version needs is synced when the log lets go of it, few system calls for many; what died is not.
func TestLoggedExtentsAreSyncedLater(t *testing.T) {
	const extents = 100
	m := &durableMemory{heapMemory: newHeapMemory(4 * extents)}
	h := newHome(t, m, nil)
	var gens []coherence.Generation
	for range extents {
		gens = append(gens, seal(t, h, "t", 10))
	}
	synced, list := logged(t, h, m, 1<<20, gens...)
	require.Empty(t, synced)
	require.NoError(t, h.Retire(gens[0], gens[extents-1]))
	m.fail = errors.New("the disk says no")
	require.ErrorIs(t, h.SyncLogged(list), m.fail)
	m.fail = nil
	require.NoError(t, h.SyncLogged(list))
	covered := map[int64]bool{}
	for _, r := range m.synced {
		for at := r.Offset; at < r.End(); at += page {
			covered[at] = true
		}
	}
	for i, x := range list {
		require.Equal(t, i != 0 && i != extents-1, covered[x.Range.Offset], "extent %d", i)
	}
	require.Less(t, len(m.synced), 5)
	m.synced = nil
	require.NoError(t, h.Retire(gens[1:extents-1]...))
	require.NoError(t, h.SyncLogged(list))
	require.Empty(t, m.synced)

	shm := newHome(t, newHeapMemory(4), nil)
	g := seal(t, shm, "t", 10)
	list, err := shm.PublishLogged(1<<20, g)
	require.NoError(t, err)
	require.Empty(t, list, "what is not durable is not logged")
}
