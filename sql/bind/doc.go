// Package bind resolves the names in a statement: it turns the syntax tree of PostgreSQL's parser into queries, the
// entries of their FROM clauses, and the columns that references mean, as DuckDB will read the same text. It is pure:
// text, tree and a catalog in, data out.
//
//	text, tree ──┐
//	             ├─► Bind ─► Statement ─┬─ Queries   each SELECT, VALUES and set operation, with what it puts out
//	Catalog ─────┘                      ├─ Items     each entry of a FROM clause: table, derived table, CTE, function
//	(tables and their columns)          └─ Ref       what a column reference means, if that is certain
//
//	text with views ──► Inliner ──► text without
//
//	SELECT k FROM (SELECT a AS k FROM t) x WHERE k = 5
//	       │             │             │         │
//	       │             └ t.a         └ item x ◄┘ Ref: column 0 of x, certain
//	       └ output 0 of the outer query = column 0 of x = output 0 of the inner one = column a of t (Column.Source)
//
// # Words
//
//   - query: a SELECT, a VALUES list or a set operation, wherever it stands. Its names are looked up in its own FROM
//     clause, then in the query around it.
//   - item: an entry of a FROM clause. It offers columns under an alias.
//   - open: having columns that are not known, as a table function has, or a table that the catalog does not know.
//   - certain: decided by the text and the catalog alone. A reference that is not certain comes with everything that it
//     may mean.
//   - merged: made one of two, by USING or NATURAL. A bare name and * mean the column that shows.
//
// # Invariants
//
//   - bind.N1 A certain reference means that column to DuckDB or the statement is an error. A name that two things
//     could carry, or that something open could, is not certain.
//   - bind.N2 May of a reference that is not certain lists every column of a known item that it may mean or contain.
//   - bind.N3 Names match as DuckDB matches them: ASCII letters without case, everything else bytewise. Names of 63
//     bytes and more are not certain, for PostgreSQL's parser cuts them there and DuckDB does not.
//   - bind.N4 The columns of an item that is not open are all of its columns, in their order; so are a query's outputs.
//   - bind.N5 The Name of a base table is exactly the bytes of its name in the text.
//   - bind.N6 Text, tree and catalog are only read. Every query of the tree is bound once, every mention of a table is
//     an item, also where SQL's grammar has it in a place that this package does not know.
//   - bind.N7 A text with the queries of views in the places of their names gives the same answer.
//
// # Where the two dialects part
//
// FROM a ANTI JOIN b is an alias to PostgreSQL's grammar and a kind of join to DuckDB: such queries are marked
// Dialect. DuckDB takes names of the select list anywhere in it, in WHERE and GROUP BY, where no column has the name,
// and in ORDER BY even then; sub-queries in FROM see the entries before them without LATERAL; COLUMNS('…'), #1 and
// unnest put out columns that the text does not name; a column that is given twice gets a name of DuckDB's making
// (x_1), as does an expression without an alias.
//
// # What it does not do
//
// It knows no types and judges no expressions, and binds no INSERT, UPDATE or DELETE, only the query inside. Views are
// names that the catalog does not know, and so open; Inliner writes their queries in their places first.
package bind
