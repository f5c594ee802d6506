package enginetest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/internal/testfabric"
)

// nodes is a cluster in this process whose nodes come and go: an etcd and engines that reach each other by their sockets.
type nodes struct {
	t       *testing.T
	etcd    *etcd.Server
	dir     string // of all data; short, for the names of sockets are bounded
	memory  string // of the regions
	list    []*clusterNode
	cutOffs atomic.Pointer[distribute.Settings] // of all nodes; nil: the planner's own
	guess   func(int64) int64                   // instead of estimates, of nodes that come; nil: none
	log     tally
}

// clusterNode is one node. Its name stays with its data directory.
type clusterNode struct {
	name   string
	engine *engine.Engine
	stop   func() // ends its service
}

func openNodes(t *testing.T) *nodes {
	dir, err := os.MkdirTemp("", "csm")
	require.NoError(t, err)
	c := &nodes{t: t, dir: dir, memory: shmdir.For(t)}
	t.Cleanup(func() {
		for len(c.list) > 0 {
			c.shrink()
		}
		if c.etcd != nil {
			require.NoError(t, c.etcd.Close())
		}
		require.NoError(t, os.RemoveAll(dir))
	})
	c.etcd, err = etcd.Serve(t.Context(), etcd.ServerOptions{Directory: filepath.Join(dir, "etcd"), Name: "e"})
	require.NoError(t, err)
	return c
}

// resize lets nodes join or leave until there are n. A node that leaves takes its tables along.
func (c *nodes) resize(n int) {
	for len(c.list) < n {
		c.grow()
	}
	for len(c.list) > n {
		c.shrink()
	}
	require.EventuallyWithT(c.t, func(t *assert.CollectT) {
		for _, node := range c.list {
			require.Len(t, node.engine.Status(noderpc.Frontend{}).Regions, 1)
			s := openSession(c.t, node.engine)
			defer s.session.Close()
			require.Equal(t, []string{fmt.Sprint(n)}, s.ask(c.t, "SELECT count(*) FROM csm.nodes WHERE state = 'online'"))
		}
	}, 20*time.Second, 5*time.Millisecond)
}

func (c *nodes) grow() {
	name := fmt.Sprintf("n%d", len(c.list)+1)
	dir := filepath.Join(c.dir, name)
	socket := filepath.Join(dir, "csmsql.sock")
	e, err := engine.Open(context.Background(), engine.Config{
		Fabric:    testfabric.FromEnvironment(),
		Dialect:   engine.DialectDuckDB,
		Directory: dir, RegionDirectory: c.memory, Node: name, RegionBytes: 128 << 20, MemoryBytes: 512 << 20, Threads: 1 + len(c.list)%2,
		Log:     slog.New(&c.log),
		Cluster: &engine.Cluster{Endpoints: []string{c.etcd.Endpoint()}, Address: socket, SessionTTL: 10 * time.Second},
		Guesses: c.guess,
		CutOffs: func(s *distribute.Settings) {
			if cut := c.cutOffs.Load(); cut != nil {
				s.MinRows, s.MinBytes, s.MinGain, s.RemoteFactor = cut.MinRows, cut.MinBytes, cut.MinGain, cut.RemoteFactor
				s.StageBytes, s.ShuffleBytes, s.ShuffleGain, s.GatherRows = cut.StageBytes, cut.ShuffleBytes, cut.ShuffleGain, cut.GatherRows
			}
		},
	})
	require.NoError(c.t, err)
	listener, err := noderpc.ListenUnix(socket)
	require.NoError(c.t, err)
	serving, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- noderpc.NewServer(e.Service(noderpc.Frontend{}), e.ServerOptions()).Serve(serving, listener)
	}()
	c.list = append(c.list, &clusterNode{name, e, func() { cancel(); require.NoError(c.t, <-ended) }})
}

func (c *nodes) shrink() {
	last := c.list[len(c.list)-1]
	c.list = c.list[:len(c.list)-1]
	last.stop()
	require.NoError(c.t, last.engine.Close())
}

// requireEmpty: once nothing is on its way any more, no region holds anything.
func (c *nodes) requireEmpty() {
	require.EventuallyWithT(c.t, func(t *assert.CollectT) {
		for _, node := range c.list {
			for _, r := range node.engine.Status(noderpc.Frontend{}).Regions {
				require.Zero(t, r.Used, "%s holds %d unowned extents", node.name, r.Extents)
			}
		}
	}, 20*time.Second, 10*time.Millisecond)
}
