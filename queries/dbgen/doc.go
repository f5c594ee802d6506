// Package dbgen makes the tables of the TPC-H benchmark.
//
// The rows are exactly those of DuckDB's dbgen (CALL dbgen(sf = …)), which is
// the official generator of the TPC with two differences: the text that
// comments are cut from has 10 MiB instead of 300 MiB, and the random
// characters of addresses use another range. So keys, numbers, dates, names
// and categories are those of the TPC's own program; comments and addresses
// are DuckDB's. The answers in package queries belong to these rows.
//
//	unit (order, part, customer …)     first             first+count
//	───────┬───────┬───────┬───────┬─────╋═══════╤═══════╤═════╋───────┬──
//	       │       │       │       │     ┃       │       │     ┃       │
//	stream of column 1:  d draws per unit, always  ──►  seed · 16807^(d·first)
//	stream of column 2:  one stream per column          advanced in O(log first)
//	…                                    ┃                     ┃
//	                                     ▼                     ▼
//	         ┌──────────┬──────────┬─────────────────────┬───────────┐
//	Batch =  │ int64[n] │ date32[n]│ views[n] │ bytes[m] │ codes[n]  │ from one allocator,
//	         └──────────┴──────────┴─────────────────────┴───────────┘ each buffer once
//	                                    ▲                      ▲
//	                            text pool, 10 MiB,    shared sorted dictionaries
//	                            one per process       of the complete domains
//
// Batches are made column by column: a column's stream runs in one tight loop
// over all rows of the range, straight into the final buffer.
//
// # Words
//
// unit: what a range counts; an order with its lines for ORDERS and LINEITEM,
// a part with its four suppliers for PARTSUPP, a row for the other tables.
// stream: the random numbers of one column. draw: one step of a stream.
// excerpt: a substring of the text pool. category: a column whose values form
// a small closed set. set: the orders, with their lines, that one refresh
// inserts (RF1), or deletes (RF2).
//
// # Invariants
//
//   - D1 (rows): the rows of a table depend on the scale factor only, and at
//     scale factor 0.01 they are those of the reference tables, value by value
//     and in order. testdata/checksums-sf0.01.txt was made from the reference.
//   - D2 (ranges): a stream spends a fixed number of draws per unit, used or
//     not. Hence any division of a table into ranges gives the same rows, in
//     any order and concurrently.
//   - D3 (integers): for spans up to 2^21 the integer form of a uniform draw
//     equals the official floating point form.
//   - D4 (dictionaries): the dictionary of a category column is sorted,
//     without duplicates, holds the complete domain, and is the same object in
//     all batches. So codes compare as their strings do, within and across
//     batches and scale factors.
//   - D5 (allocation): Batch asks the allocator exactly once per buffer, for
//     its exact final size, never for zero bytes; it writes every byte of it,
//     so that the memory need not be zero; and whatever happens, a panic of
//     the allocator included, nothing leaks.
//   - D6 (sets): no order of a set has the key of another one, of the table or
//     of a set, and none but those of RF2 is the table's.
//
// # Locks
//
// None. A Generator is immutable except for sync.OnceValue; the text pool is immutable once it is written.
//
// # What it does not do
//
// It runs no refresh functions (RF1, RF2): it makes their sets. No .tbl files,
// no progress reports and no goroutines: the caller divides Units into ranges
// and runs Batch from as many goroutines as it likes. Scale factors from 30,000 on are refused.
// String views are written for little-endian machines.
package dbgen
