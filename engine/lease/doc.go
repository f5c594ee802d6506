// Package lease shares one lease of a snapshot among its readers, and keeps what batches lie in that leave the engine
// in place.
//
//	catalog.Snapshot ◄── Lease ◄─ Hold ─┬ statement, portal, block
//	                                    └ Batches ◄─ Retain ─ the buffers of a result's batches; and maps of regions
//
// # Words
//
// A lease is over when a borrower's node may use the memory again: Check says so. In the node itself none ends while
// it has users.
//
// # Invariants
//
//   - LS1: the snapshot is closed once, after the last user has released it.
//   - LS2: bytes of batches stay what they are, and mapped, until the result is closed and every batch, slice and
//     array of it was released (the engine's E7).
//
// # Lock order
//
// Batches.mu → the catalog's locks, Region.life.
//
// # What it does not do
//
// It takes no lease and renews none: the catalog does for a node's sessions, package noderpc's keeper for a borrower.
package lease
