// Package filter says what the planner proves of single rows as filters of DuckDB's scan, which hands those rows over
// that pass.
//
//	plan.Scan ─┬ Predicates   a > 3         ─► Low, High, Words, Keep, IsNull
//	           ├ Comparisons  a < b         ─► Compare, Other
//	           └ AnyOf        a = 1 OR …    ─► for each column the union over the branches of their intersections
//
// # Invariants
//
//   - FL1: a row that the statement's condition is true of passes every filter; what cannot be said so is left out,
//     because the statement keeps its own WHERE.
//   - FL2: bounds are inclusive. One of another scale is rounded inwards, to the next value that can be stored; one
//     that 64 bits do not hold is left out.
//
// # What it does not do
//
// It reads no chunk, and knows no sets of keys: which other table thins a scan out is the engine's to decide. There are
// no locks.
package filter
