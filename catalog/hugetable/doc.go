// Package hugetable is a table's immutable versions and the pages they are made of.
//
//	Version 3 ─┬─ page A (256 chunks, rows 0 …)          ┐ shared
//	           ├─ page B (256 chunks)                    ┘
//	           └─ page C (10 chunks)
//	Version 4 ─┬─ A, B, C                                      an append writes a page, and with it the last ones
//	           └─ page D (1 chunk)                             again that have no more chunks than come behind them
//	Version 5 ─┬─ A, B, C                                      (2 = 1 carried, 1 new: pages double until they are full)
//	           └─ page D' (2 chunks)
//
// A page is a list of encoded descriptors with their first rows and what of these is deleted, and a summary of each
// column. It is named by the xxh3-128 of its bytes. A version's record names its pages and sums them up, so that
// opening a table reads no page; descriptors are decoded one by one when they are asked for, and kept within the
// Source's bound.
//
//	H1  a version's chunks cover rows 0 to Rows without gap or overlap, in order; a page or record that says otherwise is
//	    refused with the rows that are missing or twice.
//	H2  a page's content is what its name says.
//	H3  a version never changes: every change returns another one.
//	H4  no page is written that any node wrote before: some node may be about to remove that. One that lists an extent
//	    for the first time is new by it; one that only lists fewer has a nonce.
//
//	H5  a change that is done to a later version than it was made for (Rebase) loses no chunk of either, and takes none twice.
//	H6  a row once deleted stays so in all later versions that have its chunk; a version's rows are those of its
//	    chunks less the deleted ones. The same row is not deleted by two changes. A version without rows has no
//	    chunks, except those that came by the same commit.
//	H7  a fold, which puts other chunks in the place of a run of them, keeps every row, its number and whether it is
//	    deleted, except deleted rows that it leaves out (a purge).
//	H8  behind a purge a row is found by the number that it had in an earlier version, or that version is one that the
//	    later one does not know; a row that was left out is one that another change deleted.
//	H9  whatever a chunk stores, a version gives each of its table's columns, by number: with the table's name and a
//	    layout of its type, and where the chunk does not store it the value that the column was added with.
//	H10 an order is of its chunk's rows, all of them, and no version shows it: whatever orders come and go, a chunk's
//	    columns, their bytes and its number stay.
//
// It knows no store (Pages is an interface), no lease and no transaction, which is why a borrower uses it as it is.
package hugetable
