package worker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/worker"
)

func TestRecentKeepsWhatWasUsedLast(t *testing.T) {
	r := worker.Recent[int]{Most: 3}
	is := func(n int) func(int) bool { return func(m int) bool { return m == n } }
	for n := range 3 {
		_, goes := r.Add(n)
		require.False(t, goes)
	}
	used, found := r.Use(is(0))
	require.True(t, found)
	require.Equal(t, 0, used)
	gone, goes := r.Add(3)
	require.True(t, goes)
	require.Equal(t, 1, gone, "0 was used after it")
	_, found = r.Use(is(1))
	require.False(t, found)
	_, found = r.Use(is(2))
	require.True(t, found)
	r.Drop()
	_, found = r.Use(is(2))
	require.False(t, found)
	_, goes = r.Add(4)
	require.False(t, goes, "there was room")
}
