package storetest

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/store"
)

// twin is a store as naive as can be: it also remembers everything.
type twin struct {
	items    map[string]store.Item
	owner    map[string]int // of ephemeral keys
	revision store.Revision // at least this
	changes  []store.Change
	// ends are those of changes that a session's end made: at a revision that no caller learns, no newer than said.
	ends map[int]bool
}

var modelKeys = []string{"m/a", "m/b/1", "m/b/2", "m/b/3", "m/c\x00d", "n"}

// model does random transactions and closings through several handles of one store; the twin says what each
// answers, what is there afterwards, and what a watch over it all must show.
func model(t *testing.T, world World) {
	rapid.Check(t, func(rt *rapid.T) {
		count := 1
		if !world.Single {
			count = rapid.IntRange(1, 3).Draw(rt, "handles")
		}
		m := &modelRun{rt: rt, world: world, twin: twin{items: map[string]store.Item{}, owner: map[string]int{}, ends: map[int]bool{}}}
		for range count {
			m.handles = append(m.handles, world.Open())
		}
		defer m.closeAll()
		m.clear()
		m.observe(0)
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			if rapid.IntRange(0, 9).Draw(rt, "step") == 0 {
				m.reopen(rapid.IntRange(0, count-1).Draw(rt, "which"))
			} else {
				m.transaction(rapid.IntRange(0, count-1).Draw(rt, "who"))
			}
			requireEqual(rt, m.any(), m.twin.items)
		}
		m.requireWatched()
	})
}

type modelRun struct {
	rt      *rapid.T
	world   World
	handles []store.Store
	twin    twin
	watched *watched
	watcher int
	from    int // of twin.changes, what watched shows
}

func (m *modelRun) any() store.Store {
	return m.handles[rapid.IntRange(0, len(m.handles)-1).Draw(m.rt, "through")]
}

// clear makes an empty store of what the last run left.
func (m *modelRun) clear() {
	m.twin.revision = commit(m.rt, m.handles[0], store.Transaction{Deletes: modelKeys})
}

// observe watches from now on, through a handle.
func (m *modelRun) observe(through int) {
	m.watcher, m.from = through, len(m.twin.changes)
	m.watched = watch(m.rt, m.handles[through], []string{"m/", "n"}, m.twin.revision)
}

// requireWatched ends the watch, which must have shown what happened.
func (m *modelRun) requireWatched() {
	last := store.Revision(0)
	for i, want := range m.twin.changes[m.from:] {
		got := m.watched.next(m.rt)
		require.Greater(m.rt, got.Revision, last)
		last = got.Revision
		if m.twin.ends[m.from+i] {
			require.LessOrEqual(m.rt, got.Revision, want.Revision)
			want.Revision = got.Revision
		}
		require.Equal(m.rt, want, got)
	}
	m.watched.stop(m.rt)
}

func (m *modelRun) closeAll() {
	m.watched.cancel()
	for _, s := range m.handles {
		require.NoError(m.rt, s.Close())
	}
}

// reopen closes a handle and opens one in its place.
func (m *modelRun) reopen(which int) {
	if which == m.watcher {
		m.requireWatched()
	}
	require.NoError(m.rt, m.handles[which].Close())
	m.handles[which] = m.world.Open()
	var gone []string
	for key, owner := range m.twin.owner {
		if owner == which {
			gone = append(gone, key)
		}
	}
	if len(gone) > 0 {
		revision, err := m.handles[which].Scan(ctx, nil, nil)
		require.NoError(m.rt, err)
		m.twin.ends[len(m.twin.changes)] = true
		m.twin.do(which, store.Transaction{Deletes: gone}, revision)
	}
	if which == m.watcher {
		m.observe(which)
	}
}

func (m *modelRun) transaction(who int) {
	rt, tx, holds := m.rt, store.Transaction{}, true
	for _, key := range rapid.SliceOfN(rapid.SampledFrom(modelKeys), 0, 2).Draw(rt, "compare") {
		c := store.Compare{Key: key, Prefix: rapid.Bool().Draw(rt, "prefix")}
		c.Revision = m.twin.revision - store.Revision(rapid.Int64Range(0, int64(min(m.twin.revision, 10))).Draw(rt, "behind"))
		if rapid.Bool().Draw(rt, "right") && !c.Prefix {
			c.Revision = m.twin.items[key].Revision
		}
		tx.Compares = append(tx.Compares, c)
		holds = holds && m.twin.holds(c)
	}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(modelKeys), 0, 4, rapid.ID).Draw(rt, "write") {
		switch rapid.IntRange(0, 2).Draw(rt, "how") {
		case 0:
			tx.Deletes = append(tx.Deletes, key)
		case 1:
			tx.Puts = append(tx.Puts, ephemeralPut(key, rapid.StringN(0, 5, 9).Draw(rt, "value")))
		case 2:
			tx.Puts = append(tx.Puts, put(key, rapid.StringN(0, 5, 9).Draw(rt, "value")))
		}
	}
	revision, err := m.handles[who].Commit(ctx, tx)
	if !holds {
		require.ErrorIs(rt, err, store.ErrConflict)
		return
	}
	require.NoError(rt, err)
	m.twin.do(who, tx, revision)
}

func (w *twin) do(who int, tx store.Transaction, revision store.Revision) {
	c := store.Change{Revision: revision}
	for _, key := range tx.Deletes {
		if _, ok := w.items[key]; ok {
			c.Deletes = append(c.Deletes, key)
		}
		delete(w.items, key)
		delete(w.owner, key)
	}
	for _, p := range tx.Puts {
		p.Revision = revision
		w.items[p.Key] = p
		delete(w.owner, p.Key)
		if p.Ephemeral {
			w.owner[p.Key] = who
		}
		c.Puts = append(c.Puts, p)
	}
	if len(c.Puts)+len(c.Deletes) > 0 {
		c.Sort()
		w.changes = append(w.changes, c)
		w.revision = revision
	}
}

func (w *twin) holds(c store.Compare) bool {
	if !c.Prefix {
		return w.items[c.Key].Revision == c.Revision
	}
	for key, i := range w.items {
		if strings.HasPrefix(key, c.Key) && i.Revision > c.Revision {
			return false
		}
	}
	return true
}

func requireEqual(t require.TestingT, s store.Store, items map[string]store.Item) {
	var want, got []string
	for _, i := range items {
		want = append(want, fmt.Sprint(i))
	}
	_, err := s.Scan(ctx, []string{"m/", "n"}, func(i store.Item) error {
		i.Value = slices.Clone(i.Value)
		got = append(got, fmt.Sprint(i))
		return nil
	})
	require.NoError(t, err)
	sort.Strings(want)
	sort.Strings(got)
	require.Equal(t, want, got)
}
