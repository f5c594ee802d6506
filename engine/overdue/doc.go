// Package overdue bounds the statements whose clients were answered before they ended, and knows which there are.
//
//	a call has ended too late, by its client's cancel or its timeout
//	     │
//	     ▼ Door: waits for a place, or for the call
//	   a place is taken ── Put ──► listed ── the call returns: gone ──► the place is free
//	     └── Leave: it was not left alone after all
//
// # Words
//
// A statement is overdue when its client has received its outcome, and the node works on it still: it has a thread,
// memory and a snapshot, and perhaps no connection any more.
//
// # Invariants
//
//   - OV1: there are no more overdue statements than places.
//   - OV2: a place is free again when the call has returned, and not before.
//
// # Locks
//
// Places.mu is a leaf.
//
// # What it does not do
//
// It ends nothing and answers no client: the layer between a session and its client does. It has no clock.
package overdue
