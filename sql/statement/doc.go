// Package statement says what a SQL statement is, before it is run.
//
//	text ── Split ──► one text per statement ── Parse ──► Statement{Head, Tree | Syntax}
//	                                             │
//	                  PostgreSQL's parser ───────┼──► Tree, which exec/plan analyses, or Syntax, with its position
//	                sql/lex ─► cursor ───────────┴──► Head: CREATE TABLE t (…), INSERT INTO t …, COPY …, SET …
//
//	text ── Numbered ──► the text with $1 for ? and $name
//
// Heads are read by the tokens of package sql/lex, which PostgreSQL's and DuckDB's dialect share; the rest of the text
// (queries, expressions, types) stays text for DuckDB. PostgreSQL's own parser (pg_query) gives the tree and the syntax
// errors. A text that it rejects may still be DuckDB's dialect: then Tree is nil, and Syntax keeps the error in case
// DuckDB agrees.
//
// # Words
//
// head: what a statement is and the names and texts in it. piece: a substring of the user's text. group: tokens between
// parentheses, brackets or braces that belong together. cursor: inside this package the reader of tokens; SQL's cursors
// are heads: Declare, Fetch, CloseCursor.
//
// # Invariants
//
//   - S1: every text that a Statement holds is a piece of the user's text, so that positions can be mapped back; only
//     Insert.Query may be two pieces, With and the query. Names are folded and unquoted, options without quotes.
//   - S2: Parse never fails on what only DuckDB understands; it fails on heads that it must understand itself and
//     cannot.
//   - S4: whatever the text, nothing panics, and PostgreSQL's parser sees no text that could overflow its stack.
//   - S5: a text that Numbered has written means to PostgreSQL's parser what the user's means, and is left as it is by
//     it.
//
// It is pure: no catalog, no session, no settings. It does not check names or types, and it does not know which tables
// are temporary unless the statement says so.
package statement
