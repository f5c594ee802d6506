package statistics_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/statistics"
)

// A sketch is what it was after it was packed, whatever its registers are; those of few and of many values are small.
func TestPackedSketches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		s := statistics.NewSketch()
		filled, spread := rng.IntN(len(s)+1), 1+rng.IntN(57)
		for _, i := range rng.Perm(len(s))[:filled] {
			s[i] = byte(rng.IntN(spread))
		}
		require.Equal(t, s, statistics.Unpack(s.Pack()))
		switch {
		case filled < 40:
			require.LessOrEqual(t, len(s.Pack()), 1+2*filled)
		case filled == len(s) && spread <= 15:
			require.Len(t, s.Pack(), 130)
		}
	}
	for _, damaged := range [][]byte{
		nil, {2}, {0, 1}, {1}, make([]byte, 130)[:129], append([]byte{1}, make([]byte, 130)...),
	} {
		if s := statistics.Unpack(damaged); s != nil {
			require.Zero(t, damaged[0])
		}
	}
}
