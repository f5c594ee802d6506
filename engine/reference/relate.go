package reference

import (
	"context"
	"fmt"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Relate is an error, 23503, if a transaction cannot be committed behind what others have committed since its snapshot:
// a row came to a child whose key has vanished from the parent, whichever transactions did that. relied are the other
// tables that have to stay as they are.
func (k *Keeper) Relate(ctx context.Context, c *catalog.Commitment) (relied []catalog.TableID, err error) {
	for v := range c.Changed() {
		with, err := k.asChild(ctx, c, v)
		if err != nil {
			return nil, err
		}
		relied = append(relied, with...)
		if with, err = k.asParent(ctx, c, v); err != nil {
			return nil, err
		}
		relied = append(relied, with...)
	}
	return relied, nil
}

func (k *Keeper) asChild(ctx context.Context, c *catalog.Commitment,
	v *catalog.TableVersion) (relied []catalog.TableID, err error) {
	table := v.Table()
	refs, err := of(table, c.Now)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	base, _ := c.Base(table.ID, table.Name)
	rows, err := v.Since(ctx, base)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	// A row may have come because it followed another parent: once more, and it goes, or refers to what is there.
	follows := slices.ContainsFunc(refs, func(r reference) bool { return r.acts() })
	for i := range refs {
		r := &refs[i]
		if r.parent.ID != table.ID {
			relied = append(relied, r.parent.ID)
		}
		was, had := c.Base(r.parent.ID, r.parent.Name)
		is, has := c.Now(r.parent.ID, r.parent.Name)
		if !had || !has { // it is the transaction's own
			continue
		}
		if err := k.apart(ctx, r, changed{was: was, is: is}, v, rows, r.absent); err != nil {
			return nil, lostIf(follows, err)
		}
	}
	return relied, nil
}

func (k *Keeper) asParent(ctx context.Context, c *catalog.Commitment,
	v *catalog.TableVersion) (relied []catalog.TableID, err error) {
	table := v.Table()
	was, had := c.Base(table.ID, table.Name)
	if !had || was == v {
		return nil, nil
	}
	refs, err := to(table, c.Now)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	removed, exact, err := v.Removed(ctx, was)
	if err != nil || exact && len(removed) == 0 {
		return nil, err
	}
	for i := range refs {
		r := &refs[i]
		if r.child.ID == table.ID { // looked at as a child
			continue
		}
		relied = append(relied, r.child.ID)
		before, had := c.Base(r.child.ID, r.child.Name)
		now, has := c.Now(r.child.ID, r.child.Name)
		if !had || !has || before == now {
			continue
		}
		rows, err := now.Since(ctx, before)
		if err != nil {
			return nil, err
		}
		if err := k.apart(ctx, r, changed{was: was, is: v}, now, rows, r.needed); err != nil {
			return nil, lostIf(r.acts(), err) // once more, and it goes with its parent
		}
	}
	return relied, nil
}

// lostIf makes a lost race of a key that is not there, if rows follow their parents: a statement that is alone is
// repeated then.
func lostIf(follows bool, err error) error {
	if follows && sqlerror.State(err) == "23503" {
		return fmt.Errorf("%w: %w", catalog.ErrConflict, err)
	}
	return err
}
