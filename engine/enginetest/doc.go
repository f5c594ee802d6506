// Package enginetest asks the engine and DuckDB's own tables the same questions. It holds tests only.
//
//	seed ─► world (tables, rows, chunks) ─┬─► engine.Session: auto, duckdb, compute ─┐
//	   │                                  └─► duckdb.Database, its own tables ───────┤ equal rows, names, types, SQLSTATE class?
//	   └──► query (a tree of pieces) ────────────────────────────────────────────────┘
//	                                              no ─► shrink: fewer pieces, rows, tables, chunks ─► a script to paste
//
// The engine leaves rows and chunks out, shows text as ENUM and lends numbers of scans to several occurrences, all by
// what exec/plan proved. A wrong hint is a wrong answer without any other sign. So DuckDB without any hint is the twin.
//
// Plans for several nodes (exec/plan/distribute) are asked the same way before there is a cluster to run them on:
//
//	query ─► plan ─► fragments over tables in parts ─► results through Arrow, shuffled ─► final text ─┐ equal to the whole tables' answer?
//	   └──────────────────────────────────────────────────────────────────────────────────────────────┘
//
// And over real clusters: engines over one etcd in this process, of 1 to 5 nodes:
//
//	seed ─► world, placements, cut-offs ─┬─► any node's Session; rows change and move meanwhile ─┐
//	                                     └─► duckdb.Database, which knows no placements ──────────┴─ equal rows, types?
//
// And over the whole surface: tables of every type, every way to join, group, window, nest and combine, what prepared
// statements are given, and what changes in between:
//
//	seed ─► database, writer ─┬─► sessions: backends, three nodes, emulated fabric, csm.disable one by one ─┐
//	                          └─► duckdb.Database ──────────────────────────────────────────────────────────┴─ equal names, types, rows?
//
// Half of the queries of one node are aimed at what its planner proves (surfaceaimed_test.go), two thirds of those of
// three at what is divided among them (surfacesplit_test.go), over tables that lie on them by hash or by rows; how many
// were answered by several nodes is counted. A twin that does not come back from a statement is left to itself, said
// and counted, and there is a new one.
//
// Where two answers of the engine must fit together, no twin is needed (SQLancer's ideas, TestOracles):
//
//	seed ─► database, condition p ─┬─► a query ───────────────────────────────────────────────────────┐ equal rows?
//	                               ├─► the same WHERE p, WHERE NOT p, WHERE p IS NULL, together ──────┤
//	                               └─► count(*) … WHERE p, and the sum of p's truth over all rows ────┘ equal counts?
//
// Isolation is tested by histories, which are checked against the levels of their transactions (TestAnomalies, package
// anomaly):
//
//	seed ─► sessions, on one node or three: BEGIN … COMMIT of appends and reads ─► history ─► any anomaly?
//
// Optimizations are left out, one at a time (csm.disable), and every estimate is made 0, 1 and 10^9 (Config.Guesses):
// no answer may change. Tables of every type that DuckDB compares meet each other, over a third one, too.
//
// The tests are tested: some forty faults of the kinds that were found and fixed are put into the program, one at a
// time, and TestSurface must find each (TestMutants).
//
// # Words
//
// A piece is a part of a query that the shrinker can take out or replace; a pool is the list of literals from which a
// column's values and the constants beside it are drawn, small enough that equality is common. A family is the types
// whose values can be compared without a cast that may fail; a question is a query with how its answer is to be
// compared.
//
// # Invariants under attack
//
// plan's P1, P2, P5, P7; distribute's D1, D3, D4, D5, D7; duckdb's D6; compute's X1; engine's E1, E4, E5; transaction's
// TR1 to TR7; catalog's K4, K5, K11.
//
// # Running it for long
//
// CSMSQL_DIFFERENTIAL=10m lets TestDifferential, TestDistributed, TestMetamorphic and each part of TestSurface,
// TestOracles and TestAnomalies run that long; CSMSQL_SEED=n starts at a seed; a failure prints it. CSMSQL_MUTANTS=3m
// gives TestSurface so long for each mutant.
//
// # What it does not do
//
// It measures nothing and knows nothing of wire. Data errors that depend on the order of evaluation (casts that fail)
// are not generated, or are no difference where they are, for DuckDB promises no order. Columns without a name get
// PostgreSQL's, and are compared only where they are columns of tables.
package enginetest
