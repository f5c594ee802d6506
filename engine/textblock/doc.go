// Package textblock makes batches of the rows of text that a client sends, several blocks of them at a time.
//
//	                   ┌─► worker: Rows ─► columns ─┐
//	stream ─► cutter ──┼─► worker: Rows ─► columns ─┼─► Each's caller: take(Batch), in the order of the stream
//	          a window └─► worker …                 ┘
//
// A column whose texts are all plain becomes an array of the table's type here: a worker reads what DuckDB would read,
// at a fraction of its price. Any other column of a block stays text, for DuckDB to cast, so that this package
// need not know what else there is, nor what DuckDB says of it.
//
// # Words
//
// A block is some rows of the stream as its bytes, not yet taken apart. Plain is a text of which there is no doubt what
// DuckDB makes of it: 17, -0.50, 2020-01-31. The window bounds what blocks take from when they are cut until they were
// handed over.
//
// # Invariants
//
//   - TB1: batches are handed over in the order of the stream. An error comes after the rows before the one that it is
//     about, and nothing comes after an error.
//   - TB2: an array of the table's type has the values that DuckDB's cast of the same texts has. What is not sure to
//     have them stays text.
//   - TB3: when Each returns, no goroutine of its is left, all batches are released and all memory is given back.
//   - TB4: blocks take no more than the window, unless it is one alone.
//   - TB5: one block alone, or one thread, is served by the caller's own goroutine.
//
// # Lock order
//
// window.mu is a leaf, but that memory is asked for under it.
//
// # What it does not do
//
// It knows no format of COPY (package pgcopy), no table and no session, and casts nothing that is not plain.
package textblock
