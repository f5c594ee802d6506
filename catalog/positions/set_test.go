package positions_test

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/positions"
)

// random draws a set of a random density, with runs, and its naive twin.
func random(rng *rand.Rand, rows int64) (*positions.Set, map[int64]bool) {
	s, twin := positions.New(rows), map[int64]bool{}
	share := []float64{0, 0.001, 0.01, 0.3, 0.9, 1}[rng.IntN(6)]
	for at := int64(0); at < rows; at++ {
		if rng.Float64() >= share {
			continue
		}
		for run := int64(1 + rng.IntN(3)*rng.IntN(40)); run > 0 && at < rows; run-- {
			s.Add(at)
			twin[at] = true
			at++
		}
	}
	return s, twin
}

// PO1: what is written is read again, and all that is asked of a set is what a naive one says.
func TestAgainstNaiveTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		rows := int64(1 + rng.IntN([]int{3, 64, 65, 5000}[rng.IntN(4)]))
		s, twin := random(rng, rows)
		other, otherTwin := random(rng, rows)
		check := func(s *positions.Set, twin map[int64]bool) {
			require.Equal(t, int64(len(twin)), s.Count())
			want := slices.Sorted(maps.Keys(twin))
			require.Equal(t, want, slices.Collect(s.All()))
			var in, out []int64
			for from, to := range s.Runs() {
				require.False(t, s.Has(from-1) || s.Has(to), "a run is whole")
				for ; from < to; from++ {
					in = append(in, from)
				}
			}
			require.Equal(t, want, in)
			for from, to := range s.Absent() {
				for ; from < to; from++ {
					require.False(t, s.Has(from))
					out = append(out, from)
				}
			}
			if s != nil {
				require.Len(t, out, int(rows)-len(twin))
			}
		}
		check(s, twin)
		encoded := s.Encode()
		require.LessOrEqual(t, len(encoded), int(rows+7)/8+binary.MaxVarintLen64+1)
		count, err := positions.CountOf(encoded, rows)
		require.NoError(t, err)
		require.Equal(t, s.Count(), count)
		again, err := positions.Decode(encoded, rows)
		require.NoError(t, err)
		check(again, twin)
		common := false
		for at := range otherTwin {
			common = common || twin[at]
			require.True(t, other.Has(at))
		}
		require.Equal(t, common, positions.Meets(s, other))
		maps.Copy(otherTwin, twin)
		check(positions.Union(s, other), otherTwin)
		check(s, twin) // PO2
	}
}

// One row in a hundred costs less than two bytes a row, and no set more than a bit a row.
func TestSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const rows = 122880
	s := positions.New(rows)
	for s.Count() < rows/100 {
		s.Add(rng.Int64N(rows))
	}
	require.Less(t, len(s.Encode()), 2*rows/100)
	all := positions.New(rows)
	for at := range int64(rows) {
		all.Add(at)
	}
	require.Less(t, len(all.Encode()), 10)
}

// PO1.
func TestWhatIsNoSetIsRefused(t *testing.T) {
	for name, data := range map[string][]byte{
		"no count": {0x80}, "none": {0}, "more than rows": {11, 1, 0}, "no form": {1}, "another form": {1, 9},
		"fewer than said": {2, 1, 0}, "more than said": {1, 1, 0, 0}, "beyond the rows": {1, 1, 20},
		"a run beyond": {9, 1, 5, 7}, "a run's length is missing": {2, 1, 1},
		"bits short": {1, 2, 1}, "bits long": {1, 2, 1, 0, 0},
		"a bit beyond": {1, 2, 0, 0x80}, "a great gap": {1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
	} {
		_, err := positions.Decode(data, 10)
		require.ErrorIs(t, err, positions.ErrEncoding, name)
	}
	s, err := positions.Decode(nil, 10)
	require.NoError(t, err)
	require.Nil(t, s)
	require.Zero(t, s.Count())
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{3, 1, 1, 1}, int64(10))
	f.Add([]byte{1, 2, 4, 0}, int64(10))
	f.Fuzz(func(t *testing.T, data []byte, rows int64) {
		rows = max(0, min(rows, 1<<16))
		s, err := positions.Decode(data, rows)
		if err != nil || s == nil {
			return
		}
		require.Equal(t, int(s.Count()), len(slices.Collect(s.All())))
		again, err := positions.Decode(s.Encode(), rows)
		require.NoError(t, err)
		require.Equal(t, s.Words(), again.Words())
	})
}
