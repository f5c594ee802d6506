package etcd_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/cluster/etcd"
)

type state interface{ SQLState() string }

func requireState(t testing.TB, err error, want string) {
	var s state
	require.ErrorAs(t, err, &s, "%v", err)
	require.Equal(t, want, s.SQLState())
}

// A handle that hears nothing stops trusting its session before another handle sees it end (E2), and is fenced when it
// comes back (E3).
func TestFrozenHandle(t *testing.T) {
	t.Parallel()
	server, own := member(t), prefix()
	p := newProxy(t, address(server))
	frozen := open(t, etcd.Options{Endpoints: []string{p.address()}, Prefix: own})
	other := open(t, etcd.Options{Endpoints: []string{server.Endpoint()}, Prefix: own})
	began := commit(t, frozen, ephemeral("node/frozen"), put("owner", "frozen"))
	require.NoError(t, frozen.Session().Check())

	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	p.stall(true)
	var atTheEnd error
	err := other.Watch(watching, []string{"node/"}, began, func(c store.Change) error {
		atTheEnd = frozen.Session().Check()
		require.Equal(t, []string{"node/frozen"}, c.Deletes)
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, atTheEnd, store.ErrSessionUnsure, "by its own clock, without any answer")
	requireState(t, atTheEnd, "57P03")
	select {
	case <-frozen.Session().Done():
		require.Fail(t, "it was not notified that its session is over")
	default:
	}
	require.Greater(t, frozen.Session().Lag(), time.Second)

	p.stall(false)
	_, err = frozen.Commit(ctx, store.Transaction{Puts: []store.Item{put("owner", "frozen again")}})
	require.Error(t, err)
	select {
	case <-frozen.Session().Done():
	case <-time.After(20 * time.Second):
		require.Fail(t, "it does not learn that its session is over")
	}
	require.ErrorIs(t, frozen.Session().Check(), store.ErrSessionOver)
	_, err = frozen.Commit(ctx, store.Transaction{Puts: []store.Item{put("owner", "frozen again")}})
	require.ErrorIs(t, err, store.ErrSessionOver)
	requireState(t, err, "57P02")
	item, _, err := frozen.Get(ctx, "owner")
	require.NoError(t, err, "it may read")
	require.Equal(t, began, item.Revision)
	require.NoError(t, frozen.Close())
}

// S7, without the session's own knowledge: the transaction itself fails, not a check before it.
func TestFencedByTheTransaction(t *testing.T) {
	t.Parallel()
	server, own := member(t), prefix()
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint()}, Prefix: own, SessionTTL: etcd.MaxSessionTTL})
	commit(t, s, put("a", "1"))
	require.NoError(t, s.EndLease(ctx))
	_, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("a", "2"), ephemeral("b")}})
	require.ErrorIs(t, err, store.ErrSessionOver)
	require.ErrorIs(t, s.Session().Check(), store.ErrSessionOver)
	item, _, err := s.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, "1", string(item.Value))

	idle := open(t, etcd.Options{Endpoints: []string{server.Endpoint()}, Prefix: own})
	require.NoError(t, idle.EndLease(ctx))
	select {
	case <-idle.Session().Done():
	case <-time.After(20 * time.Second):
		require.Fail(t, "an idle handle does not learn that its session is over")
	}
	require.ErrorIs(t, idle.Session().Check(), store.ErrSessionOver)
}

// A process that stands still between its lease and its fence, for longer than the lease, begins with another lease.
func TestLeasesThatEndBeforeTheirFence(t *testing.T) {
	t.Parallel()
	server := member(t)
	o := etcd.Options{Endpoints: []string{server.Endpoint()}, Prefix: prefix()}
	etcd.EndLeases(t, &o, server, 3)
	s := open(t, o)
	commit(t, s, put("a", "1"), ephemeral("b"))
	require.NoError(t, s.Session().Check())
}

// S8, E4: a transaction that was sent, not answered, and comes to etcd only after its outcome was asked for, does not happen.
func TestLateTransactionDoesNotHappen(t *testing.T) {
	t.Parallel()
	server, own := member(t), prefix()
	p := newProxy(t, address(server))
	s := open(t, etcd.Options{Endpoints: []string{p.address()}, Prefix: own, SessionTTL: 60 * time.Second, Timeout: 3 * time.Second}) // which opening it has, too
	commit(t, s, put("before", ""))
	held := p.hold("made once and only once")
	_, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("late", "made once and only once")}})
	require.ErrorIs(t, err, store.ErrUnknown)
	requireState(t, err, "08007")

	s.Use(server.Endpoint())
	soon(t, "the outcome can be asked for", func() bool {
		_, ok, err := s.Get(ctx, "late")
		require.False(t, ok)
		return err == nil
	})
	select {
	case <-(<-held).release(t, "/sessions/"): // a transaction that fails is answered with its fence
	case <-time.After(20 * time.Second):
		require.Fail(t, "the late transaction did not fail")
	}
	_, ok, err := s.Get(ctx, "late")
	require.NoError(t, err)
	require.False(t, ok, "it did not happen when it was asked for, so it must not happen later")
	require.Equal(t, int64(1), s.Stats().Unknown)
	require.Equal(t, int64(1), s.Stats().Settled)
	commit(t, s, put("late", "now"))
}

// Lag follows the truth with a watch that has nothing to show, with one whose apply does not return, and without any.
func TestLag(t *testing.T) {
	t.Parallel()
	server, own := member(t), prefix()
	p := newProxy(t, address(server))
	s := open(t, etcd.Options{Endpoints: []string{p.address()}, Prefix: own, SessionTTL: 10 * time.Second})
	fresh := func() bool { return s.Session().Lag() < 1500*time.Millisecond }
	first := commit(t, s, put("w/1", ""), put("not watched", ""))
	rounds := s.Stats().Renewals
	soon(t, "rounds go on", func() bool { return s.Stats().Renewals >= rounds+1 })
	require.True(t, fresh(), "no watch")

	watching, cancel := context.WithCancel(ctx)
	entered, leave, ended := make(chan bool, 10), make(chan bool), make(chan error)
	go func() {
		ended <- s.Watch(watching, []string{"w/"}, first, func(store.Change) error {
			entered <- true
			<-leave
			return nil
		})
	}()
	commit(t, s, put("not watched", "either"))
	for range 2 { // a watch that asked for news and got none is as fresh as the answer
		rounds = s.Stats().Renewals
		soon(t, "rounds go on", func() bool { return s.Stats().Renewals >= rounds+1 })
	}
	soon(t, "an idle watch is fresh", fresh)

	commit(t, s, put("w/1", "again"))
	<-entered
	soon(t, "a watch that is stuck in apply lags", func() bool { return s.Session().Lag() > 1500*time.Millisecond })
	leave <- true
	soon(t, "and catches up", fresh)

	p.stall(true)
	soon(t, "without a connection it lags", func() bool { return s.Session().Lag() > 1500*time.Millisecond })
	p.stall(false)
	p.cut()
	soon(t, "and catches up", fresh)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Positive(t, s.Stats().Resumes)
}
