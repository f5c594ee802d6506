package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/catalog/internal/counters"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
)

// A counter is a record beside the contents: it changes at once and for all sessions, whatever transactions do, and no
// commit of a table compares it, nor does a change of it take part in one. Its user reserves many numbers with one
// change (package engine/sequence).

// Count is how far a counter has come.
type Count = record.Count

// NewCounter returns a new counter's identity. It has no record before it is changed.
func (c *Catalog) NewCounter(ctx context.Context) (CounterID, error) {
	id, err := c.newIdentity(ctx)
	return CounterID(id), err
}

// Counter reads a counter; nil: nothing was done to it yet.
func (c *Catalog) Counter(ctx context.Context, id CounterID) (*Count, error) {
	count, _, err := counters.Read(ctx, c.store, id)
	return count, ofCounter(id, err)
}

func ofCounter(id CounterID, err error) error {
	switch {
	case errors.Is(err, counters.ErrDamaged):
		return damaged("counter", err)
	case errors.Is(err, store.ErrUnknown):
		return fmt.Errorf("%w: counter %d: %w", ErrOutcomeUnknown, id, err)
	}
	return err
}

// ChangeCounter sets a counter to the result of change, durably. change is called again if another node was faster;
// nothing is done if it returns nil. If the outcome is unknown (ErrOutcomeUnknown), the counter may be as it was or as
// change made it.
func (c *Catalog) ChangeCounter(ctx context.Context, id CounterID, change func(now *Count) (*Count, error)) error {
	return ofCounter(id, counters.Change(ctx, c.store, id, nil, change))
}

// SetCounter is ChangeCounter of which every node is notified (Options.Set) before it begins a snapshot after it.
func (c *Catalog) SetCounter(ctx context.Context, id CounterID, change func(now *Count) (*Count, error)) error {
	var beside []store.Item
	if c.shared() { // the token is no commit's: it has the others wait until they have seen this
		beside = []store.Item{{Key: keys.Set(id)}, {Key: keys.Commit, Value: []byte(c.identity)}}
	}
	return ofCounter(id, counters.Change(ctx, c.store, id, beside, change))
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
