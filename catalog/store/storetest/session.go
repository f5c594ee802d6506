package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/store"
)

func session(t *testing.T, s store.Store) {
	session := s.Session()
	require.NoError(t, session.Check())
	require.GreaterOrEqual(t, session.Lag(), time.Duration(0))
	require.Less(t, session.Lag(), patience)
	select {
	case <-session.Done():
		require.Fail(t, "a session that has just begun is over")
	default:
	}
	require.NoError(t, s.Close())
	require.ErrorIs(t, session.Check(), store.ErrSessionOver)
	require.ErrorIs(t, session.Check(), store.ErrClosed)
	<-session.Done()
	_, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{ephemeralPut("a", "1")}})
	require.ErrorIs(t, err, store.ErrClosed)
}

// ephemeral keys live as long as the session, no longer and no shorter (S5).
func ephemeral(t *testing.T, world World) {
	s := world.Open()
	first := commit(t, s, store.Transaction{Puts: []store.Item{ephemeralPut("e/1", "x"), ephemeralPut("e/2", ""), put("p", "y"), ephemeralPut("e/gone", "")}})
	item, ok := exists(t, s, "e/1")
	require.True(t, ok)
	require.Equal(t, store.Item{Key: "e/1", Value: []byte("x"), Revision: first, Ephemeral: true}, item)
	seen := map[string]bool{}
	_, err := s.Scan(ctx, []string{""}, func(i store.Item) error {
		seen[i.Key] = i.Ephemeral
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"e/1": true, "e/2": true, "e/gone": true, "p": false}, seen)
	commit(t, s, store.Transaction{Deletes: []string{"e/gone"}})
	second := commit(t, s, store.Transaction{
		Compares: []store.Compare{store.Unchanged("e/1", first)},
		Puts:     []store.Item{put("e/2", "stays"), ephemeralPut("p", "goes")},
	})
	require.NoError(t, s.Close())
	s = world.Open()
	defer func() { require.NoError(t, s.Close()) }()
	for _, gone := range []string{"e/1", "e/gone", "p"} {
		_, ok = exists(t, s, gone)
		require.False(t, ok, gone)
	}
	item, ok = exists(t, s, "e/2")
	require.True(t, ok, "a key that is put without Ephemeral stays")
	require.Equal(t, store.Item{Key: "e/2", Value: []byte("stays"), Revision: second}, item)
	_, err = s.Commit(ctx, store.Transaction{Compares: []store.Compare{store.Unchanged("e/1", first)}})
	require.ErrorIs(t, err, store.ErrConflict, "a compare with an ephemeral key fences")
}

// ephemeralTaken: a key belongs to the session of the handle that put it last.
func ephemeralTaken(t *testing.T, world World) {
	if world.Single {
		t.Skip("one handle at a time: no other could take a key over")
	}
	a, b := world.Open(), world.Open()
	commit(t, a, store.Transaction{Puts: []store.Item{ephemeralPut("k/a", ""), ephemeralPut("k/b", "")}})
	taken := commit(t, b, store.Transaction{Puts: []store.Item{ephemeralPut("k/b", "")}})
	w := watch(t, b, []string{"k/"}, taken)
	require.NoError(t, a.Close())
	require.Equal(t, []string{"k/a"}, w.next(t).Deletes, "watchers see a session's end")
	_, ok := exists(t, b, "k/b")
	require.True(t, ok)
	w.stop(t)
	require.NoError(t, b.Close())
}

// ephemeralKilled: a process that dies without a word loses its keys, all at once, and those of others stay.
func ephemeralKilled(t *testing.T, world World) {
	s := world.Open()
	killed := s
	last := commit(t, s, store.Transaction{Puts: []store.Item{ephemeralPut("k/1", ""), ephemeralPut("k/2", ""), put("k/3", "")}})
	if world.Single {
		world.Kill(s)
		s = world.Open()
	} else {
		other := world.Open()
		own := commit(t, other, store.Transaction{Puts: []store.Item{ephemeralPut("k/4", "")}})
		w := watch(t, other, []string{"k/"}, last)
		require.Equal(t, own, w.next(t).Revision)
		world.Kill(s)
		at := time.Now()
		c := w.next(t)
		require.Less(t, time.Since(at), world.Gone)
		require.Equal(t, []string{"k/1", "k/2"}, c.Deletes, "in one transaction")
		w.stop(t)
		require.NoError(t, s.Close())
		s = other
	}
	_, err := killed.Commit(ctx, store.Transaction{Puts: []store.Item{put("k/5", "from beyond")}})
	require.Error(t, err)
	require.True(t, errors.Is(err, store.ErrSessionOver) || errors.Is(err, store.ErrClosed), "%v", err)
	for key, want := range map[string]bool{"k/5": false, "k/1": false, "k/2": false, "k/3": true, "k/4": !world.Single} {
		_, ok := exists(t, s, key)
		require.Equal(t, want, ok, key)
	}
	require.NoError(t, s.Session().Check())
	require.NoError(t, s.Close())
}

// handles see each other's transactions as soon as they were acknowledged (S4).
func handles(t *testing.T, world World) {
	if world.Single {
		t.Skip("one handle at a time")
	}
	a, b := world.Open(), world.Open()
	revision := commit(t, a, store.Transaction{Puts: []store.Item{put("k", "a")}})
	item, ok := exists(t, b, "k")
	require.True(t, ok)
	require.Equal(t, revision, item.Revision)
	commit(t, b, store.Transaction{Compares: []store.Compare{store.Unchanged("k", revision)}, Puts: []store.Item{put("k", "b")}})
	_, err := a.Commit(ctx, store.Transaction{Compares: []store.Compare{store.Unchanged("k", revision)}, Puts: []store.Item{put("k", "a")}})
	require.ErrorIs(t, err, store.ErrConflict)
	require.NoError(t, a.Close())
	_, ok = exists(t, b, "k")
	require.True(t, ok, "closing a handle closes no other")
	require.NoError(t, b.Session().Check())
	require.NoError(t, b.Close())
}
