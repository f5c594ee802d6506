// Package systemtable shows what lies where and what was read, as the tables of the schema csm, which are made when
// they are asked.
//
//	csm.nodes     the cluster's nodes, or this one
//	csm.regions   lent memory
//	csm.tables    tables and how their bytes lie over the nodes; how many chunks lack replicas, or can be read nowhere
//	csm.chunks    every chunk with its node, region and place, where it lies, too, and where its rows came from
//	csm.compactions  which small chunks of tables were folded lately (package compaction)
//	csm.holders   holders of this node's region: versions of tables, sessions, loads, other nodes (package custody)
//	csm.memory    what clients make the node keep, by session and kind (package account); what DuckDB and Go have
//	csm.queries   the latest statements of this node: rows, bytes read here and elsewhere, fragments
//
//	DuckDB: view over csm_table ──► Scan ──► one batch, made when it is read
//
// # Words
//
// A guest is a session that is shown no texts of other users' statements.
//
// # Invariants
//
//   - ST1: a guest sees no text, and no error, of another user's statement.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It keeps nothing: it shows what other packages have.
package systemtable
