// Package relation says how tables and views are shown in PostgreSQL's system catalogs: their numbers, columns, types,
// constraints and indexes.
//
//	catalog.TableVersion ─► OfTable ─┐
//	catalog.View ─────────► OfView ──┴► pgcatalog.Relation ─► pg_class, pg_attribute, pg_constraint of one session
//
// # Words
//
// An OID is PostgreSQL's number of a type, of 32 bits, or of a relation.
//
// # Invariants
//
//   - RL1: a relation's number stays the same for as long as it is in the catalog.
//   - RL2: the type of a column is the one that clients see in a result.
//
// # What it does not do
//
// It installs no catalog (package pgcatalog does) and does not decide what a user sees. It has no locks.
package relation
