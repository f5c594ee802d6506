// Package revalidation says when a prepared statement is prepared again: PostgreSQL calls it so.
//
//	user's text ─► bodies of functions, types of columns ─► the text that is kept, and its Grounds
//	                                                             │
//	Run ─► the grounds hold ─────────────────────────────────────┴─► it runs
//	  └──► functions, or types, are others ─► prepared again ─ the same parameters and columns ─► it runs
//	                                                  └─ others ─► an error, by which drivers prepare it themselves
//
// # Words
//
// A statement's grounds are what its text was written for. They hold as long as the text would be written the same way.
//
// # Invariants
//
//   - RV1: a statement whose grounds do not hold has read and written nothing when it is prepared again.
//   - RV2: a statement gives columns, and takes parameters, of the types that were described, or is an error (0A000).
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It prepares and runs nothing: the engine's sessions do. Whether a plan is made again, for the same text, says package
// planned.
package revalidation
