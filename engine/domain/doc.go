// Package domain makes domains, and alters them: CREATE DOMAIN, ALTER DOMAIN.
//
//	CREATE DOMAIN d AS int CHECK (VALUE > 0) ─► Make ─► a type of the catalog: a column, and what is said of it
//	CREATE TABLE t (a d) ─► definition.Reader ─► t's column a: an int, with the checks of d on a
//
// # Words
//
// The base type of a domain is the type in which its values are stored and that clients see in results.
//
// # Invariants
//
//   - DM1: a column of a domain has all checks of the domain among those of its table, where every writer of rows meets
//     them.
//   - DM2: a value that a statement casts to a domain is one that the domain allows when the statement runs
//     (namedtype.Reading); what would make one in another way, or is kept, is an error that names the domain.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It renames no domain, and moves none to another schema: package namedtype does that to all types.
package domain
