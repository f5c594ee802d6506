package memregion_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/memregion"
)

func TestPageSetAgainstNaiveTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 300).Draw(t, "size")
		real, naive := memregion.NewPageSet(size), make([]bool, size)
		span := func(t *rapid.T) (low, high int64) {
			low = rapid.Int64Range(0, size).Draw(t, "low")
			return low, rapid.Int64Range(low, size).Draw(t, "high")
		}
		mark := func(low, high int64, in bool) {
			for i := low; i < high; i++ {
				naive[i] = in
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":    func(t *rapid.T) { low, high := span(t); real.Add(low, high); mark(low, high, true) },
			"remove": func(t *rapid.T) { low, high := span(t); real.Remove(low, high); mark(low, high, false) },
			"": func(t *rapid.T) {
				low, high := span(t)
				count, all := int64(0), int64(0)
				next, previous := map[bool]int64{true: high, false: high}, map[bool]int64{}
				for i := size - 1; i >= 0; i-- {
					if naive[i] {
						all++
					}
					if i >= low && i < high {
						next[naive[i]] = i
						if naive[i] {
							count++
						}
					}
				}
				for i := range high {
					previous[naive[i]] = i + 1
				}
				require.Equal(t, all, real.Count())
				require.Equal(t, count, real.CountIn(low, high))
				part := memregion.NewPageSet(size)
				part.Add(low, high)
				require.Equal(t, count, real.Common(part))
				for _, in := range []bool{true, false} {
					require.Equal(t, next[in], real.Next(low, high, in), "next %v from %d below %d", in, low, high)
					require.Equal(t, previous[in], real.Previous(high, in), "previous %v before %d", in, high)
				}
			},
		})
	})
}
