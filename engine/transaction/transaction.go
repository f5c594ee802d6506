package transaction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/rowlock"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Node is what the transactions of one node have in common.
type Node struct {
	Rows *rowlock.Locks
	// Snapshot gives one that is at most so much older than the last commit, and how old it may be.
	Snapshot func(ctx context.Context, maxAge time.Duration) (*lease.Lease, time.Duration, error)
	Begin    func(*catalog.Snapshot) *catalog.Transaction
}

// Transaction is for one goroutine, and ends with End.
type Transaction struct {
	// Lease keeps the snapshot; nil: it has none yet.
	Lease *lease.Lease
	// Changes are on top of the snapshot; nil: it has written nothing.
	Changes *catalog.Transaction
	// Renamed: it has moved to a snapshot in which names mean something else.
	Renamed bool
	// Proposes: it has an INSERT … ON CONFLICT or a MERGE that inserts, for which a key that others have committed
	// meanwhile is a lost race.
	Proposes bool
	// MaxAge is how much older than the last commit its next snapshot may be, Age how old the present one may have been.
	MaxAge, Age time.Duration

	node  *Node
	stale bool // the next to look sees a newer snapshot
	// rested is what it saw before it let go of its snapshot; nil: it has one, or never had.
	rested *catalog.Contents
	rows   *rowlock.Owner
	ended  uint64  // rowlock's, before the snapshot was taken
	marks  []point // the oldest first
	costs  costs
}

// point is where a transaction was once.
type point struct {
	changes *catalog.Savepoint // nil: it had written nothing
	claims  int
	bytes   int64 // of changes, as they are charged
}

// New is a transaction that has seen nothing yet. What it keeps is charged to the account.
func (n *Node) New(to *account.Session) *Transaction {
	return &Transaction{node: n, rows: n.Rows.Owner(), costs: costs{account: to}}
}

// Next says that another statement begins, which sees what was committed by now.
func (t *Transaction) Next() { t.stale = t.moves() }

// Rest lets go of the snapshot of a moving transaction that has changed nothing, until the next statement: the memory of
// what others replace meanwhile is not kept for it. Requires: no statement of it runs; results that are still read hold
// the lease themselves.
func (t *Transaction) Rest() {
	if t.Lease != nil && t.Changes == nil {
		t.rested = t.Lease.Snapshot.Contents
		t.Forget()
	}
}

// Looked reports whether a statement of the transaction has seen a snapshot.
func (t *Transaction) Looked() bool { return t.Lease != nil || t.rested != nil }

// moves reports whether there can be a newer snapshot.
func (t *Transaction) moves() bool {
	return t.Lease != nil && (t.Changes == nil || t.Changes.ByRows())
}

// Start sees to it that there is a snapshot, and that it is the statement's (TR1).
func (t *Transaction) Start(ctx context.Context) error {
	if t.Lease != nil && !t.stale {
		return nil
	}
	ended := t.node.Rows.Ended() // before: what has ended by now is seen
	to, age, err := t.node.Snapshot(ctx, t.MaxAge)
	if err != nil {
		return err
	}
	var moved bool
	if t.rested != nil {
		t.Renamed = t.Renamed || !to.Snapshot.SameNames(t.rested)
		t.rested = nil
	}
	if t.Lease != nil {
		if moved, err = t.move(ctx, to); err != nil {
			to.Release()
			return err
		}
		t.Lease.Release()
	}
	t.Lease, t.Age, t.ended, t.stale = to, age, ended, false
	if moved {
		return t.countAll()
	}
	return nil
}

// move puts what the transaction has done behind a newer snapshot; moved: it is something else then.
func (t *Transaction) move(ctx context.Context, to *lease.Lease) (moved bool, err error) {
	renamed := t.Renamed || !to.Snapshot.SameNames(t.Lease.Snapshot.Contents)
	if t.Changes != nil {
		var marks []*catalog.Savepoint
		for _, m := range t.marks {
			if m.changes != nil {
				marks = append(marks, m.changes)
			}
		}
		before := t.Changes.Contents()
		if err := t.Changes.Advance(ctx, to.Snapshot, marks...); err != nil {
			return false, t.Raced(err)
		}
		if err := t.rows.Move(ctx, to.Snapshot.Contents); err != nil {
			return false, err
		}
		moved = t.Changes.Contents() != before
	}
	t.Renamed = renamed
	return moved, nil
}

// Raced is an error of what others have committed, as it is to the transaction: a key of what it has proposed is a lost
// race (40001), which may be tried again, and no duplicate (23505).
func (t *Transaction) Raced(err error) error {
	if t.Proposes && sqlerror.State(err) == "23505" {
		return fmt.Errorf("%w: %w", catalog.ErrConflict, err)
	}
	return err
}

// Contents is the snapshot with the transaction's own changes.
func (t *Transaction) Contents() *catalog.Contents {
	if t.Changes != nil {
		return t.Changes.Contents()
	}
	return t.Lease.Snapshot.Contents
}

// Write runs what a statement changes, as often as others have rows of it, or have changed them since its snapshot.
// wait waits for such a transaction. moves: it may see a newer snapshot each time.
func (t *Transaction) Write(ctx context.Context, moves bool, wait func(*rowlock.HeldError) error,
	change func() error) error {
	for {
		if err := t.Start(ctx); err != nil {
			return err
		}
		if t.Changes == nil {
			t.Changes = t.node.Begin(t.Lease.Snapshot)
		}
		at, claims := t.Changes.Savepoint(), t.rows.Claims()
		err := change()
		t.costs.running = 0
		var held *rowlock.HeldError
		var changed *changedError
		waits := errors.As(err, &held)
		if !waits && !(errors.As(err, &changed) && moves && t.moves()) {
			t.rows.Merge(t.marked())
			if err == nil {
				return t.grown(at, claims)
			}
			_ = t.settle() // it has no more
			return err
		}
		if err := t.Changes.RollbackTo(at, false); err != nil {
			return err
		}
		t.rows.Release(claims)
		_ = t.settle() // it has what it had
		if waits {
			if err := wait(held); err != nil {
				return err
			}
		}
		t.stale = moves && t.moves()
	}
}

// marked is how many claims there were at the last mark.
func (t *Transaction) marked() int {
	if len(t.marks) == 0 {
		return 0
	}
	return t.marks[len(t.marks)-1].claims
}

// Wait is rowlock.Owner.Wait.
func (t *Transaction) Wait(ctx context.Context, held *rowlock.HeldError) error {
	return t.rows.Wait(ctx, held)
}

// changedError is the conflict of a statement that may find other rows when it runs again.
type changedError struct{ error }

func (e *changedError) Unwrap() error { return e.error }

// Claim makes the rows the transaction's that it has deleted since it saw contents, or is the error that Write awaits.
func (t *Transaction) Claim(ctx context.Context, since *catalog.Contents) error {
	if !t.Changes.ByRows() {
		return nil // a change of more than rows conflicts with every other one
	}
	for before, after := range t.Changes.Since(since) {
		rows, err := rowlock.Deleted(ctx, t.Lease.Snapshot.Contents, before, after)
		if err == nil {
			err = t.rows.Claim(ctx, rows)
		}
		if err != nil {
			return err
		}
	}
	if t.rows.Claims() == 0 || t.node.Rows.Ended() == t.ended {
		return nil
	}
	now, _, err := t.node.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer now.Release()
	err = t.Raced(t.Changes.GoesBehind(ctx, now.Snapshot))
	if errors.Is(err, catalog.ErrConflict) {
		return &changedError{err}
	}
	return err
}

// Mark marks where the transaction is now; marks are numbered from 0 on.
func (t *Transaction) Mark() {
	p := point{claims: t.rows.Claims(), bytes: t.costs.changes}
	if t.Changes != nil {
		at := t.Changes.Savepoint()
		p.changes = &at
	}
	t.marks = append(t.marks, p)
	t.costs.counted = 0
}

// MarkBytes estimates what Mark takes.
func (t *Transaction) MarkBytes() int64 {
	if t.Changes == nil {
		return 0
	}
	return t.Changes.SavepointBytes()
}

// Fail lets go of rows that the transaction cannot need any more: it ends, or goes back to a mark.
func (t *Transaction) Fail() {
	t.rows.Release(t.marked())
	_ = t.settle() // it has less
}

// Unmark forgets all marks from number i on.
func (t *Transaction) Unmark(i int) {
	clear(t.marks[i:])
	t.marks = t.marks[:i]
}

// BackTo brings the transaction back to a mark. keep: see catalog.Transaction.RollbackTo.
func (t *Transaction) BackTo(i int, keep bool) error {
	if t.Changes != nil {
		at := t.Changes.Start()
		if p := t.marks[i].changes; p != nil {
			at = *p
		}
		if err := t.Changes.RollbackTo(at, keep); err != nil {
			return err
		}
	}
	t.rows.Release(t.marks[i].claims)
	t.costs.changes, t.costs.counted = t.marks[i].bytes, 0
	return t.settle()
}

// Forget lets go of a snapshot that nothing was changed on; the next to look gets another one.
func (t *Transaction) Forget() {
	if t.Lease != nil {
		t.Lease.Release()
		t.Lease = nil
	}
}

// End lets go of the snapshot and of the rows. The changes are committed, or rolled back, by then.
func (t *Transaction) End() {
	t.rows.End()
	t.Forget()
	t.costs.changes = 0
	_ = t.settle() // it has nothing
}
