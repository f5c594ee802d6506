// Package grammar knows the options that PostgreSQL's grammar has, and which of them a statement uses, so that tests
// can ask of each whether csmsql keeps it or refuses it.
//
//	messages of pg_query ── Walk ──► every Option that a client can write
//	SELECT a FROM t FOR UPDATE ── Of ──► SelectStmt.locking_clause, LockingClause.strength=LCS_FORUPDATE, …
//	                           └─ Shorter ──► SELECT a FROM t, without those two
//
// # Words
//
// An Option is a field of a node of the syntax tree (SelectStmt.limit_offset), a value of a field that has named ones
// (JoinExpr.jointype=JOIN_FULL), a bit of a field of bits (WindowDef.frame_options=GROUPS), the name of an element of a
// list of options (VacuumStmt.options: full), or a node (BooleanTest). Those of a statement that makes a temporary
// object begin with TEMP: another code reads it.
//
// # Invariants
//
//   - GR1: a field that a later pg_query adds is an Option, until it is on one of the lists of what clients cannot
//     write.
//   - GR2: what Of finds in a text is what PostgreSQL's own parser makes of it.
//
// # What it does not do
//
// It runs nothing, and says nothing of DuckDB's dialect: internal/clienttest does.
package grammar
