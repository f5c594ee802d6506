// Package duckdb runs SQL in DuckDB over Arrow chunks that lie in lent memory, in place.
//
//	           Scan (Go)                      one per occurrence of a table in a statement
//	             │ Register → number
//	SQL:  … FROM csm_scan(number) AS t …      or  csm_table('public','t') from a view
//	             │ bind: names, types, estimated rows, ENUM domains
//	             │ init: which columns are read
//	 DuckDB ─────┤ threads take morsels of 122,880 rows, hand over slices of 2,048
//	 threads     │   fixed-width, nested: ArrowArray slice → duckdb_data_chunk_from_arrow → reference_vector, no byte copied
//	             │   utf8_view: 16-byte view → 16-byte string_t that points into the region
//	             ▼   dictionary: codes → string_t table, or codes → ENUM
//	           Rows (Go)                      streamed as Arrow record batches
//
// This is the only package with cgo. It never uses DuckDB's own Arrow scan (RegisterView), which returns wrong rows.
//
// # Words
//
// A Scan is what one occurrence of a table reads; a morsel is the run of rows a scan thread takes at once; a slice is what
// it hands over in one call; a domain is the sorted list of values of a column that is shown as ENUM.
//
// # Invariants
//
//   - D1: a scan, and every buffer it opened, stays until the last plan bound to it is closed.
//   - D2: what C keeps a pointer to lies outside of Go's heap: in a region or in C memory.
//   - D3: no offset, length or code that was read from a region is followed unchecked.
//   - D4: a region whose backing disappeared is an error of the query that read it (Guard), never the end of the process.
//   - D5: a scan can be named in SQL only by the connection that registered it.
//
// # Lock order
//
// A scan's own C mutex → whatever Scan.Open takes → registry.mu. The SIGBUS handler takes no lock.
//
// # What it does not do
//
// It knows nothing of catalogs, leases, snapshots or regions: the engine puts those behind Scan.Open and Scan.Release. It
// neither prunes chunks nor estimates: exec/plan does.
package duckdb
