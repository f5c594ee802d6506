// Package cancelled is the statements that bench cancel cancels while they run.
//
//	writes ─ alterations ─ waits ─ texts that are planned ─ functions
//	  of the tables of TPC-H and those that Tables makes
//
// Each takes about a second at scale factor 1 unless it is cancelled. That is longer than the latest moment of a
// cancel, but not much longer: DuckDB works on after most of the texts and functions are cancelled, and the next
// statement waits for it.
//
// # What it does not do
//
// It runs nothing.
package cancelled
