package engine_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/engine"
)

// cluster is an etcd and some nodes over it, all in this process.
type cluster struct {
	t     *testing.T
	etcd  *etcd.Server
	dir   string
	nodes []*engine.Engine
}

func newCluster(t *testing.T, nodes int) *cluster {
	c := &cluster{t: t, dir: t.TempDir()}
	server, err := etcd.Serve(t.Context(), etcd.ServerOptions{
		Directory: filepath.Join(c.dir, "etcd"), Name: "e",
	})
	require.NoError(t, err)
	c.etcd = server
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	for i := range nodes {
		c.nodes = append(c.nodes, c.open(i))
	}
	t.Cleanup(func() {
		for _, e := range c.nodes {
			if e != nil {
				require.NoError(t, e.Close())
			}
		}
	})
	return c
}

func (c *cluster) open(i int) *engine.Engine {
	name := fmt.Sprintf("n%d", i)
	e, err := engine.Open(c.t.Context(), engine.Config{
		Directory: filepath.Join(c.dir, name), Node: name, RegionBytes: 64 << 20, MemoryBytes: 512 << 20, Log: slog.New(slog.DiscardHandler),
		Cluster: &engine.Cluster{Endpoints: []string{c.etcd.Endpoint()}, Address: filepath.Join(c.dir, name, "csmsql.sock"), SessionTTL: 2 * time.Second},
	})
	require.NoError(c.t, err)
	return e
}

func (c *cluster) session(i int) *engine.Session {
	s, err := c.nodes[i].Session(engine.SessionOptions{})
	require.NoError(c.t, err)
	c.t.Cleanup(func() { s.Close() })
	return s
}

// What one node commits every node sees at once and reads in place.
func TestClusterSeesCommits(t *testing.T) {
	c := newCluster(t, 3)
	for i := range 3 {
		exec(t, c.session(i), fmt.Sprintf("CREATE TABLE t%d AS SELECT range AS a FROM range(100000)", i))
	}
	for i := range 3 {
		for k := range 3 {
			require.Equal(t, []string{"4999950000"}, rows(t, c.session(i), fmt.Sprintf("SELECT sum(a)::BIGINT FROM t%d", k)))
		}
		require.Equal(t, []string{"300000"}, rows(t, c.session(i), "FROM (FROM t0 UNION ALL FROM t1 UNION ALL FROM t2) SELECT count(*)"))
	}
}
