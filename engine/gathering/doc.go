// Package gathering puts the rows of small INSERTs that meet into one chunk and one commit.
//
//	session ─ Insert ─► queue of the table ─┬─► the one whose turn it is: its rows and all that wait ─► one batch ─┐
//	session ─ Insert ─► queue of the table ─┘                                                                      │
//	                                              all are acknowledged ◄── one commit ◄── one chunk of the table ◄─┘
//
// A chunk of one row costs what one of a thousand does: an extent, a seal, a sync, a descriptor for ever. While one
// commit is under way the rows of other sessions wait anyway (catalog.Transaction.Commit); here they wait before they
// become chunks, and not after. Where a commit takes no time they would never meet. So the session whose turn it is
// lets those run first that are ready to. Where a commit takes a millisecond or more, as in a cluster, sessions that
// have just been acknowledged would meet in two halves that wait for each other: then it waits for them a little, too
// (company).
//
// # Words
//
// An insertion is the rows that one transaction, which does nothing else, puts into one table. A gathering is what goes
// into one commit: insertions of one table, in the order in which they came.
//
// # Invariants
//
//   - GA1: an insertion is acknowledged when all its rows are durable, and then only; on an error other than
//     catalog.ErrOutcomeUnknown none is there.
//   - GA2: an error of one insertion does not affect others: a gathering that fails is taken apart, and each insertion
//     is tried by itself, unless each would have the same error.
//   - GA3: rows go to a table as it was when they were made: if another one has its name since, or it has other columns
//     or constraints, the insertion fails with 40001.
//   - GA4: a waiting session that is cancelled leaves the queue without a trace; once its rows are on their way it
//     learns their outcome.
//   - GA6: if a table was assumed to be meant, it is when its rows are committed (catalog K17) or was since the statement
//     began, or the insertion fails with 40001.
//   - GA5: the wait for company is at most half a commit, none for a session that comes alone, and rare where none
//     comes.
//
// # Lock order
//
// Queue.mu is a leaf: nothing is called under it.
//
// # What it does not do
//
// It starts no goroutine: one of the waiting sessions does the work of all. It checks no rows: constantrows has made
// them, and tables with CHECK constraints or keys do not come here.
package gathering
