package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
)

// A counter is a record beside the contents: it changes at once and for all sessions, whatever transactions do, and no
// commit of a table compares it, nor does a change of it take part in one. Its user reserves many numbers with one
// change (package engine/sequence).

// Count is how far a counter has come.
type Count = record.Count

func decodeCount(data []byte) (*Count, error) {
	c, err := record.DecodeCount(data)
	return c, damaged("counter", err)
}

// NewCounter returns a new counter's identity. It has no record before it is changed.
func (c *Catalog) NewCounter(ctx context.Context) (CounterID, error) {
	id, err := c.newIdentity(ctx)
	return CounterID(id), err
}

// Counter reads a counter; nil: nothing was done to it yet.
func (c *Catalog) Counter(ctx context.Context, id CounterID) (*Count, error) {
	count, _, err := c.counter(ctx, id)
	return count, err
}

func (c *Catalog) counter(ctx context.Context, id CounterID) (*Count, store.Revision, error) {
	item, ok, err := c.store.Get(ctx, keys.Counter(id))
	if err != nil {
		return nil, 0, fmt.Errorf("read counter %d: %w", id, err)
	}
	if !ok {
		return nil, 0, nil
	}
	count, err := decodeCount(item.Value)
	return count, item.Revision, err
}

// ChangeCounter sets a counter to the result of change, durably. change is called again if another node was faster;
// nothing is done if it returns nil. If the outcome is unknown (ErrOutcomeUnknown), the counter may be as it was or as
// change made it.
func (c *Catalog) ChangeCounter(ctx context.Context, id CounterID, change func(now *Count) (*Count, error)) error {
	return c.changeCounter(ctx, id, false, change)
}

// SetCounter is ChangeCounter of which every node is notified (Options.Set) before it begins a snapshot after it.
func (c *Catalog) SetCounter(ctx context.Context, id CounterID, change func(now *Count) (*Count, error)) error {
	return c.changeCounter(ctx, id, true, change)
}

func (c *Catalog) changeCounter(ctx context.Context, id CounterID, notify bool,
	change func(now *Count) (*Count, error)) error {
	for {
		now, revision, err := c.counter(ctx, id)
		if err != nil {
			return err
		}
		next, err := change(now)
		if err != nil || next == nil {
			return err
		}
		t := store.Transaction{
			Compares: []store.Compare{unchanged(keys.Counter(id), revision)},
			Puts:     []store.Item{{Key: keys.Counter(id), Value: next.Encode()}},
		}
		if notify && c.shared() { // the token is no commit's: it has the others wait until they have seen this
			token := store.Item{Key: keys.Commit, Value: []byte(c.identity)}
			t.Puts = append(t.Puts, store.Item{Key: keys.Set(id)}, token)
		}
		_, err = c.store.Commit(ctx, t)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrUnknown):
			return fmt.Errorf("%w: counter %d: %w", ErrOutcomeUnknown, id, err)
		case !isConflict(err):
			return fmt.Errorf("change counter %d: %w", id, err)
		}
	}
}

// counts reports whether a view has the counter.
func (c *Contents) counts(id CounterID) bool {
	for _, e := range c.views.All() {
		if e.view.Counter == id {
			return true
		}
	}
	return false
}
