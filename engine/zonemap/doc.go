// Package zonemap remembers the bounds of runs of rows of sealed chunks, so that a query for a few rows of a large
// chunk reads no more than the runs in which they may be.
//
//	lookup: WHERE k = 5 ─► Cache.Of(chunk, k) ─ asked before? ─► Zones: [1, 8192] [8193, 16384] …
//	                          └ the first time: nil, all rows are read       └─► Stats(run) ─► plan.Scan.MayMatch
//
// A zone map is small and coarse: it helps where rows lie in the order of a column, or nearly, as keys that grow and
// times do. Moerkotte, Small Materialized Aggregates, VLDB 1998.
//
// # Words
//
// A run is RunRows rows of a chunk, the last one fewer. A zone is the least and the greatest value of a run.
//
// # Invariants
//
//   - ZM1: every value of a run that is neither NULL nor deleted is within its zone: zones are made of values that the
//     reader has confirmed, of chunks, which never change.
//   - ZM2: what all zones take is bounded, and charged.
//
// # Lock order
//
// Cache.mu is a leaf.
//
// # What it does not do
//
// It knows nothing of rows that are deleted: they are within the zones, too. It has no zones of texts, floating-point
// numbers or decimals.
package zonemap
