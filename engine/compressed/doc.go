// Package compressed reports whether a compressed file is whole.
//
//	name.csv.gz   ─► gzip: every member to its end, its length and its checksum
//	name.csv.zst  ─► zstd: every frame to its end, its checksum if it has one
//	anything else ─► is not compressed, and whole
//
// DuckDB reads a file that was cut off, or is damaged, as far as it can be read, and says nothing: its rows would be
// taken for all rows.
//
// # Words
//
// A file is compressed if its name says so, which is what DuckDB goes by.
//
// # Invariants
//
//   - Z1: a file that is cut off anywhere is not whole, nor is one with bytes behind its end.
//
// # What it does not do
//
// It does not return the data: a file is read twice.
package compressed
