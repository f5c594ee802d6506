package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/bench/traffic"
	"github.com/csmsql/csmsql/engine"
)

// A query that names nothing has the same answer whatever is committed: its node does not ask etcd for the last commit,
// however long that takes beside writers. In a block it takes the snapshot that the next statements see, and asks.
func TestConstantQueriesAskNothing(t *testing.T) {
	t.Parallel()
	c := &cluster{t: t}
	socket := filepath.Join(t.TempDir(), "proxy")
	proxy, err := traffic.Listen(socket)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proxy.Close()) })
	c.change = func(node int, config *engine.Config) {
		if node == 1 {
			proxy.SetTarget(strings.TrimPrefix(c.etcd.Endpoint(), "unix://"))
			config.Cluster.Endpoints = []string{"unix://" + socket}
		}
	}
	startCluster(c, 2)
	s := c.session(1)
	exec(t, c.session(0), "CREATE TABLE t AS SELECT 7 AS i")
	const times = 60
	asked := func(ask func()) int64 {
		before, _ := proxy.Counts()
		for range times {
			ask()
		}
		after, _ := proxy.Counts()
		return after.ToServer.Messages - before.ToServer.Messages
	}
	prepared, err := s.Prepare(t.Context(), "SELECT 2")
	require.NoError(t, err)
	defer prepared.Close()
	require.Less(t, asked(func() { require.Equal(t, []string{"1"}, rows(t, s, "SELECT 1")) }), int64(times/2))
	require.Less(t, asked(func() {
		_, err := prepared.Exec(t.Context())
		require.NoError(t, err)
	}), int64(times/2))
	require.GreaterOrEqual(t, asked(func() { require.Equal(t, []string{"7"}, rows(t, s, "SELECT i FROM t")) }), int64(times))
	require.GreaterOrEqual(t, asked(func() {
		exec(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ")
		require.Equal(t, []string{"1"}, rows(t, s, "SELECT 1"))
		exec(t, s, "COMMIT")
	}), int64(times))
}
