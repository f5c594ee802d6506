package transaction

import (
	"context"
	"errors"
	"maps"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/rowlock"
)

// Locking are rows of a table that a statement sees, which it locks.
type Locking struct {
	Version *catalog.TableVersion
	Rows    map[int]*positions.Set
	Mode    rowlock.Mode
}

// committed are the rows as others name them; no other transaction has those that this one has made itself. ok is false
// if all of them are its own: of a table that it has made, or that it has changed in another way than by rows, which
// conflicts with every other change when it commits.
func (t *Transaction) committed(l Locking) (rows rowlock.Rows, ok bool) {
	table := l.Version.Table()
	base, ok := t.Lease.Snapshot.Contents.TableOf(table.ID, table.Name)
	if !ok || base != l.Version && !t.Changes.ByRows() {
		return rows, false
	}
	rows = rowlock.Rows{Version: base, Chunks: l.Rows, Mode: l.Mode}
	if base != l.Version && l.Rows != nil {
		rows.Chunks = map[int]*positions.Set{}
		for chunk, set := range l.Rows {
			if chunk < base.NumChunks() {
				rows.Chunks[chunk] = set
			}
		}
	}
	return rows, true
}

// Lock makes rows the transaction's which it does not change, or is the error that Write awaits, and then has locked
// none of them. Only within a change of Write.
func (t *Transaction) Lock(ctx context.Context, list ...Locking) (err error) {
	claims := t.rows.Claims()
	defer func() {
		if err != nil {
			t.rows.Release(claims)
		}
	}()
	for _, l := range list {
		if rows, ok := t.committed(l); ok {
			if err := t.rows.Claim(ctx, rows); err != nil {
				return err
			}
		}
	}
	if t.rows.Claims() == claims {
		return nil
	}
	now, _, err := t.node.Snapshot(ctx, 0) // others may have changed them since ours, and have ended
	if err != nil {
		return err
	}
	defer now.Release()
	for _, rows := range t.rows.Locks() {
		err := now.Snapshot.HasRows(ctx, rows.Version, rows.Chunks)
		if errors.Is(err, catalog.ErrConflict) {
			return &changedError{err}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Held are those of the rows, nil being all, that others have, so that the transaction cannot lock them now.
func (t *Transaction) Held(ctx context.Context, l Locking) (map[int]*positions.Set, error) {
	rows, ok := t.committed(l)
	if !ok {
		return nil, nil
	}
	held, err := t.rows.Held(ctx, rows)
	// A row of a later version may be held whose chunk has the number of one that this transaction has made itself.
	maps.DeleteFunc(held, func(chunk int, _ *positions.Set) bool { return chunk >= rows.Version.NumChunks() })
	return held, err
}

// Require has the commit of the transaction's changes fail if rows that it has locked were changed by others, as other
// nodes can (TR5).
func (t *Transaction) Require() {
	for _, rows := range t.rows.Locks() {
		t.Changes.Require(rows.Version, rows.Chunks)
	}
}
