// Package outcome says how a statement ends when more than one side may end it.
//
//	statement ─ Commits? ─┬─ yes: it commits, and StopClock: its time bounds it no more
//	client ──── Fail? ────┘─ yes: nothing of it will stay      the first to ask decides
//	context ─── Ended ─────► the reason: cancelled by the user, or statement_timeout
//
// # Words
//
// A clock is what bounds a statement's time. An outcome is open until one side asks.
//
// # Invariants
//
//   - OC1: nothing stays of a statement that one side gave up, and one that commits was not given up.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It keeps no time and cancels nothing.
package outcome
