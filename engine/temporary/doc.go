// Package temporary is what a session makes for itself: temporary tables, views, macros, sequences and types, which
// DuckDB keeps.
//
//	statement ── Refused? ─► Text: its text for DuckDB ─► DuckDB ─► Tag, Count;  Mark: what to do ON COMMIT
//	session ──── Names: what hides tables of the same name;  Commit: does it;  DropAll: DISCARD TEMP
//
// # Words
//
// What is temporary is the session's own; it goes with it.
//
// # Invariants
//
//   - TP1: DuckDB may change nothing that is not temporary: all sessions would see the change, and it would be lost
//     with the process.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It runs no statements: the engine does, in a transaction of DuckDB's.
package temporary
