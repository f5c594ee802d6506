package statement

// MayBeGivenUp reports whether a statement leaves nothing behind when it is made to fail, outside of a transaction
// block, and
// inside of one when that fails: it reads, writes tables, or makes a cursor or a prepared statement. Others change the
// session, or end a block; EXECUTE does what it runs does.
func MayBeGivenUp(head any) bool {
	switch head.(type) {
	case *Select, *Explain, *Insert, *Update, *Delete, *Copy, *CreateTableAs, *CreateView, *Fetch, *CreateTable,
		*Refresh, *AddConstraint, *AlterTable, *Declare, *Prepare:
		return true
	}
	return false
}

// EndsBlock reports whether a statement is COMMIT or ROLLBACK.
func EndsBlock(head any) bool {
	switch head.(type) {
	case *Commit, *Rollback:
		return true
	}
	return false
}

// MakesRoom reports whether a session keeps less, or no more, after a statement than before.
func MakesRoom(head any) bool {
	switch head.(type) {
	case *Commit, *Rollback, *RollbackTo, *Deallocate, *Discard, *CloseCursor, *Set:
		return true
	}
	return false
}
