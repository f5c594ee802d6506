// Package key holds the rows of a table to its PRIMARY KEY and its UNIQUE constraints.
//
//	statement ─► rows of its new chunks ─► Keeper.Statement: against each other, and all rows that the transaction sees
//	COMMIT ───► what others have committed since the snapshot ─► Keeper.Commit: against the transaction's own new rows
//	ADD CONSTRAINT ─► Keeper.Whole: all rows against each other
//
// A chunk whose bounds exclude all of the new rows' keys is skipped by its statistics. Few new rows are looked for in
// the order that a chunk has by the key (package order); where there is none, or rows are many, the key columns are
// read in place, and a prefilter leaves most integers out.
//
// # Words
//
// A key is a PRIMARY KEY or a UNIQUE constraint that is enforced. A row's key is absent if a column of it is NULL,
// unless the key says NULLS NOT DISTINCT: then NULL is a value. A digest is 128 bits of hash over a key's values, each
// written so that equal values are equal bytes; two keys with one digest are taken for the same.
//
// # Invariants
//
//   - KY1: no version has two rows that live with the same key: what a statement adds is compared with all that its
//     transaction sees, and at COMMIT with all that others have added since.
//   - KY2: digests are kept of so many rows at once as passRows says; more rows are looked at in passes.
//   - KY3: what was read is trusted only once the reader has confirmed it.
//
// # Lock order
//
// It has no locks. Keeper.Commit runs while the catalog commits.
//
// # What it does not do
//
// It sorts nothing: upkeep does. Foreign keys are package reference's.
package key
