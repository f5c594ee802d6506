// Package plan reads one parsed SELECT and says what is certain about it. It is pure: text, parse tree and
// statistics in, data out; no I/O, no clock, no goroutine, and nothing of DuckDB is linked.
//
//	text ──► pg_query ──► tree ─► Read ─► *Statement, whose names sql/bind binds once, for all who ask
//	          Resolver ───────────┘          │
//	(tables, types, statistics)              ├─► Scans ─► []Scan ──► Splice ──► text for DuckDB, with scans spliced in
//	                                         │            │  │  └ Rows, Filters   for DuckDB's join order
//	                                         │            │  └─── EnumSafe        columns that may be shown as ENUM
//	                                         │            └────── Predicates ───► MayMatch(chunk statistics): which chunks to leave out
//	                                         ├─► Compute ─► *Query  (the pipe that exec/compute runs) or Unsupported{Reason}
//	                                         └─► package distribute
//
//	Query:   limit ◄── project | aggregate ◄── filter ◄── scan of one table, or one row
//
// Scans is for every statement that DuckDB runs: it finds where base tables stand in the user's own text and what
// the text proves about each occurrence. Compute is for the few statements that need no DuckDB: it plans them so
// that names, types and values are DuckDB's own, or says why it will not.
//
// # Words
//
//   - occurrence: one mention of a base table in a FROM clause; a table mentioned twice has two, each judged alone.
//   - predicate: a condition on one column that rows of an occurrence must satisfy to matter to the answer. substring(c
//     FROM 1 FOR 2) IN ('ab', 'cd') is one: a beginning of the column. A comparison is such a condition on two columns.
//   - dictionary column: VARCHAR that chunks store as codes and that DuckDB can be shown as ENUM.
//   - slot: the fate of one dictionary column of one occurrence. It travels with the column through sub-selects and
//     CTEs; one use in a place that could show the difference between ENUM and VARCHAR disqualifies it.
//   - target: the column of a base table that a condition on a column of a derived table or a CTE is about.
//   - certain: what DuckDB will do is known from the text alone, whatever the data. Everything else is "no hint".
//
// # Invariants
//
// The rule behind all of them: whenever in doubt, no hint. A missing hint costs time, a wrong one an answer.
//
//   - P1 A row for which a predicate of its scan is false or NULL can be left out of the scan without changing the
//     statement's answer (of a comparison, too); and where MayMatch says no, every row of the chunk is such a row. So
//     they come only from conjuncts of WHERE and inner ON, and of an outer join's ON for the side that it fills with
//     NULLs; never from under OR (except for what all branches demand) or NOT, never for a side that an outer join
//     fills, and through queries as P9 says.
//   - P2 A column is EnumSafe only if all references that might mean it are certain and stand in places that cannot
//     distinguish ENUM from VARCHAR: compared with string literals or parameters (DuckDB compares those as text,
//     members of the ENUM or not), LIKE, IS NULL, CASE x WHEN 'literal', GROUP BY, ORDER BY, DISTINCT, PARTITION BY,
//     count, min, max, and the output of the outermost SELECT, where the engine turns ENUM into text. Through
//     sub-selects and CTEs it is followed by name. Not: arguments of functions, ||, casts, results of CASE and
//     COALESCE, set operations, comparison with another column, USING, whole rows, whatever is stored.
//   - P3 ENUM order is text order: the engine makes ENUM types whose values are in bytewise order (and that have at
//     least one value: DuckDB refuses an empty ENUM).
//   - P4 A scan's Span is exactly the bytes of the name in the text, so a splice disturbs nothing else.
//   - P5 Names match as DuckDB matches them: ASCII letters without case, everything else bytewise, never by
//     PostgreSQL's 63-byte cut, for which the text and not the tree is asked.
//   - P6 Inputs are only read; outputs share nothing with the analysis. Any number of analyses may run at once.
//   - P7 A row of a scan that meets no row of the other scan of one of its Joins does not matter to any answer. So keys
//     may be handed from scan to scan in any order, and every superset of the right keys is right.
//   - P8 The rows of a group that the condition of a scan's Group drops do not matter, nor those of the group of NULL,
//     and any part of such a group would be dropped, too. So groups come only from a sub-select behind IN, in a
//     conjunct, that reads one table, all of it, and from sums of what is never negative.
//   - P9 A condition on an output of a query is one on the rows of a table in it if the output is that table's column,
//     unchanged, and no other row of the query depends on them: no LIMIT, OFFSET, DISTINCT ON, window, sample, function
//     that is not known to be pure, other set operation than UNION ALL, recursion, or side that an outer join fills
//     stands between, and of a grouped query it is a key. Rows of a CTE that is mentioned several times matter if they
//     do to one of the mentions.
//
// # Where the two dialects part
//
// The tree is PostgreSQL's reading, DuckDB reads the same text. What is known to differ is handled: FROM a ANTI
// JOIN b (an alias to one, a join type to the other: no predicates from that FROM), #1 (column by position),
// COLUMNS('…'), aliases of the select list used elsewhere in it, implicit LATERAL, numbers such as 0x10 and 1_000,
// a backslash in LIKE, duplicate output names (x, x_1), DATE beside a string that is more than a date. A name that
// two things could carry is both until proven otherwise.
//
// # What the engine must keep
//
// The hints and plans assume DuckDB's defaults: default_collation empty, integer_division false,
// ieee_floating_point_ops true, preserve_insertion_order true, and no macro that takes the name of a built-in
// function or operator. The engine locks these settings, or runs without hints where a session changes them.
//
// # What it does not do
//
// No deparse, no rewriting of conditions (the statement's own WHERE stays in DuckDB), no views (the resolver says
// nil, DuckDB expands them), no UPDATE or DELETE, no distribution over nodes (package distribute does that).
// Estimates are guesses with bounds, not promises.
package plan
