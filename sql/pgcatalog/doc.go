// Package pgcatalog shows the catalog to PostgreSQL's clients as pg_catalog and information_schema.
//
//	 psql, drivers                                        engine
//	      │ SELECT … FROM pg_catalog.pg_class c …            │ Contents of one revision → []Relation
//	      ▼                                                  ▼
//	IsCatalogQuery? ── Rewrite ──► SQL for DuckDB       Refresh ──► temp.csm_relation, csm_column, csm_constraint, csm_index, csm_schema
//	      no: left as it is            │                                  │        (one copy per connection)
//	                                   ▼                                  ▼
//	     pg_compat.pg_class, … views: static rows (data/*.tsv)  ∪  rows of what users made (data/relations.sql)
//	     pg_compat.format_type(…), … macros (lookups.sql, definitions.sql) └ image Catalogs, database csm_catalogs
//
//	any other query ──► pg_session.version(), … macros (data/functions.sql): image Functions, database csm_functions
//
//	data/ ──► MakeFunctions, MakeCatalogs (package makeimages) ──► images/ ──► Image.File ──► attached when it is needed
//
// DuckDB's own lists (SHOW TABLES, duckdb_tables(), its information_schema) are macros, too (data/duckdb.sql), which
// leave out what is made here.
//
// Everything that says what the catalogs contain is data: every column of every system relation (columns.tsv, taken
// from PostgreSQL 15), static rows, the SELECTs that make rows of relations, the macros. Code only loads it and
// translates queries. A relation for which there are no rows is an empty table with the right columns, so that a query
// over it works.
//
// # Words
//
// A relation is a table or view that PostgreSQL clients see. A catalog query is one that names a system relation, or a
// type or function that only PostgreSQL has. Session functions are those that every client calls outside of catalog
// queries, such as version() and current_user: they lie in schema pg_session, which belongs on every session's search
// path, so that DuckDB finds them before its own and the query needs no rewriting; a connection looks there from its first
// text on that Calls some.
//
// # Invariants
//
//   - P1: a query that names nothing of PostgreSQL's catalogs is not a catalog query; the engine never rewrites it.
//   - P2: Rewrite is pure: the same text gives the same text, whatever the catalog contains; so plans may be kept.
//   - P3: object IDs depend on a relation's ID or a schema's name alone: they survive restarts and changes of other
//     objects.
//   - P4: what users made is kept per connection, in temporary tables, so that a transaction sees its own uncommitted
//     tables and no refresh waits for, or conflicts with, another session's. A rolled-back transaction takes its
//     refresh with it: the engine refreshes again after a rollback.
//   - P5: Rewrite never fails on a query that PostgreSQL's parser understands; what it does not know it leaves. What
//     the deparser would write as another query is refused (P7).
//   - P6: nothing outside of database csm_catalogs reads it but what Rewrite wrote. So most nodes' lives need not pay
//     for it; and because it is attached when it is first asked for, no transaction can have looked at it before, and
//     all see it whole.
//   - P8: a text that Calls nothing means without Functions what it means with them. So a process that attaches, and
//     asks for rows alone, does not pay for them.
//   - P9: an image contains what data/ says, and nothing can change it (makeimages, TestImagesAreSealed).
//   - P7: what Rewrite writes is read as the tree that it made: no parenthesis that matters is left out
//     (deparse.DP1).
//
// # What it does not do
//
// It has no roles of its own, checks no privileges and changes no setting (set_config is the engine's, which
// exec/duckdb asks). Results carry DuckDB's types: an object ID is UINTEGER, name and "char" are VARCHAR.
package pgcatalog
