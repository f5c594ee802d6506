package noderpc_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/memregion"
)

// fakeNode keeps leases in a map. Fields that are functions replace what it does.
type fakeNode struct {
	describe func() (noderpc.Description, error)
	lease    func(ctx context.Context, holder catalog.Holder) (*catalog.SnapshotRecord, error)
	tables   func(lease catalog.LeaseID, asked record.TablesAsked) (record.TablesAnswer, error)
	page     func(id catalog.PageID) ([]byte, error)
	await    func(ctx context.Context, seen map[catalog.TableID]uint64) ([]catalog.TableID, error)
	status   func(ctx context.Context) (noderpc.Status, error)
	load     func(ctx context.Context, request noderpc.LoadRequest, progress func(noderpc.Progress)) (noderpc.LoadResult, error)

	active atomic.Int64 // calls of lease, status and load under way

	mu       sync.Mutex
	leases   map[catalog.LeaseID]catalog.Holder
	next     catalog.LeaseID
	released []catalog.LeaseID
	tpch     noderpc.TPCHRequest
	peer     noderpc.Peer
	acquired []descriptor.Extent
}

const testTTL = 3 * time.Second

func testRegion() noderpc.Region {
	return noderpc.Region{Spec: memregion.Spec{
		ID: 7, Base: 0x4000_0000_0000, Capacity: 1 << 30, Fabric: memregion.FabricShm, Path: "/dev/shm/a\xffb", BootID: "boot",
	}, Trusted: 42}
}

func testDescription() noderpc.Description {
	return noderpc.Description{
		Node: "local", Catalog: "c0ffee", Domain: "home", Regions: []noderpc.Region{testRegion()}, LeaseTTL: testTTL,
		Frontend: noderpc.Frontend{SocketDirectory: "/run/csmsql", Address: "127.0.0.1:5433"}, Version: "v1", Started: time.Unix(1e9, 5),
	}
}

func testStatus() noderpc.Status {
	r := testRegion()
	return noderpc.Status{
		Node: noderpc.NodeStatus{Name: "local", Version: "v1", Started: time.Unix(1e9, 5), Process: 9, Catalog: "c0ffee", Revision: 3, Domain: "home"},
		Regions: []noderpc.RegionStatus{{
			ID: r.ID, Node: "local", Fabric: r.Fabric, Path: r.Path, Base: r.Base, Capacity: r.Capacity, Used: 8192, Reserved: 1 << 20, Extents: 2,
		}},
		Tables:   []noderpc.TableStatus{{Schema: "public", Name: "a\n\"b", Rows: 10, Bytes: 80, Chunks: 1, Version: 4}},
		Leases:   []noderpc.LeaseStatus{{ID: 1, Domain: "d", Holder: "me", Since: time.Unix(1e9, 0), Revision: 3}},
		Counters: []noderpc.Counter{{Name: "grants_total", Value: 1 << 63}, {Name: "flushes_total", Step: "clean", Value: 2}},
		Holders:  []noderpc.HolderStatus{{Holder: "session 5 of anna", Extents: 3, Bytes: 1 << 40}, {Extents: 1}},
		Workers:  []noderpc.WorkerStatus{{Process: 10, Started: time.Unix(1e9, 0), Busy: true, Statements: 3, Crashes: 1, Kills: 2}},
		Overdue:  []noderpc.OverdueStatus{{Session: 7, User: "anna", Text: "SELECT\n1", Since: time.Unix(1e9, 0), Reason: "canceled"}},
	}
}

func (n *fakeNode) Describe(context.Context) (noderpc.Description, error) {
	if n.describe != nil {
		return n.describe()
	}
	return testDescription(), nil
}

func (n *fakeNode) Lease(ctx context.Context, holder catalog.Holder) (*catalog.SnapshotRecord, error) {
	n.active.Add(1)
	defer n.active.Add(-1)
	n.mu.Lock()
	n.peer = noderpc.PeerOf(ctx)
	n.mu.Unlock()
	if n.lease != nil {
		return n.lease(ctx, holder)
	}
	return n.grant(holder), nil
}

func (n *fakeNode) grant(holder catalog.Holder) *catalog.SnapshotRecord {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.leases == nil {
		n.leases = map[catalog.LeaseID]catalog.Holder{}
	}
	if holder.TTL == 0 {
		holder.TTL = testTTL
	}
	n.next++
	n.leases[n.next] = holder
	return &catalog.SnapshotRecord{
		Revision: 3, Lease: n.next, TTL: holder.TTL, Schemas: []string{"public"},
		Regions: []catalog.RegionRecord{{Spec: testRegion().Spec, Node: "local", Generations: 99}},
	}
}

func (n *fakeNode) Acquire(_ context.Context, extents []descriptor.Extent) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.acquired = append(n.acquired, extents...)
	return nil
}

func (n *fakeNode) Tables(_ context.Context, lease catalog.LeaseID, asked record.TablesAsked) (record.TablesAnswer, error) {
	if n.tables != nil {
		return n.tables(lease, asked)
	}
	return record.TablesAnswer{Answered: len(asked.Names)}, nil
}

func (n *fakeNode) Page(_ context.Context, id catalog.PageID) ([]byte, error) {
	if n.page != nil {
		return n.page(id)
	}
	return append([]byte("page "), id[:]...), nil
}

func (n *fakeNode) Renew(_ context.Context, leases []catalog.LeaseID) (over []catalog.LeaseID, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range leases {
		if _, ok := n.leases[id]; !ok {
			over = append(over, id)
		}
	}
	return over, nil
}

func (n *fakeNode) Release(_ context.Context, lease catalog.LeaseID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.leases[lease]; !ok {
		return fmt.Errorf("release lease %d: %w", lease, catalog.ErrLeaseOver)
	}
	delete(n.leases, lease)
	n.released = append(n.released, lease)
	return nil
}

func (n *fakeNode) Await(ctx context.Context, seen map[catalog.TableID]uint64) ([]catalog.TableID, error) {
	if n.await != nil {
		return n.await(ctx, seen)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (n *fakeNode) Status(ctx context.Context) (noderpc.Status, error) {
	n.active.Add(1)
	defer n.active.Add(-1)
	if n.status != nil {
		return n.status(ctx)
	}
	return testStatus(), nil
}

func (n *fakeNode) Load(ctx context.Context, request noderpc.LoadRequest, progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
	n.active.Add(1)
	defer n.active.Add(-1)
	if n.load != nil {
		return n.load(ctx, request, progress)
	}
	progress(noderpc.Progress{Step: request.Files[0], Rows: 5, RowsTotal: 10})
	return noderpc.LoadResult{Rows: 10, Bytes: 80, Chunks: 1, Revision: 4}, nil
}

func (n *fakeNode) LoadTPCH(_ context.Context, request noderpc.TPCHRequest, progress func(noderpc.Progress)) error {
	n.mu.Lock()
	n.tpch = request
	n.mu.Unlock()
	for _, table := range []string{"region", "nation"} {
		progress(noderpc.Progress{Step: table, Rows: 1, RowsTotal: 1})
	}
	return nil
}

func (n *fakeNode) Verify(_ context.Context, request noderpc.VerifyRequest, progress func(noderpc.Progress)) (noderpc.VerifyResult, error) {
	result := noderpc.VerifyResult{Damaged: []noderpc.DamagedReplica{}}
	for _, t := range request.Tables {
		progress(noderpc.Progress{Step: t.Name, Rows: 1, RowsTotal: 1})
		result.Tables++
		result.Damaged = append(result.Damaged, noderpc.DamagedReplica{Schema: t.Schema, Table: t.Name, Chunk: 1, Rows: 1, Node: "a", Reason: "torn"})
	}
	return result, nil
}

func (n *fakeNode) held() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.leases)
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// serve starts a server over a unix socket; the test's end stops it and sees to it that no call is under way (N8).
func serve(t testing.TB, node *fakeNode, options noderpc.ServerOptions) (path string, stop func()) {
	path = filepath.Join(t.TempDir(), "csmsql.sock")
	listener, err := noderpc.ListenUnix(path)
	require.NoError(t, err)
	return path, serveOn(t, node, options, listener)
}

func serveOn(t testing.TB, node *fakeNode, options noderpc.ServerOptions, listener net.Listener) (stop func()) {
	options.Name = "local"
	if options.Log == nil {
		options.Log = silent()
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- noderpc.NewServer(node, options).Serve(ctx, listener) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-served)
			require.Zero(t, node.active.Load(), "a call outlived Serve")
		})
	}
	t.Cleanup(stop)
	return stop
}

func dial(t testing.TB, target string) *noderpc.Client {
	c, err := noderpc.Dial(context.Background(), target)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func state(t testing.TB, err error) string {
	var stated interface{ SQLState() string }
	require.ErrorAs(t, err, &stated)
	return stated.SQLState()
}

// nodeEnvironment makes this test binary a node of its own, so that it can be killed.
const nodeEnvironment = "CSMSQL_TEST_NODE_SOCKET"

func TestMain(m *testing.M) {
	if path := os.Getenv(nodeEnvironment); path != "" {
		listener, err := noderpc.ListenUnix(path)
		if err == nil {
			fmt.Println("ready")
			node := &fakeNode{load: func(ctx context.Context, _ noderpc.LoadRequest, progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
				progress(noderpc.Progress{Step: "half"})
				<-ctx.Done()
				return noderpc.LoadResult{}, ctx.Err()
			}}
			err = noderpc.NewServer(node, noderpc.ServerOptions{Name: "local", Log: silent()}).Serve(context.Background(), listener)
		}
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
