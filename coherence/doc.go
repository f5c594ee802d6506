// Package coherence guarantees that every reader of lent memory loads the right bytes, also where the caches of
// different machines know nothing of each other.
//
// Data is written once, sealed, and never changes. Two things remain to be guaranteed: no cache holds a byte of an
// earlier writing when a reader loads, and no writer writes again while a reader may load. This package does the first
// with flushes and fences at two places, and the second with pins.
//
// # Picture
//
//	lender's domain (Home drives Core)         writer's domain (Grant drives WriterCore)   reader's domain (Reader drives ReaderCore)
//	──────────────────────────────────         ─────────────────────────────────────────   ──────────────────────────────────────────
//	1 grant g [prepare: drop own lines] ──────▶
//	                                           2 store every byte of every line
//	                                           3 store fence, flush, full fence
//	                                   ◀────── cleaned
//	4 [home clean: fence, flush, fence; look: verify]
//	5 seal (record), publish ─────────────────────────── descriptor, by message ────────▶
//	  pin ◀────────────────────────────────────────────────────────────────────────────── asks before it loads
//	                                                                                       6 full fence, flush, full fence, verify
//	                                                                                       7 load, load, load
//	  unpin ◀──────────────────────────────────────────────────────────────────────────── 8 release
//	  retired and no pin left: memory goes back, g is over
//
// [In brackets]: only for a writer in another domain; prepare on both incoherent fabrics, home clean and look on
// home-snoop.
//
// One generation at the lender (State):
//
//	Free ──grant──▶ Granted ──cleaned──▶ Cleaned ──homeCleaned──▶ HomeCleaned
//	                 │  │                 │   │                     │   │
//	                 │  │                 │   └───────seal──────────│───┴──▶ Sealed ──publish──▶ Published ──retire──▶ Retired
//	                 │  │                 └────abort──▶ Free ◀──────┘         │ discard            ▲ adopt               │ no pin
//	                 │  │                                                     ▼                    │                     ▼ left
//	                 │  └──abort──▶ Aborting ──cleaned──▶ Free               Free                 Free                  Free
//	                 │                 │
//	                 └────fence-off────┴──▶ Quarantined ──lift──▶ Free
//
// # Words
//
//   - domain: a set of CPUs whose caches are coherent with each other, one host
//   - lender, home: the domain whose memory it is; it decides all of the above
//   - writing: (region, generation), one writing of one extent; a generation is never used twice in a region, so a
//     writing is named for ever (decision 0002)
//   - flush: write back what is modified and drop the line, from every cache of the domain; clean: the writer's flush
//   - untouched: memory that the lender's domain has stored nothing into since it dropped every line of it (Tracking)
//   - pin: the promise that a writing's bytes stay; counted per domain; ends with Unpin or with the domain's lease
//   - acquire: what makes a pinned writing safe to load in a domain; done once, remembered by writing, never by address
//   - path: a way to bring bytes into a region where flushes are paid; WriteBack and others (writepath.go)
//   - quarantine: memory of a writer that was fenced off, kept from re-use until it is lifted (Home.Lift)
//   - paid: on a Coherent fabric the same steps are taken and counted (as skipped), and no instruction is issued
//
// # Invariants
//
//   - C1: between acquire(g) and release(g) every load returns g's bytes
//   - C2: from publish(g) to the next grant of its memory, memory holds g's bytes
//   - C3: no dirty line outside the grant holder's domain
//   - C4: no line belongs to two live extents (held for whole pages, checked at each grant and adoption)
//   - C5: no grant of memory that a pin holds
//   - C6: no deadlock; every acquire ends in data or an error
//
// C1 follows: the flush of step 6 comes after the descriptor, so after step 3, so what it leaves to be fetched is
// memory (C2), or the home's cache, which step 4 emptied after step 3; a prefetch from then on fetches g's bytes too;
// and nothing is stored before the pin goes (C5), not by a late write-back either (C3, C4).
//
// # Why the papers' order is unsound
//
// The thesis and the HCDS paper flush every cache before the write and nothing in the readers after it. A CPU may fetch
// a line at any time without being asked; one such prefetch between the two is enough:
//
//	reader   flushes x, says so              its cache: —       memory: old
//	reader   prefetches x                    its cache: old     memory: old
//	writer   stores x, flushes it            its cache: old     memory: new
//	writer   sends the descriptor
//	reader   loads x                         hits: old, and for ever, since the line is clean and is never invalidated
//
// The fence between flush and acknowledgement does not help: the prefetch is after it. On home-snoop fabrics the line
// may as well lie in the home's cache, where it answers the loads of readers that did everything right: hence step 4,
// strictly after step 3. TestThePapersOrderLeavesAStaleLine and TestALineInTheHomesCacheAnswersForEver play both
// traces, and package model finds the shortest ones (docs/coherence.md shows them). The order above makes the papers'
// flush before the write (52 ms per GiB of every table) unnecessary: a stale clean line in a reader is harmless until
// the acquire drops it.
//
// All rests on one assumption: a flush writes back modified lines only. If the flush of a clean, stale line wrote
// it back, a reader's acquire would destroy what it is about to read. The manuals promise it (Intel SDM CLFLUSHOPT,
// AMD APM CLFLUSH, Arm ARM DC CIVAC, Power ISA dcbf).
//
// # Prepare
//
// In the papers no lender touches memory that was not granted. Real ones do: the kernel zeroes pages, pre-faulting
// stores, an aborted writer of the lender's own host leaves lines. Dirty in the lender's cache, they would be written
// over a foreign writer's bytes at any time (C3). So on incoherent fabrics the lender flushes an extent before it hands
// it to a foreign writer (decision 0008). On incoherent it need not where it has dropped the lines before, for another
// foreign writer, and its domain has stored nothing there since, which Tracking knows (decision 0021): a lender that
// has no modified line has nothing to write back, and its clean ones make no difference, since the writer's loads and
// the readers' go to the memory. On home-snoop they are answered by the lender's cache, so it flushes each time.
//
// So that a writer need not wait for it, CleanAhead drops the lines of free memory that the lender's domain has stored
// into, piece by piece. No memory of a piece is granted meanwhile (decision 0022). It is the same fence, flush and
// fence, but a step of its own (ahead), and is counted separately.
//
// # The lender's look
//
// The steps let a foreign writer store a line piece by piece on a home-snoop fabric, too. There its processor may evict
// a line that is stored in part; when it fetches the line for the next store, the lender's cache answers with one that
// it prefetched before, and what was stored is lost. No flush helps. So the lender reads what it seals and compares the
// checksum that the writer made of its source; a generation that lost bytes is over, and its writer may write again in
// a new grant (decision 0016). The look also finds some faults of other mutations, as readers' checksums do: where the
// steps are mutated in turn, both are switched off.
//
// # Write paths
//
// Step 2 and the flushes of step 3 may be done piece by piece (Grant.Copy): a line that was stored and flushed, and
// is not stored into again, is not modified (C3), and whether a clean line comes back into the writer's cache is of
// no consequence, since a prefetch after Clean could bring the same one. So WriterCore.Flushed takes such lines out
// of what Clean flushes; the fences stay. Non-temporal stores end with a store fence in the same call, and their
// lines are flushed like others. Which path is the fastest, a Chooser measures once for each fabric (decision
// 0017); coherent fabrics have no part in this.
//
// A flush of 32 MiB or more is shared among the processors that Go uses, up to 8. For the caches it makes no difference
// which of them issues it. But a fence completes only what its own processor issued, so each helper fences before it
// begins and before CPULines.Flush returns.
//
// A goroutine may be moved to another processor between a flush and the fence that completes it. amd64 orders
// flushes before the locked instructions that move it; on arm64 and ppc64le, where a fence completes what its own
// processor issued, the routines that flush end with one.
//
// # What the driver owes
//
//   - Writers store every byte up to the end of Grant.Bytes, padding included, finish before Clean, and store nothing
//     afterwards. They do not store again into what Grant.Copy has stored. With -tags invariants a fresh grant is
//     filled with 0xDB, so that forgotten padding shows.
//   - A foreign writer on a home-snoop fabric makes its checksum from what it means to write, not from what it has
//     written: its loads of that may be answered by the lender's cache.
//   - Readers pin before they acquire, acquire before they load, finish loading before they release, release before
//     they unpin. A domain whose lease ended stops loading before the lender calls ExpireDomain.
//   - No process stores, counts references or uses atomics in a region (step 7). A reader that notices a violation
//     calls Reader.Invalidate, acquires again with a verify, and discards what it loaded since its last look.
//   - FenceOff is called when the domain cannot reach the memory, not when it has been silent for a while.
//
// # Lock order
//
//	Home.reserving          (one goroutine at a time puts a generation high-water mark on record)
//	  Home.mu               (the Core; never held over a flush, a sync or a message)
//	    Memory's own locks  (only Shrink, see ShrinkGeneration, and Dropped)
//	Memory's own locks      (DropAhead: over the flush of one piece, with no lock of this package below)
//	readerShard.mu          (one at a time, nothing below it)
//
// The cores have no lock, no goroutine, no clock and no I/O: event in, actions out, in the order in which they must be
// done. This package starts no goroutine: CleanAhead runs on its caller's.
//
// # What it does not do
//
// It sends no messages: reports of writers and pins of other nodes arrive by whatever calls Home. It does not know
// tables, versions, leases or fences; its callers report those. It does not compute checksums: HomeConfig.Verify and
// the verify of an acquire do. It remembers acquires per process: two processes of a host both flush, which is
// harmless. It forgets unfinished grants when the lender dies: after a restart on an incoherent fabric, foreign writers
// of the former incarnation must be fenced off, or must have reported, before anything is granted.
//
// # How it is proven
//
// docs/coherence.md explains it to users. Package model visits every state of the protocol and checks C1 to C6 in each;
// replay_test.go holds it against the cores here, step by step; simulation_test.go runs the drivers over memory that is
// not coherent; table_test.go mutates every step in turn ("make mutations") and requires that both see a wrong value.
// All mutations have one table of names, model.Mutations. Those of what lending, borrowing and the engine do above the
// protocol are faults in their source (package internal/mutation).
//
// CSMSQL_EFFORT=n, by default 1, multiplies how many schedules, walks and mutated searches these tests try; 20 and
// more is for a night.
//
// # Reading the source
//
// protocol.go (states), core.go (the lender), writercore.go, readercore.go, then the drivers home.go, grant.go,
// reader.go, then lines.go, writepath.go, flush_*.s and copy_*.s. testdata/histories are protocol traces one can read;
// emulator_test.go is memory that is not coherent, mutation_test.go says what each mutation does there,
// model/testdata/traces.txt what it leads to.
package coherence
