// Package distribute plans one query for several nodes: which part of it each node computes, and how the coordinator
// combines the results. It is pure: a text, its bound tree and statistics in, data out; nothing of DuckDB is linked.
//
//	plan.Statement ──► outline ─► analyze ─► place ─────────────────────► *Distributed or *Single{Reason}
//	text, sql/bind's   clauses    what is    which query, which tables
//	tree of names                 certain    in part, which form?
//
//	SELECT g, avg(x) FROM t, u WHERE t.k = u.k GROUP BY g ORDER BY 2 LIMIT 3       t lies on n1, n2, n3
//
//	         n1                 n2                 n3              one SQL text; t means the node's part of it, u all of it
//	   ┌─ SELECT g, sum(x), count(x) FROM t, u WHERE t.k = u.k GROUP BY 1 ─┐
//	   │  its part of t     its part of t      its part of t       │    stage 1: three fragments
//	   └────────┬──────────────────┬──────────────────┬────────────┘
//	            └───────► csm_stage_1 (c0, c1, c2) ◄──┘                  written once, read in place
//	                              │
//	   coordinator   SELECT c0 AS g, sum(c1) / sum(c2) FROM csm_stage_1 GROUP BY c0 ORDER BY 2 LIMIT 3
//
// Fragments and the final text are made of pieces of the user's own text, so that DuckDB reads in them what it
// would have read in the original. The tree only says where the pieces are and what their names mean.
//
// # Words
//
//   - query, block: any SELECT, set operation or VALUES in the statement; one SELECT with its FROM.
//   - restricted: read in part. A restriction is a set of occurrences of tables that all fragments read their part of.
//   - spread: how the rows of something lie over the fragments under a restriction: whole (all of them everywhere),
//     split (each in exactly one), scattered (neither).
//   - keys: where rows are split by hash, the columns that equal the hashed ones in every row that matters. Groups,
//     windows and joins over keys are complete in each fragment.
//   - form: what fragments give. Rows: of the result. Partial groups: aggregates in parts. Rows to be worked on:
//     columns that the rest of a block needs.
//   - steady: giving the same rows whenever it is worked out.
//   - driving table: the restricted one; the largest, if there are several.
//
// # Where a block can be split
//
//	inner join      either side; both, if both are split by hash alike and the keys are compared for equality
//	left join       the left side; both, as above, if ON compares the keys
//	full join       both, as above
//	EXISTS, IN, …   the rows around it; the sub-query's table with them if it only looks at rows of the same key
//	UNION ALL       a table in each arm
//	GROUP BY, DISTINCT, windows   in each fragment if they go by the keys, or rows are shuffled so that they do; else partly or at
//	                              the coordinator
//
// What many fragments would work out alike (a CTE, a sub-query without names from outside) becomes a stage of its
// own first if that is cheaper, or must if it is not steady.
//
// # Invariants
//
//   - D1 The final answer is the single node's answer, in type and value; rows in the same order as far as ORDER BY
//     orders them. Sums of floating point numbers may differ in their last digits, as they do between runs with several
//     threads; so may avg of exact numbers in its last bit. Whenever anything is not certain, the statement is not
//     split: functions, operators and kinds of nodes that are not known to be reproducible, names that two things could
//     carry, types that are not certain.
//   - D2 A statement whose data lies on the coordinator, or that reads little, has no distributed operator at all.
//   - D3 Column i of the final text is column i of the statement. Its name is the statement's; the caller takes it from
//     there.
//   - D4 Every row of a table is in exactly one part. Of a table that is split by hash, rows with equal keys are in one
//     part, and tables that are split alike have equal keys on the same node. What else the plan says of rows follows
//     from that.
//   - D5 A value comes out of a stage as it went in. HUGEINT does not (Arrow has none: it comes out as DECIMAL(38,0)),
//     so the final text casts it back; a type that is not certain does not pass through a stage but to the client.
//   - D6 A stage has at most one fragment for each node: messages grow with nodes and stages, never with data or nodes
//     squared.
//   - D7 What more than one fragment works out for itself is steady, so that all of them see the same.
//   - D8 A stage reads only stages before it.
//   - D9 A plan is made in a bounded number of steps, however often queries name each other; what would take more is
//     not split.
//
// # What the caller must keep
//
//   - Prepare the statement as it stands first: errors, parameters' types, names and types of the result are that
//     one's.
//   - Ask plan.Scans about each Text; the names that it finds at Reads are those meant. A stage's relation has the
//     columns c0, c1, … in the types that DuckDB gave them, as Arrow carries them.
//   - Run all texts in one snapshot and under the session's settings, which are the ones that exec/plan assumes: time
//     zone, default_null_order, default_collation, integer_division.
//   - A fragment may be run by another node, and again; its rows count once.
//
// # What it does not do
//
// It runs nothing and knows no chunks: which of them a fragment reads and which are left out is for
// plan.Scan.MayMatch. It estimates with exec/plan's numbers, which are guesses; a wrong one costs time. Views, WITH
// RECURSIVE, NATURAL JOIN, TABLESAMPLE, table functions and what PostgreSQL's parser does not take are not split.
package distribute
