// Package planned is what is known of a planned query: what it was made over, and the text that DuckDB has planned.
//
//	user's text ─► Text.Given, which DuckDB plans ─ Resolved? ─ no ─► Resolve: parameters without types, or without values
//	snapshot, settings, nodes ─► Basis ─ Stands? ─► the plan is used again, or another is made
//
// # Words
//
// A plan is late if DuckDB can plan its text only when the parameters have values. A basis stands if planning the text
// again would give the same plan.
//
// # Invariants
//
//   - PL1: a plan whose basis stands gives what a new plan would.
//   - PL2: the plans that all sessions keep, and their key sets, have a bound (Share).
//
// # Lock order
//
// Share.mu is a leaf.
//
// # What it does not do
//
// It finds no tables and runs nothing.
package planned
