package engine_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/internal/faults"
)

// byHand has the janitor do nothing by itself.
func byHand(config *engine.Config) { config.LeaseTTL = time.Hour }

// holders returns what each holder but versions holds of a node's memory; the sum of all is what is used.
func holders(t *testing.T, e *engine.Engine) map[string]int64 {
	t.Helper()
	status := e.Status(noderpc.Frontend{})
	list, sum := map[string]int64{}, int64(0)
	for _, h := range status.Holders {
		if sum += h.Bytes; h.Holder != "versions of tables" {
			list[h.Holder] += h.Bytes
		}
	}
	require.Equal(t, e.RegionStats().Used, sum, "%+v", status.Holders)
	return list
}

// An unowned extent that lives in a region is found and reported, and goes back unless its writer may store into it.
// What has a holder stays.
func TestStrays(t *testing.T) {
	e := open(t, byHand)
	s := session(t, e)
	rows(t, s, "CREATE TABLE t AS SELECT range AS i FROM range(100000)")
	ctx := context.Background()
	require.NoError(t, e.CheckSpace(ctx))
	require.Empty(t, holders(t, e))
	granted, err := e.Stray("granted")
	require.NoError(t, err)
	for _, stage := range []string{"sealed", "published"} {
		_, err := e.Stray(stage)
		require.NoError(t, err)
	}
	require.Positive(t, holders(t, e)[""])
	for range custody.Rounds - 1 {
		e.Sweep(ctx)
		require.Zero(t, e.Figures().Strays, "its holder may be about to pass it on")
	}
	used := e.RegionStats().Used
	e.Sweep(ctx)
	f := e.Figures()
	require.EqualValues(t, []int64{3, 2}, []int64{f.Strays, f.StraysTakenBack})
	require.Less(t, e.RegionStats().Used, used)
	e.Sweep(ctx)
	f = e.Figures()
	require.EqualValues(t, []int64{3, 2, 1}, []int64{f.Strays, f.StraysTakenBack, f.StraysNow}, "its writer may store into it")
	require.Equal(t, map[string]int64{"": f.StrayBytes}, holders(t, e))
	require.NoError(t, granted.Abort())
	e.Sweep(ctx)
	f = e.Figures()
	require.Zero(t, f.StraysNow+f.StrayBytes)
	require.NoError(t, e.CheckSpace(ctx))
	require.Equal(t, []string{"100000"}, rows(t, s, "SELECT count(*) FROM t"))
}

// A writer is named, from its first row to its commit.
func TestHoldersAreNamed(t *testing.T) {
	e := open(t, byHand)
	s, other := session(t, e), session(t, e)
	rows(t, s, "CREATE TABLE t (i BIGINT)")
	rows(t, s, "BEGIN")
	rows(t, s, "INSERT INTO t SELECT range FROM range(100000)")
	want := []string{"session 0 of postgres"}
	require.Equal(t, want, rows(t, other, "SELECT holder FROM csm.holders WHERE holder <> 'versions of tables'"))
	require.Positive(t, holders(t, e)[want[0]])
	for range custody.Rounds + 1 {
		e.Sweep(context.Background())
	}
	require.Zero(t, e.Figures().Strays)
	rows(t, s, "COMMIT")
	require.Empty(t, holders(t, e))
	require.Equal(t, []string{"100000"}, rows(t, other, "SELECT count(*) FROM t"))

	rows(t, s, "BEGIN")
	rows(t, s, "INSERT INTO t SELECT range FROM range(100000)")
	rows(t, s, "ROLLBACK")
	require.Empty(t, holders(t, e))
	require.NoError(t, e.CheckSpace(context.Background()))
	require.Zero(t, e.Figures().HeldTooLong)
}

// A node that has lost what another one granted it says so, and it goes back: what was granted, what was sealed, and what was published and no version
// has. What it has committed stays.
func TestANodeLosesWhatItWasGranted(t *testing.T) {
	t.Parallel()
	c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) { byHand(config) }}, 2)
	ctx := context.Background()
	lender, borrower := c.nodes[0], c.nodes[1]
	s := session(t, borrower)
	rows(t, s, "CREATE TABLE t WITH (placement = 'node(n0)') AS SELECT range AS i FROM range(100000)")
	renew := func() { require.NoError(t, borrower.RenewAt(ctx, "n0")) }
	for range 4 {
		renew()
		lender.Confirm(ctx)
	}
	require.NoError(t, lender.CheckSpace(ctx))
	before := lender.RegionStats().Used
	require.Positive(t, before)
	var lost []catalog.ExtentID
	for _, stage := range []string{"granted", "sealed", "published"} {
		id, err := borrower.Lose(ctx, "n0", stage)
		require.NoError(t, err)
		lost = append(lost, id)
	}
	require.Len(t, lost, 3)
	names := holders(t, lender)
	require.Len(t, names, 2, "%v", names)
	for name := range names {
		require.True(t, strings.HasPrefix(name, "node n1, "), name)
	}
	renew()
	lender.Confirm(ctx)
	require.Greater(t, lender.RegionStats().Used, before, "an answer may be on its way")
	for range custody.Rounds {
		lender.Sweep(ctx)
	}
	require.Zero(t, lender.Figures().Strays, "another node holds it")
	renew()
	lender.Confirm(ctx)
	require.Eventually(t, func() bool { return lender.RegionStats().Used == before }, 10*time.Second, 5*time.Millisecond, "what was published waits for the other node")
	require.NoError(t, lender.CheckSpace(ctx))
	require.Empty(t, holders(t, lender))
	require.Equal(t, []string{"100000"}, rows(t, s, "SELECT count(*) FROM t"))
}

// Without etcd a status has the last known state and the nodes that do not answer, which it asks concurrently.
func TestClusterStatusWithoutEtcd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := session(t, c.nodes[0])
	rows(t, s, "CREATE TABLE t WITH (placement = 'node(n1)') AS SELECT range AS i FROM range(1000)")
	before, err := c.nodes[0].ClusterStatus(t.Context())
	require.NoError(t, err)
	require.Empty(t, before.Trouble)
	require.NoError(t, c.etcd.Close())
	status, err := c.nodes[0].ClusterStatus(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, status.Trouble)
	require.Len(t, status.Etcd, 1)
	require.Equal(t, before.Etcd[0].Name, status.Etcd[0].Name)
	require.Contains(t, status.Etcd[0].Trouble, "does not answer")
	require.False(t, status.Etcd[0].Leader)
	require.Equal(t, before.Tables, status.Tables)
	require.Len(t, status.Nodes, 2)
	for _, n := range status.Nodes {
		require.Empty(t, n.Trouble, "the nodes are there")
	}
	c.stops[1]()
	status, err = c.nodes[0].ClusterStatus(t.Context())
	require.NoError(t, err)
	require.Empty(t, status.Nodes[0].Trouble)
	require.NotEmpty(t, status.Nodes[1].Trouble)
}

// What a node without news from the cluster knows is stale: it takes no memory for unowned, and takes none back.
func TestANodeThatHearsNothingSweepsNothing(t *testing.T) {
	t.Parallel()
	c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) { byHand(config) }}, 1)
	e, ctx := c.nodes[0], context.Background()
	for _, stage := range []string{"sealed", "published"} {
		_, err := e.Stray(stage)
		require.NoError(t, err)
	}
	require.NoError(t, c.etcd.Close())
	require.Eventually(t, func() bool { return e.Standing() != nil }, time.Minute, time.Millisecond)
	used := holders(t, e)[""]
	require.Positive(t, used)
	for range custody.Rounds + 1 {
		e.Sweep(ctx)
	}
	require.Zero(t, e.Figures().Strays)
	require.Equal(t, used, holders(t, e)[""])
}

// A commit of which etcd did not say whether it happened outlives its session, and so does what it has published: it has a holder of its own until
// the catalog knows.
func TestACommitInDoubtOutlivesItsSession(t *testing.T) {
	t.Parallel()
	var way deafWay
	c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) {
		byHand(config)
		config.Cluster.SessionTTL = time.Minute // longer than the silence
		config.Cluster.Endpoints[0] = way.to(t, config.Cluster.Endpoints[0])
	}}, 1)
	e := c.nodes[0]
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	rows(t, s, "CREATE TABLE t (i BIGINT)")
	c.onFault(func(_ int, point faults.Point) {
		if point == faults.CommitPublished {
			way.deafen()
		}
	})
	err = failing(s, "INSERT INTO t SELECT range FROM range(100000)")
	require.Equal(t, "08007", sqlState(err), "%v", err)
	c.onFault(nil)
	held := holders(t, e)
	require.Positive(t, held["commits of unknown outcome"], "%v", held)
	require.Len(t, held, 1)
	require.NoError(t, s.Close())
	require.Zero(t, e.Figures().HeldTooLong)
	require.Equal(t, held, holders(t, e))

	way.open()
	require.Eventually(t, func() bool { return len(holders(t, e)) == 0 }, time.Minute, 10*time.Millisecond, "it is known")
	require.NoError(t, e.CheckSpace(t.Context()))
	require.Equal(t, []string{"0"}, rows(t, session(t, e), "SELECT count(*) FROM t"))
	require.Zero(t, e.Figures().Strays)
}

// deafWay is a way to an etcd that can lose all that is said there.
type deafWay struct {
	mu   sync.Mutex
	deaf bool                  // guarded by mu
	ends map[net.Conn]struct{} // guarded by mu
}

// to gives the endpoint of the way to another one.
func (w *deafWay) to(t *testing.T, endpoint string) string {
	const kind = "unix://"
	path := filepath.Join(t.TempDir(), "way")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	w.ends = map[net.Conn]struct{}{}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", strings.TrimPrefix(endpoint, kind))
			if err != nil {
				near.Close()
				continue
			}
			w.mu.Lock()
			w.ends[near], w.ends[far] = struct{}{}, struct{}{}
			w.mu.Unlock()
			running.Go(func() { w.carry(near, far) })
			running.Go(func() { w.carry(far, near) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		w.open()
		running.Wait()
	})
	return kind + path
}

// carry takes what one end says to the other, unless it is lost.
func (w *deafWay) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		w.mu.Lock()
		deaf := w.deaf
		w.mu.Unlock()
		if deaf {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (w *deafWay) deafen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = true
}

// open ends the connections, of which something is lost: others can be made.
func (w *deafWay) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = false
	for end := range w.ends {
		end.Close()
	}
	clear(w.ends)
}
