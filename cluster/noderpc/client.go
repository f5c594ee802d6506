package noderpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// Client reaches one process of one node. Safe for concurrent use; calls share one connection. Every error has an
// SQLSTATE (N7); everything that comes back was checked (N5).
type Client struct {
	conn *grpc.ClientConn
	// One stub for each of the node's services.
	rpc            nodepb.NodeClient
	lending        nodepb.LendingClient
	coordination   nodepb.CoordinationClient
	administration nodepb.AdministrationClient
	fragments      nodepb.FragmentsClient

	name        string      // for errors
	local       bool        // over the node's unix socket
	node        string      // immutable from here on
	incarnation Incarnation // of the node's process
	header      metadata.MD

	mu struct {
		sync.Mutex
		// keys of the leases that were taken and neither released nor reported as over; at most MaxLeases.
		keys map[catalog.LeaseID][]byte
	}
}

func newClient(conn *grpc.ClientConn, name string) *Client {
	c := &Client{
		conn: conn, name: name, rpc: nodepb.NewNodeClient(conn), lending: nodepb.NewLendingClient(conn),
		coordination: nodepb.NewCoordinationClient(conn), administration: nodepb.NewAdministrationClient(conn), fragments: nodepb.NewFragmentsClient(conn),
	}
	c.mu.keys = map[catalog.LeaseID][]byte{}
	return c
}

// Node is the node's name.
func (c *Client) Node() string { return c.node }

// Local reports whether the node is on this machine for sure, and knows which process this is: it is reached over its
// unix socket.
func (c *Client) Local() bool { return c.local }

// Incarnation is that of the node's process that this client belongs to.
func (c *Client) Incarnation() Incarnation { return c.incarnation }

// Close ends the connection and all calls. Leases that were not released end by themselves.
func (c *Client) Close() error { return c.conn.Close() }

// String names the node and where it is.
func (c *Client) String() string { return c.name }

// call prepares a context: every call has an end.
func (c *Client) call(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = c.outgoing(ctx)
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, callTimeout)
}

// outgoing adds the header that names the calling process and the called one.
func (c *Client) outgoing(ctx context.Context) context.Context {
	return metadata.NewOutgoingContext(ctx, c.header)
}

// failed names what was done; ctx is the caller's, so that a call's own timeout is the node's fault and not the
// caller's.
func (c *Client) failed(ctx context.Context, doing string, err error) error {
	return errorOf(ctx, c.name, doing, err)
}

// Describe says what the node is and lends.
func (c *Client) Describe(ctx context.Context) (Description, error) {
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.rpc.Describe(call, &nodepb.DescribeRequest{})
	if err != nil {
		return Description{}, c.failed(ctx, "describe", err)
	}
	return decodeDescription(m)
}

// Lease takes a snapshot. TTL 0 of the holder takes the node's own.
func (c *Client) Lease(ctx context.Context, holder catalog.Holder) (Lease, error) {
	if err := checkHolder(holder); err != nil {
		return Lease{}, badArgument("lease: %v", err)
	}
	if err := c.reserveKey(); err != nil {
		return Lease{}, err
	}
	call, cancel := c.call(ctx)
	defer cancel()
	sent := Now() // before anything is sent (N1)
	m, err := c.rpc.Lease(call, encodeHolder(holder))
	if err != nil {
		return Lease{}, c.failed(ctx, "take a snapshot", err)
	}
	record, err := decodeLease(m)
	if err != nil {
		return Lease{}, err // it ends by itself
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.keys[record.Lease] != nil {
		return Lease{}, badMessage("%s gave lease %d twice", c.name, record.Lease)
	}
	c.mu.keys[record.Lease] = m.GetLease().GetKey()
	return Lease{Record: record, Sent: sent}, nil
}

// reserveKey only looks: calls under way may go past the bound by their number.
func (c *Client) reserveKey() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.mu.keys) >= MaxLeases {
		return TooManyLeases()
	}
	return nil
}

// TooManyLeases is the error of a process that holds MaxLeases.
func TooManyLeases() error {
	return &Error{
		State: stateBusy, Cause: ErrTooManyLeases, Message: fmt.Sprintf("%v: this process holds %d", ErrTooManyLeases, MaxLeases),
		HintText: "Close results and transactions that are not needed any more.",
	}
}

// Page returns a page of descriptors; it implements catalog.Pages, whose user checks that the bytes are the page's.
func (c *Client) Page(ctx context.Context, id catalog.PageID) ([]byte, error) {
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.rpc.Page(call, &nodepb.PageRequest{Id: id[:]})
	if err != nil {
		return nil, c.failed(ctx, fmt.Sprintf("get page %v", id), err)
	}
	return m.GetData(), nil
}

// Renew lets leases live on and returns those that are over: the caller must not read under them any more. At most
// MaxLeases in one call.
func (c *Client) Renew(ctx context.Context, leases []catalog.LeaseID) (over []catalog.LeaseID, err error) {
	if len(leases) > MaxLeases {
		return nil, badArgument("renew: %d leases, %d are allowed in one call", len(leases), MaxLeases)
	}
	tokens, over := c.take(leases, false)
	if len(tokens) == 0 {
		return over, nil
	}
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.rpc.Renew(call, &nodepb.RenewRequest{Leases: tokens})
	if err != nil {
		return nil, c.failed(ctx, "renew leases", err)
	}
	return c.forget(m.GetOver(), tokens, over)
}

// take gives the tokens of leases, and which of them this client does not hold.
func (c *Client) take(leases []catalog.LeaseID, remove bool) (tokens []*nodepb.LeaseToken, unknown []catalog.LeaseID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range leases {
		key := c.mu.keys[id]
		if key == nil {
			unknown = append(unknown, id)
			continue
		}
		tokens = append(tokens, &nodepb.LeaseToken{Id: uint64(id), Key: key})
		if remove {
			delete(c.mu.keys, id)
		}
	}
	return tokens, unknown
}

// forget drops the keys of leases that are over; a node that names leases which were not asked about is an error.
func (c *Client) forget(ended []uint64, asked []*nodepb.LeaseToken, over []catalog.LeaseID) ([]catalog.LeaseID, error) {
	waiting := make(map[uint64]bool, len(asked))
	for _, token := range asked {
		waiting[token.GetId()] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ended {
		if !waiting[id] {
			return nil, badMessage("%s says that lease %d is over, which it was not asked", c.name, id)
		}
		delete(waiting, id) // once is enough
		delete(c.mu.keys, catalog.LeaseID(id))
		over = append(over, catalog.LeaseID(id))
	}
	return over, nil
}

// Release ends leases. One that is over already is an error of kind catalog.ErrLeaseOver; the others are released all
// the same. Whatever the error, none is held afterwards: what the node did not hear of ends by itself.
func (c *Client) Release(ctx context.Context, leases ...catalog.LeaseID) error {
	tokens, unknown := c.take(leases, true)
	var failed error
	if len(unknown) > 0 {
		failed = &Error{State: stateSnapshotOld, Message: fmt.Sprintf("release lease %d: %v", unknown[0], catalog.ErrLeaseOver), Cause: catalog.ErrLeaseOver}
	}
	if len(tokens) == 0 {
		return failed
	}
	call, cancel := c.call(ctx)
	defer cancel()
	if _, err := c.rpc.Release(call, &nodepb.ReleaseRequest{Leases: tokens}); err != nil {
		return c.failed(ctx, "release leases", err)
	}
	return failed
}

// Acquire has the node make extents safe to load for this process, which is of the same machine. A lease keeps them in
// place.
func (c *Client) Acquire(ctx context.Context, extents ...descriptor.Extent) error {
	call, cancel := c.call(ctx)
	defer cancel()
	_, err := c.rpc.Acquire(call, &nodepb.AcquireRequest{Extents: encodeSealed(extents)})
	return c.failed(ctx, fmt.Sprintf("acquire %d extents", len(extents)), err)
}

// Status says how the node is.
func (c *Client) Status(ctx context.Context) (Status, error) {
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.rpc.Status(call, &nodepb.StatusRequest{})
	if err != nil {
		return Status{}, c.failed(ctx, "status", err)
	}
	return decodeStatus(m)
}

// Load has the node read files into a table. progress (nil: not reported) is called on this goroutine. When the
// context ends, the load ends and nothing of it is seen. It has no time limit but the context's.
func (c *Client) Load(ctx context.Context, request LoadRequest, progress func(Progress)) (LoadResult, error) {
	if err := request.check(); err != nil {
		return LoadResult{}, badArgument("load: %v", err)
	}
	doing := fmt.Sprintf("load table %v", request.Table)
	call, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	stream, err := c.rpc.Load(call, encodeLoad(request))
	if err != nil {
		return LoadResult{}, c.failed(ctx, doing, err)
	}
	result, err := followLoad(stream, progress)
	return result, c.failed(ctx, doing, err)
}

// LoadTPCH has the node generate the TPC-H tables; see Load.
func (c *Client) LoadTPCH(ctx context.Context, request TPCHRequest, progress func(Progress)) error {
	if err := request.check(); err != nil {
		return badArgument("load TPC-H: %v", err)
	}
	call, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	stream, err := c.rpc.LoadTPCH(call, encodeTPCH(request))
	if err != nil {
		return c.failed(ctx, "load TPC-H", err)
	}
	_, err = followLoad(stream, progress)
	return c.failed(ctx, "load TPC-H", err)
}

// followLoad reads progress until the result and the end of the stream.
func followLoad(stream grpc.ServerStreamingClient[nodepb.LoadEvent],
	progress func(Progress)) (result LoadResult, err error) {
	err = follow(stream, progress, func(m *nodepb.LoadEvent) (err error) {
		event, ok := m.GetEvent().(*nodepb.LoadEvent_Result)
		if !ok {
			return errUnknownEvent
		}
		result, err = decodeResult(event.Result)
		return err
	})
	return result, err
}

var errUnknownEvent = badMessage("a node reported what this program does not know")

// follow reads progress until the event that is the result, which finish decodes, and the end of the stream.
func follow(stream grpc.ServerStreamingClient[nodepb.LoadEvent], progress func(Progress),
	finish func(*nodepb.LoadEvent) error) error {
	finished := false
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && finished:
			return nil
		case errors.Is(err, io.EOF):
			return badMessage("a node ended without a result")
		case err != nil:
			return err
		case finished:
			return badMessage("a node went on after its result")
		}
		if event, ok := m.GetEvent().(*nodepb.LoadEvent_Progress); ok {
			p, err := decodeProgress(event.Progress)
			if err != nil {
				return err
			}
			if progress != nil {
				progress(p)
			}
			continue
		}
		if err := finish(m); err != nil {
			return err
		}
		finished = true
	}
}
