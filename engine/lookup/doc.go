// Package lookup remembers which names have been asked for, and what they meant.
//
//	planning: Note(schema, name) … ──► Names ──► Meanings ─ Same? ──► a plan is used again
//	          Everything() ─ if unknown ───┘ └─► Add ──► a SERIALIZABLE block: all that its statements have read
//
// # Words
//
// A name is that of a table, a view, or nothing. Everything says that others may have been asked for, too.
//
// # Invariants
//
//   - LK1: what was noted stays.
//
// # Locks
//
// Names.mu is a leaf; of two Names never both are locked.
//
// # What it does not do
//
// It does not know what names mean: its callers do.
package lookup
