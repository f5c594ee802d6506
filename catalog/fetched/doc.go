// Package fetched is the tables of a snapshot that another process holds, each asked for when somebody looks for it.
//
//	a statement names t ─► Named(t) ─┬ asked before: what is known
//	                                 └ fetch, with the names of the snapshot before ─► known, with t or without
//	a list of tables ────► Whole() ──► fetch, run by run ─► all are known
//
// So to attach to a node, and to follow its commits, costs what is looked for and not what is there.
//
// # Words
//
// What is known is contents that never change; with another table they are others. C is the type of it.
//
// # Invariants
//
//   - LZ1: what is known after Named, Identified or Whole has what they were called for, if the snapshot has it, or Err is
//     not nil: from then on nobody knows what is missing, and nothing that was looked up counts.
//   - LZ2: nothing that was asked for is asked for again.
//   - LZ3: who looks for what is known waits for nobody who fetches.
//
// # Lock order
//
//	Tables.fetching (one fetches at a time; the node is asked under it) → Tables.mu
//
// # What it does not do
//
// It holds no lease: whoever answers does so of one snapshot as long as its lease lives. It does not give up waiting
// with the statement that looks: the fetch ends by itself.
package fetched
