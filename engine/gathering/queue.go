package gathering

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/receipt"
	"github.com/csmsql/csmsql/engine/constantrows"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/internal/tally"
)

const (
	// insertionsMost and bytesMost bound what goes into one commit.
	insertionsMost = 256
	bytesMost      = 4 << 20
	// idleMost bounds the tables that are remembered while no session writes them.
	idleMost = 64
	// insertionMost is how many bytes an insertion may have and grow.
	insertionMost = 1 << 20
)

// Insertion is the rows that a transaction puts into a table.
type Insertion struct {
	Table catalog.Table // as it was when the rows were made
	Rows  []*constantrows.Rows
	// Bytes is about what the rows take.
	Bytes int64
	// Assumed are how statements named the table that did not ask whether it is still meant; that is done before they
	// are committed (GA6).
	Assumed []snapshot.Named
	// Receipt is what the commit leaves for the node that has handed the rows over; nil: they are this node's.
	Receipt *receipt.Receipt
}

// Takes reports whether rows of a table may go behind those that there are. In may be nil: none.
func (in *Insertion) Takes(table catalog.TableID) bool {
	return in == nil || in.Table.ID == table && in.Bytes < insertionMost
}

// With has rows of a table behind those that there are. In may be nil: none.
func (in *Insertion) With(table catalog.Table, rows *constantrows.Rows) *Insertion {
	if in == nil {
		in = &Insertion{Table: table}
	}
	in.Rows = append(in.Rows, rows)
	in.Bytes += rows.Bytes()
	return in
}

// Assume notes how the table was named.
func (in *Insertion) Assume(named snapshot.Named) {
	if !slices.ContainsFunc(in.Assumed, named.Same) {
		in.Assumed = append(in.Assumed, named)
	}
}

// Means reports whether in contents the table is meant by all that assumed it.
func (in *Insertion) Means(contents *catalog.Contents) bool {
	for _, named := range in.Assumed {
		if v := named.In(contents); v == nil || v.Table().ID != in.Table.ID {
			return false
		}
	}
	return true
}

// rests reports whether for all that assumed the table it depends on nothing but what a commit compares.
func (in *Insertion) rests(contents *catalog.Contents) bool {
	return !slices.ContainsFunc(in.Assumed, func(n snapshot.Named) bool { return !n.Rests(contents) })
}

// CommonError is one that each insertion of a gathering would have by itself, after as long a time: it is that of all.
type CommonError struct{ error }

func (e CommonError) Unwrap() error { return e.error }

// Queue is where insertions meet. Safe for concurrent use.
type Queue struct {
	// Store puts the rows of insertions, which are of one table, into it, and commits.
	Store func(ctx context.Context, table catalog.Table, list []*Insertion) error
	// Sizes counts gatherings by how many insertions they had.
	Sizes tally.Sizes

	mu     sync.Mutex
	tables map[catalog.TableID]*line // guarded by mu; those that a session writes, or has written
}

// line is the queue of one table.
type line struct {
	waiting []*waiter
	busy    bool          // a session works for it
	company company       // of those that come
	there   chan struct{} // closed when all are there that the session whose turn it is waits for; nil: it does not
}

// waiter is an insertion whose session waits.
type waiter struct {
	*Insertion
	ctx  context.Context
	turn chan struct{} // closed when it is its session's turn to work for all
	done chan struct{} // closed when err is final
	err  error
}

// Insert commits an insertion, together with others if there are some. It returns when it is durable.
func (q *Queue) Insert(ctx context.Context, in *Insertion) error {
	w := &waiter{Insertion: in, ctx: ctx, turn: make(chan struct{}), done: make(chan struct{})}
	if q.enter(w) {
		q.work(w)
		return w.err
	}
	select {
	case <-w.done:
	case <-w.turn:
		q.work(w)
	case <-ctx.Done():
		if q.leave(w) {
			return fmt.Errorf("insert: %w", ctx.Err())
		}
		select { // its rows are on their way, or it was called just now
		case <-w.done:
		case <-w.turn:
			q.work(w)
		}
	}
	return w.err
}

// enter puts a waiter into the line of its table; true: no session works for it yet, and the turn is the waiter's.
func (q *Queue) enter(w *waiter) (first bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tables == nil {
		q.tables = map[catalog.TableID]*line{}
	}
	l := q.tables[w.Table.ID]
	if l == nil {
		l = &line{}
		q.tables[w.Table.ID] = l
	}
	l.waiting = append(l.waiting, w)
	l.notice()
	first, l.busy = !l.busy, true
	return first
}

// notice lets the session go on that waits for company, if all are there.
func (l *line) notice() {
	if l.there != nil && len(l.waiting) >= l.company.expected {
		close(l.there)
		l.there = nil
	}
}

// gather lets those come that are about to.
func (q *Queue) gather(w *waiter) {
	runtime.Gosched() // sessions that are ready to run
	q.mu.Lock()
	l := q.tables[w.Table.ID]
	wait := l.company.wait(time.Now(), len(l.waiting))
	if wait == 0 {
		q.mu.Unlock()
		return
	}
	there := make(chan struct{})
	l.there = there
	q.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-there:
	case <-timer.C:
	case <-w.ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l.company.waited(l.there == nil)
	l.there = nil
}

// leave takes a waiter out; false: its turn has come, or that of another one that has taken it along.
func (q *Queue) leave(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.tables[w.Table.ID]
	if l == nil {
		return false
	}
	select {
	case <-w.turn:
		return false
	default:
	}
	i := slices.Index(l.waiting, w)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	return i >= 0
}

// take takes out what goes into one commit: the first of the line, whose turn it is, and those behind it that go along.
func (q *Queue) take(w *waiter) (taken []*waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, bytes := q.tables[w.Table.ID], int64(0)
	n := 0
	for _, other := range l.waiting {
		bytes += other.Bytes
		if n > 0 && (bytes > bytesMost || !constantrows.Same(other.Table.Columns, w.Table.Columns)) || n == insertionsMost {
			break
		}
		n++
	}
	taken = slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return taken
}

// next gives the turn to the next waiter, if there is one, after so many were stored.
func (q *Queue) next(table catalog.TableID, began time.Time, stored int) {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.tables[table]
	l.company.stored(now, now.Sub(began), stored, len(l.waiting))
	if l.busy = len(l.waiting) > 0; l.busy {
		close(l.waiting[0].turn)
	} else if len(q.tables) > idleMost {
		delete(q.tables, table)
	}
}

// work stores the rows of a waiter, whose turn it is, and of those that go along.
func (q *Queue) work(w *waiter) {
	q.gather(w)
	began, taken, returned := time.Now(), q.take(w), false
	defer func() { q.next(w.Table.ID, began, len(taken)) }()
	defer func() {
		for _, other := range taken {
			if !returned && other.err == nil { // it panics, which only this session sees
				other.err = fmt.Errorf("%w: the commit failed inside", catalog.ErrOutcomeUnknown)
			}
			close(other.done)
		}
	}()
	q.Sizes.Add(len(taken))
	var common CommonError
	if len(taken) == 1 {
		w.err = q.store(w.ctx, w.Table, taken)
	} else if err := q.store(context.WithoutCancel(w.ctx), w.Table, taken); errors.Is(err, catalog.ErrOutcomeUnknown) ||
		errors.As(err, &common) {
		for _, other := range taken {
			other.err = err
		}
	} else if err != nil { // GA2
		for _, other := range taken {
			other.err = q.store(other.ctx, other.Table, []*waiter{other})
		}
	}
	returned = true
}

func (q *Queue) store(ctx context.Context, table catalog.Table, list []*waiter) error {
	insertions := make([]*Insertion, len(list))
	for i, w := range list {
		insertions[i] = w.Insertion
	}
	return q.Store(ctx, table, insertions)
}
