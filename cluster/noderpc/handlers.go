package noderpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// handlers decode, check, call the node, encode. Errors become statuses in around.
type handlers struct {
	nodepb.UnimplementedNodeServer
	server *Server
	during *serving
}

// protocolVersion changes when an older peer would misunderstand.
const protocolVersion = 2 // 1: pages of the catalog had other keys

func (h handlers) Hello(_ context.Context, m *nodepb.HelloRequest) (*nodepb.HelloResponse, error) {
	if m.GetProtocol() != protocolVersion {
		return nil, &Error{
			State: stateNoConnect, Cause: ErrBadMessage,
			Message:  fmt.Sprintf("node %s speaks protocol %d, the caller %d", h.server.options.Name, protocolVersion, m.GetProtocol()),
			HintText: "Use the same version of csmsql on both sides.",
		}
	}
	return &nodepb.HelloResponse{Protocol: protocolVersion, Node: text(h.server.options.Name, maxNameBytes), Incarnation: h.server.options.Incarnation[:]}, nil
}

func (h handlers) Describe(ctx context.Context, _ *nodepb.DescribeRequest) (*nodepb.Description, error) {
	d, err := h.server.node.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return encodeDescription(d), nil
}

func (h handlers) Lease(ctx context.Context, m *nodepb.LeaseRequest) (*nodepb.LeaseResponse, error) {
	holder, err := decodeHolder(m)
	if err != nil {
		return nil, err
	}
	record, err := h.server.node.Lease(ctx, holder)
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, errNoRecord
	}
	answer, err := h.grant(ctx, record)
	if err != nil { // the lease will never have a holder
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return nil, errors.Join(err, h.server.node.Release(release, record.Lease))
	}
	return answer, nil
}

func (h handlers) grant(ctx context.Context, record *catalog.SnapshotRecord) (*nodepb.LeaseResponse, error) {
	if err := checkTTL(record.TTL); err != nil { // N3
		return nil, fmt.Errorf("the node's mistake: lease %d: %w", record.Lease, err)
	}
	answer := &nodepb.LeaseResponse{Snapshot: record.Encode(), Lease: h.server.tokens.make(record.Lease), Ttl: int64(record.TTL)}
	if err := h.server.checkSize(answer); err != nil {
		return nil, err
	}
	return answer, ctx.Err()
}

func (h handlers) Page(ctx context.Context, m *nodepb.PageRequest) (*nodepb.PageResponse, error) {
	var id catalog.PageID
	if len(m.GetId()) != len(id) {
		return nil, badArgument("page: its identifier has %d bytes, not %d", len(m.GetId()), len(id))
	}
	data, err := h.server.node.Page(ctx, catalog.PageID(m.GetId()))
	if err != nil {
		return nil, err
	}
	return &nodepb.PageResponse{Data: data}, nil
}

// split separates the leases that the caller holds from those that it does not, or that were given by a former process
// of the node (N4).
func (h handlers) split(ctx context.Context, what string,
	list []*nodepb.LeaseToken) (held []catalog.LeaseID, foreign []uint64, err error) {
	if len(list) > MaxLeases {
		return nil, nil, badArgument("%s: %d leases, %d are allowed", what, len(list), MaxLeases)
	}
	for _, token := range list {
		if h.server.tokens.check(token) {
			held = append(held, catalog.LeaseID(token.GetId()))
		} else {
			foreign = append(foreign, token.GetId())
		}
	}
	if len(foreign) > 0 {
		h.server.logRefused(ctx, what, foreign[0])
	}
	return held, foreign, nil
}

func (h handlers) Renew(ctx context.Context, m *nodepb.RenewRequest) (*nodepb.RenewResponse, error) {
	held, foreign, err := h.split(ctx, "renew", m.GetLeases())
	if err != nil {
		return nil, err
	}
	answer := &nodepb.RenewResponse{Over: foreign}
	if len(held) == 0 {
		return answer, nil
	}
	over, err := h.server.node.Renew(ctx, held)
	if err != nil {
		return nil, err
	}
	for _, id := range over {
		answer.Over = append(answer.Over, uint64(id))
	}
	return answer, nil
}

// Release goes as far as it can.
func (h handlers) Release(ctx context.Context, m *nodepb.ReleaseRequest) (*nodepb.ReleaseResponse, error) {
	held, foreign, err := h.split(ctx, "release", m.GetLeases())
	if err != nil {
		return nil, err
	}
	var failed error
	if len(foreign) > 0 {
		failed = fmt.Errorf("release lease %d: %w", foreign[0], catalog.ErrLeaseOver)
	}
	for _, id := range held {
		if err := h.server.node.Release(ctx, id); err != nil && failed == nil {
			failed = err // one is enough: there may be thousands
		}
	}
	return &nodepb.ReleaseResponse{}, failed
}

// Acquire is for those whose caches are the node's.
func (h handlers) Acquire(ctx context.Context, m *nodepb.AcquireRequest) (*nodepb.AcquireResponse, error) {
	if p := PeerOf(ctx); !p.Known {
		return nil, &Error{
			State: stateAuthorization, Message: fmt.Sprintf("acquire: %v is no process of this machine", p),
			HintText: "Attach over the node's unix socket.",
		}
	}
	extents, err := decodeSealed(m.GetExtents())
	if err != nil {
		return nil, err
	}
	return &nodepb.AcquireResponse{}, h.server.node.Acquire(ctx, extents)
}

func (h handlers) Status(ctx context.Context, _ *nodepb.StatusRequest) (*nodepb.StatusResponse, error) {
	s, err := h.server.node.Status(ctx)
	if err != nil {
		return nil, err
	}
	return encodeStatus(s), nil
}

func (h handlers) Load(m *nodepb.LoadRequest, stream grpc.ServerStreamingServer[nodepb.LoadEvent]) error {
	request, err := decodeLoad(m)
	if err != nil {
		return err
	}
	if p := PeerOf(stream.Context()); !p.Identified() && !h.server.options.FilesOverTCP {
		return &Error{
			State: statePrivilege, Message: "the node reads no files for callers over TCP without a certificate, because it cannot know who they are",
			HintText: "Name the node's unix socket with --to, or send the rows with COPY … FROM STDIN.",
		}
	}
	return reporting(stream, encodeResult, func(ctx context.Context, progress func(Progress)) (LoadResult, error) {
		return h.server.node.Load(ctx, request, progress)
	})
}

func (h handlers) LoadTPCH(m *nodepb.TPCHRequest, stream grpc.ServerStreamingServer[nodepb.LoadEvent]) error {
	request, err := decodeTPCH(m)
	if err != nil {
		return err
	}
	return reporting(stream, encodeResult, func(ctx context.Context, progress func(Progress)) (LoadResult, error) {
		return LoadResult{}, h.server.node.LoadTPCH(ctx, request, progress)
	})
}

// reporting runs what takes long and sends what it reports, then its result.
func reporting[R any](stream grpc.ServerStreamingServer[nodepb.LoadEvent], encode func(R) *nodepb.LoadEvent,
	run func(context.Context, func(Progress)) (R, error)) error {
	r := newReporter(func(p Progress) error { return stream.Send(encodeProgress(p)) })
	result, err := func() (R, error) {
		defer r.close() // also when run panics (N8)
		return run(stream.Context(), r.report)
	}()
	if err != nil {
		return err
	}
	return stream.Send(encode(result))
}
