package service

import (
	"context"

	"github.com/csmsql/csmsql/cluster/noderpc"
)

// operations are what this node does for operators and other nodes of its cluster: noderpc.Operations, and
// noderpc.Collector.
type operations struct{ *Service }

// Drain implements noderpc.Operations: the node's own part, see Engine.Drain.
func (o operations) Drain(ctx context.Context, on bool) error {
	ctx, leave, err := o.Life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return o.Life.CauseOf(o.Keeper.SetDraining(ctx, on))
}

// Collect implements noderpc.Collector.
func (o operations) Collect(ctx context.Context, request noderpc.CollectRequest) (noderpc.Collected, error) {
	ctx, leave, err := o.Life.Call(ctx)
	if err != nil {
		return noderpc.Collected{}, err
	}
	defer leave()
	collected, err := o.Collector.Collect(ctx, request)
	return collected, o.Life.CauseOf(err)
}
