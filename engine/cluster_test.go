package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
)

// clusterTTL is the nodes' session: a loaded machine must not fence them off.
const clusterTTL = 5 * time.Second

// cluster is an etcd and some nodes over it, all in this process.
type cluster struct {
	t      *testing.T
	etcd   *etcd.Server
	dir    string
	memory string // of the regions
	nodes  []*engine.Engine
	stops  []func()                                           // end the nodes' services
	fault  atomic.Pointer[func(node int, point faults.Point)] // of every node
	log    *slog.Logger                                       // of nodes that are opened from then on; nil: none
	repair time.Duration                                      // likewise, RepairAfter; 0: never
	change func(node int, config *engine.Config)              // likewise; nil: nothing
}

func newCluster(t *testing.T, nodes int) *cluster { return newRepairingCluster(t, nodes, 0) }

func newRepairingCluster(t *testing.T, nodes int, repair time.Duration) *cluster {
	return startCluster(&cluster{t: t, repair: repair}, nodes)
}

// startCluster is for callers that set more of the fields.
func startCluster(c *cluster, nodes int) *cluster {
	t := c.t
	c.dir, c.memory = t.TempDir(), shmDirectory(t)
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
	log := c.log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	config := engine.Config{
		Dialect:   engine.DialectDuckDB,
		Directory: filepath.Join(c.dir, name), RegionDirectory: c.memory, Node: name, RegionBytes: 64 << 20, MemoryBytes: 512 << 20, Log: log,
		Fault:   func(point faults.Point) { c.at(i, point) },
		Cluster: &engine.Cluster{Endpoints: []string{c.etcd.Endpoint()}, Address: filepath.Join(c.dir, name, "csmsql.sock"), SessionTTL: clusterTTL, RepairAfter: cmp.Or(c.repair, -1)},
	}
	if c.change != nil {
		c.change(i, &config)
	}
	e, err := engine.Open(c.t.Context(), config)
	require.NoError(c.t, err)
	c.serve(i, e)
	return e
}

// serve has others reach a node, until its stop is called.
func (c *cluster) serve(i int, e *engine.Engine) {
	listener, err := noderpc.ListenUnix(filepath.Join(c.dir, fmt.Sprintf("n%d", i), "csmsql.sock"))
	require.NoError(c.t, err)
	serving, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- noderpc.NewServer(e.Service(noderpc.Frontend{}), e.ServerOptions()).Serve(serving, listener)
	}()
	end := sync.OnceFunc(func() {
		stop()
		require.NoError(c.t, <-ended)
	})
	for len(c.stops) <= i {
		c.stops = append(c.stops, nil)
	}
	c.stops[i] = end
	c.t.Cleanup(end)
}

// onFault has every node tell of its fault points, from whatever goroutine reaches them; nil: it is over.
func (c *cluster) onFault(tell func(node int, point faults.Point)) { c.fault.Store(&tell) }

func (c *cluster) at(node int, point faults.Point) {
	if tell := c.fault.Load(); tell != nil && *tell != nil {
		(*tell)(node, point)
	}
}

// stop ends a node: first its server stops, then it leaves.
func (c *cluster) stop(i int) {
	c.stops[i]()
	require.NoError(c.t, c.nodes[i].Close())
	c.nodes[i] = nil
}

func (c *cluster) session(i int) *engine.Session {
	s, err := c.nodes[i].Session(engine.SessionOptions{})
	require.NoError(c.t, err)
	c.t.Cleanup(func() { s.Close() })
	return s
}

// What one node commits every node sees at once and reads in place.
func TestClusterSeesCommits(t *testing.T) {
	t.Parallel()
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

// A table whose chunks lie in three nodes' memory is asked by all of them, each reading its own part.
func TestClusterSplitsQueries(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	exec(t, c.session(0), "CREATE TABLE t (k INTEGER, a BIGINT)")
	for i := range 3 {
		exec(t, c.session(i), fmt.Sprintf("INSERT INTO t SELECT range %% 7, range + %d FROM range(100000)", i*100000))
	}
	for i := range 3 {
		s := c.session(i)
		exec(t, s, "SET csm.distribute = 'always'")
		plan := strings.Join(rows(t, s, "EXPLAIN SELECT sum(a) FROM t"), "\n")
		require.Contains(t, plan, "on n0", plan)
		require.Contains(t, plan, "on n2", plan)
		require.Equal(t, []string{"44999850000"}, rows(t, s, "SELECT sum(a)::BIGINT FROM t"))
		require.Equal(t, []string{"0|42858", "1|42858", "2|42858", "3|42858", "4|42858", "5|42855", "6|42855"},
			rows(t, s, "SELECT k, count(*) FROM t GROUP BY k ORDER BY k"))
		require.Equal(t, []string{"3|3"}, rows(t, s, "SELECT count(*), count(DISTINCT node) FROM csm.chunks WHERE name = 't'"))
		require.Equal(t, []string{"3|true"}, rows(t, s, "SELECT fragments, bytes_remote = 0 FROM csm.queries WHERE query LIKE 'SELECT k,%' ORDER BY started DESC LIMIT 1"))
		require.Equal(t, []string{"n0|online", "n1|online", "n2|online"}, rows(t, s, "SELECT name, state FROM csm.nodes ORDER BY name"))
		require.Equal(t, []string{"6.5"}, rows(t, s, "SELECT 6.5 FROM t WHERE a = 299999"))
	}
}

// A process that attaches to one node reads tables that lie in the memory of all, for no longer than its node may promise.
func TestClusterIsAttachedTo(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	exec(t, c.session(0), "CREATE TABLE t WITH (placement = 'rows') AS SELECT range AS a FROM range(3000000)")
	borrower, err := engine.AttachWith(t.Context(), filepath.Join(c.dir, "n1", "csmsql.sock"), engine.Config{Dialect: engine.DialectDuckDB, MemoryBytes: 256 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, borrower.Close()) }()
	s, err := borrower.Session(engine.SessionOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"4499998500000|3"}, rows(t, s, "SELECT sum(a)::BIGINT, (SELECT count(DISTINCT node) FROM csm.chunks) FROM t"))
	exec(t, c.session(2), "INSERT INTO t SELECT range FROM range(3000000, 4000000)")
	require.Equal(t, []string{"4000000"}, rows(t, s, "SELECT count(*) FROM t WHERE a >= 0"))

	// The node that it is attached to promises a part of its own session, which the others keep.
	client, err := noderpc.Dial(t.Context(), filepath.Join(c.dir, "n1", "csmsql.sock"))
	require.NoError(t, err)
	defer client.Close()
	lease, err := client.Lease(t.Context(), catalog.Holder{Domain: "d", Description: "test"})
	require.NoError(t, err)
	require.Equal(t, clusterTTL/4, lease.Record.TTL)
	require.NoError(t, client.Release(t.Context(), lease.ID()))
}

// A node that has nothing of a table reads nothing as its part of it, also in a text that reads the table whole elsewhere: it had taken the one
// scan for the other, and every row was there once more.
func TestAnEmptyPartIsNotTheWholeTable(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t (k BIGINT, a BIGINT) WITH (placement = 'hash(k)')")
	exec(t, s, "INSERT INTO t VALUES (1, 10), (1, 20), (1, 30)") // on one node
	exec(t, s, "CREATE TABLE u (k BIGINT, b TEXT) WITH (placement = 'hash(k)')")
	exec(t, s, "INSERT INTO u SELECT i, 'x' FROM range(40) r(i)")
	const sql = "SELECT t.a, (SELECT min(w.a) FROM t AS w WHERE w.a > t.a) FROM t LEFT JOIN u USING (k) WHERE t.a < 30 OR u.b IS NULL"
	exec(t, s, "SET csm.distribute = always")
	require.Contains(t, explain(t, s, sql), "0 of 0 chunks of t")
	require.Equal(t, []string{"10|20", "20|30"}, sorted(rows(t, s, sql)))
}

// Memory that a node was to get back while it could not be reached comes back when it can.
func TestMemoryIsGivenBackLater(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t (a BIGINT) WITH (placement = 'node(n1)')")
	used := func() int64 { return c.nodes[1].RegionStats().Used }
	before := used()
	exec(t, s, "BEGIN; INSERT INTO t SELECT * FROM range(1000)")
	require.Greater(t, used(), before)
	c.stops[1]()
	exec(t, s, "ROLLBACK")
	require.Greater(t, used(), before, "it has not heard")
	c.serve(1, c.nodes[1])
	waitUntil(t, "n1 has its memory back", func() bool { return used() == before })
}

// TestWritesToANodeThatDoesNotListen: a node that has ended a moment ago is still on record. A session
// that writes there finds no server: 08006, as if the node had ended a moment later.
func TestWritesToANodeThatDoesNotListen(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t (a BIGINT) WITH (placement = 'node(n1)')")
	c.stops[1]()
	fails(t, s, "08006", "INSERT INTO t VALUES (1)")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM t"))
}
