// Package template says what CREATE TABLE … (LIKE …) takes of another relation.
//
//	CREATE TABLE n (LIKE t INCLUDING ALL) ──► Table ─► n's schema: t's columns, checks, keys, indexes, comments
//	CREATE TEMP TABLE n (LIKE t …)        ──► Text  ─► the text in which t's columns are written out, for DuckDB
//
// # Words
//
// A template is the relation that LIKE names: a table, a view, a temporary one, or a system catalog. What INCLUDING
// says is taken once, when the table is made: later changes of the template do not concern the table.
//
// # Invariants
//
//   - TL1: columns, their types and NOT NULL are always taken, and nothing else that INCLUDING does not say.
//   - TL2: what is said and cannot be kept is an error that names it.
//   - TL3: checks keep their names; keys and indexes get those that the table would give them.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It makes no table, and reads no rows.
package template
