// Package notation writes constants, names and types in the notation that PostgreSQL and DuckDB read alike.
//
//	SELECT 0x1F, at, '{1}'::_int4 ── Plain ──► SELECT 31, "at", '{1}'::int4[]
//	SELECT 1x                     ── Junk ───► 42601: trailing junk after numeric literal at or near "1x"
//
// A text is written so once, before anything else reads it, so that no reader of it needs to know other notations.
//
// # Words
//
// A notation is plain when both have it.
//
// # Invariants
//
//   - PN1: a text that Plain has written means to PostgreSQL's parser what the user's means, except for the PERCENT
//     behind a sample's number, and the name of a type of arrays, which both mean the same type.
//   - PN2: Plain leaves what it has written as it is.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It writes no parameters (package statement) and gives no literal another type (package dialect).
package notation
