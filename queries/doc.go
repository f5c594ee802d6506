// Package queries holds the 22 queries of TPC-H with their validation
// parameters, and the published answers at scale factors 0.01, 0.1 and 1.
//
//	tpch/q01.sql … q22.sql                    tpch/answers/sf0.01/q01.csv …
//	        │                                            │
//	        ▼ TPCH()                                     ▼ AnswerFor(sf, number)
//	     Query{Number, SQL} ──► any engine ──► columns, rows ──► Answer.Compare ──► nil or *Difference
//
// Everything is embedded: nothing is read from files at run time. The answers
// belong to the rows that package queries/dbgen makes.
//
// # Words
//
// cell: the text of one value. NULL is the empty cell; no query has an empty
// string in its answer. answer: columns and rows in the order of the query.
//
// # Invariants
//
//   - A1 (order): comparison is by position. That is no stricter than the
//     queries: every query has an ORDER BY or one row, and in no published
//     answer do two rows have equal ORDER BY keys, so that there is one right
//     order (a test holds this).
//   - A2 (exact where exact): cells are equal if their texts are, or if both are
//     numbers with the same value: 380456 and 380456.00. Keys, counts, dates,
//     strings and sums of decimals have no tolerance.
//   - A3 (floating point): only if a number is a floating point result, which
//     shows in an exponent or in more than six digits behind the point on
//     either side, a relative difference of 1e-12 is allowed. This is far
//     below the 1 % or $100 of the specification's clause 2.1.3.5: that is
//     meant for systems that choose their own arithmetic, and would hide a
//     lost row.
//   - A4 (columns): names are compared too, so that swapped columns cannot pass
//     by chance. A column that the query leaves unnamed (Q18: "sum") may have
//     its expression behind the name, as in DuckDB's "sum(l_quantity)".
//
// # What it does not do
//
// It runs nothing, imports no other package of ours, and knows no SQL types.
package queries
