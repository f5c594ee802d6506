// Package prepared is SQL's prepared statements: PREPARE, EXECUTE, DEALLOCATE.
//
//	PREPARE p(int) AS SELECT … $1 …      planned once, so that its errors show and parameters get their types; kept as text
//	EXECUTE p(6 * 7)                     6 * 7 is asked for, and the statement is planned with CAST((42) AS int) in place of $1
//	Registry                             a session's by their names, and what they are charged
//
// So every execution is planned for its values: chunks are pruned by them, and a parameter that nothing gives a type
// has the type of its value. PostgreSQL does the same for the first five executions; that a plan can be saved is what
// the protocol is for. SQL and the protocol have one set of names, which is why sessions that speak one bring theirs.
//
// # Words
//
// A statement is open if a parameter's type is not exactly declared. A family is a type as DuckDB deduces it.
//
// # Invariants
//
//   - PR1: an argument is computed once, before the statement is planned, and has the parameter's type.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It plans and runs nothing: the engine's sessions do.
package prepared
