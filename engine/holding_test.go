package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/custody"
)

// byHand has the janitor do nothing by itself.
func byHand(config *engine.Config) { config.LeaseTTL = time.Hour }

// holders is who holds what of a node's memory, beside versions; what all have together is what is used.
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

// What lives in a region and is nobody's is found and told, and goes back unless its writer may store into it. What is somebody's stays.
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
		require.Zero(t, e.Figures().Strays, "whoever passes it on may be about to")
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

// Whoever writes is named, from the first row on to the commit.
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
	require.Zero(t, lender.Figures().Strays, "somebody holds it")
	renew()
	lender.Confirm(ctx)
	require.Eventually(t, func() bool { return lender.RegionStats().Used == before }, 10*time.Second, 5*time.Millisecond, "what was published waits for the other node")
	require.NoError(t, lender.CheckSpace(ctx))
	require.Empty(t, holders(t, lender))
	require.Equal(t, []string{"100000"}, rows(t, s, "SELECT count(*) FROM t"))
}

// Without etcd a status says what was last heard, and who does not answer, and does not wait for one after the other.
func TestClusterStatusWithoutEtcd(t *testing.T) {
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

// What a node believes that does not hear from the cluster is of yesterday: it finds nobody's memory in nothing, and takes nothing back.
func TestANodeThatHearsNothingSweepsNothing(t *testing.T) {
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
