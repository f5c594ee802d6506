package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/store"
)

// noteStore is a store that fails with an error when a note is put, or has put it all the same.
type noteStore struct {
	*store.Memory
	err     error
	happens bool
	silent  bool // it does not say what happened
	lazy    []bool
}

func (s *noteStore) Commit(ctx context.Context, t store.Transaction) (revision store.Revision, err error) {
	if s.lazy = append(s.lazy, t.Lazy); s.err == nil || s.happens {
		if revision, err = s.Memory.Commit(ctx, t); err != nil || s.err == nil {
			return revision, err
		}
	}
	return 0, s.err
}

func (s *noteStore) Get(ctx context.Context, key string) (store.Item, bool, error) {
	if s.silent {
		return store.Item{}, false, errors.New("the disk does not answer")
	}
	return s.Memory.Get(ctx, key)
}

// noted is a world with a table, whose store is s.
func noted(t *testing.T, options catalog.Options) (*world, *noteStore) {
	w := newWorld(t, store.Limits{})
	w.fill(2)
	w.store = w.store.Copy()
	s := &noteStore{Memory: w.store}
	w.deltas = &deltas{w: w, boot: options.Boot}
	options.Deltas = w.deltas
	c, err := catalog.Open(ctx, s, catalog.Homes{region: w.lender.Home.Home}, options)
	require.NoError(t, err)
	w.catalog = c
	return w, s
}

// one notes a row of a table.
func (w *world) one(ctx context.Context, name catalog.TableName) (taken bool, err error) {
	n := &note{w: w, name: name, values: []int64{w.next}}
	w.next++
	n.start(ctx)
	return n.taken, n.err
}

func (w *world) count() int {
	s := w.snapshot(catalog.Holder{})
	defer s.Close()
	v, _ := s.Table(tableA)
	require.Empty(w.t, w.faults)
	return len(w.rows(v))
}

// A note whose record could not be written is an error and no row; of one of which that is not known nothing is shown,
// and nothing more is taken.
func TestNotesThatFail(t *testing.T) {
	full := fmt.Errorf("%w: %w", store.ErrUnknown, syscall.ENOSPC)
	for what, test := range map[string]struct {
		store noteStore
		want  error
		rows  int
	}{
		"it was refused":                      {noteStore{err: errors.New("refused")}, nil, 2},
		"it did not happen":                   {noteStore{err: full}, catalog.ErrDiskFull, 2},
		"it happened, and the answer is lost": {noteStore{err: full, happens: true}, nil, 3},
		"what happened is not known":          {noteStore{err: full, silent: true}, catalog.ErrOutcomeUnknown, 2},
	} {
		w, s := noted(t, catalog.Options{})
		s.err, s.happens, s.silent = test.store.err, test.store.happens, test.store.silent
		taken, err := w.one(ctx, tableA)
		require.Equal(t, test.rows == 3, taken && err == nil, "%s: %v", what, err)
		if test.want != nil {
			require.ErrorIs(t, err, test.want, what)
		}
		s.err, s.silent = nil, false
		require.Equal(t, test.rows, w.count(), what)
		_, err = w.one(ctx, tableA)
		require.Equal(t, test.want == catalog.ErrOutcomeUnknown, err != nil, "%s: %v", what, err)
	}
}

// What comes when rows cannot be sealed fails, with all that came with it. What comes later does not, and the rows are
// there, also in another process, for which the same goes.
func TestRowsThatCannotBeSealed(t *testing.T) {
	w, s := noted(t, catalog.Options{})
	refused := errors.New("refused")
	commit := func() error {
		seen, err := w.catalog.Snapshot(ctx, catalog.Holder{Unsealed: true})
		require.NoError(t, err)
		defer seen.Close()
		tx := w.catalog.Begin(seen)
		require.NoError(t, tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}))
		return tx.Commit(ctx)
	}
	_, err := w.one(ctx, tableA)
	require.NoError(t, err)
	s.err = refused
	require.ErrorIs(t, commit(), refused)
	s.err = nil
	require.NoError(t, commit())
	require.Equal(t, 2+1+1, w.count())

	_, err = w.one(ctx, tableA)
	require.NoError(t, err)
	w.deltas = &deltas{w: w}
	w.catalog, err = catalog.Open(ctx, s, catalog.Homes{region: w.lender.Home.Home}, catalog.Options{Deltas: w.deltas})
	require.NoError(t, err)
	s.err = refused
	_, err = w.one(ctx, tableA)
	require.ErrorIs(t, err, refused)
	s.err = nil
	_, err = w.one(ctx, tableA)
	require.NoError(t, err)
	require.Equal(t, 2+1+1+2, w.count(), "none came in the place of another one")
}

// A note is not lazy unless its rows end with the boot of the machine; the commit that seals it always is.
func TestNotesAreDurable(t *testing.T) {
	for _, ends := range []bool{false, true} {
		options := catalog.Options{EndsWithBoot: ends}
		if ends {
			options.Boot = "this"
		}
		w, s := noted(t, options)
		s.lazy = nil
		taken, err := w.one(ctx, tableA)
		require.True(t, taken && err == nil)
		require.Equal(t, []bool{ends}, s.lazy)
		require.Equal(t, 3, w.count())
		require.Equal(t, []bool{ends, true}, s.lazy)
		require.Equal(t, 3, w.count())
		require.Len(t, s.lazy, 2, "there was nothing more to seal")
	}
}

// Rows of another boot of the machine went with their tables' chunks, and their notes go.
func TestNotesOfAnotherBoot(t *testing.T) {
	w, s := noted(t, catalog.Options{EndsWithBoot: true, Boot: "one"})
	_, err := w.one(ctx, tableA)
	require.NoError(t, err)
	for boot, want := range map[string]int{"one": 3, "another": 2} {
		again := s.Memory.Copy()
		w.store, w.deltas = again, &deltas{w: w, boot: boot}
		w.catalog, err = catalog.Open(ctx, again, catalog.Homes{region: w.lender.Home.Home},
			catalog.Options{EndsWithBoot: true, Boot: boot, Deltas: w.deltas})
		require.NoError(t, err)
		require.Equal(t, want, w.count(), boot)
		notes := 0
		_, err := again.Scan(ctx, []string{"table/"}, func(item store.Item) error {
			if len(item.Key) > len("table/0123456789abcdef") {
				notes++
			}
			return nil
		})
		require.NoError(t, err)
		require.Zero(t, notes, boot)
	}
}

// A program that knows no notes takes one for a table's record and refuses its format; a catalog without deltas shows
// nothing of a table while there are any.
func TestNotesAreNotOverlooked(t *testing.T) {
	w, s := noted(t, catalog.Options{})
	_, err := w.one(ctx, tableA)
	require.NoError(t, err)
	_, err = s.Scan(ctx, []string{"table/"}, func(item store.Item) error {
		if len(item.Key) > len("table/0123456789abcdef") {
			_, err := hugetable.Decode(item.Value, nil)
			require.ErrorIs(t, err, hugetable.ErrCorrupt)
			require.ErrorContains(t, err, "a table record of format 12, this program knows 1 to 11")
		}
		return nil
	})
	require.NoError(t, err)
	c, err := catalog.Open(ctx, s.Memory.Copy(), catalog.Homes{region: w.lender.Home.Home}, catalog.Options{})
	require.NoError(t, err)
	_, err = c.Snapshot(ctx, catalog.Holder{})
	require.ErrorIs(t, err, catalog.ErrFormat)
}

// Notes of several sessions become one record of the store; one that is cancelled, or whose table is gone, is none and
// holds up no other.
func TestNotesAreGrouped(t *testing.T) {
	w := newCrowd(t)
	snapshot := w.snapshot(catalog.Holder{})
	defer snapshot.Close()
	tx := w.catalog.Begin(snapshot)
	w.appends(w.chunk(1))(tx)
	first := make(chan error, 1)
	go func() { first <- tx.Commit(ctx) }()
	require.Eventually(t, func() bool { return w.begun.Load() == 1 }, 10*time.Second, time.Millisecond)

	cancelled, cancel := context.WithCancel(ctx)
	var errs []chan error
	for i, n := range []struct {
		ctx  context.Context
		name catalog.TableName
	}{{ctx, tableA}, {cancelled, tableA}, {ctx, catalog.TableName{Schema: "public", Name: "none"}}, {ctx, tableA}} {
		done := make(chan error, 1)
		errs = append(errs, done)
		go func() { _, err := w.one(n.ctx, n.name); done <- err }()
		require.Eventually(t, func() bool { return w.catalog.Waiting() == i+1 }, 10*time.Second, time.Millisecond)
	}
	cancel()
	require.ErrorIs(t, <-errs[1], context.Canceled)
	revision := func() store.Revision {
		r, err := w.store.Scan(ctx, nil, nil)
		require.NoError(t, err)
		return r
	}
	before := revision()
	close(w.hold)
	require.NoError(t, <-first)
	require.NoError(t, <-errs[0])
	require.ErrorIs(t, <-errs[2], catalog.ErrConflict)
	require.NoError(t, <-errs[3])
	require.Equal(t, before+2, revision(), "the commit, and one for all notes")
	w.requireRows(1 + 1 + 2)
}
