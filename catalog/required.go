package catalog

import (
	"context"
	"fmt"

	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/store"
)

// requirement are rows of a committed version of a table, by chunk.
type requirement struct {
	version *TableVersion
	rows    map[int]*positions.Set
}

// Require says that the transaction rests on rows of a committed version of a table, by chunk, which it need not
// change: Commit is ErrConflict if one of them has been changed since. It may be called again: what is said adds up.
func (t *Transaction) Require(version *TableVersion, rows map[int]*positions.Set) {
	t.required = append(t.required, requirement{version, rows})
}

// HasRows returns ErrConflict unless rows of a committed version of a table, by chunk, are as they were in it. A row is
// there if it could be deleted: so the answer is that of a commit.
func (c *Contents) HasRows(ctx context.Context, of *TableVersion, rows map[int]*positions.Set) error {
	table := of.Table()
	now, ok := c.TableOf(table.ID, table.Name)
	if !ok {
		return conflict("relation", table.Name.String())
	}
	if now == of {
		return nil
	}
	without, err := of.Delete(ctx, rows)
	if err == nil {
		_, err = without.Rebase(ctx, of, now)
	}
	return diverged(err)
}

// compareExpected makes the commit fail if what a transaction expects does not hold (K17). The store compares the
// schemas with what is current now, as it does the tables whose rows are changed: then it is looked at again.
func (w *commit) compareExpected(t *Transaction) error {
	for _, holds := range t.expected {
		if !holds(w.current) {
			return fmt.Errorf("%w: a name means something else now", ErrConflict)
		}
	}
	if len(t.expected) > 0 && !w.rows[keys.SchemaPrefix] {
		w.compares(store.NothingNewer(keys.SchemaPrefix, w.current.revision))
		w.rows[keys.SchemaPrefix] = true
	}
	return nil
}

// compareRequired makes the commit fail if rows that a transaction rests on are not as they were (K13). The store
// compares the table with what is current now, if the commit does not write it anyway.
func (w *commit) compareRequired(ctx context.Context, t *Transaction) error {
	for _, r := range t.required {
		if err := w.current.HasRows(ctx, r.version, r.rows); err != nil {
			return err
		}
		table := r.version.Table()
		now, _ := w.current.TableOf(table.ID, table.Name)
		if name := now.Table().Name; !w.changed[name] {
			key := keys.Table(table.ID)
			w.compares(unchanged(key, w.current.tables.Of(name).revision))
			w.rows[key] = true
		}
	}
	return nil
}
