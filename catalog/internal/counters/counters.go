// Package counters reads and changes counters: records beside the contents of a catalog.
//
// # Invariants
//
//   - CO1: a change happened on top of what it was computed from, or not at all.
//
// # What it does not do
//
// It does not know who is notified of a change: its caller puts that beside it.
package counters

import (
	"context"
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
)

// ErrDamaged marks a record that cannot be read.
var ErrDamaged = errors.New("record of a counter")

// Read reads a counter; nil: nothing was done to it yet.
func Read(ctx context.Context, s store.Store, id record.CounterID) (*record.Count, store.Revision, error) {
	item, ok, err := s.Get(ctx, keys.Counter(id))
	if err != nil {
		return nil, 0, fmt.Errorf("read counter %d: %w", id, err)
	}
	if !ok {
		return nil, 0, nil
	}
	count, err := record.DecodeCount(item.Value)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return count, item.Revision, nil
}

// Change sets a counter to the result of change, with items beside it, in one transaction. change is called again if
// another node was faster; nothing is done if it returns nil.
func Change(ctx context.Context, s store.Store, id record.CounterID, beside []store.Item,
	change func(now *record.Count) (*record.Count, error)) error {
	for {
		now, revision, err := Read(ctx, s, id)
		if err != nil {
			return err
		}
		next, err := change(now)
		if err != nil || next == nil {
			return err
		}
		_, err = s.Commit(ctx, store.Transaction{
			Compares: []store.Compare{store.Unchanged(keys.Counter(id), revision)},
			Puts:     append([]store.Item{{Key: keys.Counter(id), Value: next.Encode()}}, beside...),
		})
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("change counter %d: %w", id, err)
		}
	}
}
