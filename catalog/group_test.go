package catalog_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/faults"
)

// crowd has commits come while another one is on its way to the store, so that they are a group.
type crowd struct {
	*world
	begun atomic.Int64 // commits that the catalog has begun
	hold  chan struct{}
}

func newCrowd(t *testing.T) *crowd {
	w := &crowd{world: newWorld(t, store.Limits{}), hold: make(chan struct{})}
	w.fill(1)
	w.fault = func(at faults.Point) {
		if at == faults.CommitBegin {
			if w.begun.Add(1) == 1 {
				<-w.hold
			}
		}
	}
	return w
}

// meanwhile starts a commit of the change, which waits; then it starts the others, has them wait behind it, and lets all
// go. It returns their errors, the first one's first.
func (w *crowd) meanwhile(first func(*catalog.Transaction), others ...func(*catalog.Transaction)) []error {
	errs := make([]error, 1+len(others))
	var wait sync.WaitGroup
	start := func(i int, change func(*catalog.Transaction)) {
		s := w.snapshot(catalog.Holder{})
		tx := w.catalog.Begin(s)
		change(tx)
		wait.Go(func() {
			defer s.Close()
			defer func() {
				if reason := recover(); reason != nil {
					errs[i] = reason.(error)
				}
			}()
			errs[i] = tx.Commit(ctx)
		})
	}
	start(0, first)
	require.Eventually(w.t, func() bool { return w.begun.Load() == 1 }, 10*time.Second, time.Millisecond)
	for i, change := range others {
		start(i+1, change)
		require.Eventually(w.t, func() bool { return w.catalog.Waiting() == i+1 }, 10*time.Second, time.Millisecond)
	}
	close(w.hold)
	wait.Wait()
	return errs
}

func (w *crowd) appends(chunks ...*catalog.Chunk) func(*catalog.Transaction) {
	return func(tx *catalog.Transaction) { require.NoError(w.t, tx.Append(tableA, chunks)) }
}

func (w *crowd) requireRows(want int) {
	s := w.snapshot(catalog.Holder{})
	defer s.Close()
	v, _ := s.Table(tableA)
	require.Len(w.t, w.rows(v), want)
	w.requireNoLeak(s.Contents)
}

// Appends that come while a commit is under way are one commit, in the order in which they came.
func TestAppendsAreGrouped(t *testing.T) {
	w := newCrowd(t)
	before := w.catalog.Revision()
	var others []func(*catalog.Transaction)
	for range 20 {
		others = append(others, w.appends(w.chunk(1), w.chunk(1)))
	}
	for _, err := range w.meanwhile(w.appends(w.chunk(1)), others...) {
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, w.begun.Load(), "the first, and all others at once")
	require.Equal(t, before+2, w.catalog.Revision())
	s := w.snapshot(catalog.Holder{})
	v, _ := s.Table(tableA)
	rows := w.rows(v)
	s.Close()
	require.Len(t, rows, 1+1+40)
	require.True(t, slices.IsSorted(rows[2:]), "in the order in which they came")
	w.requireRows(42)
	w.restart()
	w.requireRows(42)
}

// What does more than append and delete rows is not of a group, and a group is not held up by one of its own that fails.
func TestGroupsAreByRows(t *testing.T) {
	w := newCrowd(t)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	errs := w.meanwhile(
		w.appends(w.chunk(1)),
		w.appends(w.chunk(2)),
		func(tx *catalog.Transaction) { require.NoError(t, tx.Truncate(tableA)) },
		func(tx *catalog.Transaction) {
			require.NoError(t, tx.Append(tableA, []*catalog.Chunk{w.chunk(4)}))
			tx.Serializable([]catalog.TableName{tableA}, false)
		},
		func(tx *catalog.Transaction) {
			require.NoError(t, tx.CreateSchema("other"))
			require.NoError(t, tx.Append(tableA, []*catalog.Chunk{w.chunk(8)}))
		},
		w.appends(w.chunk(16)),
	)
	require.NoError(t, errs[0])
	require.NoError(t, errs[1])
	require.ErrorIs(t, errs[2], catalog.ErrConflict, "K5: it would take rows away that it has not seen")
	require.ErrorIs(t, errs[3], catalog.ErrConflict, "K11: it has read the table")
	require.NoError(t, errs[4])
	require.NoError(t, errs[5])
	w.requireRows(1 + 1 + 2 + 8 + 16)

	s := w.snapshot(catalog.Holder{})
	defer s.Close()
	tx := w.catalog.Begin(s)
	require.NoError(t, tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}))
	require.ErrorIs(t, tx.Commit(cancelled), context.Canceled)
	w.requireRows(1 + 1 + 2 + 8 + 16)
}

// Who gives up while others commit leaves nothing behind.
func TestGivesUpWhileOthersCommit(t *testing.T) {
	w := newCrowd(t)
	leaving, leave := context.WithCancel(ctx)
	s := w.snapshot(catalog.Holder{})
	tx := w.catalog.Begin(s)
	require.NoError(t, tx.Append(tableA, []*catalog.Chunk{w.chunk(3)}))
	gone := make(chan error, 1)
	errs := w.meanwhile(w.appends(w.chunk(1)), func(other *catalog.Transaction) {
		w.appends(w.chunk(1))(other)
		go func() { gone <- tx.Commit(leaving) }()
		require.Eventually(t, func() bool { return w.catalog.Waiting() == 1 }, 10*time.Second, time.Millisecond)
		leave()
		require.ErrorIs(t, <-gone, context.Canceled)
	})
	require.NoError(t, errors.Join(errs...))
	s.Close()
	w.requireRows(3)
}

// One whose chunks cannot be published does not take the others of its group with it.
func TestGroupIsTakenApart(t *testing.T) {
	w := newCrowd(t)
	lost := w.chunk(5)
	errs := w.meanwhile(w.appends(w.chunk(1)), w.appends(w.chunk(2)), func(tx *catalog.Transaction) {
		w.appends(lost)(tx)
		require.NoError(t, w.lender.Discard(lost.Extents()[0].Generation))
	}, w.appends(w.chunk(4)))
	require.NoError(t, errors.Join(errs[0], errs[1], errs[3]))
	require.ErrorContains(t, errs[2], "publish chunks")
	require.NotEmpty(t, w.faults, "its chunk cannot be given back once more")
	w.faults = nil
	w.requireRows(1 + 1 + 2 + 4)
}

// A chunk that moved meanwhile is moved once, and rows that came meanwhile stay (H5).
func TestMovesBesideAppends(t *testing.T) {
	w := newCrowd(t)
	move := func(tx *catalog.Transaction) {
		v, _ := tx.Contents().Table(tableA)
		c, err := v.Chunk(ctx, 0)
		require.NoError(t, err)
		moved, err := c.In([][]descriptor.Extent{w.copy(c, 0)}...)
		require.NoError(t, err)
		require.NoError(t, tx.ReplaceChunks(ctx, tableA, map[int]catalog.Replacement{0: {Old: c, New: moved}}))
	}
	errs := w.meanwhile(w.appends(w.chunk(2)), move, move)
	require.NoError(t, errors.Join(errs[0], errs[1]))
	require.ErrorIs(t, errs[2], catalog.ErrConflict)
	w.requireRows(3)
}

// Rows that are deleted meanwhile are gone wherever they lie then. Of two transactions that delete a row the other one
// conflicts, and holds none up (H6, K5).
func TestDeletesBesideOthers(t *testing.T) {
	w := newCrowd(t)
	hold := w.fault
	w.fault = nil
	w.must(func(tx *catalog.Transaction) error { return tx.Append(tableA, []*catalog.Chunk{w.chunk(7)}) })
	w.fault = hold
	deletes := func(rows ...int64) func(*catalog.Transaction) {
		return func(tx *catalog.Transaction) {
			require.NoError(t, tx.DeleteRows(ctx, tableA, map[int]*positions.Set{1: positions.Of(7, rows...)}))
		}
	}
	move := func(tx *catalog.Transaction) {
		v, _ := tx.Contents().Table(tableA)
		c, err := v.Chunk(ctx, 1)
		require.NoError(t, err)
		moved, err := c.In(w.copy(c, 0))
		require.NoError(t, err)
		require.NoError(t, tx.ReplaceChunks(ctx, tableA, map[int]catalog.Replacement{1: {Old: c, New: moved}}))
	}
	before := w.catalog.Revision()
	errs := w.meanwhile(move, deletes(0), deletes(1, 2), w.appends(w.chunk(3)), deletes(2, 3), deletes(4))
	require.ErrorIs(t, errs[4], catalog.ErrConflict)
	errs[4] = nil
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, before+2, w.catalog.Revision(), "the move, and all others at once")
	w.requireRows(1 + 7 - 4 + 3)
	w.restart()
	w.requireRows(1 + 7 - 4 + 3)
}

// Rows that were placed as the table was declared before are not that table's any more (K5).
func TestAppendBesideADeclaration(t *testing.T) {
	w := newCrowd(t)
	errs := w.meanwhile(func(tx *catalog.Transaction) { require.NoError(t, tx.SetPlacement(tableA, "rows")) }, w.appends(w.chunk(2)))
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], catalog.ErrConflict)
	w.requireRows(1)
}

// A commit that panics acknowledges nothing: neither to the one whose turn it is nor to those of its group.
func TestPanicInAGroup(t *testing.T) {
	w := newCrowd(t)
	inside, hold := errors.New("inside"), w.fault
	w.fault = func(at faults.Point) {
		hold(at)
		if at == faults.CommitPublished && w.begun.Load() == 2 {
			panic(inside)
		}
	}
	errs := w.meanwhile(w.appends(w.chunk(1)), w.appends(w.chunk(2)), w.appends(w.chunk(4)), w.appends(w.chunk(8)))
	require.NoError(t, errs[0])
	panicked := 0
	for _, err := range errs[1:] {
		if errors.Is(err, inside) {
			panicked++
			continue
		}
		require.ErrorIs(t, err, catalog.ErrOutcomeUnknown)
	}
	require.Equal(t, 1, panicked)
	w.fault = nil
	w.restart()
	w.requireRows(1 + 1)
}
