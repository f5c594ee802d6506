// Package sqlerror represents a statement's error as SQL clients see it: a SQLSTATE, a message, and where they are
// known a position, a detail, a hint and the names of the object that it is about.
//
//	sqlerror.New("42P01", `relation "%s" does not exist`, name).WithHint("…")
//	   │
//	   └─► error ─► wire: the fields of ErrorResponse (PostgreSQL's protocol, "Error and Notice Message Fields")
//
// It is one type for all that reads, plans and runs statements. Packages that SQL does not concern (memregion,
// coherence, catalog, cluster) have errors of their own; those whose errors reach clients have a method SQLState, and
// State finds it.
//
// # What it does not do
//
// It words nothing, and translates no error of DuckDB's (package dialect does).
package sqlerror
