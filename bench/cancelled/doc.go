// Package cancelled is the statements that bench cancel ends before they are over.
//
//	writes ─ alterations ─ waits ─ texts that are planned ─ functions
//	  of the tables of TPC-H and those that Tables makes
//
// Each takes about a second at scale factor 1, if nobody ends it: longer than the latest moment at which one is ended,
// and not much longer, for DuckDB works on after most of the texts and functions are ended, and the next statement
// waits for it.
//
// # What it does not do
//
// It runs nothing.
package cancelled
