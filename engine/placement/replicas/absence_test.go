package replicas_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/placement/replicas"
)

func TestAbsence(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	known := []string{"a", "b", "c"}
	a := replicas.NewAbsence(10 * time.Second)
	require.Empty(t, a.Observe(at(0), known, []string{"a"}))
	require.Empty(t, a.Observe(at(9), known, []string{"a"}))
	require.False(t, a.Long("b"))
	require.Equal(t, []string{"b", "c"}, a.Observe(at(10), known, []string{"a"}))
	require.True(t, a.Long("b"))
	require.False(t, a.Long("a"))
	require.Empty(t, a.Observe(at(11), known, []string{"a"}), "it is reported once")
	require.Empty(t, a.Observe(at(12), known, []string{"a", "b"}))
	require.False(t, a.Long("b"), "back again")
	require.Empty(t, a.Observe(at(13), known, []string{"a"}))
	require.Empty(t, a.Observe(at(22), known, []string{"a"}), "the time restarts")
	require.Equal(t, []string{"b"}, a.Observe(at(23), known, []string{"a"}))
	never := replicas.NewAbsence(0)
	never.Observe(at(0), known, nil)
	require.Empty(t, never.Observe(at(1_000_000), known, nil))
	require.False(t, never.Long("a"))
}
