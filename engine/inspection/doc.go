// Package inspection visits every chunk of tables, to compare it with its checksums or to make its pages present.
//
//	snapshot ─► tables ─► chunks ─► Check: the first that is damaged
//	                             ├► Verify: a list of all replicas that are
//	                             └► Prefault: pages are there before a query touches them
//
// # Words
//
// A visit is what is done with one chunk.
//
// # Invariants
//
//   - IN1: all chunks that are visited are those of one snapshot, which is leased meanwhile.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It repairs nothing: damage is remembered by package reader, and repaired by package upkeep.
package inspection
