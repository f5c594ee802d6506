// Package constantrows makes the rows of INSERT … VALUES without DuckDB, where every value is a constant or a parameter
// whose meaning for its column is certain.
//
//	VALUES (1, 'a', $1) ── Of ──► Source ── Rows(args) ──► Rows ── Batch ──► one record batch of a table's columns
//	                        │                    │
//	                        └ nil                └ not ok: DuckDB evaluates the list, and says what is wrong with it
//
// # Words
//
// A value is certain for a column if DuckDB's cast of it gives that very value, without rounding, reading a notation or
// asking a setting: an integer within the range of a column of integers, a decimal with no more digits than its column,
// text for text, a day as 2024-05-17.
//
// # Invariants
//
//   - CR1: rows that are made here are those that DuckDB makes of the same statement, in value and type. What is not
//     certain is not made here: errors are DuckDB's.
//   - CR2: a Source never changes; it may be used for as long as the table has the columns that it was made for.
//   - CR3: a column that is NOT NULL gets no NULL, and a varchar(n) nothing longer, by these rows.
//
// # What it does not do
//
// It knows no CHECK constraints and stores nothing: the code that stores the rows holds them to what the table
// promises. It has no locks.
package constantrows
