// Package catalog collects chunks into HugeTables and decides who sees what, atomically and durably.
//
//	          commit: one compare-and-swap                 snapshot: one lease
//	Transaction ───────────────► Store             Snapshot ──► state (revision 7)   state (revision 8, current)
//	    │ publish first            │                              │        │             │        │
//	    ▼                          ▼                              ▼        ▼             ▼        ▼
//	 Lender ◄── pin, retire ── Catalog                         version  version       version  version   of each table
//	 (coherence.Home)                                             │  ╲                  │  ╱
//	                                                              ▼    ╲                ▼ ╱
//	                                                            page    page ◄───────── (shared)     ≤ 256 chunks each
//	                                                              │       │
//	                                                              ▼       ▼
//	                                                           chunk … chunk      descriptors: where the bytes lie
//
// A table version is immutable: pages of descriptors, in row order. A commit makes a new state of versions; unchanged
// tables and full pages are shared between states. A snapshot leases a state. When a state is neither current nor leased
// its versions lose it, pages without a version die, and the chunks of dead pages that are in no other page are retired
// at the lender, which gives their memory back when the last pin goes.
//
// # Words
//
// revision: the store's transaction counter, names a state · state: what one revision holds · version: one immutable
// state of one table · page: up to 256 encoded descriptors, named by the hash of its content · chunk: a sealed record
// batch · carried: in a new page, the chunks of the old last page · lease: keeps a state; with or without a TTL ·
// pin: the lender's promise to a domain · garbage: pages in the store that no version has.
//
// # Parts
//
//	descriptor   what a chunk is and where it lies; wire format, validation, rebuilding
//	chunk        making chunks: an Arrow allocator over granted extents, sealing
//	statistics   null counts, bounds, distinct sketches; merging them
//	hugetable    versions, pages, records; nothing in it knows a store or a lease
//	store        keys, values and compare-and-swap: bbolt, memory; later etcd
//	catalog      (here) transactions, snapshots, leases, reclaim, regions, what travels to borrowers
//
// # Invariants
//
//	K1  a sealed chunk's extents hold the chunk's values and zeroes, nothing of a former owner or of a builder.
//	K2  while a state is current or leased, no chunk of it is retired, and each domain that leases it pins it.
//	K3  an extent is retired when the last living page that lists it dies; exactly once. shared counts the extents in more
//	    than one living page, all others are in exactly one.
//	K4  publish at the lender, then durable in the store, then visible; Commit returns after all three. A failure at any
//	    point leaves the state before or after, whole.
//	K5  a commit succeeds only if everything it writes is still as its snapshot saw it (snapshot isolation).
//	K6  the high-water mark of a region's generations on record never goes down.
//
// # Lock order
//
//	Catalog.committing
//	  Catalog.mu            (the ledger; short, no I/O)
//	    Lender.Pin, Lender.ExpireDomain
//	    hugetable.Source    (page cache)
//	  Lender.Publish, Discard, Retire, Unpin     (without mu: they may sync or punch holes)
//	Catalog.identities      (above the store, beside the others)
//
// # Not here
//
// No SQL, no names folded, no privileges; no goroutine: the engine's janitor calls ExpireLeases and Sweep. No byte of
// a region is read except through descriptor.Record. Membership, watches of a shared store and leases of other
// nodes' catalogs come with the cluster.
package catalog
