package catalog

import (
	"context"
	"iter"

	"github.com/csmsql/csmsql/catalog/internal/keys"
)

// Commitment is a transaction that is about to be committed behind what others have committed since its snapshot.
type Commitment struct {
	transaction *Transaction
	next        *Contents                   // with those before it
	rows        map[TableName]*TableVersion // that it changes the rows of, as they become
}

// Changed lists the tables that the transaction changes, or makes, as they become, except those whose keys it has kept.
func (c *Commitment) Changed() iter.Seq[*TableVersion] {
	return func(yield func(*TableVersion) bool) {
		for name := range c.transaction.relation {
			if c.transaction.keepsKeys(name) {
				continue
			}
			e, ok := c.transaction.own.tables.Get(name)
			if v := c.rows[name]; v != nil {
				e.version = v
			}
			if ok && !yield(e.version) {
				return
			}
		}
	}
}

// Base is a table as the transaction's snapshot has it; false: it was not there.
func (c *Commitment) Base(id TableID, hint TableName) (*TableVersion, bool) {
	return c.transaction.base.TableOf(id, hint)
}

// Now is a table as it becomes, or as others have made it if the transaction has kept its keys; false: it is not there
// any more.
func (c *Commitment) Now(id TableID, hint TableName) (*TableVersion, bool) {
	for name := range c.transaction.relation {
		e, ok := c.transaction.own.tables.Get(name)
		if !ok || e.version.Table().ID != id {
			continue
		}
		if c.transaction.keepsKeys(name) {
			break
		}
		if v := c.rows[name]; v != nil {
			return v, true
		}
		return e.version, true
	}
	v, ok := c.next.TableOf(id, hint)
	return v, ok
}

// relate holds the tables that a transaction changes against others (Options.Relate). What it relied on must not be
// changed by another node before the commit is stored.
func (w *commit) relate(ctx context.Context, t *Transaction, rows map[TableName]*TableVersion) error {
	relate := w.catalog.options.Relate
	if relate == nil || t.folds() {
		return nil
	}
	relied, err := relate(ctx, &Commitment{t, w.next, rows})
	if err != nil || !w.catalog.shared() {
		return diverged(err)
	}
	for _, id := range relied {
		v, ok := w.current.TableOf(id, TableName{})
		if !ok {
			continue
		}
		key := keys.Table(id)
		w.compares(unchanged(key, w.current.tables.Of(v.Table().Name).revision))
		w.rows[key] = true
	}
	return nil
}

// folds reports whether all that the transaction does is to fold.
func (t *Transaction) folds() bool {
	for name := range t.relation {
		if e, ok := t.own.tables.Get(name); ok && !e.version.Folds() {
			return false
		}
	}
	return true
}
