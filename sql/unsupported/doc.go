// Package unsupported names the clause of a statement that PostgreSQL's parser understands and DuckDB's does not, so
// that the error says what is not supported instead of where another parser stopped.
//
//	SELECT a FROM t FETCH FIRST 2 ROWS WITH TIES     DuckDB: syntax error at or near "WITH", byte 35
//	                                  └─────── InText ──► WITH TIES
//	SELECT a FROM t FOR UPDATE SKIP LOCKED           DuckDB: SELECT locking clause is not supported!
//	                └─────── InTree ──► FOR UPDATE SKIP LOCKED
//
// # Words
//
// A clause is a run of PostgreSQL's keywords, as they stand in the text, in capitals. DuckDB's parser reports a syntax
// error, with a place, or refuses a node of its tree, without one.
//
// # Invariants
//
//   - UN1: a clause is named only if PostgreSQL's parser understands the whole text: everything else is a syntax error.
//   - UN2: whatever the text and the place, nothing panics.
//
// # What it does not do
//
// It does not decide what is supported: DuckDB has, before it is asked. It reads no dialect but PostgreSQL's.
package unsupported
