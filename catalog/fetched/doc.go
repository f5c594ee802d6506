// Package fetched is the tables of a snapshot that another process holds, each fetched when it is first looked for.
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
//     not nil: from then on it is unknown what is missing, and nothing that was looked up counts.
//   - LZ2: nothing that was asked for is asked for again.
//   - LZ3: a look-up of what is known waits for no fetch.
//
// # Lock order
//
//	Tables.fetching (one fetches at a time; the node is asked under it) → Tables.mu
//
// # What it does not do
//
// It holds no lease: the node answers from one snapshot as long as its lease lives. A wait does not end with the
// statement that looks: the fetch ends by itself.
package fetched
