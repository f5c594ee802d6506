// Package worker runs statements in other processes than the node's, so that one that crashes, or does not listen,
// costs its statement and nothing else.
//
//	         node                                  worker (the same program, with other arguments)
//	Pool ── Process ──── orders, gob ────────────► Serve ── Handler: plans and runs the statement over the lent memory,
//	  │        ▲  ◄───── reports, gob ────────────   │               which it has mapped as borrowers do
//	  │        │          socketpair, descriptor 3   │
//	Result ◄── window ◄── batches, memfd, 4 ─────────┘      nothing of a table is copied; results are, once on each side
//
// A statement goes like this: the pool gives it a process that is idle, or lets it wait for one. Execute is
// answered by what the result looks like, then come batches, then the end. A batch lies in one of the window's two
// slots until the node says that it has taken it, which it does at once, up to readAheadBytes of what its reader
// has not asked for. So a worker is slowed down by a slow client, and a short result frees it whether its client
// reads or not.
//
// # Words
//
// A worker is a process of a node that runs one statement at a time. An order is a message of the node to a worker, a
// report one of the worker to the node. The window is the memory that they share beside the region. A result is stalled
// when its worker waits for its reader. A crash is every end of a worker that the pool did not want: a signal, an exit,
// a connection that breaks, bytes that are no report.
//
// # Invariants
//
//   - WK1: a crash fails the one statement that the worker ran, with a Crash; the worker is replaced, and the next
//     statement finds another one.
//   - WK2: a statement whose context has ended fails at once. Its worker is idle, or dead, after Options.Grace: one
//     that does not end its statement by then is killed.
//   - WK3: nothing of a batch is trusted before it was copied and checked: a worker that is about to crash may have
//     written anything.
//   - WK4: a worker ends with its node, however that ends: its descriptor 3 says so.
//   - WK5: what a statement holds at the node (release: the lease of its snapshot) is given back when its
//     worker has ended it, or is dead, and not before.
//   - WK6: results that stand in the way of waiting statements are read ahead at the expense of Options.Lot, and
//     fail when it is full: clients that do not read do not keep others out.
//
// # Lock order
//
// Pool.mu → Result.mu → process.mu, link.sending. Callbacks of Options and of statements are called without any.
//
// # What it does not do
//
// It knows no SQL, no catalog and no settings: those are the Handler's and its peer's in package engine. It does
// not say which statements may go to a worker. It does not bound the memory of a worker, which does so itself.
package worker
