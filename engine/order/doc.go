// Package order sorts the rows of chunks by the columns of the keys and indexes of their table, and finds rows by it.
//
//	chunk ─► By(columns) ─► positions of its rows, sorted ─► sealed beside the chunk (upkeep, hugetable's H10)
//	                                                              │ read in place, by every process
//	WHERE k = 5 ─► Finder.Rows ─ binary search, chunk by chunk ─► positions of the rows that may match
//	new rows ────► Finder.Find ─ likewise ─────────────────────► those with an equal key
//
// # Words
//
// An order is the positions of a chunk's rows sorted by some columns; one of no bytes says that the rows lie so. A
// probe is the key of a row that is looked for.
//
// # Invariants
//
//   - OD1: what is found has every row of the chunk that the statement's condition is true of; it may have others,
//     which the statement leaves out itself. What cannot be compared for certain finds nothing out, and all rows are
//     read.
//   - OD2: values are ordered as the planner compares them (plan.Value), texts bytewise; NULL is behind all others, and
//     rows that are equal are in the order in which they lie.
//   - OD3: an order is trusted no more than any other bytes of a chunk: a position beyond its rows is damage.
//
// # Lock order
//
// There are no locks.
//
// # What it does not do
//
// It writes nothing: upkeep does, in the background and for CREATE INDEX. It knows no deleted rows: they are found,
// too.
package order
