package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// Go's heap has the limit that the engine says, and etcd's part when it is in the process, unless the environment says otherwise.
func TestHeapHasLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "")
	limitHeap(1<<30, false)
	alone := debug.SetMemoryLimit(-1)
	require.EqualValues(t, 1<<30, alone)
	limitHeap(1<<30, true)
	require.Greater(t, debug.SetMemoryLimit(-1), alone)
	debug.SetMemoryLimit(5 << 30)
	t.Setenv("GOMEMLIMIT", "5GiB")
	limitHeap(1<<30, false)
	require.EqualValues(t, 5<<30, debug.SetMemoryLimit(-1))
}
