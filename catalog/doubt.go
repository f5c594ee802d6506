package catalog

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/store"
)

// Finding out whether a commit happened whose answer from the store was lost.

// outcome asks the store what became of a transaction whose answer was lost.
func (c *Catalog) outcome(ctx context.Context, token string, cause error) (Revision, error) {
	item, ok, err := c.store.Get(ctx, c.outcomeKey())
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrOutcomeUnknown, errors.Join(cause, err))
	case ok && string(item.Value) == token:
		return item.Revision, nil
	default:
		return 0, notCommitted(cause)
	}
}

// notCommitted is the error of a doubted commit that is known now not to have happened.
func notCommitted(cause error) error {
	kind := ErrNotCommitted
	if errors.Is(cause, syscall.ENOSPC) {
		kind = ErrDiskFull
	}
	return fmt.Errorf("%w: %w", kind, store.Settled(cause))
}

// outcomeKey is where the token of this node's last commit lies. Where others commit, too, it is a key that only this
// node writes: their commits may come before the question.
func (c *Catalog) outcomeKey() string {
	if !c.shared() {
		return keys.Commit
	}
	return keys.OutcomePrefix + c.options.Self.Name
}

// settleDoubt finds out what became of a commit that ended with ErrOutcomeUnknown, if there is one. One that happened
// is seen as another node's would be; of one that did not the chunks are given back. Requires: committing.
func (c *Catalog) settleDoubt(ctx context.Context) error {
	w := c.doubted
	if w == nil || !c.shared() {
		return nil
	}
	revision, err := c.outcome(ctx, w.token, nil)
	switch {
	case errors.Is(err, ErrNotCommitted):
		c.returnGarbage(w.dead)
		c.abandonPages(w.pages)
		c.log("retire chunks of a failed commit", c.lender.Retire(sortedIDs(w.publish)...))
	case err != nil: // of the commit to come it is known that it does not happen
		return fmt.Errorf("%w, nor is it known what became of an earlier one: %v", ErrNotCommitted, err)
	default:
		if err := c.See(ctx, revision); err != nil {
			return err
		}
		w.committed()
	}
	c.doubted = nil
	return nil
}

// settleSoon is settleDoubt between commits.
func (c *Catalog) settleSoon(ctx context.Context) {
	select {
	case c.committing <- struct{}{}:
	default:
		return // the running commit settles it first
	}
	defer func() { <-c.committing }()
	if err := c.settleDoubt(ctx); err != nil && ctx.Err() == nil {
		c.log("find out what became of a commit", err)
	}
}
