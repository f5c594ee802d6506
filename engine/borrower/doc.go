// Package borrower is a process' way to a running node whose memory it borrows: the node is asked for leases of
// snapshots, and its regions, and those of the other nodes of its cluster, are mapped here.
//
//	Attach ─► dial ─► describe ─► map regions ─► reader.Reader
//	Snapshot ─► lease from the node ─► map what is new ─► one shared lease.Lease, kept for a moment
//	                │ the node's process is another one
//	                └► redial ─► leases of the former one are over; generations never come again, what was acquired stays
//	worker: Follow ─► the snapshot that the node holds for the statement ─► Given
//
// # Invariants
//
//   - BW1: what is handed out was leased by the node's process that is there, and Check of the lease says when that is
//     over.
//   - BW2: a process at the target with another catalog is never taken for the node.
//   - BW3: a borrower that asks nothing holds nothing for longer than a moment.
//
// # Lock order
//
// Borrower.mu → the locks of package lease and of the reader. The node is asked under it: others wait for the same
// answer.
//
// # What it does not do
//
// It runs no SQL, and never writes. A reader under a lease calls Check after the last load (the engine's E3).
package borrower
