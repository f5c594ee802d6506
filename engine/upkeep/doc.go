// Package upkeep keeps the chunks of tables where they should lie: it places new ones, moves those that lie
// elsewhere, empties nodes that are drained, fills those that are empty, makes replicas that are missing, and chunks of
// which none is left, from where their rows came.
//
//	new rows ─► TargetFor: placement ─► nodes ─► ingest.Writer, each chunk with its replicas (Replicator)
//
//	SET PLACEMENT, SET (replicas), Drain ─┐
//	Rebalance: package balance ───────────┤
//	Repair: now and then, every node ─────┴► moves ─► step: copies ─► commit ─► step ─► …
//	SET PLACEMENT 'hash(k)' ─► division ─► step: rows, where they belong ─► commit ─► step ─► …
//	                       │
//	                       └─ no replica left ─► Reload ─┬ files, generator: the lost chunks, byte by byte
//	                                                     └ query: the whole table (Engine.Derive)
//
// # Words
//
// A Keeper is a node's. A move is a chunk whose replicas have to lie elsewhere; a step is what one commit moves. A
// division writes rows where a hash says. A chunk is lost when none of its replicas can be read, and given up when they
// are not waited for any more. A source is where rows came from, as it is on record (package lineage).
//
// # Invariants
//
//   - U1: a chunk that moves, or comes back, keeps its number and its bytes, or it is another chunk: what was written
//     meanwhile is not touched.
//   - U2: a step is committed as a whole. What it made and did not commit is given back.
//   - U3: nothing that was read is made a replica before it was found whole (the reader's R1 and R2).
//   - U4: what a source gives now is compared with what was sealed; if it differs, nothing is changed.
//
// # Lock order
//
// A keeper has no lock of its own. moveStep's mu is a leaf.
//
// # What it does not do
//
// It takes no SQL and reads no files: the engine does (Engine, Files). It knows no session: the engine knows what waits
// for it, and what ends it.
package upkeep
