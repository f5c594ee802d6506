// Package comment is what COMMENT ON says of tables, views, columns, schemas, sequences and constraints.
//
//	COMMENT ON COLUMN t.a IS 'x' ─► Put ─► in the metadata of the table's columns ─► Of, OfField ─► pg_description
//
// # Words
//
// A comment is a text about an object of the catalog; an empty one is none.
//
// # Invariants
//
//   - CO1: a comment goes with its object: by another name it stays, dropped with it, it is gone.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It shows nothing itself. Temporary objects have no comments.
package comment
