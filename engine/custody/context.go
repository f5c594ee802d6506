package custody

import "context"

type holderKey struct{}

// With has what is done under ctx be done for a holder.
func With(ctx context.Context, h *Holder) context.Context {
	return context.WithValue(ctx, holderKey{}, h)
}

// From returns the holder for which something is done; nil: ctx has none.
func From(ctx context.Context) *Holder {
	h, _ := ctx.Value(holderKey{}).(*Holder)
	return h
}
