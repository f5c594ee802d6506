// Package budget divides an engine's memory outside of the region among its users, and moves memory between DuckDB and
// Go as clients make the node keep more or less.
//
//	MemoryBytes ─► Of ─► Shares: DuckDB's, a chunk's in the making, parked results', clients', workers'
//	account.Node ─ asks ─► Room ─┬ DuckDB yields, then Go may have it
//	                             └ Go gives back, then DuckDB may have it
//
// # Words
//
// Parked results were read ahead because they stood in the way of another statement; a lot is a session's part of them.
//
// # Invariants
//
//   - BG1: the shares of a memory limit are never more than it, whatever it is; with what the program has in any case
//     the process stays below the limit and 150 MiB.
//   - BG2: no byte is DuckDB's and Go's at once: the one gives it away before the other one has it.
//
// # Lock order
//
// Room.mu → DuckDB's locks.
//
// # What it does not do
//
// It counts no client's memory: package account does.
package budget
