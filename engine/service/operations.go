package service

import "context"

// operations are what this node does for operators of its cluster: noderpc.Operations.
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
