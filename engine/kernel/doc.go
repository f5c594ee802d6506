// Package kernel is which queries the Arrow kernels run, and how they read the one table of each.
//
//	plan.Statement ─► Choice ─ Plan, Lookup ─► plan.Query, or nil: DuckDB
//	plan.Query ─► Table.Open ─► facts: which chunks can have rows ─► zonemap: which runs of them ─► Source: each, read in
//	                            place and held ─► exec/compute ─► Rows
//
// # Words
//
// A kernel is one of exec/compute's, which work on record batches. A lookup is a query that looks for few rows by cheap
// comparisons, and gives their numbers: an UPDATE or a DELETE is about them (docs/decisions/0042).
//
// # Invariants
//
//   - KE1: a chunk is held from before a batch of it leaves until that batch is released.
//   - KE2: what a query gives, and what its parameters are to a client, is the same whether the kernels or DuckDB run
//     it.
//   - KE3: what the kernels allocate is charged to the session, which is refused what would pass its share: the batches
//     of open cursors, too.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It has DuckDB plan nothing: where the kernels cannot run a query, or not of the values that it is given, the engine
// turns to DuckDB.
package kernel
