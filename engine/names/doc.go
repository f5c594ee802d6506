// Package names makes DuckDB's names follow the catalog's, so that DuckDB's own dialect, DESCRIBE, SHOW TABLES and
// views find tables, while what they read is always the statement's snapshot: csm_table asks the session for it.
//
//	catalog.Contents ─► Mirror.Follow ─► csmsql: a schema for each schema, a view over csm_table for each table, the views
//	                                       └ csm: the system's tables
//	a text that calls ─► Mirror.MakeFunctions ─► csm_functions.pg_session: PostgreSQL's functions
//	a block's own    ─► Own.Follow ────► csm_block_7: everything that the block sees, on its own connection alone
//
// # Words
//
// Shown names are those of one of DuckDB's databases. A view that cannot be shown is left out, and is an error of the
// statement that asks for it.
//
// # Invariants
//
//   - NA1: after Follow every table and view of the contents that DuckDB can show has its name, and no other has one.
//   - NA3: Follow costs as much as has changed since, not as much as there is. A statement whose tables are all spliced
//     into its text waits for no name, and one that calls nothing of PostgreSQL's for no function.
//   - NA2: another session never sees a name of a block: the block's database is emptied before COMMIT and gone after
//     ROLLBACK.
//
// # Lock order
//
// Mirror.mu → DuckDB's locks, and DuckDB runs statements meanwhile. A statement for which the names are up to date
// already takes none (Mirror.reached). An Own is its session's.
//
// # What it does not do
//
// It reads no rows, and does not decide which schemas a session looks in: Path spells what it is given.
package names
