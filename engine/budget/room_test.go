package budget_test

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/budget"
)

// kept is what Go keeps of its heap, and could return.
func kept() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// leave has Go keep so much memory that is not needed.
func leave(bytes int) {
	var list [][]byte
	for range bytes >> 16 {
		list = append(list, make([]byte, 1<<16))
	}
	runtime.KeepAlive(list)
	list = nil
	runtime.GC()
}

// What Go keeps goes back in the end, in a process that is the node's own.
func TestTidyReturnsGoHeap(t *testing.T) {
	const much = 64 << 20
	none := func() int { return 0 }
	leave(much)
	budget.NewRoom(nil, nil, nil, none).Tidy()
	require.Greater(t, kept(), int64(much/4), "it is another program's")
	leave(much)
	budget.NewRoom(nil, nil, func(int64) {}, none).Tidy()
	require.Less(t, kept(), int64(much/8))
}

// A collection of much for little is not worth it.
func TestWorthFreeing(t *testing.T) {
	for _, c := range []struct {
		kept, used int64
		want       bool
	}{{0, 0, false}, {1<<20 - 1, 0, false}, {1 << 20, 0, true}, {1 << 20, 16 << 20, true}, {1 << 20, 17 << 20, false}, {64 << 20, 1 << 30, true}} {
		require.Equal(t, c.want, budget.WorthFreeing(c.kept, c.used), "%+v", c)
	}
}
