// Package mention says what of other objects the record of a table mentions, and finds the tables that mention one.
//
//	record of child  ── Of ──► foreign key to 7, index public.child_a_idx
//	record of parent ── Of ──► type 9, sequence 12
//	                             │ Changed: as a commit or a statement changes a table
//	                             ▼
//	                           Index ──► To(foreign key to 7) = child
//
// So a DROP, or a name that must be free, looks at the tables that have to do with it, and not at all others.
//
// # Invariants
//
//   - MN1: an index has of each table just what its record mentions now.
//   - MN2: a table whose constraints cannot be read is found by everything: the caller reads it and gets the error.
//   - MN3: what a record may mention only for a text that looks like it is found, too: the caller decides.
//
// # Lock order
//
// It has no locks: an index never changes, and one with another table shares what they have in common.
//
// # What it does not do
//
// It knows of each mark only what it mentions: what a constraint means says package constraint of the engine. Views are
// no tables.
package mention
