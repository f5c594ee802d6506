// Package engine answers SQL over HugeTables: it is what a Go program embeds and what the server serves.
//
//	Session ─ Prepare ─► statement (what is it?) ─► Statement ─ Execute ─► Rows
//	                                                   │
//	   reads: exec/plan finds the tables in the text ──┤ compute: Arrow kernels over the chunks, in place
//	          snapshot under a lease                   │ DuckDB:  csm_scan(n) spliced in for every table,
//	                                                   │          chunks pruned, rows filtered, strings as ENUM
//	   writes: rows ─► ingest ─► sealed chunks ─► catalog.Transaction ─► one new version, atomically
//
//	   reader    bytes of chunks in this process (package reader), and what a statement has read of them
//	   names     what DuckDB is shown (package names): the catalog's, and a block's own to its own connection
//	   node      the lender's side (package member);  a borrower's way to it (package borrower)
//	   written   the user's text, where all behind ProbeIn reads one in plain spelling (notation.Plain): 31 for 0x1F
//	   dialect   what the words of PostgreSQL's clients are to DuckDB, and its errors to them (package dialect)
//	   view      queries of views (package viewtext);  definitions of tables (definition), what goes with a DROP (dependency)
//	   lifetime  how an engine or a session ends (package lifetime);  leases of snapshots, and of batches that left (package lease)
//	   constants rows of INSERT … VALUES without DuckDB (package constantrows), many transactions' in one commit
//	   (gathering)
//	   upkeep    places, moves, replicates, reloads chunks (package upkeep);  rederive: rebuilds tables from their query
//	   query     a planned query (package planned), over the Arrow kernels (kernel) or DuckDB;  keptplans: plans that outlive statements
//	   settings  what a session is set to (package configuration), and what is done by it
//	   change    UPDATE and DELETE (package rewrite);  private: temporary objects (temporary);  prepared: PREPARE, EXECUTE (prepared)
//	   again     queries whose lender restarted;  statements of other functions or types by now (revalidation)
//	   split     statements in parts (packages split, fragment);  executesplit: over their results, the final text
//	   elsewhere a query's way to a worker, another process (packages workforce, worker), and back;  workerside: the worker
//	   files     what COPY and loads name (package files);  load: tables filled without SQL;  assembly: of parts
//
// # Words
//
// An Engine is a node (Open) or a borrower of one (Attach). A Session is one user's conversation; a block is its open
// transaction, explicit or the unit that one client message makes; a savepoint is what a block was at some time. What one
// statement sees is a view of a snapshot (package snapshot). Facts are what planning needs of a version (package facts).
//
// # Invariants
//
//   - E1: a statement sees exactly one snapshot; its chunks are leased from before it is planned until its rows are closed. In a block it
//     is that of the block's first statement, or its own (package transaction).
//   - E2: no byte of a region is loaded before its chunk was acquired through the protocol in this process; and acquired again, with its
//     checksum, when another process was found to have been at the region's file.
//   - E3: no row leaves that was read from memory that went away, that another process was found to have altered (readings), or after a
//     borrower's lease ended. A statement whose last row was read is looked at once more: what ends with io.EOF is right.
//   - E4: a writing statement leaves a new version or nothing: no row, no name, no memory of the region.
//   - E5: an error's SQLSTATE says what is at fault, and it has a position when that is in the text.
//   - E6: Close, of an engine or a session, may come at any time from any goroutine: what runs is cancelled, nothing is unmapped or freed
//     under it, and it ends with ErrClosed or ErrSessionClosed, never with what looks like the end of a result (package lifetime).
//   - E7: a batch that was handed out in place keeps its bytes as they are, until it is released or the engine is closed, and mapped until it
//     is released (package lease). What the block wrote itself leaves as a copy, because no lease keeps it.
//
// # Lock order
//
// Engine.mu and Session (one goroutine) → names.Mirror.mu → the locks of package facts → the catalog's locks → coherence → memregion. DuckDB's own
// locks are below names.Mirror.mu; DuckDB's threads call scan.Scan.Open, which takes only catalog page caches and the reader's shards.
// No goroutine waits for a turn to plan (package turn) with a lock held.
//
// # What it does not do
//
// It speaks no protocol to clients (wire, cmd) and none to other nodes (cluster/noderpc). It does not store roles.
package engine
