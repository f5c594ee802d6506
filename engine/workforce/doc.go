// Package workforce is a node's workers: what they have of it, what they receive, and which queries may go to one.
//
//	Shared, Spill: parts of the node's memory ──► Start ──► worker (package worker), a borrower of the node
//	text ── Leaves, ViewsLeave? ──► query ── with its Snapshot, which its session holds ──► worker ──► rows, or Error
//
// A node with workers has the queries of its sessions planned and run by DuckDB in other processes (decision 0026). A
// worker has mapped the region and reads chunks in place. It takes no lease: the snapshot travels with the statement.
//
// # Words
//
// A query leaves if it goes to a worker, and stays if it does not.
//
// # Invariants
//
//   - WF1: a node and its workers together have what the node was given, of memory and of what may be spilled.
//   - WF2: what asks the session or the node, or changes them, stays: also in the queries of views.
//   - WF3: a snapshot is written once, however many statements have it.
//
// # Lock order
//
// Workforce.mu is a leaf.
//
// # What it does not do
//
// It runs no statements: package worker does there, and the engine's sessions do where they stay.
package workforce
