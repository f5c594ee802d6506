// Package rewrite says which query gives the rows of a table that an UPDATE or a DELETE leaves.
//
//	UPDATE, DELETE ─► Rewrite ── Text ─► DuckDB ─► rows, and whether each was hit ── Add ─► chunks of one new version
//	                     └ ConditionsOf: what is said of one row each, to be asked of DuckDB first
//
// Sealed chunks never change, so both write the table anew: its rows pass through DuckDB once. That costs as much as
// the table is large, whatever the number of rows hit, and is said so in the documentation; a table that changes row
// by row all day is not what csmsql is for.
//
// # Words
//
// A row is hit if the statement is about it. A rewrite is flagged if its last column says so.
//
// # Invariants
//
//   - RW1: what is asked of a row is asked once, and values are computed for rows that were hit and no others.
//   - RW2: an expression that is no row's own, an aggregate or a window, is an error.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It runs no query and commits nothing: the engine does.
package rewrite
