package node

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
)

// Whoever comes while the node is not up is told so, and not kept waiting; whoever comes to the node itself, at the same socket, is answered.
func TestTheDoorStaysOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := noderpc.ListenUnix(path)
	require.NoError(t, err)
	d := newDoor(listener, noderpc.ServerOptions{Name: "n0", Log: slog.New(slog.DiscardHandler)})
	l := &life{door: d}
	requireAway := func(message string) {
		t.Helper()
		_, err := noderpc.Dial(t.Context(), path)
		var told *noderpc.Error
		require.ErrorAs(t, err, &told)
		require.Equal(t, "57P03", told.State)
		require.Contains(t, told.Message, message)
		require.NotErrorIs(t, err, noderpc.ErrNodeGone)
	}
	for range 3 {
		stop := d.refuse(l.away("n0"))
		requireAway("node n0 starts")
		requireAway("node n0 starts")
		stop()
		stop()
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		visit := d.open()
		go func() {
			ended <- noderpc.NewServer(nil, noderpc.ServerOptions{Name: "n0", Log: slog.New(slog.DiscardHandler)}).Serve(ctx, visit)
		}()
		client, err := noderpc.Dial(t.Context(), path)
		require.NoError(t, err)
		require.NoError(t, client.Close())
		end()
		require.NoError(t, <-ended)
	}
	l.out, l.waitsFor, l.knew = context.Canceled, context.DeadlineExceeded, []string{"n0 (online)", "n1 (draining)"}
	stop := d.refuse(l.away("n0"))
	_, err = noderpc.Dial(t.Context(), path)
	var told *noderpc.Error
	require.ErrorAs(t, err, &told)
	require.Contains(t, told.Message, "begins anew, and answers when it is up again: context canceled; it waits: context deadline exceeded")
	require.Equal(t, "When it was last up it knew of n0 (online), n1 (draining).", told.DetailText)
	stop()
	require.NoError(t, d.close())
	require.NoError(t, d.close())
	_, err = noderpc.Dial(t.Context(), path)
	require.ErrorIs(t, err, noderpc.ErrNodeGone)
}
