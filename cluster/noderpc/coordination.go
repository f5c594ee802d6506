package noderpc

import (
	"context"
	"fmt"

	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// coordinationHandlers are those of the service Coordination.
type coordinationHandlers struct {
	nodepb.UnimplementedCoordinationServer
	server *Server
}

func (h coordinationHandlers) Ping(context.Context, *nodepb.PingRequest) (*nodepb.PingResponse, error) {
	return &nodepb.PingResponse{}, nil
}

func (h coordinationHandlers) operations() (Operations, error) {
	if h.server.options.Operations == nil {
		return nil, h.alone()
	}
	return h.server.options.Operations, nil
}

func (h coordinationHandlers) alone() error {
	message := fmt.Sprintf("node %s belongs to no cluster", h.server.options.Name)
	return &Error{State: stateFeature, Cause: errNotOffered, Message: message}
}

func (h coordinationHandlers) Drain(ctx context.Context, m *nodepb.DrainRequest) (*nodepb.DrainResponse, error) {
	operations, err := h.operations()
	if err != nil {
		return nil, err
	}
	return &nodepb.DrainResponse{}, operations.Drain(ctx, m.GetOn())
}

// Ping asks whether the node answers.
func (c *Client) Ping(ctx context.Context) error {
	call, cancel := c.call(ctx)
	defer cancel()
	_, err := c.coordination.Ping(call, &nodepb.PingRequest{})
	return c.failed(ctx, "ping", err)
}

// Drain has the node take no new chunks and fragments, or take them again.
func (c *Client) Drain(ctx context.Context, on bool) error {
	call, cancel := c.call(ctx)
	defer cancel()
	_, err := c.coordination.Drain(call, &nodepb.DrainRequest{On: on})
	return c.failed(ctx, "drain", err)
}
