// Package conflict says what becomes of the rows of an INSERT … ON CONFLICT.
//
//	rows that the INSERT proposes ─► digests of their keys ─┬─► key.Keeper.Find: rows that have such a key
//	                                                        └─► those before them in the same statement
//	pairs of a proposed row and the one that is there ─► DuckDB: SET and WHERE, once ─► what that one becomes
//	decide, row after row ─► inserted, put in the place of one that is there, or left out
//
// # Words
//
// A row is proposed until it is decided what becomes of it. An arbiter is a key by which that is decided. A pair is a
// proposed row (excluded, in SQL) and the row of the table that has its key.
//
// # Invariants
//
//   - OX1: a proposed row is worked out once, and what it makes of a pair is, too: whatever random() or a sequence gave
//     is what is written.
//   - OX2: rows are decided in their order, each as if those before it had been written; a row that the statement has
//     written is never changed by it again (21000).
//   - OX3: a proposed row is held to NOT NULL and CHECK, whatever becomes of it, as in PostgreSQL.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It commits nothing: what others commit meanwhile is found at COMMIT (key.Keeper.Commit), and the engine repeats the
// statement then. It knows no keys of expressions or of some rows: there are none.
package conflict
