// Package member is a node as the others see it: what keeps its catalog, the region that it lends with the protocol's
// home for it, the holders of its memory, and in a cluster the other nodes: their memory, which it borrows and writes
// into, and what it owes them.
//
//	          store ◄── catalog ──► Lender: Homes, and by message the other nodes'
//	            ▲                     │
//	  Bolt, or etcd (Cluster)         ├ region: memregion.Lent under a coherence.Home
//	                                  ├ lending   other nodes write here (package lending)
//	                                  ├ spaces    this node writes there (package borrowing)
//	                                  └ book      who holds what no version has (package custody)
//
//	Open ─► store ─► catalog ─► region of an earlier life adopted, or a new one ─► lending ─► janitor ─► online
//
// # Words
//
// A node's Self is its record in the cluster; a node without one is alone. Promises are leases that other processes
// trust. A stray is an extent that lives and has no holder. The janitor is the goroutine that ends leases, takes strays
// back and settles what other nodes wrote.
//
// # Invariants
//
//   - N1: no memory is reused while a borrower may still trust a lease of a former process of the node (promises).
//   - N2: every extent of the region that no version has has a holder on record; one without is found, reported and
//     taken back.
//   - N3: a node that cannot hear from its cluster takes nothing back: its view may be outdated.
//   - N4: a node that comes up brings every table that is whole; the others say what is wrong with them when they are
//     asked.
//
// # Lock order
//
// holdings.mu → the catalog's locks → coherence → memregion. promises.mu is above the catalog's. peers.mu and
// remoteSpaces.mu are leaves: no call is made under them.
//
// # What it does not do
//
// It runs no SQL and does not decide where rows go (package placement, and the engine); it serves no calls (package
// noderpc does, and the engine's guard lets callers in while it closes).
package member
