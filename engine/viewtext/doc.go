// Package viewtext reads and writes the queries of views.
//
//	CREATE VIEW v AS SELECT a FROM t   ── Bind ─────► SELECT a FROM public.t       its names mean what they meant then
//	ALTER TABLE t RENAME TO u          ── WithName ─► SELECT a FROM public.u AS t  the rest of the text may say t
//	DROP TABLE t                       ── ReadBy ───► which tables and views it reads
//
// # Words
//
// A mention is a name in a text as DuckDB's parser reads it. A query is bound when its names have schemas.
//
// # Invariants
//
//   - VT1: a text that DuckDB reads otherwise than it was meant is an error, not another table's rows.
//   - VT2: except for names and their schemas, a query stays as its user wrote it.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It keeps no views and plans nothing.
package viewtext
