// Package storetest is the suite that every catalog store must pass.
//
//	func TestConformance(t *testing.T) { storetest.Run(t, func(t *testing.T) store.Store { … }) }
package storetest

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/store"
)

// Run tests stores that open makes: empty ones, one for each call.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for name, test := range map[string]func(*testing.T, store.Store){
		"get and put":           getAndPut,
		"compare":               compare,
		"all or nothing":        allOrNothing,
		"prefix":                prefix,
		"scan":                  scan,
		"cancelled":             cancelled,
		"closed":                closed,
		"concurrent increments": increments,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	t.Run("model", func(t *testing.T) { model(t, open) })
}

var ctx = context.Background()

func put(key, value string) store.Item { return store.Item{Key: key, Value: []byte(value)} }

func getAndPut(t *testing.T, s store.Store) {
	_, ok, err := s.Get(ctx, "a")
	require.NoError(t, err)
	require.False(t, ok)
	first, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("a", "1"), put("b", "")}})
	require.NoError(t, err)
	item, ok, err := s.Get(ctx, "a")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "1", string(item.Value))
	require.Equal(t, first, item.Revision)
	item.Value[0] = 'x' // the caller's own
	second, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("a", "2")}})
	require.NoError(t, err)
	require.Greater(t, second, first)
	item, _, err = s.Get(ctx, "b")
	require.NoError(t, err)
	require.Empty(t, item.Value)
	require.Equal(t, first, item.Revision, "a key keeps the revision of its last write")
	_, err = s.Commit(ctx, store.Transaction{Deletes: []string{"a", "never there"}})
	require.NoError(t, err)
	_, ok, err = s.Get(ctx, "a")
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, s.Close())
}

func compare(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	first, err := s.Commit(ctx, store.Transaction{Compares: []store.Compare{store.Unchanged("a", 0)}, Puts: []store.Item{put("a", "1")}})
	require.NoError(t, err)
	for _, wrong := range []store.Revision{0, first - 1, first + 1} {
		_, err = s.Commit(ctx, store.Transaction{Compares: []store.Compare{store.Unchanged("a", wrong)}, Puts: []store.Item{put("a", "2")}})
		require.ErrorIs(t, err, store.ErrConflict, "revision %d", wrong)
	}
	_, err = s.Commit(ctx, store.Transaction{Compares: []store.Compare{store.Unchanged("a", first)}, Puts: []store.Item{put("a", "3")}})
	require.NoError(t, err)
	_, err = s.Commit(ctx, store.Transaction{Deletes: []string{"a"}})
	require.NoError(t, err)
	_, err = s.Commit(ctx, store.Transaction{Compares: []store.Compare{store.Unchanged("a", 0)}, Puts: []store.Item{put("a", "4")}})
	require.NoError(t, err, "a deleted key does not exist")
}

func allOrNothing(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	_, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("a", "1"), put("b", "1")}})
	require.NoError(t, err)
	_, err = s.Commit(ctx, store.Transaction{
		Compares: []store.Compare{store.Unchanged("a", 0)},
		Deletes:  []string{"b"},
		Puts:     []store.Item{put("c", "1")},
	})
	require.ErrorIs(t, err, store.ErrConflict)
	_, ok, err := s.Get(ctx, "b")
	require.NoError(t, err)
	require.True(t, ok)
	_, ok, err = s.Get(ctx, "c")
	require.NoError(t, err)
	require.False(t, ok)
}

func prefix(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	old, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("name/a\x00x", ""), put("name/ab\x00x", "")}})
	require.NoError(t, err)
	newer, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("name/a\x00y", "")}})
	require.NoError(t, err)
	try := func(p string, r store.Revision) error {
		_, err := s.Commit(ctx, store.Transaction{Compares: []store.Compare{store.NothingNewer(p, r)}})
		return err
	}
	require.ErrorIs(t, try("name/a\x00", old), store.ErrConflict)
	require.NoError(t, try("name/a\x00", newer))
	require.NoError(t, try("name/ab\x00", old))
	require.NoError(t, try("nothing/", 0))
}

func scan(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	revision, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("b/2", "x"), put("a/1", "y"), put("b/1", "z"), put("c", "w")}})
	require.NoError(t, err)
	var seen []string
	at, err := s.Scan(ctx, []string{"b/", "a/"}, func(i store.Item) error {
		seen = append(seen, i.Key+"="+string(i.Value))
		require.Equal(t, revision, i.Revision)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, revision, at)
	require.Equal(t, []string{"b/1=z", "b/2=x", "a/1=y"}, seen)
	stop := fmt.Errorf("enough")
	_, err = s.Scan(ctx, []string{""}, func(store.Item) error { return stop })
	require.ErrorIs(t, err, stop)
}

func cancelled(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err := s.Commit(over, store.Transaction{Puts: []store.Item{put("a", "1")}})
	require.ErrorIs(t, err, context.Canceled)
	_, ok, err := s.Get(ctx, "a")
	require.NoError(t, err)
	require.False(t, ok)
}

func closed(t *testing.T, s store.Store) {
	require.NoError(t, s.Close())
	_, _, err := s.Get(ctx, "a")
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = s.Commit(ctx, store.Transaction{})
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = s.Scan(ctx, []string{""}, func(store.Item) error { return nil })
	require.ErrorIs(t, err, store.ErrClosed)
}

// increments is what the compare-and-swap is for: no increment of a counter is lost.
func increments(t *testing.T, s store.Store) {
	const writers, each = 4, 25
	var done sync.WaitGroup
	for range writers {
		done.Go(func() {
			for n := 0; n < each; {
				item, _, err := s.Get(ctx, "counter")
				if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Commit(ctx, store.Transaction{
					Compares: []store.Compare{store.Unchanged("counter", item.Revision)},
					Puts:     []store.Item{{Key: "counter", Value: append(item.Value, '.')}},
				})
				if err == nil {
					n++
				}
			}
		})
	}
	done.Wait()
	item, _, err := s.Get(ctx, "counter")
	require.NoError(t, err)
	require.Len(t, item.Value, writers*each)
	require.NoError(t, s.Close())
}

// model runs random transactions against a map.
func model(t *testing.T, open func(t *testing.T) store.Store) {
	keys := []string{"a", "b/1", "b/2", "b/3", "c\x00d"}
	rapid.Check(t, func(rt *rapid.T) {
		s := open(t)
		defer func() { require.NoError(rt, s.Close()) }()
		twin := map[string]store.Item{}
		var last store.Revision
		for range rapid.IntRange(1, 12).Draw(rt, "transactions") {
			var tx store.Transaction
			holds := true
			for _, key := range rapid.SliceOfN(rapid.SampledFrom(keys), 0, 2).Draw(rt, "compare") {
				c := store.Compare{Key: key, Prefix: rapid.Bool().Draw(rt, "prefix"), Revision: store.Revision(rapid.Int64Range(0, int64(last)).Draw(rt, "revision"))}
				if rapid.Bool().Draw(rt, "right") && !c.Prefix {
					c.Revision = twin[key].Revision
				}
				tx.Compares = append(tx.Compares, c)
				holds = holds && modelHolds(twin, c)
			}
			for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 4, rapid.ID).Draw(rt, "write") {
				if rapid.Bool().Draw(rt, "delete") {
					tx.Deletes = append(tx.Deletes, key)
				} else {
					tx.Puts = append(tx.Puts, put(key, rapid.StringN(0, 5, 9).Draw(rt, "value")))
				}
			}
			revision, err := s.Commit(ctx, tx)
			if !holds {
				require.ErrorIs(rt, err, store.ErrConflict)
				continue
			}
			require.NoError(rt, err)
			require.Greater(rt, revision, last)
			last = revision
			for _, key := range tx.Deletes {
				delete(twin, key)
			}
			for _, p := range tx.Puts {
				p.Revision = revision
				twin[p.Key] = p
			}
			requireEqual(rt, s, twin)
		}
	})
}

func modelHolds(twin map[string]store.Item, c store.Compare) bool {
	if !c.Prefix {
		return twin[c.Key].Revision == c.Revision
	}
	for key, i := range twin {
		if strings.HasPrefix(key, c.Key) && i.Revision > c.Revision {
			return false
		}
	}
	return true
}

func requireEqual(t require.TestingT, s store.Store, twin map[string]store.Item) {
	var want, got []string
	for key, i := range twin {
		want = append(want, fmt.Sprint(key, i.Revision, string(i.Value)))
	}
	sort.Strings(want)
	_, err := s.Scan(ctx, []string{""}, func(i store.Item) error {
		got = append(got, fmt.Sprint(i.Key, i.Revision, string(i.Value)))
		return nil
	})
	require.NoError(t, err)
	sort.Strings(got)
	require.Equal(t, want, got)
}
