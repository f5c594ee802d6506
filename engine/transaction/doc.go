// Package transaction is one transaction's view of the catalog: its snapshots, what it has changed, and the rows that
// are its until it ends.
//
//	statement ─► Start: a snapshot, or a newer one with the transaction's own changes put behind what others did
//	                ▲                       │
//	                │                       ▼
//	                │                    change ─► Claim ─┬─► done
//	                │                                     │ a row is another's (rowlock), or others have ended
//	                └── what it did is taken back, wait ◄─┘ since the snapshot, and a row is not what it was
//
// # Words
//
// A transaction moves if its statements see what was committed when they began (READ COMMITTED), and stays if they see
// what the first one saw. A statement is sole if nothing was seen of its transaction but it: that may move in any case.
//
// # Invariants
//
//   - TR1: a statement sees one snapshot, however often it looks.
//   - TR2: nothing that a commit would refuse slips by a move: it is held against what others have done as a commit is.
//   - TR3: a row that a statement of a moving transaction has changed is at its end the newest committed one, unless
//     another node changes it. So COMMIT finds no conflict over rows that only transactions of one node change.
//   - TR4: of a statement that runs again nothing is left.
//   - TR5: a row that a statement has locked is at its end the newest committed one. No transaction of the node changes
//     it before this one ends; if anything else does, a move says so, or the commit.
//   - TR6: what it keeps that goes with its end is charged to its session's account, and given back by then.
//   - TR7: a key that others have committed is a lost race to what proposes its rows (INSERT … ON CONFLICT, MERGE), at
//     whichever statement it is found.
//   - TR8: while its session's client is silent (Rest), a moving transaction that has changed nothing keeps no snapshot,
//     and so no memory of what others replace.
//
// # Lock order
//
// It has no locks of its own: a transaction is its session's.
//
// # What it does not do
//
// It reads no rows and has no clock: how long a statement waits is its caller's. A transaction that has changed more
// than rows does not move any more.
package transaction
