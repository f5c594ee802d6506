// Package retained keeps record batches for a session, and charges them to it.
//
//	result ── Keeping, Drain ─► Batches ── Again ─► the same rows, until Release
//
// # Words
//
// A batch is retained from Keep to Release.
//
// # Invariants
//
//   - RT1: what is retained is charged to the session's account, and given back once.
//
// # Lock order
//
// It has no locks: batches belong to one session.
//
// # What it does not do
//
// It copies nothing: a batch stays where it is.
package retained
