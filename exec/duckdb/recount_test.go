package duckdb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// An allocation that DuckDB has counted, and that fails, does not stay on its count. The count would be too low if DuckDB took
// it off as well as recount.c: this test is red when a later DuckDB does.
func TestRefusedMemoryIsNotCounted(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory cannot be distinguished")
	}
	const (
		times   = 20
		buffers = "SELECT memory_usage_bytes::varchar FROM duckdb_memory() WHERE tag = 'ALLOCATOR'"
		refused = "SELECT length(list(i)) FROM range(3000000) r(i)" // of 24 MB, in arenas
		needy   = "SELECT length(list(i)) FROM range(2000000) r(i)"
	)
	// The process has hardly any left, so that memory_limit does not come first.
	statements := []string{buffers, fmt.Sprint("hold ", 136<<20)}
	for range times {
		statements = append(statements, refused)
	}
	out := runMeasured(t, append(statements, "release", buffers, needy, buffers)...)
	require.Len(t, out, times+4)
	require.Equal(t, []string{"0"}, out[0].Rows)
	for _, m := range out[1 : 1+times] {
		require.Equal(t, "53200", m.State, m.Message)
	}
	require.Equal(t, []string{"0"}, out[1+times].Rows, "after %q", out[times].Message)
	require.Empty(t, out[2+times].State, out[2+times].Message)
	require.Equal(t, []string{"2000000"}, out[2+times].Rows)
	require.Equal(t, []string{"0"}, out[3+times].Rows)
}
