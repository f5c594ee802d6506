// Package scan is how DuckDB reads one table of a query: which chunks, which rows of them, and what it learns of them.
//
//	plan.Scan (what the text proves) ─► New ─► Restrict: the part of another node's, or all
//	                                     │
//	          Transfer: region → nation → supplier → lineitem: what is left of a small filtered table thins out the larger
//	                                     │             tables that are joined with it, before DuckDB sees a row
//	                                   Start: chunks pruned, rows filtered ─► DuckDB's threads ─► Open: one chunk, in place
//
// # Words
//
// A hint is what the planner found out of one occurrence of a table. Keys are those of one table's filtered rows. A
// domain is a column's values, where it is shown as ENUM.
//
// # Invariants
//
//   - SC1: a row that the statement's condition is true of is given, whatever is pruned and filtered (filter.FL1,
//     plan.P7).
//   - SC2: a chunk is opened in the execution that Start was called for, under its context and its readings.
//   - SC3: scans with equal signatures give equal rows.
//
// # Lock order
//
// There are no locks. DuckDB's threads call Open, which takes only catalog page caches and the reader's shards.
//
// # What it does not do
//
// It knows no session, and no name: the engine says which table an occurrence is.
package scan
