// Package delta keeps rows that are durable and in no chunk yet, until a statement reads them.
//
//	                    ┌─ record in the log of the catalog's store: the rows, and nothing else
//	gathering ─ Note ───┤
//	                    └─ delta of the table, in this process ──┐
//	snapshot, another commit, a full delta ─► sealed: one chunk ◄┘  in memory that was set aside when the delta began
//
// A chunk of one row costs an extent, a seal, a page and its table's record, whatever it has. Rows that are inserted one
// after the other, while no statement reads, cost one chunk together. The name is the delta store's of columnar
// databases (Héman et al., Positional Update Handling in Column Stores, SIGMOD 2010; Larson et al., Enhancements to SQL
// Server Column Stores, SIGMOD 2013), but no reader ever merges one with a table: it is sealed before.
//
// # Words
//
// note: rows on record · delta: the notes of one table · sealed: made a chunk, and committed.
//
// # Invariants
//
//   - DL1: what a delta takes can be sealed, however full the region is by then: its memory was granted before.
//   - DL2: a table with a delta is as it was when the delta began: every other commit seals all deltas first (K16).
//   - DL3: rows wait only where each commit need not be a version of its own: not of a table that keeps versions, and not
//     while any session follows tables.
//
// # Lock order
//
// None: the catalog calls in turn with commits.
//
// # What it does not do
//
// It writes no log and commits nothing: the catalog does (Note, SealDeltas). Tables that lie in several places, by a
// hash, or with replicas, have no delta.
package delta
