// Package former is the former versions of tables to SQL: which are kept, and what is done with them.
//
//	WITH (retention = '7 days', retained_versions = 100) ─► Parameters ─► catalog.Retention, on the table's record
//	ALTER TABLE … SET (…), RESET (…)                      ─► Command ────► what a transaction does
//	pg_class.reloptions                                  ◄─ Shown ──────┘
//
// # Words
//
// The retention of a table says how long a former version is kept after another took its place, and how many are at
// most. Without either none is kept.
//
// # Invariants
//
//   - FO1: what Shown says of a retention, Parameters reads as the same one.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It keeps nothing and expires nothing: package catalog does. What AT (…) means says package snapshot.
package former
