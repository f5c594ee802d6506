// Package columntype says what the type in a CREATE TABLE means.
//
//	"character varying(3)" ── Read ──► Type{DuckDB: "VARCHAR", Declared: {Name: "varchar", Length: 3}}
//	"citext"               ── Read ──► 0A000, with what to write instead
//
//	arrow.Field ── SQL ──► the name that CAST(x AS name) needs to give that type
//
// DuckDB decides what a type is that PostgreSQL does not know: HUGEINT, STRUCT (…), UTINYINT. Of PostgreSQL's types
// this package decides, because DuckDB takes some of them for others (oid for BIGINT) and forgets what is in
// parentheses (varchar(3), char(3), time(3)).
//
// # Words
//
// declared: what a column keeps of its type beside the type of its values: varchar or char, and the most characters. It
// travels in the metadata of the column's field.
//
// # Invariants
//
//   - T1: a type is kept as it was written, or an error names it. What stands for another one is written in docs: float
//     is REAL and numeric is numeric(18,3), as DuckDB has them; jsonb is json; varchar without a length is text;
//     timestamp(0) and timestamp(3) are timestamps of seconds and milliseconds.
//   - T2: Read is pure and does not panic, whatever the text.
//
// # What it does not do
//
// It looks at no value (engine/ingest counts characters) and does not know which types a session has made for itself.
package columntype
