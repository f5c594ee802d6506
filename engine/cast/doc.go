// Package cast turns the rows that a statement or a file gives into rows of a table: in SQL, which DuckDB runs.
//
//	query ──────────► Query ──┐
//	VALUES (…), (…) ► Values ─┴► Source: SELECT CAST(csm_rows.c0 AS INTEGER) AS a, <default> AS b FROM (…) AS csm_rows(c0)
//	batch of text ──► Text ──┐
//	batch of a file ► Batch ─┴► the same over csm_scan(n) ─► batches of the table's types
//
// # Words
//
// A table's columns are those of its schema; the ones that are filled are named, and the others get their defaults.
// Bytes are written as PostgreSQL does (\xde41) wherever they become text that is read again: DuckDB's own spelling is
// ambiguous.
//
// # Invariants
//
//   - CT1: a value becomes its column's type by one cast from what was written, or by casts that lose nothing.
//   - CT2: positions of errors lead back into the text that was given (Source.Relocate).
//
// # What it does not do
//
// It reads no table and plans nothing: the writer of the rows does. It has no locks.
package cast
