package gathering_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/constantrows"
	"github.com/csmsql/csmsql/engine/gathering"
	"github.com/csmsql/csmsql/sql/statement"
)

var errFull = errors.New("no room")

// shop is what a queue stores in, one call after the other: each waits until it is let go on.
type shop struct {
	calls chan int64 // rows of each call, when it begins
	goOn  chan error // what it answers

	mu     sync.Mutex
	stored int64
}

func newShop() (*shop, *gathering.Queue) {
	s := &shop{calls: make(chan int64), goOn: make(chan error)}
	return s, &gathering.Queue{Store: s.store}
}

func (s *shop) store(ctx context.Context, _ catalog.Table, list []*gathering.Insertion) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var n int64
	for _, in := range list {
		n += in.Rows[0].Len()
	}
	s.calls <- n
	err := <-s.goOn
	if err == nil {
		s.mu.Lock()
		s.stored += n
		s.mu.Unlock()
	}
	return err
}

var columns = arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

// insertion is of so many rows, for the table of a number.
func insertion(t *testing.T, table catalog.TableID, rows int) *gathering.Insertion {
	list := "VALUES (1)"
	for range rows - 1 {
		list += ", (2)"
	}
	source := constantrows.Of(&statement.Insert{Name: statement.Name{Name: "t"}, Query: list}, columns)
	require.NotNil(t, source)
	made, ok := source.Rows(nil, nil)
	require.True(t, ok)
	var in *gathering.Insertion
	return in.With(catalog.Table{ID: table, Columns: columns}, made)
}

// begin has a session insert, and sends the outcome.
func begin(ctx context.Context, q *gathering.Queue, in *gathering.Insertion) <-chan error {
	done := make(chan error, 1)
	go func() { done <- q.Insert(ctx, in) }()
	return done
}

// waiting has several wait behind one that is being stored. They are in line when Waiting says so.
func waiting(t *testing.T, q *gathering.Queue, ctx context.Context, rows ...int) (list []<-chan error) {
	for i, n := range rows {
		list = append(list, begin(ctx, q, insertion(t, 1, n)))
		require.Eventually(t, func() bool { return gathering.Waiting(q, 1) == i+1 }, gathering.Timeout, gathering.Tick)
	}
	return list
}

func TestThoseThatWaitGoTogether(t *testing.T) {
	s, q := newShop()
	first := begin(t.Context(), q, insertion(t, 1, 1))
	require.Equal(t, int64(1), <-s.calls)
	others := waiting(t, q, t.Context(), 2, 3, 4)
	elsewhere := begin(t.Context(), q, insertion(t, 2, 7))
	require.Equal(t, int64(7), <-s.calls, "another table does not wait")
	s.goOn <- nil
	s.goOn <- nil
	require.NoError(t, <-elsewhere)
	require.NoError(t, <-first)
	require.Equal(t, int64(9), <-s.calls)
	for _, o := range others {
		require.Empty(t, o, "GA1: acknowledged before it is stored")
	}
	s.goOn <- nil
	for _, o := range others {
		require.NoError(t, <-o)
	}
	require.Equal(t, int64(17), s.stored)
	require.Equal(t, int64(3), q.Sizes.Groups())
	require.Equal(t, int64(5), q.Sizes.Members())
	require.Zero(t, gathering.Waiting(q, 1))
}

// GA2.
func TestAGatheringThatFailsIsTakenApart(t *testing.T) {
	s, q := newShop()
	first := begin(t.Context(), q, insertion(t, 1, 1))
	<-s.calls
	others := waiting(t, q, t.Context(), 2, 3)
	s.goOn <- nil
	require.NoError(t, <-first)
	for _, step := range []struct {
		rows int64
		err  error
	}{{5, errFull}, {2, errFull}, {3, nil}} {
		require.Equal(t, step.rows, <-s.calls)
		s.goOn <- step.err
	}
	require.ErrorIs(t, <-others[0], errFull)
	require.NoError(t, <-others[1])
}

// GA2: an error that each would have by itself is had once: where it takes seconds, the last one would wait for minutes.
func TestACommonErrorIsOfAll(t *testing.T) {
	s, q := newShop()
	first := begin(t.Context(), q, insertion(t, 1, 1))
	<-s.calls
	others := waiting(t, q, t.Context(), 2, 3)
	s.goOn <- nil
	require.NoError(t, <-first)
	require.Equal(t, int64(5), <-s.calls)
	s.goOn <- gathering.Common(errFull)
	for _, o := range others {
		require.ErrorIs(t, <-o, errFull)
	}
}

// What the catalog's store refuses is refused for all; what goes together with something else, or what a lender says, is not.
func TestWhichErrorsOfCommitsAreCommon(t *testing.T) {
	for _, err := range []error{catalog.ErrNotCommitted, catalog.ErrDiskFull, catalog.ErrBehind, catalog.ErrFenced} {
		require.True(t, gathering.IsCommon(fmt.Errorf("commit: %w", err)), err)
	}
	starting := &noderpc.Error{State: "57P03", Message: "node b starts"}
	for _, err := range []error{nil, errFull, catalog.ErrConflict, catalog.ErrLenderGone, starting} {
		require.False(t, gathering.IsCommon(err), err)
	}
}

// GA1: what may have happened is not tried again.
func TestAnOutcomeThatIsNotKnownIsEverybodys(t *testing.T) {
	s, q := newShop()
	first := begin(t.Context(), q, insertion(t, 1, 1))
	<-s.calls
	others := waiting(t, q, t.Context(), 2, 3)
	s.goOn <- nil
	require.NoError(t, <-first)
	require.Equal(t, int64(5), <-s.calls)
	s.goOn <- fmt.Errorf("%w: the disk", catalog.ErrOutcomeUnknown)
	for _, o := range others {
		require.ErrorIs(t, <-o, catalog.ErrOutcomeUnknown)
	}
}

// GA4.
func TestWhoIsCancelledLeavesTheQueue(t *testing.T) {
	s, q := newShop()
	first := begin(t.Context(), q, insertion(t, 1, 1))
	<-s.calls
	ctx, cancel := context.WithCancel(t.Context())
	gone := waiting(t, q, ctx, 2)[0]
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.Zero(t, gathering.Waiting(q, 1))
	s.goOn <- nil
	require.NoError(t, <-first)

	ctx, cancel = context.WithCancel(t.Context())
	late := begin(ctx, q, insertion(t, 1, 1))
	<-s.calls
	others := waiting(t, q, ctx, 2, 3)
	s.goOn <- nil
	require.NoError(t, <-late)
	require.Equal(t, int64(5), <-s.calls)
	cancel() // their rows are on their way
	s.goOn <- nil
	for _, o := range others {
		require.NoError(t, <-o)
	}
}

// One that panics lets the others go, and the next ones in.
func TestAPanicIsNoOneElses(t *testing.T) {
	s, q := newShop()
	panics := true
	inner := q.Store
	q.Store = func(ctx context.Context, table catalog.Table, list []*gathering.Insertion) error {
		if err := inner(ctx, table, list); err != nil || !panics {
			return err
		}
		panic("here")
	}
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		_ = q.Insert(context.Background(), insertion(t, 1, 1))
	}()
	<-s.calls
	other := waiting(t, q, t.Context(), 2)[0]
	s.goOn <- nil
	require.Equal(t, "here", <-done)
	panics = false
	require.Equal(t, int64(2), <-s.calls)
	s.goOn <- nil
	require.NoError(t, <-other)
}

// Storing may wait for nothing at all, and still sessions that are about to come go along: a chunk costs more than a
// row.
func TestWhoIsAboutToComeGoesAlong(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const sessions = 8
	q := &gathering.Queue{Store: func(context.Context, catalog.Table, []*gathering.Insertion) error { return nil }}
	for range 3 { // a processor that is taken away meanwhile shows less
		before := q.Sizes.Groups()
		var done []<-chan error
		for range sessions {
			done = append(done, begin(t.Context(), q, insertion(t, 1, 1)))
		}
		for _, d := range done {
			require.NoError(t, <-d)
		}
		if q.Sizes.Groups()-before <= sessions/4 {
			return
		}
	}
	require.Fail(t, "each session's rows were stored by themselves", "%d stores", q.Sizes.Groups())
}
