package noderpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
)

// lendingHandlers are those of the service Lending.
type lendingHandlers struct {
	nodepb.UnimplementedLendingServer
	server *Server
}

var errNotOffered = errors.New("not offered by this node")

// lender also refuses callers that do not say which process they are: nothing could be taken back when it died.
func (h lendingHandlers) lender(ctx context.Context) (Lender, Peer, error) {
	p := PeerOf(ctx)
	if h.server.options.Lender == nil {
		return nil, p, &Error{
			State: stateFeature, Cause: errNotOffered, Message: fmt.Sprintf("node %s lends no memory to other processes", h.server.options.Name),
			HintText: "Nodes of a cluster do.",
		}
	}
	if p.Incarnation.IsZero() {
		return nil, p, badMessage("a call about memory comes without the caller's incarnation")
	}
	return h.server.options.Lender, p, nil
}

// badLending counts what no correct caller asks for.
func (h lendingHandlers) badLending(ctx context.Context, what string, err error) error {
	h.server.options.Refusals.Call(ctx, refusal.Argument, PeerOf(ctx), what, err)
	return err
}

func (h lendingHandlers) Grant(ctx context.Context, m *nodepb.GrantRequest) (*nodepb.GrantResponse, error) {
	lender, p, err := h.lender(ctx)
	if err != nil {
		return nil, err
	}
	request, err := decodeGrantRequest(m)
	if err != nil {
		return nil, h.badLending(ctx, "Grant", err)
	}
	granted, err := lender.Grant(ctx, p, request)
	return h.granted(ctx, p, request.Ticket, granted, err)
}

func (h lendingHandlers) Reallocate(ctx context.Context, m *nodepb.ReallocateRequest) (*nodepb.GrantResponse, error) {
	lender, p, err := h.lender(ctx)
	if err != nil {
		return nil, err
	}
	request, err := decodeReallocate(m)
	if err != nil {
		return nil, h.badLending(ctx, "Reallocate", err)
	}
	granted, err := lender.Reallocate(ctx, p, request)
	return h.granted(ctx, p, request.Ticket, granted, err)
}

// granted takes back what its writer will never hear of: that one has given up.
func (h lendingHandlers) granted(ctx context.Context, p Peer, ticket Ticket, granted Granted,
	err error) (*nodepb.GrantResponse, error) {
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return nil, errors.Join(err, h.server.options.Lender.Free(back, p, FreeRequest{Tickets: []Ticket{ticket}, Settling: true}))
	}
	return encodeGranted(granted), nil
}

func (h lendingHandlers) Seal(ctx context.Context, m *nodepb.SealRequest) (*nodepb.SealResponse, error) {
	lender, p, err := h.lender(ctx)
	if err != nil {
		return nil, err
	}
	request, err := decodeSeal(m)
	if err != nil {
		return nil, h.badLending(ctx, "Seal", err)
	}
	return &nodepb.SealResponse{}, lender.Seal(ctx, p, request)
}

func (h lendingHandlers) Publish(ctx context.Context, m *nodepb.PublishRequest) (*nodepb.PublishResponse, error) {
	lender, p, ids, err := h.named(ctx, "Publish", m.GetExtents())
	if err != nil {
		return nil, err
	}
	return &nodepb.PublishResponse{}, lender.Publish(ctx, p, PublishRequest{Extents: ids, Temporary: m.GetTemporary()})
}

func (h lendingHandlers) Free(ctx context.Context, m *nodepb.FreeRequest) (*nodepb.FreeResponse, error) {
	lender, p, err := h.lender(ctx)
	if err != nil {
		return nil, err
	}
	request, err := decodeFree(m)
	if err != nil {
		return nil, h.badLending(ctx, "Free", err)
	}
	return &nodepb.FreeResponse{}, lender.Free(ctx, p, request)
}

func (h lendingHandlers) Pin(ctx context.Context, m *nodepb.PinRequest) (*nodepb.PinResponse, error) {
	lender, p, ids, err := h.named(ctx, "Pin", m.GetExtents())
	if err != nil {
		return nil, err
	}
	return &nodepb.PinResponse{}, lender.Pin(ctx, p, ids)
}

func (h lendingHandlers) Unpin(ctx context.Context, m *nodepb.PinRequest) (*nodepb.PinResponse, error) {
	lender, p, ids, err := h.named(ctx, "Unpin", m.GetExtents())
	if err != nil {
		return nil, err
	}
	return &nodepb.PinResponse{}, lender.Unpin(ctx, p, ids)
}

func (h lendingHandlers) Left(ctx context.Context, m *nodepb.LeftRequest) (*nodepb.LeftResponse, error) {
	lender, p, err := h.lender(ctx)
	if err != nil {
		return nil, err
	}
	request, err := decodeLeftRequest(m)
	if err != nil {
		return nil, h.badLending(ctx, "Left", err)
	}
	left, err := lender.Left(ctx, p, request)
	if err != nil {
		return nil, err
	}
	return encodeLeft(left[:min(len(left), MaxExtents)]), nil
}

func (h lendingHandlers) Held(ctx context.Context, m *nodepb.HeldRequest) (*nodepb.LeftResponse, error) {
	lender, p, err := h.lender(ctx)
	if err != nil {
		return nil, err
	}
	request, err := decodeHeldRequest(m)
	if err != nil {
		return nil, h.badLending(ctx, "Held", err)
	}
	held, err := lender.Held(ctx, p, request)
	if err != nil {
		return nil, err
	}
	return encodeLeft(held[:min(len(held), MaxExtents)]), nil
}

// named is for the calls that are nothing but a list of extents.
func (h lendingHandlers) named(ctx context.Context, what string,
	list []*nodepb.Extent) (Lender, Peer, []catalog.ExtentID, error) {
	lender, p, err := h.lender(ctx)
	if err != nil {
		return nil, p, nil, err
	}
	ids, err := decodeExtents(list)
	if err != nil {
		return nil, p, nil, h.badLending(ctx, what, err)
	}
	return lender, p, ids, nil
}
