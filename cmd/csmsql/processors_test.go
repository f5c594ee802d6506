package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Go has more processors than there are while there are many sessions, and no more for few, or where the environment says it.
func TestProcessorsForManySessions(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	t.Cleanup(runtime.SetDefaultGOMAXPROCS)
	usual := runtime.GOMAXPROCS(0)
	p := &processors{}
	for _, step := range []struct{ sessions, spare int }{
		{1, 0}, {crowd, 0}, {crowd + 1, spareProcessors}, {100, spareProcessors}, {crowd/2 + 1, spareProcessors}, {crowd / 2, 0}, {crowd, 0}, {0, 0},
	} {
		p.follow(step.sessions)
		require.Equal(t, usual+step.spare, runtime.GOMAXPROCS(0), step.sessions)
	}
	t.Setenv("GOMAXPROCS", "1")
	p.follow(100)
	require.Equal(t, usual, runtime.GOMAXPROCS(0))
}
