package noderpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

// One attach: what a borrower asks before it can read.
func BenchmarkDescribeAndLease(b *testing.B) {
	ctx := context.Background()
	path, _ := serve(b, &fakeNode{}, noderpc.ServerOptions{})
	c := dial(b, path)
	for b.Loop() {
		_, err := c.Describe(ctx)
		require.NoError(b, err)
		lease, err := c.Lease(ctx, holder)
		require.NoError(b, err)
		b.StopTimer()
		require.NoError(b, c.Release(ctx, lease.ID()))
		b.StartTimer()
	}
}

// One query of an attached engine, without the query.
func BenchmarkLeaseAndKeep(b *testing.B) {
	ctx := context.Background()
	path, _ := serve(b, &fakeNode{}, noderpc.ServerOptions{})
	c := dial(b, path)
	k := noderpc.NewKeeper(c, noderpc.KeeperOptions{})
	defer k.Close(ctx) //nolint:errcheck // a benchmark's
	for b.Loop() {
		lease, err := c.Lease(ctx, holder)
		require.NoError(b, err)
		require.NoError(b, k.Hold(lease))
		k.Release(lease.ID())
	}
}

func BenchmarkDial(b *testing.B) {
	path, _ := serve(b, &fakeNode{}, noderpc.ServerOptions{})
	for b.Loop() {
		c, err := noderpc.Dial(context.Background(), path)
		require.NoError(b, err)
		require.NoError(b, c.Close())
	}
}

func BenchmarkPage(b *testing.B) {
	page := make([]byte, 256<<10)
	path, _ := serve(b, &fakeNode{page: func(catalog.PageID) ([]byte, error) { return page, nil }}, noderpc.ServerOptions{})
	c := dial(b, path)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		_, err := c.Page(context.Background(), catalog.PageID{})
		require.NoError(b, err)
	}
}

func BenchmarkRenewAThousand(b *testing.B) {
	ctx := context.Background()
	path, _ := serve(b, &fakeNode{}, noderpc.ServerOptions{})
	c := dial(b, path)
	ids := make([]catalog.LeaseID, 1000)
	for i := range ids {
		lease, err := c.Lease(ctx, holder)
		require.NoError(b, err)
		ids[i] = lease.ID()
	}
	for b.Loop() {
		over, err := c.Renew(ctx, ids)
		require.NoError(b, err)
		require.Empty(b, over)
	}
}

func BenchmarkCheck(b *testing.B) {
	f := &fakeLessor{}
	k := noderpc.NewKeeper(f, noderpc.KeeperOptions{})
	defer k.Close(context.Background()) //nolint:errcheck // a benchmark's
	require.NoError(b, k.Hold(leaseOf(1, testTTL, noderpc.Now())))
	for b.Loop() {
		if !k.Valid(1) {
			b.Fatal("not valid")
		}
	}
}
