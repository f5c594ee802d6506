// Package rewrite says which query finds the rows of a table that an UPDATE or a DELETE is about, and what they become.
//
//	UPDATE, DELETE ─► Rewrite ── Text ─► DuckDB ─► numbers of rows that were hit, and what they become
//	                     │                              │                        └► chunks of their own, appended
//	                     │                              └─ Hits ─► deleted in their chunks, by position
//	                     └ ConditionsOf: what is said of one row each, to be asked of DuckDB first
//
// Sealed chunks never change: rows that were hit are deleted in the next version, and what an UPDATE makes of them is
// appended. The query is planned as any other with that WHERE: it reads the chunks that are not ruled out by it.
//
// # Words
//
// A row is hit if the statement is about it. Its number is its chunk's and its position in that, in one column that
// only these queries can name: a scan gives it beside the table's own.
//
// # Invariants
//
//   - RW1: what is asked of a row is asked once, and values are computed for rows that were hit and no others.
//   - RW2: an expression that is not of a single row, an aggregate or a window, is an error.
//   - RW3: no user's text sees the numbers, by a name, by a star or as part of a whole row.
//   - RW4: a row is changed once, however many rows of other tables it meets.
//   - RW5: RETURNING sees, of the statement's other tables, the rows that the changed one has met, and a star means
//     theirs, too.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It runs no query and commits nothing: the engine does.
package rewrite
