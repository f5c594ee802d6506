package noderpc

import (
	"context"
	"fmt"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// What a borrower asks of a lender. Package borrowing makes a catalog.Space of it, and remembers what must be given
// back, as every caller of these methods must: an error that the node did not answer (Error.Answered) leaves open
// whether the call was done.

// Grant asks for an extent to write. The request's ticket is its own; the process is filled in.
func (c *Client) Grant(ctx context.Context, request GrantRequest) (Granted, error) {
	if request.Process == (Process{}) {
		request.Process = CurrentProcess()
	}
	if err := request.check(); err != nil {
		return Granted{}, badArgument("grant: %v", err)
	}
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.lending.Grant(call, encodeGrantRequest(request))
	if err != nil {
		return Granted{}, c.failed(ctx, fmt.Sprintf("grant %d bytes of region %d", request.Size, request.Region), err)
	}
	return decodeGranted(m, request.Region, request.Size)
}

// Reallocate asks for a longer extent with the same content. The caller has written back what it stored into the old
// one, and frees that afterwards.
func (c *Client) Reallocate(ctx context.Context, request ReallocateRequest) (Granted, error) {
	if err := request.check(); err != nil {
		return Granted{}, badArgument("reallocate: %v", err)
	}
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.lending.Reallocate(call, encodeReallocate(request))
	if err != nil {
		return Granted{}, c.failed(ctx, fmt.Sprintf("reallocate %v", request.Extent), err)
	}
	return decodeGranted(m, request.Extent.Region, request.Size)
}

// Seal reports that an extent is complete. The caller has cleaned it and stores nothing into it any more.
func (c *Client) Seal(ctx context.Context, request SealRequest) error {
	if err := request.check(); err != nil {
		return badArgument("seal: %v", err)
	}
	call, cancel := c.call(ctx)
	defer cancel()
	_, err := c.lending.Seal(call, encodeSeal(request))
	return c.failed(ctx, fmt.Sprintf("seal %v", request.Extent), err)
}

// Publish makes sealed extents of this process readable; temporary ones stay its own. All or nothing.
func (c *Client) Publish(ctx context.Context, temporary bool, extents ...catalog.ExtentID) error {
	return c.named(extents, "publish", func(batch []*nodepb.Extent) error {
		call, cancel := c.call(ctx)
		defer cancel()
		_, err := c.lending.Publish(call, &nodepb.PublishRequest{Extents: batch, Temporary: temporary})
		return c.failed(ctx, fmt.Sprintf("publish %d extents", len(batch)), err)
	})
}

// Free gives back what this process was granted and has not published for good.
func (c *Client) Free(ctx context.Context, request FreeRequest) error {
	if len(request.Extents) > MaxExtents || len(request.Tickets) > MaxExtents {
		return badArgument("free: %d extents, %d tickets: %d are allowed in one call", len(request.Extents), len(request.Tickets), MaxExtents)
	}
	call, cancel := c.call(ctx)
	defer cancel()
	_, err := c.lending.Free(call, encodeFree(request))
	return c.failed(ctx, fmt.Sprintf("free %d extents", len(request.Extents)+len(request.Tickets)), err)
}

// Pin keeps published extents in place for this process, until it unpins them or dies. All or nothing.
func (c *Client) Pin(ctx context.Context, extents ...catalog.ExtentID) error {
	return c.named(extents, "pin", func(batch []*nodepb.Extent) error {
		call, cancel := c.call(ctx)
		defer cancel()
		_, err := c.lending.Pin(call, &nodepb.PinRequest{Extents: batch})
		return c.failed(ctx, fmt.Sprintf("pin %d extents", len(batch)), err)
	})
}

// Unpin takes as many pins back. The caller reads the extents no more.
func (c *Client) Unpin(ctx context.Context, extents ...catalog.ExtentID) error {
	return c.named(extents, "unpin", func(batch []*nodepb.Extent) error {
		call, cancel := c.call(ctx)
		defer cancel()
		_, err := c.lending.Unpin(call, &nodepb.PinRequest{Extents: batch})
		return c.failed(ctx, fmt.Sprintf("unpin %d extents", len(batch)), err)
	})
}

// Left asks what former processes of this machine were writing when they ended, and says what was flushed of it since.
func (c *Client) Left(ctx context.Context, request LeftRequest) ([]LeftExtent, error) {
	if err := request.check(); err != nil {
		return nil, err
	}
	if len(request.Flushed) > MaxExtents {
		return nil, badArgument("left: %d extents, %d are allowed in one call", len(request.Flushed), MaxExtents)
	}
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.lending.Left(call, encodeLeftRequest(request))
	if err != nil {
		return nil, c.failed(ctx, fmt.Sprintf("ask what is left in region %d", request.Region), err)
	}
	return decodeLeft(m)
}

// Held renews this process' lease on what it holds in a region, and gives back what it has disclaimed of an earlier
// answer. It returns what the node has on record as this process', as far as no commit of it is known.
func (c *Client) Held(ctx context.Context, request HeldRequest) ([]LeftExtent, error) {
	if len(request.Disclaimed) > MaxExtents {
		return nil, badArgument("held: %d extents, %d are allowed in one call", len(request.Disclaimed), MaxExtents)
	}
	call, cancel := c.call(ctx)
	defer cancel()
	m, err := c.lending.Held(call, &nodepb.HeldRequest{Region: uint64(request.Region), Disclaimed: generationNumbers(request.Disclaimed)})
	if err != nil {
		return nil, c.failed(ctx, fmt.Sprintf("renew what is held in region %d", request.Region), err)
	}
	return decodeLeft(m)
}

// named makes one call about a list of extents, or none if it is empty: what is all or nothing must not be cut.
func (c *Client) named(extents []catalog.ExtentID, what string, do func([]*nodepb.Extent) error) error {
	switch {
	case len(extents) == 0:
		return nil
	case len(extents) > MaxExtents:
		return badArgument("%s: %d extents, %d are allowed in one call", what, len(extents), MaxExtents)
	}
	return do(encodeExtents(extents))
}
