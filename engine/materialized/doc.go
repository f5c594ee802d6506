// Package materialized is what a materialized view is on the record of its table.
//
//	CREATE MATERIALIZED VIEW m AS SELECT …  ─► Mark ─► the metadata of m's columns: its query, and whether m has its rows
//	                                                      │
//	SELECT … FROM m, on any node  ◄── Unpopulated ────────┤  the rows are chunks, as those of any table
//	INSERT INTO m                 ◄── Is: 42809 ──────────┤
//	DROP, RENAME, ALTER of what it reads ◄── Queries ─────┘  beside the queries of views
//
// A materialized view is a table: it has versions, a placement, replicas, indexes, and leases keep its chunks. Its
// query goes with its columns, so that there is no record of it that could be lost, or commit, without its table.
//
// # Words
//
// A materialized view is populated if its rows are those that its query gave once.
//
// # Invariants
//
//   - MV1: a version of a materialized view says itself whether it is populated: a reader of one that is not gets an
//     error, in every process and at every version.
//   - MV2: a query that is kept is bound (package viewtext), as a view's is.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It runs no query (package refresh says when), and binds none.
package materialized
