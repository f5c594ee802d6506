// Package snapshot is one snapshot of the catalog as one statement sees it.
//
//	lease ── keeps chunks in place ──┐
//	a block's own changes ─ Contents ┤ View ── Find, Lookup, Target, Qualify: what a name means ──► planning
//	temporary objects ─ Own ─────────┘    └─ Reads: which names were looked up;  Read: what was read of chunks
//
// # Words
//
// A view of a snapshot is what one statement sees. Temporary objects are the session's, and hide what is called the
// same.
//
// # Invariants
//
//   - SN1: what names mean in a view does not change, except Parts and Results, which its maker sets.
//   - SN2: every name that is looked up is noted in Reads.
//
// # Lock order
//
// It has no locks: a view belongs to the session of its statement.
//
// # What it does not do
//
// It takes no snapshots, and knows no text: the engine does, and package viewtext.
package snapshot
