// Package rowlock makes transactions that change the same row wait for each other.
//
//	UPDATE, DELETE ─► the rows that it deletes, by chunk ─► Owner.Claim ─┬► they are the transaction's until it ends
//	SELECT FOR UPDATE ─► the rows that it returns ──────────────┘        └► HeldError: another has one of them
//	                              again, under a newer snapshot  ◄── Owner.Wait ◄──┤  until that one ends
//	                              again, without these           ◄── Owner.Held ◄──┘  SKIP LOCKED
//
// The catalog ensures that two transactions never both commit a change of one row (its K5), without this package.
// Claims make the second transaction wait where the change would have been a failure at COMMIT. They are a process'
// own: transactions of other nodes are not waited for.
//
// # Words
//
// A claim is a set of rows of one table, named by the chunks of a version and their positions in these. An owner is a
// transaction. A row is held if an owner has claimed it that has not ended. A claim has a mode: its owner has changed
// the rows, has locked them, or shares them with others that do (FOR SHARE).
//
// # Invariants
//
//   - RK1: of two owners that claim a row of one table, at most one has it, unless both share it, whatever versions
//     they name it by; the other one gets the owner to wait for.
//   - RK2: an owner that waits goes on when the one that it waits for has ended, or let go of these rows.
//   - RK3: owners never wait for each other in a circle: the one that would close it gets an error (40P01).
//   - RK4: what an owner held is gone when it has ended.
//   - RK5: an owner whose claims are merged has one of each version of a table and mode, however many rows it has
//     claimed how often.
//   - RK6: Held reports the same rows as taken as Claim does.
//   - RK7: a row that an owner has locked is there when it moves to later contents, or it gets an error (40001).
//
// # Lock order
//
// Locks.mu is a leaf: rows are compared without it, since pages of a version may have to be read for that.
//
// # What it does not do
//
// It has no clock: lock_timeout is the context's. It changes no rows, and holds back only transactions that ask.
package rowlock
