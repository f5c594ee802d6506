package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog/store"
)

// watched is a Watch in a goroutine of its own, which stop joins.
type watched struct {
	changes chan store.Change
	result  chan error
	cancel  context.CancelFunc
}

func watch(t require.TestingT, s store.Store, prefixes []string, after store.Revision) *watched {
	watching, cancel := context.WithCancel(ctx)
	w := &watched{changes: make(chan store.Change, 128), result: make(chan error, 1), cancel: cancel}
	go func() {
		w.result <- s.Watch(watching, prefixes, after, func(c store.Change) error {
			select {
			case w.changes <- c:
				return nil
			case <-watching.Done():
				return watching.Err()
			}
		})
	}()
	return w
}

func (w *watched) next(t require.TestingT) store.Change {
	select {
	case c := <-w.changes:
		return c
	case err := <-w.result:
		require.NoError(t, err)
		require.FailNow(t, "the watch returned nil")
	case <-time.After(patience):
		require.FailNow(t, "the watch showed nothing")
	}
	return store.Change{}
}

// end waits for what Watch returned.
func (w *watched) end(t require.TestingT) error {
	select {
	case err := <-w.result:
		return err
	case <-time.After(patience):
		require.FailNow(t, "the watch did not end")
		return nil
	}
}

func (w *watched) stop(t require.TestingT) {
	w.cancel()
	require.ErrorIs(t, w.end(t), context.Canceled)
}

// watchFails is for watches that end by themselves.
func watchFails(t require.TestingT, s store.Store, prefixes []string, after store.Revision,
	apply func(store.Change) error) error {
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := s.Watch(soon, prefixes, after, apply)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "the watch did not end")
	return err
}

func ignore(store.Change) error { return nil }

func keysOf(items []store.Item) (keys []string) {
	for _, i := range items {
		keys = append(keys, i.Key)
	}
	return keys
}

func watchOne(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	first := commit(t, s, store.Transaction{Puts: []store.Item{put("a/1", "x"), put("b/1", "y"), put("c/1", "z")}})
	w := watch(t, s, []string{"a/", "c/"}, first-1)
	c := w.next(t)
	require.Equal(t, first, c.Revision)
	require.Equal(t, []store.Item{{Key: "a/1", Value: []byte("x"), Revision: first}, {Key: "c/1", Value: []byte("z"), Revision: first}}, c.Puts)
	require.Empty(t, c.Deletes)

	commit(t, s, store.Transaction{Puts: []store.Item{put("b/2", "not watched")}})
	commit(t, s, store.Transaction{Deletes: []string{"a/0", "b/1"}})
	last := commit(t, s, store.Transaction{
		Deletes: []string{"c/1", "a/1", "a/never", "b/2"},
		Puts:    []store.Item{put("c/3", ""), ephemeralPut("c/2", "e"), put("b/3", "")},
	})
	c = w.next(t)
	require.Equal(t, last, c.Revision, "transactions that touch nothing below the prefixes are not shown")
	require.Equal(t, []string{"c/2", "c/3"}, keysOf(c.Puts), "in key order")
	require.True(t, c.Puts[0].Ephemeral)
	require.False(t, c.Puts[1].Ephemeral)
	require.Equal(t, []string{"a/1", "c/1"}, c.Deletes, "only what was there")
	w.stop(t)

	other := watch(t, s, []string{"nothing/"}, first)
	another := watch(t, s, []string{"c/", "c/1"}, first)
	require.Equal(t, last, another.next(t).Revision)
	require.Empty(t, other.changes)
	another.stop(t)
	other.stop(t)
}

func watchEnds(t *testing.T, s store.Store) {
	over, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, s.Watch(over, []string{""}, 0, ignore), context.Canceled)

	first := commit(t, s, store.Transaction{Puts: []store.Item{put("a", "1")}})
	commit(t, s, store.Transaction{Puts: []store.Item{put("a", "2")}})
	enough, calls := errors.New("enough"), 0
	err := watchFails(t, s, []string{""}, first-1, func(store.Change) error {
		calls++
		return enough
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 1, calls, "nothing is applied after an error")

	w := watch(t, s, []string{""}, first)
	w.next(t)
	require.NoError(t, s.Close())
	require.ErrorIs(t, w.end(t), store.ErrClosed)
}

// committed is what the writers of a test know that they did.
type committed struct {
	mu      sync.Mutex
	changes []store.Change // guarded by mu
}

func (c *committed) add(revision store.Revision, tx store.Transaction) {
	change := store.Change{Revision: revision, Puts: slices.Clone(tx.Puts), Deletes: slices.Clone(tx.Deletes)}
	for i := range change.Puts {
		change.Puts[i].Revision = revision
	}
	change.Sort()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, change)
}

func (c *committed) sorted() []store.Change {
	slices.SortFunc(c.changes, func(a, b store.Change) int { return int(a.Revision - b.Revision) })
	return c.changes
}

// writeMuch commits from several goroutines, through several handles: transactions of several keys, one of them
// deleted.
func writeMuch(t *testing.T, stores []store.Store, name string, each int) *committed {
	done := &committed{}
	var writers errgroup.Group
	for n, s := range stores {
		writers.Go(func() error {
			for i := range each {
				key := func(what string, i int) string { return fmt.Sprintf("%s/%s/%d/%d", name, what, n, i) }
				tx := store.Transaction{Puts: []store.Item{put(key("a", i), "x"), put(key("b", i), "y"), put(name+"/shared", "z")}}
				if i > 0 {
					tx.Deletes = []string{key("a", i-1)}
				}
				revision, err := s.Commit(ctx, tx)
				if errors.Is(err, store.ErrUnknown) { // a disturbed connection; ask what became of it
					item, ok, err := s.Get(ctx, key("b", i))
					if err != nil {
						return err
					}
					if !ok {
						revision, err = s.Commit(ctx, tx)
					} else {
						revision = item.Revision
					}
					if err != nil {
						return err
					}
				} else if err != nil {
					return err
				}
				done.add(revision, tx)
			}
			return nil
		})
	}
	require.NoError(t, writers.Wait())
	return done
}

// watchUnderLoad attacks S6: what a watch shows is what the writers know that they did.
func watchUnderLoad(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	first := commit(t, s, store.Transaction{Puts: []store.Item{put("load/begin", "")}})
	early := watch(t, s, []string{"load/"}, first)
	want := writeMuch(t, []store.Store{s, s, s, s}, "load", 25).sorted()
	late := watch(t, s, []string{"load/"}, first)
	for _, w := range []*watched{early, late} {
		for _, c := range want {
			require.Equal(t, c, w.next(t), "every transaction whole, in the order of revisions, each once, whenever the watch began")
		}
		w.stop(t)
	}
}

// watchResumes: a watch from the last revision seen misses nothing, and after a lost connection it resumes so by
// itself.
func watchResumes(t *testing.T, world World) {
	s := world.Open()
	defer func() { require.NoError(t, s.Close()) }()
	first := commit(t, s, store.Transaction{Puts: []store.Item{put("resume/0", "")}})
	w := watch(t, s, []string{"resume/"}, first)
	stores := []store.Store{s}
	if !world.Single {
		other := world.Open()
		defer func() { require.NoError(t, other.Close()) }()
		stores = append(stores, other)
	}
	const rounds, each = 5, 10
	for round := range rounds {
		if world.Disturb != nil {
			world.Disturb()
		}
		want := writeMuch(t, stores, fmt.Sprintf("resume/%d", round), each).sorted()
		for _, c := range want[:each/2] {
			require.Equal(t, c, w.next(t))
		}
		if round%2 == 0 {
			w.stop(t)
			w = watch(t, s, []string{"resume/"}, want[each/2-1].Revision)
		}
		for _, c := range want[each/2:] {
			require.Equal(t, c, w.next(t))
		}
	}
	w.stop(t)
}

func compacted(t *testing.T, world World) {
	s := world.Open()
	var revisions []store.Revision
	for range 5 {
		revisions = append(revisions, commit(t, s, store.Transaction{Puts: []store.Item{put("a", "x")}}))
	}
	if world.Forget == nil {
		require.NoError(t, s.Close())
		s = world.Open()
		err := watchFails(t, s, []string{"a"}, revisions[3], ignore)
		require.ErrorIs(t, err, store.ErrCompacted, "a former life's history")
	} else {
		world.Forget(revisions[3])
		err := watchFails(t, s, []string{"a"}, revisions[1], ignore)
		require.ErrorIs(t, err, store.ErrCompacted)
	}
	at, err := s.Scan(ctx, []string{"a"}, func(store.Item) error { return nil })
	require.NoError(t, err)
	w := watch(t, s, []string{"a"}, at)
	next := commit(t, s, store.Transaction{Puts: []store.Item{put("a", "y")}})
	require.Equal(t, next, w.next(t).Revision)
	w.stop(t)
	require.NoError(t, s.Close())
}
