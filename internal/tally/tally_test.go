package tally_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/tally"
)

// TY1.
func TestSizes(t *testing.T) {
	var s tally.Sizes
	for _, members := range []int{1, 1, 2, 3, 4, 5, 256, 257, 0} {
		s.Add(members)
	}
	require.Equal(t, int64(8), s.Groups())
	require.Equal(t, int64(1+1+2+3+4+5+256+257), s.Members())
	got := map[int64]int64{}
	s.Each(func(bound, groups int64) { got[bound] = groups })
	require.Equal(t, map[int64]int64{1: 2, 2: 3, 4: 5, 8: 6, 16: 6, 32: 6, 64: 6, 128: 6, 256: 7}, got)
}
