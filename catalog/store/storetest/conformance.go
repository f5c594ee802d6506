package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/store"
)

// World is one empty store. The suite closes the handles that it opens.
type World struct {
	// Open returns another handle on the content. If Single, one handle lives at a time.
	Open   func() store.Store
	Single bool
	// Kill ends a handle as the death of its process does: without a word to the store. Its ephemeral keys are gone
	// when the next handle is open and Gone is over. The suite still closes the handle.
	Kill func(store.Store)
	Gone time.Duration
	// Forget makes the store forget what happened up to a revision. Nil: it cannot.
	Forget func(store.Revision)
	// Disturb breaks the connections between the handles and the content for a moment. Nil: there are none.
	Disturb func()
}

// Run tests stores whose worlds make makes, one for each call.
func Run(t *testing.T, make func(t *testing.T) World) {
	for name, test := range map[string]func(*testing.T, store.Store){
		"get and put":           getAndPut,
		"compare":               compare,
		"all or nothing":        allOrNothing,
		"nothing changed":       nothingChanged,
		"refused":               refused,
		"prefix":                prefix,
		"present":               present,
		"scan":                  scan,
		"scan much":             scanMuch,
		"scan while writing":    scanWhileWriting,
		"cancelled":             cancelled,
		"closed":                closed,
		"concurrent increments": increments,
		"watch":                 watchOne,
		"watch ends":            watchEnds,
		"watch under load":      watchUnderLoad,
		"session":               session,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, make(t).Open())
		})
	}
	t.Run("compacted", func(t *testing.T) { compacted(t, make(t)) }) // alone: worlds may share a history
	for name, test := range map[string]func(*testing.T, World){
		"watch resumes":     watchResumes,
		"ephemeral":         ephemeral,
		"ephemeral, taken":  ephemeralTaken,
		"ephemeral, killed": ephemeralKilled,
		"handles":           handles,
		"model":             model,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, make(t))
		})
	}
}

var ctx = context.Background()

// patience is how long the suite waits for what must come.
const patience = 10 * time.Second

func put(key, value string) store.Item { return store.Item{Key: key, Value: []byte(value)} }

func ephemeralPut(key, value string) store.Item {
	return store.Item{Key: key, Value: []byte(value), Ephemeral: true}
}

func commit(t require.TestingT, s store.Store, tx store.Transaction) store.Revision {
	revision, err := s.Commit(ctx, tx)
	require.NoError(t, err)
	return revision
}

// exists returns the item and whether there is one.
func exists(t require.TestingT, s store.Store, key string) (store.Item, bool) {
	item, ok, err := s.Get(ctx, key)
	require.NoError(t, err)
	return item, ok
}

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

// allOrNothing is S1.
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

// nothingChanged: a transaction that changes nothing returns the newest revision and makes none.
func nothingChanged(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	first := commit(t, s, store.Transaction{Puts: []store.Item{put("a", "1")}})
	watched := watch(t, s, []string{""}, first)
	for _, nothing := range []store.Transaction{{}, {Deletes: []string{"never there"}}, {Compares: []store.Compare{store.Unchanged("a", first)}}} {
		require.GreaterOrEqual(t, commit(t, s, nothing), first)
	}
	next := commit(t, s, store.Transaction{Puts: []store.Item{put("a", "1")}})
	require.Equal(t, next, watched.next(t).Revision, "a put of the same value is a change; the others were none")
	watched.stop(t)
}

func refused(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	for _, bad := range []store.Transaction{
		{Puts: []store.Item{put("a", "1"), put("b", "1"), put("a", "2")}},
		{Deletes: []string{"a"}, Puts: []store.Item{put("a", "1")}},
	} {
		_, err := s.Commit(ctx, bad)
		require.ErrorIs(t, err, store.ErrTransaction)
		require.ErrorContains(t, err, `"a"`)
	}
	_, ok, err := s.Get(ctx, "b")
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

func present(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	try := func(puts ...store.Item) error {
		_, err := s.Commit(ctx, store.Transaction{Compares: []store.Compare{store.Present("a")}, Puts: puts})
		return err
	}
	require.ErrorIs(t, try(put("b", "1")), store.ErrConflict)
	for range 2 { // whatever its revision
		_, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("a", "")}})
		require.NoError(t, err)
		require.NoError(t, try())
	}
	_, err := s.Commit(ctx, store.Transaction{Deletes: []string{"a"}})
	require.NoError(t, err)
	require.ErrorIs(t, try(put("b", "1")), store.ErrConflict)
	_, ok, err := s.Get(ctx, "b")
	require.NoError(t, err)
	require.False(t, ok)
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
	require.GreaterOrEqual(t, at, revision)
	require.Equal(t, []string{"b/1=z", "b/2=x", "a/1=y"}, seen)
	stop := fmt.Errorf("enough")
	_, err = s.Scan(ctx, []string{""}, func(store.Item) error { return stop })
	require.ErrorIs(t, err, stop)
}

// scanMuch: more than a store can be expected to answer at once, and the keys that a page could begin or end with.
func scanMuch(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	var want []string
	for i := range 20 {
		var t1 store.Transaction
		for j := range 100 {
			key := fmt.Sprintf("k/%02d\x00%02d", i, j)
			want = append(want, key)
			t1.Puts = append(t1.Puts, put(key, key))
		}
		commit(t, s, t1)
	}
	commit(t, s, store.Transaction{Puts: []store.Item{put("k", ""), put("k0", ""), put("k/\xff\xff", "")}})
	var got []string
	_, err := s.Scan(ctx, []string{"k/", "k/19\x0099"}, func(i store.Item) error {
		got = append(got, i.Key)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, append(want, "k/\xff\xff", "k/19\x0099"), got)
}

// scanWhileWriting attacks S3: every transaction gives all keys one value, so a scan that sees two has seen two
// revisions.
func scanWhileWriting(t *testing.T, s store.Store) {
	defer func() { require.NoError(t, s.Close()) }()
	const keys, enough = 100, 30
	write := func(value int) error {
		var all store.Transaction
		for i := range keys {
			all.Puts = append(all.Puts, put(fmt.Sprintf("same/%03d", i), fmt.Sprint(value)))
		}
		_, err := s.Commit(ctx, all)
		return err
	}
	require.NoError(t, write(0))
	scanned, written := make(chan bool), make(chan error)
	go func() {
		for value := 1; ; value++ {
			select {
			case <-scanned:
				written <- nil
				return
			default:
			}
			if err := write(value); err != nil {
				<-scanned
				written <- err
				return
			}
		}
	}()
	for range enough {
		seen := map[string]int{}
		_, err := s.Scan(ctx, []string{"same/"}, func(i store.Item) error {
			seen[string(i.Value)]++
			return nil
		})
		require.NoError(t, err)
		require.Len(t, seen, 1, "%v", seen)
		for _, n := range seen {
			require.Equal(t, keys, n)
		}
	}
	close(scanned)
	require.NoError(t, <-written)
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
	err = watchFails(t, s, []string{""}, 0, ignore)
	require.ErrorIs(t, err, store.ErrClosed)
	require.NoError(t, s.Close(), "closing twice is harmless")
}

// increments is what the compare-and-swap is for (S2): no increment of a counter is lost.
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
