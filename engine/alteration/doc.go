// Package alteration changes the columns of a table that is there.
//
//	ALTER TABLE t ADD COLUMN c int DEFAULT 7, DROP COLUMN a
//	     │
//	     ├─► columns, as PostgreSQL's passes go: DROP, TYPE, ADD, DEFAULT, NOT NULL, constraints
//	     ├─► what names them: constraints, foreign keys of other tables, the placement, views
//	     ├─► the declaration: catalog/hugetable numbers the columns, and rows stay where they are;
//	     │   or, for another type or a value of its own in each row, a query's rows in their place
//	     └─► what rows that are there say to it: 23502, 23514
//
// # Words
//
// An alteration is one ALTER TABLE under way. A column is added if it was not the table's before. A table is rewritten
// if its rows pass through DuckDB.
//
// # Invariants
//
//   - AL1: all actions of a statement are done, or none.
//   - AL2: a view puts out the columns and rows that it put out before, or the statement is refused or, with CASCADE,
//     drops it.
//   - AL3: no constraint goes but those that read a column that goes; those that stay read the columns that they read.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It plans and runs nothing itself (Host does), and commits nothing. Temporary tables are DuckDB's.
package alteration
