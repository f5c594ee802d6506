// Package calling keeps, beside a text that has the bodies of functions in it, the one that calls them: the query of a
// view, and a table's expressions, which are defaults, checks, and what generated columns are.
//
//	CREATE VIEW v AS SELECT half(a) FROM t ─► query: SELECT CAST((CAST((a) AS int) / 2) AS int) AS half FROM public.t
//	                                          calls: SELECT public.half(a) FROM public.t
//
//	CREATE TABLE t (a int DEFAULT half(4)) ─► default: /*csm_calls … public.half(4) …*/CAST((CAST((4) AS int) / 2) AS int)
//
// So a text is planned as it is, and made again of its calls when a function is replaced.
//
// # Invariants
//
//   - CQ1: the calls name functions and relations with their schemas, as the query names relations.
//   - CQ2: a record that cannot be read has no text, needs every function, and is kept as it is: what would have to know
//     it is refused.
//   - CQ3: an expression and its record are one text: nothing can move, copy or drop the one without the other.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It makes no text of another one: package function does.
package calling
