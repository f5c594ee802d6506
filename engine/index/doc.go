// Package index does what SQL says of indexes: it puts them on the record of their table, and takes them off.
//
//	CREATE INDEX i ON t (a) ──► Changes.create ──► the table's list of constraints (package constraint)
//	                                          ├──► Whole: no two rows of a unique one are equal
//	                                          └──► Order: each chunk that is there gets its rows sorted by a
//	DROP, ALTER, REINDEX i  ──► constraint.IndexNamed ──► t, and the place in its list
//
// # Words
//
// An index is one that CREATE INDEX made; that of a key belongs to the key, has its name, and goes with it. A place is
// a table and where in its list an index or a key is.
//
// # Invariants
//
//   - IX1: the name of an index, or of a key, is that of no other relation of its schema, as its transaction saw it.
//     (Two transactions at once may give two tables indexes of one name. The first of them by its table's name is
//     meant then.)
//   - IX2: an index is on record only of columns that can be sorted and hashed, and when the rows that are there have
//     their order.
//   - IX3: no unique index goes that a foreign key needs, or the foreign key goes with it.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It sorts nothing and reads no rows: package upkeep and package key do. It chooses no index for a query.
package index
