// Package past says which former version of a table a text asks for.
//
//	FROM t AS x AT (VERSION => 5)          Read ─►  FROM "csm_past"."t@5" AS x           what is planned
//	FROM t AT (TIMESTAMP => '2026-11-26')  Read ─►  FROM "csm_past"."t@2026-11-26" AS t
//	                                                      │
//	                          Reference of the name ◄─────┼──► Calls: csm_table('csm_past', 't@5'), where DuckDB looks
//	                                                      └──► Shown: t AT (VERSION => 5), to people
//
// Neither PostgreSQL's parser nor DuckDB's catalog knows versions. So the clause becomes a part of the name, and goes
// wherever the name goes: into plans, views, and parts of statements that other nodes run.
//
// # Words
//
// A reference is a table as it was named, and a version of it or a time.
//
// # Invariants
//
//   - PA1: what Read wrote means the same to Reference, in every place and on every node.
//   - PA2: no text has another meaning because of Read, but one with AT ( VERSION or TIMESTAMP => behind a name, which
//     was an error.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It knows no tables: package snapshot finds the version that a reference means.
package past
