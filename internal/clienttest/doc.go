// Package clienttest drives a csmsql node with the clients that people use: psql, pgbench, psycopg, psycopg2, asyncpg,
// SQLAlchemy, pgJDBC, node's pg and pgx. It has only tests.
//
//	TestMain ── go build ──► csmsql serve ── TPC-H SF 0.01
//	                             ▲  127.0.0.1:free port
//	          psql  pgbench  python3 testdata/*.py  java testdata/*.java  node testdata/*.js  pgx
//
// The programs in testdata do what an ordinary program does with its driver, check the answers themselves and print a
// line per check: "ok" or "fail", a tab, the check's name and, after another tab, what is wrong. Every line becomes a
// subtest. What csmsql refuses on purpose (cursors WITH HOLD) is checked to be refused. TestConversations holds
// the same conversations with a PostgreSQL of its own and compares what both say.
//
// # Words
//
// A client is a program or library that speaks PostgreSQL's protocol. A program is a file of testdata. A check is a
// function of a program.
//
// # Invariants
//
//   - CL1: a missing client skips its tests and says what to install, unless CSMSQL_CLIENTS=required: then it fails
//     them. Continuous integration sets that where .ci/install could install everything.
//   - CL2: the tests end only processes that they started, and leave no file behind.
//   - CL3: a program that prints fewer checks than it announced has failed, whatever it printed.
//
// # What it does not do
//
// It tests no detail of the protocol (package wire does, against a fake) and no SQL (package engine does): it finds
// where the whole does not fit its clients.
package clienttest
