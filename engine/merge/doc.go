// Package merge says what a MERGE does to the rows of its table: it is a change of rows as rewrite.Rewrite is.
//
//	source LEFT JOIN target, with the numbers of its rows
//	    └─► the first WHEN that holds, in one query of DuckDB's
//	          ├─► a row that is there becomes another one: its number, deleted, and the new row, appended
//	          ├─► a row goes: its number, deleted; children follow it
//	          └─► a row of the source has no partner: a new row, appended
//
// # Words
//
// Rows of the source are joined with those of the target; one that has partners is matched, once with each, and others
// are left. A clause is a WHEN … THEN …; the one that is taken decides what becomes of a pair, or of a row that is
// left.
//
// # Invariants
//
//   - MG1: of a pair, or a row that is left, the first clause of its side is taken whose condition holds, and only its
//     values are computed; the rest do nothing.
//   - MG2: the source, the join, each condition and each value are asked for once: whatever random() or a sequence gave
//     is what counts.
//   - MG3: no row of the target is changed or deleted twice (21000), and none that the statement has inserted.
//   - MG4: what is written of a row that is left sees no column of the target, and nothing sees the rows' numbers.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It runs no query and commits nothing: the engine does, as for UPDATE, so that one that loses a race is repeated. It
// returns nothing, and has no clause for rows of the target that the source has not: PostgreSQL 15 has neither.
package merge
