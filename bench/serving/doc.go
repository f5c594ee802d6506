// Package serving starts the servers that benchmarks compare, csmsql and PostgreSQL, and ends them.
//
//	Product.Start      ─► csmsql serve ──────────────┐
//	Product.StartNodes ─► nodes of a cluster ────────┼─► Server: it answers ─► Close: it has ended, and left nothing
//	StartPostgres      ─► initdb ─► postgres ────────┘
//	                      each in directories that Directory makes, and Sweep removes if this process was killed
//
// # Words
//
// A server is a process that speaks PostgreSQL's protocol over a unix socket in a directory of its own; nothing listens
// on TCP.
//
// # Invariants
//
//   - BS1: a server that was not started leaves no process and no directory; one that was ends with Close, or with this
//     process.
//
// # Locks
//
// Tail.mu is a leaf. A Server is for one goroutine.
//
// # What it does not do
//
// It loads no tables, compares nothing and measures nothing.
package serving
