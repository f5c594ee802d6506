package noderpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

var holder = catalog.Holder{Domain: "borrower", Description: "a test\nwith two lines"}

func loadRequest() noderpc.LoadRequest {
	return noderpc.LoadRequest{
		Table: catalog.TableName{Schema: "public", Name: "t"}, Files: []string{"/data/a\xffb.csv"}, Format: noderpc.FormatCSV,
		Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend, Parameters: map[string]string{"delimiter": "\t"}},
	}
}

func TestEveryMethod(t *testing.T) {
	ctx := context.Background()
	node := &fakeNode{}
	path, _ := serve(t, node, noderpc.ServerOptions{})
	c := dial(t, path)

	description, err := c.Describe(ctx)
	require.NoError(t, err)
	require.Equal(t, testDescription(), description)

	before := noderpc.Now()
	lease, err := c.Lease(ctx, holder)
	require.NoError(t, err)
	require.Equal(t, testTTL, lease.Record.TTL)
	require.Equal(t, []string{"public"}, lease.Record.Schemas)
	require.Equal(t, testRegion().Spec, lease.Record.Regions[0].Spec)
	require.GreaterOrEqual(t, lease.Sent, before)
	require.Less(t, lease.Sent, noderpc.Now())
	require.Equal(t, noderpc.Peer{Known: true, Process: os.Getpid(), User: uint32(os.Getuid()), Group: uint32(os.Getgid()), Network: "unix"}, node.peer)
	require.Equal(t, holder.Description, node.leases[lease.ID()].Description)

	page, err := c.Page(ctx, catalog.PageID{1, 2, 3})
	require.NoError(t, err)
	require.Equal(t, append([]byte("page "), 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), page)

	over, err := c.Renew(ctx, []catalog.LeaseID{lease.ID(), 77})
	require.NoError(t, err)
	require.Equal(t, []catalog.LeaseID{77}, over)
	require.NoError(t, c.Release(ctx, lease.ID()))
	require.Zero(t, node.held())
	require.ErrorIs(t, c.Release(ctx, lease.ID()), catalog.ErrLeaseOver)

	status, err := c.Status(ctx)
	require.NoError(t, err)
	require.Equal(t, testStatus(), status)

	var got noderpc.LoadRequest
	node.load = func(_ context.Context, request noderpc.LoadRequest, progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
		got = request
		progress(noderpc.Progress{Step: "t", Rows: 1, RowsTotal: 2, Bytes: 3, BytesTotal: 4})
		return noderpc.LoadResult{Rows: 10, Bytes: 80, Chunks: 1, Revision: 4}, nil
	}
	var seen []noderpc.Progress
	result, err := c.Load(ctx, loadRequest(), func(p noderpc.Progress) { seen = append(seen, p) })
	require.NoError(t, err)
	require.Equal(t, loadRequest(), got)
	require.Equal(t, noderpc.LoadResult{Rows: 10, Bytes: 80, Chunks: 1, Revision: 4}, result)
	require.Equal(t, []noderpc.Progress{{Step: "t", Rows: 1, RowsTotal: 2, Bytes: 3, BytesTotal: 4}}, seen)

	steps := []string{}
	request := noderpc.TPCHRequest{ScaleFactor: 0.01, Schema: "tpch", Replace: true}
	require.NoError(t, c.LoadTPCH(ctx, request, func(p noderpc.Progress) { steps = append(steps, p.Step) }))
	require.Equal(t, request, node.tpch)
	require.Equal(t, []string{"region", "nation"}, steps, "each step has its own bar")
	require.NoError(t, c.LoadTPCH(ctx, request, nil))
}

func TestStatusOfAnEmptyNodeIsGoodJSON(t *testing.T) {
	path, _ := serve(t, &fakeNode{status: func(context.Context) (noderpc.Status, error) { return noderpc.Status{}, nil }}, noderpc.ServerOptions{})
	status, err := dial(t, path).Status(context.Background())
	require.NoError(t, err)
	text, err := json.Marshal(status)
	require.NoError(t, err)
	require.Contains(t, string(text), `"regions":[],"tables":[],"leases":[],"counters":[]`)
}

type sqlError struct{ error }

func (sqlError) SQLState() string { return "42P01" }
func (sqlError) Detail() string   { return "the detail \xff" }
func (sqlError) Hint() string     { return "the hint" }
func (sqlError) Position() int    { return 17 }

// N7
func TestErrorsKeepWhatSQLSees(t *testing.T) {
	ctx := context.Background()
	node := &fakeNode{}
	path, _ := serve(t, node, noderpc.ServerOptions{})
	c := dial(t, path)
	answer := func(err error) error {
		node.page = func(catalog.PageID) ([]byte, error) { return nil, err }
		_, got := c.Page(ctx, catalog.PageID{})
		require.Error(t, got)
		return got
	}

	err := answer(fmt.Errorf("wrapped: %w", sqlError{errors.New("table “t” is not there")}))
	var e *noderpc.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, &noderpc.Error{State: "42P01", Message: "wrapped: table “t” is not there", At: 17, DetailText: "the detail \uFFFD", HintText: "the hint"}, e)

	require.Equal(t, "XX000", state(t, answer(errors.New("plain"))))
	require.ErrorContains(t, answer(errors.New("plain")), "plain")
	require.ErrorIs(t, answer(fmt.Errorf("page: %w", hugetable.ErrLost)), hugetable.ErrLost)
	require.ErrorIs(t, answer(fmt.Errorf("page: %w", catalog.ErrClosed)), catalog.ErrClosed)
	conflict := answer(fmt.Errorf("commit: %w", catalog.ErrConflict))
	require.ErrorIs(t, conflict, catalog.ErrConflict)
	require.Equal(t, "40001", state(t, conflict))

	long := answer(errors.New(strings.Repeat("long “”", 1<<20)))
	require.Less(t, len(long.Error()), 5000, "a text that fits no header is cut")
	require.Equal(t, "XX000", state(t, long))
}

func TestCancelALoadHalfWay(t *testing.T) {
	ended := make(chan error, 1)
	node := &fakeNode{load: func(ctx context.Context, _ noderpc.LoadRequest, progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
		progress(noderpc.Progress{Step: "half"})
		<-ctx.Done()
		ended <- ctx.Err()
		return noderpc.LoadResult{}, ctx.Err()
	}}
	path, _ := serve(t, node, noderpc.ServerOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	_, err := dial(t, path).Load(ctx, loadRequest(), func(noderpc.Progress) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "57014", state(t, err))
	require.ErrorIs(t, <-ended, context.Canceled, "the node's load must end, too")
}

func TestACallersDeadlineIsNotTheNodesFault(t *testing.T) {
	node := &fakeNode{status: func(ctx context.Context) (noderpc.Status, error) {
		<-ctx.Done()
		return noderpc.Status{}, ctx.Err()
	}}
	path, _ := serve(t, node, noderpc.ServerOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := dial(t, path).Status(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "57014", state(t, err))
}

// N6
func TestAPanicIsItsCallersError(t *testing.T) {
	node := &fakeNode{
		page: func(catalog.PageID) ([]byte, error) { panic("in a call") },
		load: func(_ context.Context, _ noderpc.LoadRequest, progress func(noderpc.Progress)) (noderpc.LoadResult, error) {
			progress(noderpc.Progress{Step: "x"})
			panic("in a stream")
		},
	}
	path, _ := serve(t, node, noderpc.ServerOptions{MaxCalls: 1, MaxLoads: 1})
	c := dial(t, path)
	for range 3 { // and its place is free again
		_, err := c.Page(context.Background(), catalog.PageID{})
		require.ErrorContains(t, err, "in a call")
		require.Equal(t, "XX000", state(t, err))
		_, err = c.Load(context.Background(), loadRequest(), nil)
		require.ErrorContains(t, err, "in a stream")
	}
	_, err := c.Status(context.Background())
	require.NoError(t, err)
}

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
	require.Zero(t, node.held(), "nobody knows of the lease, so it must be released")
}

func TestAPageOfManyMegabytes(t *testing.T) {
	node := &fakeNode{page: func(catalog.PageID) ([]byte, error) { return make([]byte, 48<<20), nil }}
	path, _ := serve(t, node, noderpc.ServerOptions{})
	page, err := dial(t, path).Page(context.Background(), catalog.PageID{})
	require.NoError(t, err)
	require.Len(t, page, 48<<20)
}

// N3
func TestNoLeaseWithoutAnEnd(t *testing.T) {
	ctx := context.Background()
	node := &fakeNode{}
	path, _ := serve(t, node, noderpc.ServerOptions{})
	c := dial(t, path)
	for _, ttl := range []time.Duration{-1, 1, noderpc.MinTTL - 1, noderpc.MaxTTL + 1, math.MaxInt64} {
		_, err := c.Lease(ctx, catalog.Holder{TTL: ttl})
		require.Equal(t, "22023", state(t, err))
	}
	for _, ttl := range []time.Duration{0, -1, noderpc.MaxTTL + 1} { // the node's mistake
		node.lease = func(_ context.Context, h catalog.Holder) (*catalog.SnapshotRecord, error) {
			record := node.grant(h)
			record.TTL = ttl
			return record, nil
		}
		_, err := c.Lease(ctx, holder)
		require.Equal(t, "XX000", state(t, err))
		require.Zero(t, node.held())
	}
	node.lease = func(context.Context, catalog.Holder) (*catalog.SnapshotRecord, error) { return nil, nil }
	_, err := c.Lease(ctx, holder)
	require.Equal(t, "XX000", state(t, err))
}

func TestALeaseThatNobodyWaitsForIsReleased(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	node := &fakeNode{}
	node.lease = func(call context.Context, h catalog.Holder) (*catalog.SnapshotRecord, error) {
		record := node.grant(h)
		cancel()
		<-call.Done()
		return record, nil
	}
	path, stop := serve(t, node, noderpc.ServerOptions{})
	_, err := dial(t, path).Lease(ctx, holder)
	require.ErrorIs(t, err, context.Canceled)
	stop()
	require.Zero(t, node.held())
}

// N9
func TestRenewalsWaitForNobody(t *testing.T) {
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

// N10: the receiver waits until the load has returned. A load that waited for its receiver would wait for ever.
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

// N8: the helper serve checks that no call outlives Serve.
func TestStopEndsWhatDoesNotEndByItself(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	node := &fakeNode{load: func(ctx context.Context, _ noderpc.LoadRequest, _ func(noderpc.Progress)) (noderpc.LoadResult, error) {
		close(entered)
		<-ctx.Done()
		<-leave // giving back what it had takes a while
		return noderpc.LoadResult{}, ctx.Err()
	}}
	path, stop := serve(t, node, noderpc.ServerOptions{Grace: time.Millisecond})
	c := dial(t, path)
	call := errgroup.Group{}
	call.Go(func() error { _, err := c.Load(context.Background(), loadRequest(), nil); return err })
	<-entered
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	err := call.Wait()
	select {
	case <-stopped:
		t.Fatal("Serve returned before its handler")
	case <-time.After(50 * time.Millisecond): // how long a wrong Serve has to show itself
	}
	close(leave)
	<-stopped
	require.Equal(t, "08006", state(t, err))
	require.ErrorIs(t, err, noderpc.ErrNodeGone)
	require.ErrorContains(t, err, "node local ("+path+")")
	require.NoFileExists(t, path)
}

// N8 holds as well when nobody asked Serve to end.
func TestAListenerThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := noderpc.ListenUnix(path)
	require.NoError(t, err)
	entered, leave := make(chan struct{}), make(chan struct{})
	node := &fakeNode{load: func(ctx context.Context, _ noderpc.LoadRequest, _ func(noderpc.Progress)) (noderpc.LoadResult, error) {
		close(entered)
		<-ctx.Done()
		<-leave
		return noderpc.LoadResult{}, ctx.Err()
	}}
	served := make(chan error, 1)
	go func() {
		served <- noderpc.NewServer(node, noderpc.ServerOptions{Log: silent()}).Serve(context.Background(), listener)
	}()
	c := dial(t, path)
	call := errgroup.Group{}
	call.Go(func() error { _, err := c.Load(context.Background(), loadRequest(), nil); return err })
	<-entered
	require.NoError(t, listener.Close())
	require.Equal(t, "08006", state(t, call.Wait()))
	select {
	case <-served:
		t.Fatal("Serve returned before its handler")
	case <-time.After(50 * time.Millisecond): // how long a wrong Serve has to show itself
	}
	close(leave)
	require.ErrorIs(t, <-served, net.ErrClosed)
	require.Zero(t, node.active.Load())
}

func TestStopLetsCallsFinish(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	node := &fakeNode{status: func(context.Context) (noderpc.Status, error) {
		close(entered)
		<-leave
		return testStatus(), nil
	}}
	path, stop := serve(t, node, noderpc.ServerOptions{Grace: time.Minute})
	c := dial(t, path)
	call := errgroup.Group{}
	call.Go(func() error { _, err := c.Status(context.Background()); return err })
	<-entered
	stopped := errgroup.Group{}
	stopped.Go(func() error { stop(); return nil })
	require.Eventually(t, func() bool { // the listener closes first
		conn, err := net.Dial("unix", path)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, 10*time.Second, time.Millisecond)
	close(leave)
	require.NoError(t, call.Wait())
	require.NoError(t, stopped.Wait())
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
