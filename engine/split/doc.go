// Package split runs a statement in parts, at the nodes where its tables lie.
//
//	coordinator ── fragment (text, versions, chunks) ──► nodes: run it over their part, write the result into their memory
//	     ▲                                                │
//	     └──────────── descriptors of the results ────────┘     the coordinator reads them in place and finishes
//
//	exec/plan/distribute ─► Plan ── Run ─► stage 1, stage 2, … ─► Tables: what the final text reads ─► Release, LetGo
//	                          └── Foresee, Describe: EXPLAIN
//
// # Words
//
// A stage is the fragments that run at once. A result that is shuffled is written in partitions by the hash of some
// columns; the fragments of a later stage read one partition each, of all nodes' results, in place. What the planner
// does not split runs whole at the coordinator: every byte can be read from there. Where one node holds everything,
// nothing of this is in the plan.
//
// # Invariants
//
//   - SP1: results belong to the statement: however it ends they are let go, by the coordinator's word or because
//     nothing is heard of it any more (N12 of cluster/noderpc).
//   - SP2: whose part of a table a chunk is does not depend on which nodes are there (D4 of exec/plan/distribute).
//   - SP3: what failed only because it was split is distinguished (Only), so that the statement can be run whole.
//
// # Lock order
//
// Run.mu and the locks of requests are leaves.
//
// # What it does not do
//
// It plans nothing itself, and runs neither fragments (package fragment) nor the final text (the engine).
package split
