// Package dependency says what goes with an object that is dropped, as in PostgreSQL.
//
//	view w ──reads──► view v ──reads──► table t ──in──► schema s
//
//	DROP t ─► Named ─► Add ─► Follow: v, w ─► Refuse, or with CASCADE all of it goes, what depends first
//
// A view depends on the tables and views that its query names, and they on their schemas. There is no record of that:
// it stands in the views' queries. The catalog sees to views that are made at the same time (K10). Of temporary views,
// which DuckDB has, the session's own are looked at. It does not see another session's, which fail when they are
// queried after their table is gone.
//
// # Words
//
// An object is a table, a view or a schema. It is named if the statement names it.
//
// # Invariants
//
//   - DE1: what depends on something that goes, goes, or nothing does.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It drops nothing itself; foreign keys are those of package definition.
package dependency
