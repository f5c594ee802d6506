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
// tables and full pages are shared between states. A snapshot leases a state. When a state is neither current nor
// leased its versions lose it, pages without a version die, and the chunks of dead pages that are in no other page are
// retired at the lender, which gives their memory back when the last pin goes.
//
// # Several nodes
//
// In a cluster every node has a catalog over the same store. Each follows the others' commits, by the store's watch,
// and settles the memory of its own regions alone:
//
//	node a commits revision 9 ──► store ──► nodes b, c apply it; they report: "I read nothing older than 9"
//	                                        the lender of what died by 9 retires it when all have said so
//	node d restarts ─────► its record ──► the others: "seen", from then on they trust nothing older that lay there
//	                                        d takes over what is live, and lends what is not
//
// Commits of a node that come while one is on its way to the store, and only append and delete rows, are the next one
// together: a group.
//
// A snapshot begins with a question to the store for its last commit, so that a client that heard of a commit at one
// node sees it at every node. Nothing here decides by a clock: the store ends sessions, and a node knows by
// Session.Check that its own may have ended.
//
// # Words
//
// revision: the store's transaction counter, names a state · state: what one revision holds · version: one immutable
// state of one table · page: up to 256 encoded descriptors, named by the hash of its content · chunk: a sealed record
// batch · replica: one of the places where its bytes lie; all of them are the chunk's extents · carried: in a new page,
// the extents that an old one has too, because chunks were put behind theirs, or in the place of some, or replicas
// beside some · fold: other chunks with the same rows in the place of a run of small ones · lease: keeps a state; with
// or without a TTL · kept: a former version that its table keeps · pin: the lender's promise to a domain · garbage:
// pages in the store that no version has.
//
// # Parts
//
//	descriptor   what a chunk is and where it lies; wire format, validation, rebuilding
//	chunk        making chunks: an Arrow allocator over granted extents, sealing
//	positions    sets of rows of a chunk: the deleted ones
//	statistics   null counts, bounds, distinct sketches; merging them
//	hugetable    versions, pages, records; nothing in it knows a store or a lease
//	fetched      the tables of a borrower's snapshot, as it asks for them
//	mention      which tables mention an object
//	homes        the regions that this process lends
//	store        keys, values and compare-and-swap: bbolt, memory; later etcd
//	catalog      (here) transactions, snapshots, leases, reclaim, regions, what travels to borrowers
//
// # Invariants
//
//	K1  a sealed chunk's extents hold the chunk's values and zeroes, nothing of a former owner or of a builder.
//	K2  while a state is current or leased, no chunk of it is retired, and each domain that leases it pins it.
//	K3  an extent is retired when the last living page that lists it dies; exactly once. shared counts the extents in more
//	    than one living page, all others are in exactly one.
//	K4  publish at the lender, then durable in the store, then visible; Commit returns after all three. Where chunks end
//	    with the boot of the machine, a commit of nothing but rows is kept from the death of the process only; a machine
//	    that fails loses the last second of them at most, and none before one that it has. Chunks that the store has the
//	    bytes of (Options.PublishLogged) are durable with their descriptors. A failure at any point leaves the state
//	    before or after, whole. If the store's answer is lost, no chunk is given back before it said that it was no commit.
//	K5  a commit succeeds only if everything it writes is still as its snapshot saw it (snapshot isolation), or what it does
//	    and what was done since go together: rows appended on either side, different rows deleted, different chunks
//	    moved, chunks folded of which others' rows are deleted, a placement said behind rows. A fold is no other's conflict.
//	K6  the high-water mark of a region's generations on record never goes down.
//	K7  an extent is retired only when no other node may read a revision that had it (HZ1 to HZ3 of internal/horizon),
//	    and a page removed only when none may read the one at which it died.
//	K8  no commit succeeds of a node that was fenced off, or with a chunk of a lender that restarted since.
//	K9  a lender that restarts overwrites nothing before every other node has stopped trusting what lay there.
//	K11 a serializable transaction that writes commits only while all that it has read is as it was in its snapshot.
//	K13 a transaction that rests on rows (Require) commits only while they are as it saw them.
//	K12 a version that was current and is so no more does not come back: each commit makes new ones.
//	K14 a version that is kept (Table.Retention) is as a leased one: every state has it from the commit on by which another
//	    took its place, until it is expired; a start adopts what it has. It goes with nothing but Expire, GiveUpAt, or a
//	    commit that keeps more than the table does.
//	K15 a snapshot is of the last commit, or, if its holder accepts that, at most so much older, and states it (Holder.MaxAge).
//	K16 a snapshot or commit that comes after a note finds its rows in their table, which nothing has changed between.
//	K17 a transaction that expects something of names (Expect) commits only if it holds then.
//	K10 no view is made over a table or view that is dropped or renamed at the same time, or a table that gets other
//	    columns, nor is one dropped, renamed or altered below it.
//
// # Lock order
//
//	Catalog.committing, Catalog.reporting, Catalog.retiring
//	  Catalog.mu            (the ledger; short, no I/O)
//	    Lender.Pin, Lender.ExpireDomain
//	    hugetable.Source    (page cache)
//	  Lender.Publish, Discard, Retire, Unpin     (without mu: they may sync or punch holes)
//	Catalog.identities      (above the store, beside the others)
//
// # Not here
//
// No SQL, no names folded, no privileges; no goroutine but those of Run, which joins them: the engine's janitor calls
// ExpireLeases and Sweep. No byte of a region is read except through descriptor.Record. Messages to other lenders are
// the Lender's; the life of a node is its store's session.
package catalog
