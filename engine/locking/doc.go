// Package locking says what a SELECT … FOR UPDATE means: which rows it locks, and which query gives them with their
// numbers.
//
//	SELECT * FROM t AS a WHERE … ORDER BY … LIMIT 1 FOR UPDATE SKIP LOCKED
//	       │
//	       ▼  without the clause, with the rows' numbers beside the user's columns
//	SELECT *, a.csm_row0 FROM csm_numbered0.t AS a WHERE … ORDER BY … LIMIT 1
//	       │
//	       ▼  rows, kept ── their numbers ──► Transaction.Lock ─┬► the rows are the statement's answer
//	       ▲                                                    └► another has one: wait and begin over, an error
//	       └────── once more without what others have ◄────────────┘ (NOWAIT), or leave it out (SKIP LOCKED)
//
// # Words
//
// A clause is FOR UPDATE, FOR NO KEY UPDATE, FOR SHARE or FOR KEY SHARE with what belongs to it. A target is an entry
// of the FROM clause whose rows are locked. Columns are hidden whose names begin as those of the numbers do: no word of
// the user's does, so a star has made them.
//
// # Invariants
//
//   - FU1: what is locked is what is returned: rows that LIMIT leaves out are not, and what SKIP LOCKED leaves out does
//     not count for LIMIT.
//   - FU2: a row is returned only when it is the transaction's and the newest one that is committed.
//   - FU3: no clause is ignored: each table that it names, or all if it names none, is locked, or no other session can
//     change it, or it is refused.
//   - FU4: FOR NO KEY UPDATE locks as FOR UPDATE does, and FOR KEY SHARE as FOR SHARE: never weaker.
//   - FU5: no number is shown to the user.
//
// # Lock order
//
// It has no locks: a statement is its session's.
//
// # What it does not do
//
// It plans and runs no query: the engine does. Clauses within a statement are read by package
// part, one query at a time; those of views are not read.
package locking
