// Package lifetime is how an engine, or a session, ends while others use it.
//
//	there ── End ──► ending: no call comes in any more, ── the last call has left ──► over: it is taken apart
//	                 the contexts of all calls have ended
//
// Calls are inside for as long as they run. What they leave behind (rows, cursors, statements) is the session's, and is
// closed when it is taken apart. So nothing waits for a client that has rows open and does nothing.
//
// # Invariants
//
//   - LT1: after Await no call is inside, and none comes in (the engine's E6).
//   - LT2: what the end breaks off fails with the reason of the end, never with a cancel that the user did not ask for.
//
// # Lock order
//
// Lifetime.mu is a leaf.
//
// # What it does not do
//
// It closes nothing: its owner takes apart what is its own, between Await and the closing of Gone.
package lifetime
