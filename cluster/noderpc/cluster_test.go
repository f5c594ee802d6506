package noderpc_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Every call about memory reaches the lender as it was made, with its caller.
func TestLendingCalls(t *testing.T) {
	ctx := context.Background()
	l := &fakeLender{}
	s := serveSecured(t, noderpc.ServerOptions{Lender: l})
	caller := noderpc.NewIncarnation()
	c := s.dial(t, nodeCertificate(t, s.authority, "n2"), noderpc.WithIncarnation(caller))
	ticket := noderpc.NewTicket()
	asked := noderpc.GrantRequest{
		Region: 9, Owner: "public.t", Size: 5000, Ticket: ticket, Domain: "n2", Member: noderpc.Membership{Node: "dir2", Registered: 1 << 62}, Holder: "session 5",
	}
	granted, err := c.Grant(ctx, asked)
	require.NoError(t, err)
	id := catalog.ExtentID{Region: 9, Generation: 1}
	require.Equal(t, noderpc.Granted{Extent: id, Range: memregion.Range{Offset: 1 << 20, Length: 8192}, Class: coherence.IncoherentHomeSnoop}, granted)
	longer := noderpc.ReallocateRequest{Extent: id, Size: 10_000, Used: 5000, Ticket: noderpc.NewTicket()}
	_, err = c.Reallocate(ctx, longer)
	require.NoError(t, err)
	sealed := noderpc.SealRequest{Extent: id, Keep: 4096, Seal: coherence.Seal{Length: 100, Checksum: 1<<64 - 1}}
	require.NoError(t, c.Seal(ctx, sealed))
	other := catalog.ExtentID{Region: 1 << 60, Generation: 1 << 63}
	require.NoError(t, c.Publish(ctx, true, id, other))
	require.NoError(t, c.Publish(ctx, true))
	freed := noderpc.FreeRequest{Extents: []catalog.ExtentID{other}, Tickets: []noderpc.Ticket{7, 8}, Settling: true}
	require.NoError(t, c.Free(ctx, freed))
	require.NoError(t, c.Pin(ctx, id))
	require.NoError(t, c.Unpin(ctx, id, other))
	flushed := noderpc.LeftRequest{Region: 9, Domain: "n2", Flushed: []coherence.Generation{1, 1 << 63}}
	left, err := c.Left(ctx, flushed)
	require.NoError(t, err)
	require.Equal(t, []noderpc.LeftExtent{{Generation: 5, Range: memregion.Range{Offset: 4096, Length: 8192}}}, left)
	disclaimed := noderpc.HeldRequest{Region: 9, Disclaimed: []coherence.Generation{1, 1 << 63}}
	held, err := c.Held(ctx, disclaimed)
	require.NoError(t, err)
	require.Equal(t, []noderpc.LeftExtent{{Generation: 1 << 63, Range: memregion.Range{Length: 4096}}}, held)
	asked.Process = noderpc.CurrentProcess()
	require.Equal(t, []any{
		asked, longer, sealed, noderpc.PublishRequest{Extents: []catalog.ExtentID{id, other}, Temporary: true}, freed,
		[]catalog.ExtentID{id}, []catalog.ExtentID{id, other}, flushed, disclaimed,
	}, l.heard())
	for _, p := range l.peers {
		require.Equal(t, "csmsql://node/n2", p.Name())
		require.Equal(t, caller, p.Incarnation)
	}
	require.NotZero(t, noderpc.CurrentProcess().ID)
	require.False(t, noderpc.CurrentProcess().Gone())
}

// What makes no sense is refused before it is sent.
func TestLendingArguments(t *testing.T) {
	ctx := context.Background()
	l := &fakeLender{}
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{Lender: l})
	c := dial(t, path)
	for _, r := range []noderpc.GrantRequest{
		{Size: 1}, {Ticket: 1}, {Ticket: 1, Size: -1}, {Ticket: 1, Size: 1 << 62}, {Ticket: 1, Size: 1, Owner: strings.Repeat("x", 2000)}, {Ticket: 1, Size: 1, Owner: "\xff"},
		{Ticket: 1, Size: 1, Holder: "\xff"}, {Ticket: 1, Size: 1, Member: noderpc.Membership{Node: strings.Repeat("x", 2000)}}, {Ticket: 1, Size: 1, Member: noderpc.Membership{Registered: -1}},
	} {
		_, err := c.Grant(ctx, r)
		require.Equal(t, "22023", state(t, err), "%+v", r)
	}
	for _, r := range []noderpc.ReallocateRequest{{Size: 1}, {Ticket: 1, Size: 1, Used: 2}, {Ticket: 1, Size: 1, Used: -1}, {Ticket: 1}} {
		_, err := c.Reallocate(ctx, r)
		require.Equal(t, "22023", state(t, err), "%+v", r)
	}
	for _, r := range []noderpc.SealRequest{{}, {Keep: 100}, {Keep: 4096, Seal: coherence.Seal{Length: 4097}}, {Keep: 4096, Seal: coherence.Seal{Length: -1}}, {Keep: 1 << 62}} {
		require.Equal(t, "22023", state(t, c.Seal(ctx, r)), "%+v", r)
	}
	many := make([]catalog.ExtentID, noderpc.MaxExtents+1)
	for _, err := range []error{c.Publish(ctx, false, many...), c.Pin(ctx, many...), c.Unpin(ctx, many...), c.Free(ctx, noderpc.FreeRequest{Extents: many})} {
		require.Equal(t, "22023", state(t, err))
	}
	require.Empty(t, l.heard())
}

// W5 at this layer: a caller that gives up while the lender works gets nothing, and the lender hears of it.
func TestAnAbandonedGrant(t *testing.T) {
	began, proceed := make(chan struct{}), make(chan struct{})
	l := &fakeLender{}
	l.grant = func(context.Context, noderpc.GrantRequest) (noderpc.Granted, error) {
		close(began)
		<-proceed
		return noderpc.Granted{Extent: catalog.ExtentID{Generation: 1}, Range: memregion.Range{Length: 4096}}, nil
	}
	path, stop := serve(t, &fakeNode{}, noderpc.ServerOptions{Lender: l})
	c := dial(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	var group errgroup.Group
	group.Go(func() error {
		_, err := c.Grant(ctx, noderpc.GrantRequest{Size: 1, Ticket: 5})
		return err
	})
	<-began
	cancel()
	err := group.Wait()
	require.ErrorIs(t, err, context.Canceled)
	var e *noderpc.Error
	require.ErrorAs(t, err, &e)
	require.False(t, e.Answered, "its outcome is unknown")
	require.NoError(t, c.Ping(context.Background())) // over the same connection, so the server has heard before
	close(proceed)
	stop()
	require.Equal(t, noderpc.FreeRequest{Tickets: []noderpc.Ticket{5}, Settling: true}, l.heard()[1])
}

type fakeOperations struct{ drained atomic.Bool }

func (o *fakeOperations) Drain(_ context.Context, on bool) error {
	o.drained.Store(on)
	return nil
}

var numbersSchema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

func numbers(from, to int64) arrow.RecordBatch {
	b := array.NewInt64Builder(memory.NewGoAllocator())
	for ; from < to; from++ {
		b.Append(from)
	}
	return array.NewRecordBatch(numbersSchema, []arrow.Array{b.NewArray()}, -1)
}

func TestOperations(t *testing.T) {
	o := &fakeOperations{}
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{Operations: o})
	c := dial(t, path)
	require.NoError(t, c.Drain(context.Background(), true))
	require.True(t, o.drained.Load())
	require.NoError(t, c.Drain(context.Background(), false))
	require.False(t, o.drained.Load())
}

// A node that is alone offers nothing of this, and says so.
func TestANodeThatBelongsToNoCluster(t *testing.T) {
	ctx := context.Background()
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{})
	c := dial(t, path)
	require.NoError(t, c.Ping(ctx))
	_, grantErr := c.Grant(ctx, noderpc.GrantRequest{Size: 1, Ticket: 1})
	_, runErr := c.RunFragment(ctx, noderpc.FragmentRequest{Query: "q"}, noderpc.FragmentOptions{})
	for _, err := range []error{grantErr, runErr, c.Drain(ctx, true), c.Free(ctx, noderpc.FreeRequest{})} {
		require.Equal(t, "0A000", state(t, err))
	}
}

// Every call ends: a node that works on one for ever is not waited for, and does not work on it for ever.
func TestCallsEnd(t *testing.T) {
	ended := make(chan error, 1)
	l := &fakeLender{grant: func(ctx context.Context, _ noderpc.GrantRequest) (noderpc.Granted, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return noderpc.Granted{}, ctx.Err()
	}}
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{Lender: l, MaxCallTime: 20 * time.Millisecond})
	c := dial(t, path)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour) // the caller would wait
	defer cancel()
	_, err := c.Grant(ctx, noderpc.GrantRequest{Size: 1, Ticket: 1})
	require.Equal(t, "57014", state(t, err))
	require.ErrorIs(t, <-ended, context.DeadlineExceeded)
}

// No peer keeps the others out, however many connections it has; and what gives back is never refused.
func TestAPeersShareOfTheCalls(t *testing.T) {
	ctx := context.Background()
	began, proceed := make(chan struct{}), make(chan struct{})
	l := &fakeLender{}
	l.grant = func(context.Context, noderpc.GrantRequest) (noderpc.Granted, error) {
		began <- struct{}{}
		<-proceed
		return noderpc.Granted{}, errors.New("never mind")
	}
	s := serveSecured(t, noderpc.ServerOptions{Lender: l, MaxPeerCalls: 2})
	greedy := nodeCertificate(t, s.authority, "n2")
	var group errgroup.Group
	for range 2 {
		c := s.dial(t, greedy)
		group.Go(func() error {
			_, err := c.Grant(ctx, noderpc.GrantRequest{Size: 1, Ticket: 1})
			return err
		})
		<-began
	}
	c := s.dial(t, greedy)
	_, err := c.Status(ctx)
	require.Equal(t, "53000", state(t, err))
	require.EqualValues(t, 1, s.server.Refusals().Calls(refusal.Rate))
	require.NoError(t, c.Free(ctx, noderpc.FreeRequest{}))
	_, err = s.dial(t, nodeCertificate(t, s.authority, "n3")).Status(ctx)
	require.NoError(t, err)
	close(proceed)
	require.ErrorContains(t, group.Wait(), "never mind")
	_, err = c.Status(ctx)
	require.NoError(t, err)
}
