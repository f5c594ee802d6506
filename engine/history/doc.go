// Package history remembers the latest statements of a node, for csm.queries.
//
//	Add ─► a ring of so many, each text cut ─► List, the oldest first
//
// # Lock order
//
// History.mu is a leaf.
//
// # What it does not do
//
// It hides nothing: its caller shows a guest no texts of others.
package history
