// Package cursor reads a running result a few rows at a time.
//
//	DECLARE ─► Open ─► rows ─► rest ─► Take: FETCH n, FETCH n, …
//
// # Words
//
// The rest are rows of the last batch that were not fetched yet.
//
// # Invariants
//
//   - CU1: every row is given once, in the result's order, whatever the sizes of batches and fetches are.
//   - CU2: the result lives longer than the statement that opened the cursor, and the end of any statement's context
//     that waits for it interrupts it.
//
// # Lock order
//
// It has no locks: a cursor is its session's.
//
// # What it does not do
//
// It reads nothing ahead, and closes no result: its opener does.
package cursor
