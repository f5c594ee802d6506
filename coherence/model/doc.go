// Package model is the coherence protocol as a model that is searched to its end: every state that any order of steps
// can lead to is visited, and C1 to C6 (package coherence) are checked in each.
//
// # Picture
//
//	                    Model (protocol.go, hardware.go)            what it is held against
//	                    ────────────────────────────────            ───────────────────────
//	Search ───────────▶ every state once, breadth first ──────────▶ C1 … C6: a violation has a shortest Trace
//	Mutation ─────────▶ the same with one step mutated ───────────▶ some reader loads a wrong value
//	Walk, Shortest ───▶ a Trace: steps, operations, accesses ─────▶ the real Core, WriterCore and ReaderCore, and the emulated
//	                                                                machine, step by step (package coherence's replay_test.go)
//
// # What is modelled
//
//   - Three domains: home, which lends, alpha and beta. Each has one cache over two places of memory. A place is a
//     line; where a mutation needs two extents in one line, both places are one line.
//   - Every domain may write and read, all at the same time. Every writer, every reader of every generation in every
//     domain and the lender have their own place in their script: there is no global program counter, with which some
//     mutations would not be found.
//   - Extents of one place or of both are granted, shrunk, aborted, fenced off, lifted, discarded, retired and granted
//     again without end. Generations have no number but a slot, so that there is no last one: what a generation that is
//     over left in memory and caches is "old", which is all that a reader must know of it.
//   - Both fabrics that need a protocol: incoherent, and incoherent-home-snoop.
//   - The hardware at its worst, at any time: it fetches lines unasked, evicts lines, writes modified lines back early,
//     and completes each flush of its own accord; only a full fence waits for those of its own script.
//   - With Config.Evictions, what was evicted is on its way to the memory for any time, and a flush of the line waits
//     for it.
//   - With Config.Copies, all ways to copy: writers store past their caches, which waits in a buffer of their processor
//     for any time, in no order, and comes to the memory or into the cache; a store fence waits for it. And they flush
//     a place when they have stored it, and leave it out of their clean.
//   - The lender's kernel zeroes what is granted, in the lender's cache, or leaves it as it is where the lender has
//     dropped the lines before and its domain has stored nothing there since. On incoherent the lender then does not
//     drop them again; there it also drops lines of free memory, which the kernel may zero at any other time.
//   - Checksums that do not match (Config.Mismatches): attempts are bounded.
//
// And of what stands above the protocol, each switched on by itself or all together (above.go):
//
//   - Restarts: the lender's process ends at any time, or its machine with its caches. The next one adopts what was
//     published and keeps what the two other hosts may still write. These go on storing, give back, or have their seals
//     refused. It begins when no node relies on a lease of the former process any more.
//   - Grows: a writer elsewhere flushes, and its lender copies what it wrote to another place, which is the writer's
//     then (Grow and Reallocate). Places are of one length, so it is moved and does not become longer.
//   - Replicas: the writer of one place fills it with what it loads at the other, which it has acquired.
//   - Processes: a second process of a domain acquires what the first one reads. Their loads need not be distinguished:
//     they go through one cache.
//
// One message and its handling are one step, since nothing that a message can be late for is shared with it: the sender
// does nothing more with the lines, and the next step acts on the handling. Flushes of one range are issued in one
// step, since what counts is when each is done, and that is a step of its own.
//
// # What is left out
//
// Three reductions, each an equivalence (TestReductionsLoseNothing searches without them and finds the same states):
//
//   - A clean line that holds what a fetch would bring now is the same as no line: the hardware can turn one into the
//     other at any time. So a search keeps only lines that are modified or stale, and where a step changes what a fetch
//     brings it takes every choice of lines that were fetched just before (Step.Before).
//   - Alpha and beta are alike: of two states that differ in which is which, one is visited.
//   - What has no effect any more, such as the writer of a sealed extent, is forgotten.
//
// # Invariants
//
//   - X1: a trace needs no reduction: every prefetch is a step of it, and it can be replayed on real caches.
//   - X2: whatever the model orders in a step, the real cores order, and nothing else.
//   - X3: every mutation leads to a wrong value that a reader loads; the protocol as it is breaks nothing.
//
// # What it does not do
//
// It knows no reordering of loads except across a flush, and ordinary stores are in the cache at once, which is what
// the full fence at the end of a clean makes of them. It knows no durable regions and no protection, which concern no
// cache: the cores' twin (twin_test.go) covers them. What is done above the protocol is one step where production holds
// a lock over it, as over a reallocation: what may happen between its flushes and its copy is left to the emulated
// memory of package borrowing. It is not used by any program, only by tests.
package model
