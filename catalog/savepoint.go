package catalog

import "maps"

// Savepoint is a transaction's state at some time. It can be rolled back to any number of times while the transaction
// lasts, until the transaction is rolled back to an earlier one.
type Savepoint struct {
	own      *Contents
	relation map[TableName]bool
	schema   map[string]bool
	handed   int
}

// Savepoint marks where the transaction is now.
func (t *Transaction) Savepoint() Savepoint {
	return Savepoint{t.own, maps.Clone(t.relation), maps.Clone(t.schema), len(t.handed)}
}

// Start is the savepoint before the transaction's first change.
func (t *Transaction) Start() Savepoint {
	return Savepoint{own: t.base, relation: map[TableName]bool{}, schema: map[string]bool{}}
}

// RollbackTo takes back what the transaction did since the savepoint. Chunks that it was handed since are discarded:
// now, or, with keep, when the transaction ends or goes back to this savepoint or an earlier one again. Keep them while
// they may still be read.
func (t *Transaction) RollbackTo(s Savepoint, keep bool) error {
	if t.over {
		return ErrTransactionOver
	}
	t.own, t.relation, t.schema = s.own, maps.Clone(s.relation), maps.Clone(s.schema)
	if keep {
		return nil
	}
	since := map[ExtentID]bool{}
	for _, id := range t.handed[s.handed:] {
		since[id] = true
		delete(t.taken, id)
	}
	t.handed = t.handed[:s.handed]
	t.discard(since)
	return nil
}
