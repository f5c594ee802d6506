package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/internal/signal"
)

// world is a catalog as far as a hub sees one.
type world struct {
	empty *catalog.Contents
	mu    sync.Mutex
	all   map[catalog.TableID]*catalog.TableVersion
	now   *catalog.Contents
	moved signal.Signal
	ended error
}

func newWorld(t testing.TB) *world {
	record := &catalog.SnapshotRecord{Schemas: []string{"public"}}
	snapshot, err := catalog.NewRemoteSnapshot(record, nil, catalog.RemoteOptions{})
	require.NoError(t, err)
	return &world{empty: snapshot.Contents, now: snapshot.Contents, all: map[catalog.TableID]*catalog.TableVersion{}}
}

func (w *world) contents() (*catalog.Contents, <-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.moved.Wait(), w.ended
}

func named(name string) catalog.TableName { return catalog.TableName{Schema: "public", Name: name} }

var columns = arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)

// version is the one with a number of a table, in which its rows are others than in the one before.
func version(id catalog.TableID, name string, number uint64) *catalog.TableVersion {
	table := catalog.Table{ID: id, Name: named(name), Columns: columns}
	return sealed(hugetable.NewVersion(table, nil).Truncate(), number)
}

func sealed(v *catalog.TableVersion, number uint64) *catalog.TableVersion {
	next, _, err := v.Seal(context.Background(), number)
	if err != nil {
		panic(err)
	}
	return next
}

func (w *world) commit(versions ...*catalog.TableVersion) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range versions {
		maps.DeleteFunc(w.all, func(_ catalog.TableID, other *catalog.TableVersion) bool {
			return other.Table().Name == v.Table().Name
		})
		w.all[v.Table().ID] = v
	}
	w.now = w.empty.With(slices.Collect(maps.Values(w.all))...)
	w.moved.Broadcast()
}

func (w *world) end(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = why
	w.moved.Broadcast()
}

// FW1, FW4: a watch hears of its table or name and of no other, and of the end.
func TestHub(t *testing.T) {
	w := newWorld(t)
	h := NewHub(w.contents)
	w.commit(version(1, "a", 1), version(2, "b", 1))
	notified := make(chan string, 100)
	tell := func(who string) Tell {
		return func(now *catalog.TableVersion, err error) {
			switch {
			case err != nil:
				notified <- who + " ends: " + err.Error()
			case now == nil:
				notified <- who + " is gone"
			default:
				notified <- fmt.Sprintf("%s is %s, version %d", who, now.Table().Name.Name, now.Version())
			}
		}
	}
	stop, err := h.Name(named("b"), func(*catalog.TableVersion, error) { notified <- "too much" })
	require.NoError(t, err)
	stop()
	w.mu.Lock() // this is not seen before the next watch begins
	w.all[1] = version(1, "a", 9)
	w.now = w.empty.With(slices.Collect(maps.Values(w.all))...)
	w.mu.Unlock()
	stop, err = h.Table(1, tell("1"))
	require.NoError(t, err)
	_, err = h.Name(named("a"), tell("a"))
	require.NoError(t, err)
	_, err = h.Name(named("c"), tell("c"))
	require.NoError(t, err)
	_, err = h.Name(named("b"), tell("b"))
	require.NoError(t, err)
	hears := func(want ...string) {
		t.Helper()
		var heard []string
		for range want {
			heard = append(heard, <-notified)
		}
		require.ElementsMatch(t, want, heard)
	}
	w.commit(version(2, "b", 8))
	hears("b is b, version 8")
	second := version(1, "a", 2)
	w.commit(second)
	hears("1 is a, version 2", "a is a, version 2")
	w.commit(sealed(second.Place("n1"), 3)) // the same rows, which lie elsewhere
	w.commit(version(2, "b", 2))
	hears("b is b, version 2")
	w.commit(sealed(second.Rename(named("c")), 4))
	hears("a is gone", "1 is c, version 4", "c is c, version 4")
	w.commit(version(3, "c", 1)) // it is another table
	hears("c is c, version 1", "1 is gone")
	stop()
	stop()
	w.commit(version(1, "a", 5))
	hears("a is a, version 5")
	w.end(errors.New("fenced"))
	hears("a ends: fenced", "b ends: fenced", "c ends: fenced")
	_, err = h.Table(1, tell("1"))
	require.EqualError(t, err, "fenced")
	h.Close(errors.New("closed"))
	require.Empty(t, notified)
}

// A hub without watches closes, too, and refuses later ones.
func TestHubClosesUnused(t *testing.T) {
	h := NewHub(newWorld(t).contents)
	h.Close(errors.New("closed"))
	_, err := h.Table(1, func(*catalog.TableVersion, error) {})
	require.EqualError(t, err, "closed")
}

// FW1, FW2: at random, with a thousand watches of which most never look, and others that come and go: a watch that
// looks after its last news has seen the last state. The same through Await and a Remote.
func TestEverybodyHearsOfTheLast(t *testing.T) {
	const tables, commits, last = 8, 2000, 5000
	w := newWorld(t)
	h := NewHub(w.contents)
	for id := range tables {
		w.commit(version(catalog.TableID(id+1), fmt.Sprint("t", id+1), 1))
	}
	r := NewRemote(h.Await)
	for range 1000 { // watches that never look
		news := make(chan error, 1)
		_, err := h.Table(1, func(_ *catalog.TableVersion, err error) { place(news, err) })
		require.NoError(t, err)
	}
	var watching sync.WaitGroup
	for i := range 32 {
		id := catalog.TableID(i%tables + 1)
		watching.Go(func() {
			news := make(chan error, 1)
			tell := func(_ *catalog.TableVersion, err error) { place(news, err) }
			source := Source(h)
			if i%2 == 1 {
				source = r
			}
			saw, stop, err := source.watch(id, tell)
			if err != nil {
				t.Error(err)
				return
			}
			defer stop()
			for {
				now, _, _ := w.contents()
				v, _ := now.Table(named(fmt.Sprint("t", id)))
				if v.Version() == last {
					return
				}
				saw(v)
				if err := <-news; err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range commits {
		id := random.IntN(tables) + 1
		w.commit(version(catalog.TableID(id), fmt.Sprint("t", id), uint64(n+2)))
		if random.IntN(10) == 0 {
			stop, err := h.Table(catalog.TableID(id), func(*catalog.TableVersion, error) {})
			require.NoError(t, err)
			stop()
		}
	}
	for id := 1; id <= tables; id++ {
		w.commit(version(catalog.TableID(id), fmt.Sprint("t", id), last))
	}
	watching.Wait()
	closed := errors.New("closed")
	r.Close(closed)
	h.Close(closed)
	_, _, err := r.watch(1, nil)
	require.ErrorIs(t, err, closed)
}

// untouched is a Source that must not be called.
type untouched struct{ Source }

// A session that listens to nothing is asked what it has heard after each statement: that does not touch its Source.
func TestWhoDoesNotListenCostsNothing(t *testing.T) {
	l := NewListening(untouched{}, nil, nil)
	require.Empty(t, l.Heard(10))
}
