// Package conversation runs SQL and returns text, in one of two ways: at a node over the PostgreSQL protocol, or with
// an engine in this process over a node's lent memory.
//
//	          ┌─ Dial ───► PostgreSQL protocol ───► node's DuckDB ─┐
//	Run(sql) ─┤                                                    ├─► lent memory
//	          └─ Attach ─► engine in this process ─────────────────┘
//
// Values are PostgreSQL's texts in both cases (package wire/pgformat makes them), so that answers can be compared and
// printed without knowing where they came from. Rows are streamed: a Sink sees one at a time.
package conversation
