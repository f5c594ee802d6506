package coherence

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOldFlushAgrees runs CLFLUSH, which processors without CLFLUSHOPT use, over the same edges.
func TestOldFlushAgrees(t *testing.T) {
	page := guarded(t)
	line := probed(t).LineSize()
	for from := range 2*line + 1 {
		for size := 1; size <= 3*line; size++ {
			require.Equal(t, naiveLines(from, from+size, line), flushOld(&page[from], size, line))
			tail := len(page) - from - size
			require.Equal(t, naiveLines(tail, tail+size, line), flushOld(&page[tail], size, line))
		}
	}
	require.Zero(t, flushOld(&page[5], 0, line))
	require.Zero(t, flushOpt(&page[5], 0, line))
}
