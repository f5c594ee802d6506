// Package clone makes a table of another one's rows without a byte copied: CREATE TABLE … CLONE.
//
//	CREATE TABLE b CLONE a [AT (VERSION => n)]
//	   │ declarations: as LIKE a INCLUDING ALL takes them (package template)
//	   │ rows:         the pages of a's version (catalog.Transaction.Clone)
//	   └ identity:     sequences of b's own, which go on behind a's
//
// # Words
//
// The source is the committed version whose rows a clone has.
//
// # Invariants
//
//   - CZ1: all that is declared of the source's rows, and that LIKE … INCLUDING ALL takes, is declared of the clone's;
//     so the clone's rows keep what they are held to without being looked at.
//   - CZ2: what cannot be cloned whole is an error that names it.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It reads no rows, and takes no foreign keys, views, former versions or rows that the transaction itself has written.
package clone
