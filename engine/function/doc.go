// Package function is SQL functions and macros, as SQL has them: CREATE FUNCTION, and what calls them.
//
//	CREATE FUNCTION half(n int) RETURNS int RETURN n / 2 ─► Read ─► Make ─► a record of the catalog, named half()
//	SELECT half(a) FROM t ─► Calls? ─► Host.Statement ─► SELECT CAST((CAST((a) AS int) / 2) AS int) AS half FROM t
//	                                              └────► Uses: a statement that is prepared outlives no other half()
//	CREATE VIEW ─► Uses.Keep ─► its calls, in its record ◄── Followers ◄── Make, of another half()
//	CREATE TABLE ─► Uses.Kept ─► those of its expressions ◄──┘
//
// # Words
//
// A function computes one expression of its parameters, its body; a macro is a function whose parameters have no types.
// A body is kept as its user wrote it, and as the text that the dialect makes of it, which is what calls become
// (package inline).
//
// # Invariants
//
//   - FN1: a view computes what its functions are when it is read, or refreshed, and an expression of a table or a
//     domain when a row is written: they have the bodies, and are made again of their calls (package calling) in the
//     commit that replaces a function. Whatever gives a table expressions holds them to that (Hold). No other text that
//     is kept, such as a temporary view, calls a function.
//   - FN2: a statement computes what its functions are when it runs, or is an error.
//   - FN3: no function is called as one of the system's, which therefore means what it did.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It knows one function of a name, however many parameters it has. What a body calls is looked up when it is called, by
// a view when its query is made: of a function that is dropped no other function knows.
package function
