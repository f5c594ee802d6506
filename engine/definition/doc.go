// Package definition reads what CREATE TABLE and ALTER TABLE say of a table: its columns and its constraints.
//
//	CREATE TABLE ─► Columns ─► types, as DuckDB knows them and as they are stored ─┐
//	ALTER TABLE  ─► Constrained ─► what constraints name, and what they are called ┴► the schema on the table's record
//	DROP         ─► ReferencesTo: foreign keys to what goes
//
// # Words
//
// A definition is what a statement says of a table beside its rows. See package constraint for what is on record, and
// package check for the constraints that rows are held to.
//
// # Invariants
//
//   - DF1: a type is stored as what it is, or refused: an ENUM that became text would order in another way.
//   - DF2: what a constraint names is there.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It changes no table, and looks at no rows.
package definition
