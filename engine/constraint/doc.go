// Package constraint says what a table promises of its rows beside their types: the constraints that are on its record,
// with the indexes by which its rows are found.
//
//	CREATE TABLE t (a int PRIMARY KEY, CHECK (a > 0)) ──► []Constraint ──► Mark: in the metadata of the table's schema, as JSON
//	                                                                   ──► Of: read again, after restarts and on other nodes
//	                                                                   ──► Definition: as PostgreSQL's pg_get_constraintdef shows it
//
// # Words
//
// check: an expression over one row that is not false (package check). key: PRIMARY KEY or UNIQUE (package key).
// foreign key: one that refers to another row's key (package reference). All are enforced when rows are written; keys
// and foreign keys of tables that older programs made are on record only: they are shown as not validated.
// index: a list of columns that CREATE INDEX names. It is on the same list, since a key has one and both live as long
// as their columns do; a unique one is a key that is no constraint.
//
// # Invariants
//
//   - CN1: what Mark wrote, Of reads, in the same order; a schema without a mark has no constraints, as those of older
//     programs.
//   - CN2: names are unique in a table, and those that the statement does not give are PostgreSQL's: t_pkey, t_a_key,
//     t_a_fkey, t_a_check, t_a_idx, with a number if taken.
//   - CN3: a table that a foreign key names is known by its identity, so that it may be renamed.
//   - CN4: rows are found by the columns of each enforced key and of each index, in the order that they are named in.
//     ASC, DESC and the place of NULLs are on record for clients that ask, and change nothing: a sorted list is read
//     from either end.
//
// # What it does not do
//
// It evaluates nothing, and looks for no columns: the engine does. Of tables it finds the one whose index has a name.
package constraint
