// Package record writes and reads what the catalog keeps of a region, a node, a view, a counter and a user-defined
// type, and what a borrower receives of a snapshot.
//
//	region/<id> ── Region      node/<name> ── Node      view/<id> ── View
//	counter/<id> ── Count      type/<id> ── Type      presence/<name> ── Presence      catalog.proto
//
// # Invariants
//
//   - RE1: what was encoded is decoded to the same; what is damaged is an error, and no record.
//
// # What it does not do
//
// It knows no store, and no contents: package catalog says what the records mean together.
package record
