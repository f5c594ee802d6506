// Package typing infers PostgreSQL's types of a text's parts, and writes the text that means the same in DuckDB, whose
// types are others.
//
//	text, tree ──► bind ──► inference: the type of an expression, and its digits
//	catalog ────►             │
//	                          ├─► Translate   casts and calls where DuckDB's types would give another answer
//	                          ├─► NameTypes   users' types by their numbers
//	                          ├─► LabelsIn    strings that are labels of users' types
//	                          └─► Origins     where the result's columns come from, and which sums are bigints
//
// It follows dialect.Postgres, which needs no types, and gets what that wrote: functions called csm_… (package
// pgcatalog has them) stand where PostgreSQL's stood.
//
// # Words
//
// A type is a pg_type.oid, 0 if it is not certain. Digits are those of a numeric before and behind the point, as far as
// DuckDB's DECIMAL bounds them. What is wrapped or cast is an expression of which the text shows the end: a constant, a
// column, a call or a cast.
//
// # Invariants
//
//   - TY1: what is not certain is left as it is; so is a text of which tree and text disagree.
//   - TY2: what is written is edits of the text, which lead places in errors back (package edit).
//   - TY3: all is pure: the same text and relations give the same, so that plans may be kept by their text.
//
// # What it does not do
//
// It plans nothing and refuses only what PostgreSQL refuses for its types (mismatches.go); what else is wrong DuckDB
// says. It follows no query deeper than 200 names.
package typing
