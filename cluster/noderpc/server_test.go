package noderpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
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
		Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend, Placement: "rows", Replicas: 3, Parameters: map[string]string{"delimiter": "\t"}},
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
	require.Equal(t, noderpc.Peer{Known: true, Process: os.Getpid(), User: uint32(os.Getuid()), Group: uint32(os.Getgid()), Network: "unix", Incarnation: noderpc.ThisProcess()}, node.peer)
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
	request := noderpc.TPCHRequest{ScaleFactor: 0.01, Schema: "tpch", Replace: true, Placement: "hash", Replicas: 2}
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
	require.Equal(t, &noderpc.Error{Answered: true, State: "42P01", Message: "wrapped: table “t” is not there", At: 17, DetailText: "the detail \uFFFD", HintText: "the hint"}, e)

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

func TestAnAbandonedLeaseIsReleased(t *testing.T) {
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
// N10: the receiver waits until the load has returned. A load that waited for its receiver would wait for ever.
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

// N8 holds as well when Serve's context has not ended.
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

func TestEveryCallIsLoggedWithWho(t *testing.T) {
	var log bytes.Buffer
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	path, stop := serve(t, &fakeNode{}, noderpc.ServerOptions{Log: slog.New(slog.NewTextHandler(&log, level))})
	c := dial(t, path)
	_, err := c.Describe(context.Background())
	require.NoError(t, err)
	_, err = c.Load(context.Background(), loadRequest(), nil)
	require.NoError(t, err)
	stop()
	who := fmt.Sprintf("process %d of user %d", os.Getpid(), os.Getuid())
	for _, method := range []string{"Hello", "Describe", "Load"} {
		require.Regexp(t, "level=DEBUG .*method="+method+" peer=\""+who+"\"", log.String())
	}
}
