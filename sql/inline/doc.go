// Package inline replaces calls of SQL functions, and casts to domains, by what they compute, before the text is
// planned.
//
//	CREATE FUNCTION half(n int, by int DEFAULT 2) RETURNS int … RETURN n / by
//
//	SELECT half(a + 1) FROM t
//	       └────┬────┘
//	            ▼
//	       CAST((CAST((a + 1) AS int) / CAST((2) AS int)) AS int)
//
// PostgreSQL does the same to functions of one expression (inline_function in its clauses.c), and so their filters
// prune, and their calls are split among nodes, as what they stand for.
//
//	SELECT a::d ─► list_extract(list_transform(list_value(CAST((a) AS int)), csm_type__7), 1)
//
// # Words
//
// A body is the one expression of a function; what stands in it for an argument is a use of the parameter.
//
// # Invariants
//
//   - IL1: an argument that may give another value whenever it is computed is used once, or its call is an error; so is
//     what is cast to a domain.
//   - IL2: a body reads its parameters alone: no name in it means anything of the text around the call.
//   - IL3: the text that is made is at most dialect.TreeMax bytes long, and functions that call themselves are
//     an error.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It knows no types: an argument is cast to the type of its parameter, and no function is chosen by the types of
// arguments. It does not look names up: the caller does (Find).
package inline
