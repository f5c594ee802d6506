// Package refresh says what a statement does that makes a materialized view, or refreshes one.
//
//	CREATE MATERIALIZED VIEW ─► Refuse ─► Declare ─► a table, whose columns say so ─┐
//	REFRESH MATERIALIZED VIEW ─► Run ── empty it ──────────────────────────────────┴─► Fill: the rows of its query
//
// A refresh is one transaction: it takes the rows away and puts others in their place, so that a reader, on any node,
// has those of before or those of after, and waits for neither. That is all that CONCURRENTLY promises; it requires
// what it does in PostgreSQL.
//
// # Words
//
// To populate: to have the rows of the query put in.
//
// # Invariants
//
//   - FM1: a materialized view has the columns that it was made with; a query that gives others by now fills it no more.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It plans and runs nothing itself (Fill does), and commits nothing.
package refresh
