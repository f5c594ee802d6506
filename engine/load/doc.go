// Package load fills tables for programs and operators, without SQL: from files, and with the tables of TPC-H.
//
//	Load ─► each file ─► DuckDB of the loader's own, or files.Arrow ─► ingest.Writer ─┐
//	TPCH ─► dbgen, straight into the memory of nodes ─────────────────────────────────┴► one commit, with the rows' origin
//	Reread ─► the same files once more, as they were read: for the chunks of which nothing is left (package upkeep)
//
// # Words
//
// A loader is a node's. A unit of TPC-H is what its generator makes at once: an order with its lines, a row otherwise.
//
// # Invariants
//
//   - LD1: a load leaves a new version with all of its rows, or nothing: no row, no name, no memory of a region.
//   - LD2: a file is read again with the call that read it, and reaches no further than that did.
//
// # Lock order
//
// A loader has no lock of its own, and may run several loads at once.
//
// # What it does not do
//
// It lets no call in and knows no session: the engine does.
package load
