// Package duckdb runs SQL in DuckDB over Arrow chunks that lie in lent memory, in place.
//
//	           Scan (Go)                      what an occurrence of a table reads, and which rows surely do not matter
//	             │ Register → number
//	SQL:  … FROM csm_scan(number) AS t …      or  csm_table('public','t') from a view
//	             │ bind: names, types, estimated rows, ENUM domains
//	             │ init: which columns are read, which are only filtered
//	 DuckDB ─────┤ threads take morsels of 122,880 rows, look at slices of 2,048
//	 threads     │
//	             │   filter.c   slice → all rows matter │ some: a selection │ none: next slice
//	             │   words.c    strings that are none of some words, by the length and four bytes that a view has
//	             │   sieve.c    keys that are in no key set, a slice at once
//	             │   vector.c   fixed width             values into the vector, whole slice or gathered
//	             │              utf8_view               16-byte view → 16-byte string_t that points into the region
//	             │              dictionary              codes → string_t table, or codes → ENUM
//	             │              nested and rare types   ArrowArray slice → duckdb_data_chunk_from_arrow → reference, slice
//	             ▼
//	           Rows (Go)                      streamed as Arrow record batches
//
//	BuildKeySet reads a Scan the same way without DuckDB: the keys of one table's rows filter the next table's scan.
//
// This is the only package with cgo. It never uses DuckDB's own Arrow scan (RegisterView), which returns wrong rows.
//
// # Words
//
// A Scan is what an occurrence of a table reads; a morsel is the run of rows a scan thread takes at once; a slice is
// what it looks at at once; a selection is the rows of a slice that pass the filters; a domain is the sorted list of
// values of a column that is shown as ENUM; a key set is a set of integers that a column's values are looked up in.
//
// # What is copied
//
// String bytes, dictionaries and nested values are never copied, only pointed to. Fixed-width values are copied, 2,048
// at a time, into DuckDB's vector, which stays in the cache: DuckDB's way of referencing them allocates a vector for
// each column of each slice and was slower by 8 % over all of TPC-H.
//
// # Invariants
//
//   - D1: a scan, and every buffer it opened, stays until the last plan bound to it is closed.
//   - D2: what C keeps a pointer to lies outside of Go's heap: in a region or in C memory.
//   - D3: no offset, length or code that was read from a region is followed unchecked: when a chunk is opened
//     (check.go), or row by row (vector.c).
//   - D4: a region whose backing disappeared is an error of the query that read it (Guard), never the end of the
//     process.
//   - D5: a scan can be named in SQL only by the connection that registered it.
//   - D6: a row that passes all filters is handed over exactly once, unchanged; one that does not may be handed over
//     too.
//   - D7: a cancelled statement ends soon, also while its scans find nothing to hand over, and while it is planned. See
//     planning.c.
//   - D8: what the process' C code has of its own, counted by DuckDB or not, stays within what its databases were given
//     (Options.ProcessBytes); what does not fit is an error of a statement (53200), never the end of the process. See
//     warden.go, memory.c, and catchable.c: nothing is refused where the exception would not be caught.
//   - D9: an error that ends a statement is the one that happened, whichever thread it happened in, and never a cancel
//     that was not requested. Where DuckDB has lost it, and it cannot be found again because the statement's own
//     transaction made what it reads, that is reported (XX000).
//   - D10: a client's statement opens regular files below the allowed directories and nothing else, whatever links
//     there are or become, and never what was spilled. See files.c. What Attach attaches is sealed, and no secret.
//   - D11: databases that spill to one directory spill apart, and what a killed one has spilled goes with the next one.
//     See package spill (SPD1).
//   - D12: every execution's columns have the types that the statement reported before the first one, whatever is
//     bound; values that cannot keep it are an error (22003), and so is what the statement names if it has become
//     another thing (0A000). See promise_unsafe.go.
//   - D13: an internal error of a statement that only reads ends that statement, and nothing else. See harmless.c.
//   - D14: a row that is deleted is not handed over, and in no key set, whatever the filters do.
//
// # Lock order
//
// A scan's own C mutex → whatever Scan.Open takes → registry.mu. The SIGBUS handler takes no lock. warden.mu → work.mu;
// any of DuckDB's locks → memory.c's giving_back, which takes nothing but the allocators' own.
//
// # What it does not do
//
// It knows nothing of catalogs, leases, snapshots or regions: the engine puts those behind Scan.Open and Scan.Release.
// It neither prunes chunks nor estimates nor finds filters: exec/plan does. Filters are a promise of the caller's that
// it cannot check.
package duckdb
