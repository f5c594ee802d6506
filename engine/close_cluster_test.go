package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// TestCloseInCluster: a node is closed while it runs statements, parts of other nodes' statements and holds their results, and while others
// write into its memory; its server answers on. Its own users get ErrClosed; the others' statements fail for want of
// the node, or not at all.
func TestCloseInCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	exec(t, c.session(0), "CREATE TABLE t (k INTEGER, a BIGINT) WITH (placement = 'rows')")
	exec(t, c.session(0), "INSERT INTO t SELECT range % 7, range FROM range(300000)")
	spread := map[string]work{
		"aggregates": asking("SET csm.distribute = 'always'", "SELECT k, count(*), sum(a) FROM t GROUP BY k", "SELECT sum(a) FROM t WHERE a % 3 = 1"),
		"results":    asking("SET csm.distribute = 'always'", "SELECT * FROM t WHERE a > 100000"),
		"writing":    asking("CREATE OR REPLACE TABLE w WITH (placement = 'rows') AS SELECT * FROM t", "INSERT INTO w SELECT * FROM t"),
	}
	others := make(chan map[string]error, 1)
	begun := make(chan struct{})
	go func() {
		others <- crowd(t, c.nodes[0], spread, func([]*engine.Session) { close(begun) })
	}()
	<-begun
	delete(spread, "writing") // both would conflict with each other
	mine := crowd(t, c.nodes[1], spread, func([]*engine.Session) { require.NoError(t, c.nodes[1].Close()) })
	for name, err := range mine {
		require.ErrorIs(t, err, engine.ErrClosed, name)
	}
	requireClosed(t, c.nodes[1])
	for name, err := range <-others { // each fails, because a part of the table is not there
		require.False(t, errors.Is(err, engine.ErrClosed), "%s: %v", name, err)
		require.NotEqual(t, "XX000", sqlState(err), "%s: %v", name, err)
	}
	require.Equal(t, []string{"1"}, rows(t, c.session(0), "SELECT 1"))
	require.ErrorIs(t, c.nodes[1].Drain(context.Background(), "n2", nil), engine.ErrClosed)
}
