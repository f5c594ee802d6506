// Package sqllist reads and writes docs/sql.md, the list of what csmsql keeps, does differently and refuses, so that a
// test can try each of its lines.
//
//	| what | example | verdict | what comes |
//	|---|---|---|---|
//	| `LIMIT` | `SELECT a FROM t ORDER BY a LIMIT 1` | kept | `1` |
//
// # Words
//
// A row is one line of one of the document's tables. Its example is SQL that is run in a fresh schema with the
// document's setup; a second code span in that cell is what the client sends to COPY FROM STDIN. Its answer is the
// first code span of the last cell. `{name}` in an example stands for each of the names in the row's first cell.
//
// # Invariants
//
//   - SL1: a row that is read and written is the same text.
//   - SL2: a table's line that is not a row is an error with its line number, never left out.
//
// # What it does not do
//
// It runs nothing: internal/clienttest does, against csmsql, DuckDB and PostgreSQL.
package sqllist
