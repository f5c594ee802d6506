// Package fragment runs parts of other nodes' queries, and defines the messages of engines about them.
//
//	coordinator ── Payload: versions of tables, chunks, results of earlier stages ──► Server
//	     ▲                                                                              │ Task
//	     │                                                                              ▼
//	     │                                                    Texts: a session plans and runs the text
//	     │                                                                              │ Rows
//	     └── Report: columns, partitions, measures; descriptors ◄── chunks of this node's memory
//
// # Words
//
// A fragment is a part of a query that one node runs. Everything that it needs to know travels with it: the versions
// of the tables that the coordinator's snapshot sees, and which chunks of which occurrence are its part. So it does
// not matter how far the node is with the catalog, and the coordinator's lease is the only one. A stage is the
// fragments that run at once; their results are tables in no catalog. A result that is shuffled has partitions.
//
// # Invariants
//
//   - FR1: a fragment's request comes from outside: all of it is checked before it is used.
//   - FR2: a result lies in this node's memory until it is released, once; what fails leaves nothing there.
//   - FR3: of two payloads of the same bytes the tables are the same versions, so that what planning derived serves
//     both.
//
// # Lock order
//
// Server.mu is a leaf.
//
// # What it does not do
//
// It plans nothing: Texts does. It does not know which fragments a query has: package split does.
package fragment
