package transaction

import (
	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/account"
)

// What a transaction keeps is charged to its session (TR6): what it has changed, as it is now and as it was at each of
// its marks, and the rows that are its. What two of these share is charged once.
//
//	mark 1 ──── as charged then ────► mark 2 ─┬─ counted ─┬─ each statement as it comes ─► now
//	                                          │           └► counted again when that is as much
//	                                          └ BackTo gives back to here
//
// costs are that of one transaction.
type costs struct {
	account *account.Session
	charged int64 // to account
	changes int64 // of charged, what is charged for changes
	counted int64 // of changes, what was counted since the last mark
	running int64 // of a statement that runs
}

// countFrom is from how many bytes on changes since a mark are counted again.
const countFrom = 64 << 10

// Grow charges what a change of Write keeps until it is done.
func (t *Transaction) Grow(bytes int64) error {
	t.costs.running += bytes
	err := t.settle()
	if err != nil {
		t.costs.running -= bytes
	}
	return err
}

// grown charges what a statement has changed since a savepoint, and the rows that it has claimed; or takes both back.
func (t *Transaction) grown(since catalog.Savepoint, claims int) error {
	c := &t.costs
	c.changes += t.Changes.KeptBeside(nil, &since)
	err := t.settle()
	if err != nil || c.changes-t.markedBytes() > max(countFrom, 2*c.counted) {
		t.count()
		err = t.settle()
	}
	if err == nil {
		return nil
	}
	if failed := t.Changes.RollbackTo(since, false); failed != nil {
		return failed
	}
	t.rows.Release(claims)
	t.count()
	_ = t.settle() // it has what it had
	return err
}

// settle charges what the transaction keeps now, or gives back what it does not keep any more.
func (t *Transaction) settle() error {
	c := &t.costs
	keeps := c.changes + c.running + t.rows.Bytes()
	if keeps > c.charged {
		if err := c.account.Take(account.Changes, keeps-c.charged); err != nil {
			return err
		}
	} else {
		c.account.Give(account.Changes, c.charged-keeps)
	}
	c.charged = keeps
	return nil
}

// markedBytes are those of changes that were charged at the last mark.
func (t *Transaction) markedBytes() int64 {
	if len(t.marks) == 0 {
		return 0
	}
	return t.marks[len(t.marks)-1].bytes
}

// count finds out what was changed since the last mark.
func (t *Transaction) count() {
	var from *catalog.Savepoint
	if len(t.marks) > 0 {
		from = t.marks[len(t.marks)-1].changes
	}
	t.costs.counted = t.Changes.KeptBeside(nil, from)
	t.costs.changes = t.markedBytes() + t.costs.counted
}

// countAll finds out what the transaction keeps when all of it is something else than it was.
func (t *Transaction) countAll() error {
	bytes, from := int64(0), (*catalog.Savepoint)(nil)
	for i := range t.marks {
		m := &t.marks[i]
		if m.changes != nil {
			bytes += t.Changes.KeptBeside(m.changes, from)
			from = m.changes
		}
		m.bytes = bytes
	}
	t.count()
	return t.settle()
}
