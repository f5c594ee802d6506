package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A thread of DuckDB that finds the statement's context ended, before DuckDB is interrupted, says so in a way that DuckDB carries: else the user
// who cancels, or an engine that is closed (E6), is told of an internal error.
func TestAScanThatIsCancelledSaysSo(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT range AS i FROM range(10)")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	requireState(t, "57014", s.ReadFirstChunk(cancelled, "t"))
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	requireState(t, "57014", s.ReadFirstChunk(late, "t"))
	require.NoError(t, s.ReadFirstChunk(context.Background(), "t"))
}
