// Package reference holds the rows of tables to their FOREIGN KEYs.
//
//	statement ─► rows that came to a child ─► Keeper.Changed: their parents are there
//	          └► rows that went from a parent, and whose keys did not come again: no child has them,
//	              or it follows (ON DELETE CASCADE, SET NULL), which is looked at in turn
//	COMMIT ───► Keeper.Relate: rows that came to a child since the snapshot have no key that went meanwhile
//
// What keys went is found by the positions of deleted rows, so that it costs what was deleted. Both sides of a pair of
// tables are looked at in each commit that changes one of them, and the commit relies on the other one to stay as it
// was then. So a child and the end of its parent are never both committed, on one node and over nodes.
//
// # Words
//
// A child is a table with a foreign key, its parent the table that it refers to: a table may be both. A key has
// vanished if it was one of the parent's rows and is none now. A parent's record names the tables that have, or had,
// foreign keys to it (constraint.Referencing).
//
// # Invariants
//
//   - FK1: in no version of the catalog has a row of a child a key, without a NULL in it, that no row of its parent
//     has.
//   - FK2: a foreign key is to a key of the parent that is enforced, of columns whose equal values have equal digests.
//   - FK3: a transaction that makes a foreign key, or whose rows are held to a new one, conflicts with one that changes
//     the parent meanwhile: the parent's record changes.
//
// # Lock order
//
// It has no locks. Keeper.Relate runs while the catalog commits.
//
// # What it does not do
//
// It defers nothing to COMMIT. Nothing follows a parent that is updated.
package reference
