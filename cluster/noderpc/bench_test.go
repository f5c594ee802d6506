package noderpc_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/keeper"
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
	k := keeper.New(c, keeper.Options{})
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

// A ping, over a unix socket and over mutual TLS on loopback. The target is 150 µs (the thesis: 3.23 ms).
func BenchmarkPing(b *testing.B) {
	for _, way := range []string{"unix", "mutual-tls"} {
		b.Run(way, func(b *testing.B) {
			var c *noderpc.Client
			if way == "unix" {
				path, _ := serve(b, &fakeNode{}, noderpc.ServerOptions{})
				c = dial(b, path)
			} else {
				s := serveSecured(b, noderpc.ServerOptions{})
				c = s.dial(b, nodeCertificate(b, s.authority, "n2"))
			}
			ctx := context.Background()
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				err := c.Ping(ctx)
				took = append(took, time.Since(began))
				require.NoError(b, err)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
		})
	}
}

// A fragment that does nothing, until its result is there, and released: what distribution costs per fragment.
func BenchmarkFragment(b *testing.B) {
	s := serveSecured(b, noderpc.ServerOptions{Fragments: &fakeFragments{run: result(sealedChunk(b, 1, 10))}})
	c := s.dial(b, nodeCertificate(b, s.authority, "n2"))
	request := fragment()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		run, err := c.RunFragment(context.Background(), request, anywhere)
		took = append(took, time.Since(began))
		require.NoError(b, err)
		require.NoError(b, run.Close())
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "result-p50-µs")
}
