// Package kernel is how the Arrow kernels read the one table of a query.
//
//	plan.Query ─► Table.Run ─► facts: which chunks can have rows ─► Source: each, read in place and held ─► exec/compute
//
// # Words
//
// A kernel is one of exec/compute's, which work on record batches.
//
// # Invariants
//
//   - KE1: a chunk is held from before a batch of it leaves until that batch is released.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It decides not which queries the kernels run: the engine does.
package kernel
