// Package statement says what a SQL statement is, before anybody runs it.
//
//	text ── Split ──► one text per statement ── Parse ──► Statement{Kind, …}, tree
//	                                              │
//	                  heads (CREATE TABLE t (…), INSERT INTO t …, COPY …) are read from PostgreSQL's own tokens,
//	                  so that PostgreSQL's and DuckDB's dialect share one reader; the rest of the text (queries,
//	                  expressions, types) stays text for DuckDB.
//
// PostgreSQL's own parser (pg_query) gives the tree that exec/plan analyses and the syntax errors with their positions. A
// text that it rejects may still be DuckDB's dialect: then Tree is nil, and Syntax keeps the error in case DuckDB agrees.
//
// # Invariants
//
//   - S1: every text that a Statement holds is a piece of the user's text, so that positions can be mapped back.
//   - S2: Parse never fails on what only DuckDB understands; it fails on heads that it must understand itself and cannot.
//
// It is pure: no catalog, no session, no settings. It does not check names or types.
package statement
