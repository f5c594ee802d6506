// Package literal writes the text of a value as PostgreSQL's clients write it in the spelling that DuckDB reads.
//
//	type        PostgreSQL                      DuckDB
//	bytea       \xdead, a\\b\001                \xDE\xAD, a\x5Cb\x01
//	t[]         {1,NULL,"a b"}                  [1,NULL,"a b"]
//	boolean     on, ' t ', fal                  true, true, false
//	date        Jan 31, 2020; 20200131          2020-01-31; 2020-01-31
//	date        0044-03-15 BC                   0044-03-15 (BC)
//	timestamp   0044-03-15 12:00:00 BC          0044-03-15 (BC) 12:00:00
//	interval    -1 mons +3 days +01:02:03       -1 mons 3 days 01:02:03
//
// Both spellings are read where they do not contradict each other: \xDE\xAD and [1, 2] are DuckDB's, and left as they
// are. Where they do, PostgreSQL's counts: \xDEAD is two bytes, and not one and the text AD.
//
// # Words
//
// A Form is how values of a type are written. A literal is untyped: its Form comes from the column, or from the cast,
// that takes it.
//
// Text of bytes and of dates that is no literal, and that DuckDB would take for another value, is read by casts of our
// own in DuckDB (exec/duckdb/cast.c).
//
// # What it does not do
//
// It does not check values: what is none of a type is passed on for DuckDB to refuse, except what DuckDB would take for
// another value. It knows no types of expressions, and quotes nothing.
package literal
