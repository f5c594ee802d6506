// Package check holds rows to the CHECK constraints of their table. It does so where all ways in come together: when a
// writer has laid out a chunk, and before it is sealed, DuckDB is asked for a row of it of which a check is false. So
// each check is evaluated once per row, over the values that are stored.
//
//	INSERT, COPY, loads ─► ingest.Writer ─► chunk ─► Table.Hold ─► sealed
//	UPDATE ─► the rows that it changes ─► Changed ───────┘
//
// # Words
//
// A check is a constraint.Constraint of kind CHECK.
//
// # Invariants
//
//   - CK1: no chunk is sealed of which a check of its table is false for a row that is new; NULL passes.
//   - CK2: a check means the same to every session: it is evaluated on a connection that belongs to none.
//
// # Lock order
//
// Checker.mu is a leaf; DuckDB is asked without it.
//
// # What it does not do
//
// It reads no constraint of a statement and keeps none: the engine does, with package constraint. Keys are
// package key's.
package check
