// Package refreshing is the benchmark refresh: the queries of TPC-H beside its refresh functions RF1 and RF2, as the
// transactions of a client, and beside nothing.
//
//	one node: orders, lineitem at rest      ◄── a stream of the 22 queries
//	           (clones: the same chunks)
//	          orders, lineitem, refreshes   ◄── a stream of the 22 queries ─► answers, the last transaction each saw
//	               ▲                                                                    │ after each stream
//	sets of dbgen ─┴► Source: transactions 0, 1, 2, … ─► DuckDB's own tables, refreshed as often: the same answers?
//	                  Client: sends each when it is due
//
// # Words
//
// A set is what one refresh inserts, and deletes (SF · 1500 orders each, clause 2.5 of the specification); a pair is
// RF1 and RF2 of one set. A transaction is some orders with all of their lines. It is numbered from 0 through all
// pairs, and leaves its number in the table refreshes. A stream is all queries, one after the other; the twin is
// DuckDB's tables.
//
// # Invariants
//
//   - RS1: a snapshot with the number n in refreshes has transactions 0 to n, whole, and nothing of those behind: a
//     twin that runs the same transactions has the same tables.
//   - RS2: texts are made before a stream, except where the number of its pairs is not known beforehand.
//   - RS3: every answer is compared before its stream's times count: one that was given beside refreshes with the
//     twin's after those that its transaction saw, at REPEATABLE READ. Nothing is compared while anything is timed.
//   - RS4: a stream begins when the node does nothing in the background: what folding costs after a refresh is in
//     the times of the streams beside refreshes, and not of those at rest.
//
// # Lock order
//
// Source.mu is a leaf.
//
// # What it does not do
//
// It loads no tables, and reports nothing: package bench does.
package refreshing
