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
		if random.IntN(10) == 0 {
			m = collected(random, twin)
			require.Empty(t, slices.Collect(persistent.Difference(all[from], m)))
		}
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
		until := func(key int) bool { return key <= first+20 }
		inside := slices.DeleteFunc(after(slices.Sorted(maps.Keys(twin)), first), func(key int) bool { return !until(key) })
		require.ElementsMatch(t, inside, keys(m.While(first, until)))
		other := random.IntN(len(all))
		require.Equal(t, differences(twins[other], twin), slices.Collect(persistent.Difference(all[other], m)))
	}
}

// collected is the map of a twin's entries, in any order, behind others of the same keys.
func collected(random *rand.Rand, twin map[int]int) numbers {
	var entries []persistent.Entry[int, int]
	for key := range twin {
		entries = append(entries, persistent.Entry[int, int]{Key: key, Value: -1})
	}
	for key, value := range twin {
		entries = append(entries, persistent.Entry[int, int]{Key: key, Value: value})
	}
	half := entries[len(twin):]
	random.Shuffle(len(half), func(i, k int) { half[i], half[k] = half[k], half[i] })
	return persistent.Collect(cmp.Compare[int], entries)
}

// Collect has the shape that With gives, so that other maps are found to be the same without looking at each key.
func TestCollectIsWith(t *testing.T) {
	count := 0
	compare := func(a, b int) int {
		count++
		return cmp.Compare(a, b)
	}
	const size = 10_000
	one := persistent.New[int, int](compare)
	var entries []persistent.Entry[int, int]
	for i := range size {
		one = one.With(i*7919%size, i)
		entries = append(entries, persistent.Entry[int, int]{Key: i * 7919 % size, Value: i})
	}
	two := persistent.Collect(compare, entries)
	count = 0
	require.Empty(t, slices.Collect(persistent.Difference(one, two)))
	require.LessOrEqual(t, count, size, "nodes of one key meet")
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

// A caller that stops an iteration gets no further elements, wherever the difference is.
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
	for range m.While(7, func(int) bool { return true }) {
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
