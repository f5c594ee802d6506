package wire

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A cancel request between two messages of a pipeline ends what the later one runs if that is here already, and
// nothing if the client has yet to send it. W4.
func TestCancelRequestsBetweenMessages(t *testing.T) {
	for _, more := range []bool{true, false} {
		var r running
		r.handle()
		r.handled(more)
		r.interrupt(ErrCanceled)
		r.handle()
		ctx, cancel := context.WithCancelCause(t.Context())
		err := r.begin(cancel, 0)
		if !more {
			require.NoError(t, err)
			require.NoError(t, ctx.Err())
			continue
		}
		require.ErrorIs(t, err, ErrCanceled)
		require.ErrorIs(t, context.Cause(ctx), ErrCanceled)
		r.end()
		r.handled(false)
		ctx, cancel = context.WithCancelCause(t.Context())
		require.NoError(t, r.begin(cancel, 0), "the next pipeline is another one")
		require.NoError(t, ctx.Err())
	}
}
