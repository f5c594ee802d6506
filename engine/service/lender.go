package service

import (
	"context"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/engine/lifetime"
)

// lender is the noderpc.Lender of a node that may be closed meanwhile: package lending stores into the region, and has
// it flushed.
type lender struct {
	lending *lending.Lender
	life    *lifetime.Lifetime
}

func (l lender) during(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, leave, err := l.life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return l.life.CauseOf(do(ctx))
}

// Grant implements noderpc.Lender.
func (l lender) Grant(ctx context.Context, peer noderpc.Peer,
	request noderpc.GrantRequest) (granted noderpc.Granted, err error) {
	err = l.during(ctx, func(ctx context.Context) (err error) {
		granted, err = l.lending.Grant(ctx, peer, request)
		return err
	})
	return granted, err
}

// Reallocate implements noderpc.Lender.
func (l lender) Reallocate(ctx context.Context, peer noderpc.Peer,
	request noderpc.ReallocateRequest) (granted noderpc.Granted, err error) {
	err = l.during(ctx, func(ctx context.Context) (err error) {
		granted, err = l.lending.Reallocate(ctx, peer, request)
		return err
	})
	return granted, err
}

// Seal implements noderpc.Lender.
func (l lender) Seal(ctx context.Context, peer noderpc.Peer, request noderpc.SealRequest) error {
	return l.during(ctx, func(ctx context.Context) error { return l.lending.Seal(ctx, peer, request) })
}

// Publish implements noderpc.Lender.
func (l lender) Publish(ctx context.Context, peer noderpc.Peer, request noderpc.PublishRequest) error {
	return l.during(ctx, func(ctx context.Context) error { return l.lending.Publish(ctx, peer, request) })
}

// Free implements noderpc.Lender.
func (l lender) Free(ctx context.Context, peer noderpc.Peer, request noderpc.FreeRequest) error {
	return l.during(ctx, func(ctx context.Context) error { return l.lending.Free(ctx, peer, request) })
}

// Pin implements noderpc.Lender.
func (l lender) Pin(ctx context.Context, peer noderpc.Peer, extents []catalog.ExtentID) error {
	return l.during(ctx, func(ctx context.Context) error { return l.lending.Pin(ctx, peer, extents) })
}

// Unpin implements noderpc.Lender.
func (l lender) Unpin(ctx context.Context, peer noderpc.Peer, extents []catalog.ExtentID) error {
	return l.during(ctx, func(ctx context.Context) error { return l.lending.Unpin(ctx, peer, extents) })
}

// Held implements noderpc.Lender.
func (l lender) Held(ctx context.Context, peer noderpc.Peer,
	request noderpc.HeldRequest) (held []noderpc.LeftExtent, err error) {
	err = l.during(ctx, func(ctx context.Context) error {
		held, err = l.lending.Held(ctx, peer, request)
		return err
	})
	return held, err
}

// Left implements noderpc.Lender.
func (l lender) Left(ctx context.Context, peer noderpc.Peer,
	request noderpc.LeftRequest) (left []noderpc.LeftExtent, err error) {
	err = l.during(ctx, func(ctx context.Context) (err error) {
		left, err = l.lending.Left(ctx, peer, request)
		return err
	})
	return left, err
}
