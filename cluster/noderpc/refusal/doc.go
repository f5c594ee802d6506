// Package refusal counts and logs what a node refuses: the peer, the call and the reason.
//
//	connection, call ── refused, for a Reason ──► Counters ──► metrics, by Reason and by Kind
//	                                                 └───────► log, so many lines a second
//
// # Words
//
// A refusal is what no correct peer asks for, or a limit that it met. A kind is a peer, a call and a reason.
//
// # Invariants
//
//   - RF1: a hostile peer fills neither the log nor the memory: both have a bound; the counters have all.
//
// # Lock order
//
// Counters.mu is a leaf.
//
// # What it does not do
//
// It refuses nothing.
package refusal
