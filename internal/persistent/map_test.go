package persistent_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/persistent"
)

type numbers = persistent.Map[int, int]

func empty() numbers { return persistent.New[int, int](cmp.Compare[int]) }

// A random history against Go's maps: PM1 and PM2, for every map that there ever was.
func TestAsAMapOfGos(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 5))
	all, twins := []numbers{empty()}, []map[int]int{{}}
	for range 2000 {
		from := random.IntN(len(all))
		m, twin := all[from], maps.Clone(twins[from])
		for range random.IntN(5) {
			key := random.IntN(60)
			if random.IntN(3) == 0 {
				m = m.Without(key)
				delete(twin, key)
			} else {
				value := random.IntN(4)
				m = m.With(key, value)
				twin[key] = value
			}
		}
		all, twins = append(all, m), append(twins, twin)
	}
	for i, m := range all {
		twin := twins[i]
		require.Equal(t, len(twin), m.Len())
		require.Equal(t, slices.Sorted(maps.Keys(twin)), keys(m.All()))
		for key := range 60 {
			value, ok := m.Get(key)
			want, there := twin[key]
			require.Equal(t, [2]any{want, there}, [2]any{value, ok})
			require.Equal(t, there, m.Has(key))
			require.Equal(t, want, m.Of(key))
		}
		first := random.IntN(60)
		require.Equal(t, after(slices.Sorted(maps.Keys(twin)), first), keys(m.From(first)))
		other := random.IntN(len(all))
		require.Equal(t, differences(twins[other], twin), slices.Collect(persistent.Difference(all[other], m)))
	}
}

func after(list []int, first int) []int {
	i, _ := slices.BinarySearch(list, first)
	return slices.Clip(append([]int(nil), list[i:]...))
}

func keys(all func(yield func(int, int) bool)) (list []int) {
	for key := range all {
		list = append(list, key)
	}
	return list
}

func differences(before, after map[int]int) (list []persistent.Change[int, int]) {
	for key := range 60 {
		b, was := before[key]
		a, is := after[key]
		if was != is || b != a {
			list = append(list, persistent.Change[int, int]{Key: key, Before: b, After: a, Was: was, Is: is})
		}
	}
	return list
}

// PM3, and that paths are short: counted by the comparisons.
func TestWorkDoesNotGrowWithTheMap(t *testing.T) {
	count := 0
	m := persistent.New[int, int](func(a, b int) int {
		count++
		return cmp.Compare(a, b)
	})
	const size = 100_000
	for i := range size {
		m = m.With(i, i)
	}
	worst := 0
	for i := range 1000 {
		count = 0
		next := m.With(i*97, -1).With(-1-i, i).Without(i*89 + 1)
		n := 0
		for range persistent.Difference(m, next) {
			n++
		}
		require.Equal(t, 3, n)
		worst = max(worst, count)
	}
	require.Less(t, worst, 2000, "of %d keys", size)
}

// Whoever stops looking is not gone on with, wherever the difference is.
func TestStops(t *testing.T) {
	m, other := empty(), empty()
	for i := range 20 {
		m, other = m.With(2*i, i), other.With(3*i, i+1)
	}
	for range m.All() {
		break
	}
	for range m.From(7) {
		break
	}
	whole := slices.Collect(persistent.Difference(m, other))
	for n := range whole {
		var some []persistent.Change[int, int]
		for c := range persistent.Difference(m, other) {
			if some = append(some, c); len(some) > n {
				break
			}
		}
		require.Equal(t, whole[:n+1], some)
	}
	require.True(t, m.With(2, 1).Is(m), "the same value again is the same map")
	require.True(t, m.Without(1).Is(m))
	require.False(t, m.With(2, 7).Is(m))
}
