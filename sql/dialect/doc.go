// Package dialect translates PostgreSQL's text to DuckDB's, and DuckDB's errors to PostgreSQL's.
//
//	a session's text ─ Postgres, if it means PostgreSQL's ─► Written.Typed ─► DuckDB's meaning, which is kept
//	                                                         ▲ what types columns are of (pgcatalog)
//	a client's text ─► RefuseReserved ─► Literals ─► Formats ─► Operators ─► what DuckDB is given
//	                                        ▲ types of what stands beside a literal: Untyped asks, the caller plans
//	    PivotItems: values to ask for       │
//	                                        ▼
//	an error with a place in the user's text ◄── FromDuckDB ◄── an error with a place in the given one
//
// # Words
//
// Given is the text that DuckDB got, the user's is what it was made of, and an edit.List leads from one back to the
// other. Untyped literals are of the type of what stands beside them, which only DuckDB knows. A stand-in is a value in
// the place of one that is not known yet.
//
// # Invariants
//
//   - DI1: all here is a function of its arguments: no session, no goroutine, no clock, so that a plan may be kept with
//     its text.
//   - DI2: a text with nothing to translate comes back as it is; a translated text comes back as it is when it is
//     translated again.
//   - DI3: no position of an error is one in a text that the user did not write.
//   - DI4: what the engine keeps in DuckDB for itself has no name in a user's text (RefuseReserved).
//
// # Lock order
//
// There are no locks.
//
// # What it does not do
//
// It plans nothing and asks DuckDB nothing: callers that have a connection do, with the texts made here. It reads no
// statement (package statement), and writes no value (package literal). A name that is put together at run time is not
// seen here.
package dialect
