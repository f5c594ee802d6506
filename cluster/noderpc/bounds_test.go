package noderpc_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

func TestOversizedAnswers(t *testing.T) {
	ctx := context.Background()
	node := &fakeNode{page: func(id catalog.PageID) ([]byte, error) { return make([]byte, 900+int(id[0])), nil }}
	path, _ := serve(t, node, noderpc.ServerOptions{MaxMessageBytes: 1024})
	c := dial(t, path)
	_, err := c.Page(ctx, catalog.PageID{100})
	require.NoError(t, err)
	_, err = c.Page(ctx, catalog.PageID{200})
	require.ErrorContains(t, err, "1024 are allowed")
	require.Equal(t, "54000", state(t, err))

	node.lease = func(_ context.Context, h catalog.Holder) (*catalog.SnapshotRecord, error) {
		record := node.grant(h)
		record.Schemas = []string{strings.Repeat("s", 2000)}
		return record, nil
	}
	_, err = c.Lease(ctx, holder)
	require.Equal(t, "54000", state(t, err))
	require.Zero(t, node.held(), "the lease has no holder, so it must be released")
}

func TestAPageOfManyMegabytes(t *testing.T) {
	node := &fakeNode{page: func(catalog.PageID) ([]byte, error) { return make([]byte, 48<<20), nil }}
	path, _ := serve(t, node, noderpc.ServerOptions{})
	page, err := dial(t, path).Page(context.Background(), catalog.PageID{})
	require.NoError(t, err)
	require.Len(t, page, 48<<20)
}

func TestRenewalsDoNotWait(t *testing.T) {
	ctx := context.Background()
	entered, leave := make(chan struct{}), make(chan struct{})
	node := &fakeNode{status: func(context.Context) (noderpc.Status, error) {
		close(entered)
		<-leave
		return noderpc.Status{}, nil
	}}
	path, _ := serve(t, node, noderpc.ServerOptions{MaxCalls: 1})
	c := dial(t, path)
	lease, err := c.Lease(ctx, holder)
	require.NoError(t, err)
	busy := errgroup.Group{}
	busy.Go(func() error { _, err := c.Status(ctx); return err })
	<-entered
	over, err := c.Renew(ctx, []catalog.LeaseID{lease.ID()})
	require.NoError(t, err)
	require.Empty(t, over)
	require.NoError(t, c.Release(ctx, lease.ID()))
	// Others do wait, as long as they care to.
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = c.Describe(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(leave)
	require.NoError(t, busy.Wait())
	_, err = c.Describe(ctx)
	require.NoError(t, err)
}

func TestTooManyLoads(t *testing.T) {
	ctx := context.Background()
	entered, leave := make(chan struct{}, 2), make(chan struct{})
	node := &fakeNode{load: func(context.Context, noderpc.LoadRequest, func(noderpc.Progress)) (noderpc.LoadResult, error) {
		entered <- struct{}{}
		<-leave
		return noderpc.LoadResult{}, nil
	}}
	path, _ := serve(t, node, noderpc.ServerOptions{MaxLoads: 2})
	c := dial(t, path)
	busy := errgroup.Group{}
	for range 2 {
		busy.Go(func() error { _, err := c.Load(ctx, loadRequest(), nil); return err })
		<-entered
	}
	_, err := c.Load(ctx, loadRequest(), nil)
	require.Equal(t, "53000", state(t, err))
	require.ErrorContains(t, err, "2 loads")
	close(leave)
	require.NoError(t, busy.Wait())
}

func TestASlowReceiverDoesNotHoldUpALoad(t *testing.T) {
	loaded := make(chan struct{})
	node := &fakeNode{load: func(_ context.Context, _ noderpc.LoadRequest, progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
		defer close(loaded)
		var group errgroup.Group
		for range 4 {
			group.Go(func() error {
				for i := range int64(100_000) { // by far more than any window of flow control holds
					progress(noderpc.Progress{Step: fmt.Sprint("a step with a long name, number ", i%100), Rows: i, RowsTotal: math.MaxInt64, Bytes: math.MaxInt64})
				}
				return nil
			})
		}
		err := group.Wait()
		progress(noderpc.Progress{Step: "last", Rows: 1})
		return noderpc.LoadResult{Rows: 1}, err
	}}
	path, _ := serve(t, node, noderpc.ServerOptions{})
	var last noderpc.Progress
	result, err := dial(t, path).Load(context.Background(), loadRequest(), func(p noderpc.Progress) {
		<-loaded
		last = p
	})
	require.NoError(t, err)
	require.Equal(t, int64(1), result.Rows)
	require.Equal(t, noderpc.Progress{Step: "last", Rows: 1}, last, "the newest report always arrives")
}

func TestAHundredClientsAtOnce(t *testing.T) {
	ctx := context.Background()
	node := &fakeNode{}
	path, _ := serve(t, node, noderpc.ServerOptions{MaxCalls: 8})
	var group errgroup.Group
	var mu sync.Mutex
	seen := map[catalog.LeaseID]bool{}
	for range 100 {
		group.Go(func() error {
			c, err := noderpc.Dial(ctx, path)
			if err != nil {
				return err
			}
			defer c.Close() //nolint:errcheck // only a test's
			for range 5 {
				lease, err := c.Lease(ctx, holder)
				if err != nil {
					return err
				}
				mu.Lock()
				twice := seen[lease.ID()]
				seen[lease.ID()] = true
				mu.Unlock()
				if twice {
					return fmt.Errorf("lease %d was given twice", lease.ID())
				}
				if over, err := c.Renew(ctx, []catalog.LeaseID{lease.ID()}); err != nil || len(over) > 0 {
					return fmt.Errorf("renew: over %v: %w", over, err)
				}
				if _, err := c.Load(ctx, loadRequest(), nil); err != nil && state(t, err) != "53000" {
					return err
				}
				if err := c.Release(ctx, lease.ID()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, seen, 500)
	require.Zero(t, node.held())
}

func TestTooManyConnections(t *testing.T) {
	ctx := context.Background()
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{MaxConnections: 2})
	first, second := dial(t, path), dial(t, path)
	_, err := noderpc.Dial(ctx, path)
	require.Error(t, err)
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { // the server hears of the end a little later
		third, err := noderpc.Dial(ctx, path)
		return err == nil && third.Close() == nil
	}, 10*time.Second, time.Millisecond)
	_, err = second.Describe(ctx)
	require.NoError(t, err)
}
