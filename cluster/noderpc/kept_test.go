package noderpc_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/keeper"
)

func TestKeeperOverRealSockets(t *testing.T) {
	node := &fakeNode{}
	path, stop := serve(t, node, noderpc.ServerOptions{})
	c := dial(t, path)
	k := keeper.New(c, keeper.Options{})
	var ids []catalog.LeaseID
	for range 50 {
		lease, err := c.Lease(context.Background(), catalog.Holder{Domain: "d", TTL: 60 * time.Millisecond})
		require.NoError(t, err)
		require.NoError(t, k.Hold(lease))
		ids = append(ids, lease.ID())
	}
	deadline := noderpc.Now().Add(200 * time.Millisecond)
	for noderpc.Now() < deadline {
		_ = k.Valid(ids[0]) // under load of a reader
	}
	require.Eventually(t, func() bool { return k.Valid(ids[0]) && k.Valid(ids[49]) }, 10*time.Second, time.Millisecond)
	for _, id := range ids[:25] {
		k.Release(id)
	}
	require.Eventually(t, func() bool { return node.held() == 25 }, 10*time.Second, time.Millisecond)
	require.NoError(t, k.Close(context.Background()))
	require.Zero(t, node.held())
	require.NoError(t, k.Close(context.Background()))
	stop()
}
