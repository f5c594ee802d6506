// Package outline finds the clauses of a parsed query in its text.
//
//	WITH a AS (…) SELECT DISTINCT x + 1 AS y, count(*) FROM t, (SELECT …) AS u WHERE x > 2 GROUP BY x ORDER BY y DESC LIMIT 3
//	└── CTE ───┘                  └ Expr┘ Alias            └────── From ──────┘       └Where┘          └Group┘ └ Order ┘└Limit┘
//	            └──────────────────────────── Core ───────────────────────────────────────────┘└────── Tail ───────┘
//	└─────────────────────────────────────────────────── Query ─────────────────────────────────────────────────────────────┘
//
// PostgreSQL's parse tree has the beginnings of some nodes and no ends. A new statement of pieces of the user's text,
// which DuckDB reads exactly as in the original, needs both: they are found in the tokens and then compared with the
// tree.
//
// # Invariants
//
//   - O1: what a Span covers is whole tokens, brackets balanced, without the keyword that introduces it.
//   - O2: an outline agrees with the tree in every clause: there or not there, and how many members. What does not
//     agree, and what has no outline (TABLE t, FETCH FIRST, FOR UPDATE, GROUP BY DISTINCT), is an error, never a guess.
//   - O3: inputs are only read.
//
// # What it does not do
//
// It resolves no names and judges no meaning. VALUES lists have no outline.
package outline
