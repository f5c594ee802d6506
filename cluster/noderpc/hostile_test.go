package noderpc_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// hostileNode sends what no correct one does; the client must not believe it (N5).
type hostileNode struct {
	nodepb.UnimplementedNodeServer
	hello       *nodepb.HelloResponse
	description *nodepb.Description
	status      *nodepb.StatusResponse
	events      []*nodepb.LoadEvent
}

func (n *hostileNode) Hello(context.Context, *nodepb.HelloRequest) (*nodepb.HelloResponse, error) {
	return n.hello, nil
}

func (n *hostileNode) Describe(context.Context, *nodepb.DescribeRequest) (*nodepb.Description, error) {
	return n.description, nil
}

func (n *hostileNode) Status(context.Context, *nodepb.StatusRequest) (*nodepb.StatusResponse, error) {
	return n.status, nil
}

func (n *hostileNode) Load(_ *nodepb.LoadRequest, stream grpc.ServerStreamingServer[nodepb.LoadEvent]) error {
	for _, event := range n.events {
		if err := stream.Send(event); err != nil {
			return err
		}
	}
	return nil
}

func serveHostile(t *testing.T) (*hostileNode, string) {
	n := &hostileNode{hello: &nodepb.HelloResponse{Protocol: 1, Node: "evil", Incarnation: make([]byte, 16)}}
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	g := grpc.NewServer(grpc.WaitForHandlers(true))
	nodepb.RegisterNodeServer(g, n)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	t.Cleanup(func() {
		g.Stop()
		require.NoError(t, <-served)
	})
	return n, path
}

func TestAHostileHello(t *testing.T) {
	n, path := serveHostile(t)
	for _, hello := range []*nodepb.HelloResponse{
		{},
		{Protocol: 2, Incarnation: make([]byte, 16)},
		{Protocol: 1, Incarnation: make([]byte, 15)},
		{Protocol: 1, Incarnation: make([]byte, 16), Node: "\x1b[31m"},
	} {
		n.hello = hello
		_, err := noderpc.Dial(context.Background(), path)
		require.ErrorIs(t, err, noderpc.ErrBadMessage)
		require.Equal(t, "08P01", state(t, err))
	}
}

func TestAHostileLoad(t *testing.T) {
	n, path := serveHostile(t)
	c := dial(t, path)
	progress := func(p *nodepb.Progress) *nodepb.LoadEvent {
		return &nodepb.LoadEvent{Event: &nodepb.LoadEvent_Progress{Progress: p}}
	}
	result := func(r *nodepb.LoadResult) *nodepb.LoadEvent {
		return &nodepb.LoadEvent{Event: &nodepb.LoadEvent_Result{Result: r}}
	}
	for _, events := range [][]*nodepb.LoadEvent{
		{},
		{progress(&nodepb.Progress{})},
		{{}},
		{progress(&nodepb.Progress{Rows: -1}), result(nil)},
		{progress(&nodepb.Progress{Step: string(make([]byte, 300))}), result(nil)},
		{result(&nodepb.LoadResult{Chunks: -1})},
		{result(nil), result(nil)},
		{result(nil), progress(nil)},
	} {
		n.events = events
		_, err := c.Load(context.Background(), loadRequest(), nil)
		require.ErrorIs(t, err, noderpc.ErrBadMessage, "%v", events)
	}
	n.events = []*nodepb.LoadEvent{result(nil)}
	_, err := c.Load(context.Background(), loadRequest(), nil)
	require.NoError(t, err)
}

func TestAHostileStatus(t *testing.T) {
	n, path := serveHostile(t)
	c := dial(t, path)
	long := string(make([]byte, 5000))
	for _, m := range []*nodepb.StatusResponse{
		{Node: &nodepb.NodeStatus{Name: "\n"}},
		{Node: &nodepb.NodeStatus{Process: 1 << 40}},
		{Node: &nodepb.NodeStatus{Revision: -1}},
		{Node: &nodepb.NodeStatus{Frontend: &nodepb.Frontend{Address: "nowhere"}}},
		{Node: &nodepb.NodeStatus{Frontend: &nodepb.Frontend{SocketDirectory: []byte("relative")}}},
		{Regions: []*nodepb.RegionStatus{nil}},
		{Tables: []*nodepb.TableStatus{{Rows: -1}}},
		{Tables: []*nodepb.TableStatus{{Name: long}}},
		{Leases: []*nodepb.LeaseStatus{{Holder: long}}},
		{Leases: []*nodepb.LeaseStatus{{Domain: "\t"}}},
		{Leases: []*nodepb.LeaseStatus{{Revision: -1}}},
		{Counters: []*nodepb.Counter{{Name: "\x00"}}},
	} {
		n.status = m
		_, err := c.Status(context.Background())
		require.ErrorIs(t, err, noderpc.ErrBadMessage, "%v", m)
	}
	n.description = &nodepb.Description{LeaseTtl: 1}
	_, err := c.Describe(context.Background())
	require.ErrorIs(t, err, noderpc.ErrBadMessage)
	_, err = c.Page(context.Background(), [16]byte{}) // it does not have the method
	require.ErrorIs(t, err, noderpc.ErrBadMessage)
}
