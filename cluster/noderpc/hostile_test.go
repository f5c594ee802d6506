package noderpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/memregion"
)

// hostileNode sends what no correct one does; the client must not trust it (N5).
type hostileNode struct {
	nodepb.UnimplementedNodeServer
	hello       *nodepb.HelloResponse
	description *nodepb.Description
	status      *nodepb.StatusResponse
	events      []*nodepb.LoadEvent
	hostileLender
	hostileRunner
}

// The other services of a hostile node.
type (
	hostileLender struct {
		nodepb.UnimplementedLendingServer
		granted *nodepb.GrantResponse
	}
	hostileRunner struct {
		nodepb.UnimplementedFragmentsServer
		mu       sync.Mutex
		fragment []*nodepb.FragmentEvent
		linger   bool // stay after the events
	}
)

func (n *hostileLender) Grant(context.Context, *nodepb.GrantRequest) (*nodepb.GrantResponse, error) {
	return n.granted, nil
}

func (n *hostileRunner) Run(stream grpc.BidiStreamingServer[nodepb.FragmentControl, nodepb.FragmentEvent]) error {
	n.mu.Lock()
	events, linger := n.fragment, n.linger
	n.mu.Unlock()
	for _, event := range events {
		if err := stream.Send(event); err != nil {
			return err
		}
	}
	if linger {
		<-stream.Context().Done()
	}
	return nil
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
	n := &hostileNode{hello: &nodepb.HelloResponse{Protocol: noderpc.ProtocolVersion, Node: "evil", Incarnation: make([]byte, 16)}}
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	g := grpc.NewServer(grpc.WaitForHandlers(true))
	nodepb.RegisterNodeServer(g, n)
	nodepb.RegisterLendingServer(g, &n.hostileLender)
	nodepb.RegisterFragmentsServer(g, &n.hostileRunner)
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
		{Protocol: noderpc.ProtocolVersion + 1, Incarnation: make([]byte, 16)},
		{Protocol: noderpc.ProtocolVersion, Incarnation: make([]byte, 15)},
		{Protocol: noderpc.ProtocolVersion, Incarnation: make([]byte, 16), Node: "\x1b[31m"},
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
		{Tables: []*nodepb.TableStatus{{Name: "t", Chunks: 1, Missing: 2}}},
		{Tables: []*nodepb.TableStatus{{Name: "t", Source: strings.Repeat(long, 1000)}}},
		{Leases: []*nodepb.LeaseStatus{{Holder: long}}},
		{Leases: []*nodepb.LeaseStatus{{Domain: "\t"}}},
		{Leases: []*nodepb.LeaseStatus{{Revision: -1}}},
		{Counters: []*nodepb.Counter{{Name: "\x00"}}},
		{Workers: []*nodepb.WorkerStatus{{Crashes: -1}}},
		{Workers: []*nodepb.WorkerStatus{{Process: 1 << 40}}},
		{Overdue: []*nodepb.OverdueStatus{{Text: strings.Repeat(long, 1000)}}},
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

// plays sets what the next fragments get; the last one's handler may still be at work.
func (n *hostileRunner) plays(linger bool, events ...*nodepb.FragmentEvent) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fragment, n.linger = events, linger
}

func TestAHostileLender(t *testing.T) {
	n, path := serveHostile(t)
	c := dial(t, path)
	for _, m := range []*nodepb.GrantResponse{
		nil, {Generation: 1}, {Length: 8192}, {Generation: 1, Length: 4096}, {Generation: 1, Length: 5001}, {Generation: 1, Length: 8192, Offset: -4096},
		{Generation: 1, Length: 8192, Offset: 1}, {Generation: 1, Length: 8192, Offset: 1<<63 - 4096}, {Generation: 1, Length: 1<<63 - 4096}, {Generation: 1, Length: 8192, Class: 3},
	} {
		n.granted = m
		_, err := c.Grant(context.Background(), noderpc.GrantRequest{Size: 5000, Ticket: 1})
		require.ErrorIs(t, err, noderpc.ErrBadMessage, "%v", m)
		var e *noderpc.Error
		require.ErrorAs(t, err, &e)
		require.False(t, e.Answered, "what it has granted is unknown: the ticket goes back")
	}
}

func TestAHostileRunner(t *testing.T) {
	t.Parallel() // it waits for a clock
	n, path := serveHostile(t)
	c := dial(t, path)
	started := &nodepb.FragmentEvent{Event: &nodepb.FragmentEvent_Started{Started: &nodepb.FragmentStarted{Ttl: 1e9}}}
	alive := &nodepb.FragmentEvent{Event: &nodepb.FragmentEvent_Alive{Alive: &nodepb.Alive{Sequence: 77}}}
	result := func(r *nodepb.FragmentResult) *nodepb.FragmentEvent {
		return &nodepb.FragmentEvent{Event: &nodepb.FragmentEvent_Result{Result: r}}
	}
	progress := func(p *nodepb.FragmentProgress) *nodepb.FragmentEvent {
		return &nodepb.FragmentEvent{Event: &nodepb.FragmentEvent_Progress{Progress: p}}
	}
	good := sealedChunk(t, 1, 10).Encoded()
	for name, events := range map[string][]*nodepb.FragmentEvent{
		"nothing":             {},
		"no result":           {started},
		"result before start": {result(&nodepb.FragmentResult{})},
		"started twice":       {started, started},
		"no TTL":              {{Event: &nodepb.FragmentEvent_Started{}}},
		"negative TTL":        {{Event: &nodepb.FragmentEvent_Started{Started: &nodepb.FragmentStarted{Ttl: -1}}}},
		"an empty event":      {started, {}},
		"an unsent word":      {started, alive},
		"negative progress":   {started, progress(&nodepb.FragmentProgress{Rows: -1})},
		"negative total":      {started, result(&nodepb.FragmentResult{Total: &nodepb.FragmentProgress{BytesRemote: -1}})},
		"no descriptor":       {started, result(&nodepb.FragmentResult{Chunks: [][]byte{[]byte("x")}})},
		"too few rows":        {started, result(&nodepb.FragmentResult{Chunks: [][]byte{good}, Rows: 11})},
		"too many rows":       {started, result(&nodepb.FragmentResult{Chunks: [][]byte{good}, Rows: 9})},
		"negative rows":       {started, result(&nodepb.FragmentResult{Rows: -1})},
	} {
		n.plays(false, events...)
		_, err := c.RunFragment(context.Background(), fragment(), anywhere)
		require.ErrorIs(t, err, noderpc.ErrBadMessage, name)
	}

	// A descriptor outside of its owner's regions.
	refusals := refusal.New(silent())
	for _, foreign := range [][]byte{sealedChunk(t, 2, 10).Encoded()} {
		n.plays(false, started, result(&nodepb.FragmentResult{Chunks: [][]byte{foreign}, Rows: 10}))
		_, err := c.RunFragment(context.Background(), fragment(), noderpc.FragmentOptions{Lends: lends, Refusals: refusals})
		require.ErrorIs(t, err, noderpc.ErrForeignMemory)
		require.Equal(t, "08P01", state(t, err))
	}
	n.plays(false, started, result(&nodepb.FragmentResult{Chunks: [][]byte{good}, Rows: 10}))
	_, err := c.RunFragment(context.Background(), fragment(), noderpc.FragmentOptions{
		Lends: func(memregion.RegionID) (int64, bool) { return 4096, true }, Refusals: refusals,
	})
	require.ErrorIs(t, err, noderpc.ErrForeignMemory, "beyond the region's end")
	require.EqualValues(t, 2, refusals.Calls(refusal.Descriptor))

	// After the result.
	for _, more := range [][]*nodepb.FragmentEvent{{alive}, {started}, {result(&nodepb.FragmentResult{})}, {{}}} {
		n.plays(true, append([]*nodepb.FragmentEvent{started, result(&nodepb.FragmentResult{})}, more...)...)
		run, err := c.RunFragment(context.Background(), fragment(), anywhere)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return errors.Is(run.Check(), noderpc.ErrFragmentOver) }, 5*time.Second, time.Millisecond)
		require.ErrorIs(t, run.Close(), noderpc.ErrBadMessage)
	}
	// N12: a node that answers no word is not trusted for longer than its TTL.
	n.plays(true, &nodepb.FragmentEvent{Event: &nodepb.FragmentEvent_Started{Started: &nodepb.FragmentStarted{Ttl: 5e7}}}, result(&nodepb.FragmentResult{}))
	run, err := c.RunFragment(context.Background(), fragment(), anywhere)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return run.Check() != nil }, 5*time.Second, time.Millisecond)
	require.Error(t, run.Close())
}

// What our client never sends: nothing of it reaches the lender, and it is counted.
func TestAHostileBorrower(t *testing.T) {
	l := &fakeLender{}
	refusals := refusal.New(silent())
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{Lender: l, Refusals: refusals})
	conn, ctx := raw(t, path)
	rpc := nodepb.NewLendingClient(conn)
	good := &nodepb.Extent{Region: 1, Generation: 1}
	calls := 0
	refuse := func(err error) {
		calls++
		require.Error(t, err, "call %d", calls)
	}
	for _, m := range []*nodepb.GrantRequest{
		{}, {Size: 1}, {Ticket: 1}, {Ticket: 1, Size: -1}, {Ticket: 1, Size: 1<<63 - 1}, {Ticket: 1, Size: 1, Owner: strings.Repeat("x", 1025)},
		{Ticket: 1, Size: 1, Process: &nodepb.Process{Id: -1}}, {Ticket: 1, Size: 1, Process: &nodepb.Process{Id: 1 << 40}},
		{Ticket: 1, Size: 1, Process: &nodepb.Process{Boot: "\x1b"}},
	} {
		_, err := rpc.Grant(ctx, m)
		refuse(err)
	}
	for _, m := range []*nodepb.ReallocateRequest{{}, {Extent: good}, {Extent: good, Ticket: 1, Size: 5, Used: 6}, {Ticket: 1, Size: 5}, {Extent: good, Ticket: 1, Size: 1 << 62}} {
		_, err := rpc.Reallocate(ctx, m)
		refuse(err)
	}
	for _, m := range []*nodepb.SealRequest{{}, {Extent: good}, {Extent: good, Keep: -4096}, {Extent: good, Keep: 4096, Length: 4097}, {Extent: good, Keep: 4096, Length: -1}, {Keep: 4096}} {
		_, err := rpc.Seal(ctx, m)
		refuse(err)
	}
	for _, list := range [][]*nodepb.Extent{{nil}, {{Region: 1}}, {good, good}, make([]*nodepb.Extent, noderpc.MaxExtents+1)} {
		_, err := rpc.Publish(ctx, &nodepb.PublishRequest{Extents: list})
		refuse(err)
		_, err = rpc.Free(ctx, &nodepb.FreeRequest{Extents: list})
		refuse(err)
		_, err = rpc.Pin(ctx, &nodepb.PinRequest{Extents: list})
		refuse(err)
		_, err = rpc.Unpin(ctx, &nodepb.PinRequest{Extents: list})
		refuse(err)
	}
	_, err := rpc.Free(ctx, &nodepb.FreeRequest{Tickets: make([]uint64, noderpc.MaxExtents+1)})
	refuse(err)
	for _, m := range []*nodepb.LeftRequest{{Region: 1}, {Domain: strings.Repeat("x", 256)}, {Domain: "n", Flushed: make([]uint64, noderpc.MaxExtents+1)}} {
		_, err := rpc.Left(ctx, m)
		refuse(err)
	}
	_, err = rpc.Held(ctx, &nodepb.HeldRequest{Disclaimed: make([]uint64, noderpc.MaxExtents+1)})
	refuse(err)
	require.EqualValues(t, calls, refusals.Calls(refusal.Argument))
	require.Empty(t, l.heard())

	node := nodepb.NewNodeClient(conn)
	for _, x := range []*nodepb.SealedExtent{
		{Generation: 1}, {Length: 4096}, {Generation: 1, Length: 4096, Offset: 1}, {Generation: 1, Length: 4096, Offset: -4096}, {Generation: 1, Length: 4096, Sealed: 4097},
		{Generation: 1, Length: 4096, Sealed: -1}, {Generation: 1, Length: 1 << 62}, {Generation: 1, Length: 1},
	} {
		_, err := node.Acquire(ctx, &nodepb.AcquireRequest{Extents: []*nodepb.SealedExtent{x}})
		require.Error(t, err, x.String())
	}
	_, err = node.Acquire(ctx, &nodepb.AcquireRequest{Extents: make([]*nodepb.SealedExtent, noderpc.MaxExtents+1)})
	require.Error(t, err)

	_, err = rpc.Grant(ctx, &nodepb.GrantRequest{Ticket: 1, Size: 1})
	require.NoError(t, err, "or nothing of this proves anything")
	require.Equal(t, "30313233343536373839616263646566", l.peers[0].Incarnation.String())
}

// A caller whose stream says what makes no sense.
func TestAHostileCoordinatorOfFragments(t *testing.T) {
	f := &fakeFragments{run: result()}
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{Fragments: f})
	for name, controls := range map[string][]*nodepb.FragmentControl{
		"alive before the request": {rawAlive(1)},
		"nothing":                  {{}},
		"two requests":             {rawRequest(), rawRequest()},
		"a bad request":            {{Control: &nodepb.FragmentControl_Request{Request: &nodepb.FragmentRequest{Revision: -1, Query: "q"}}}},
		"an empty request":         {{Control: &nodepb.FragmentControl_Request{}}},
	} {
		stream := rawFragment(t, path)
		for _, control := range controls {
			require.NoError(t, stream.Send(control), name)
		}
		var err error
		for err == nil {
			_, err = stream.Recv()
		}
		require.NotErrorIs(t, err, io.EOF, name)
	}
	stream := rawFragment(t, path)
	require.NoError(t, stream.CloseSend())
	_, err := stream.Recv()
	require.ErrorContains(t, err, "ended the fragment")
	require.LessOrEqual(t, len(f.requests), 1)
}
