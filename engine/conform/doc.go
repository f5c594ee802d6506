// Package conform shows the values of record batches under the types that a result, or a table, promises: chunks and
// DuckDB lay the same values out in several ways.
//
//	dictionary<uint8, utf8>, utf8_view, decimal32, decimal128 ─► utf8, decimal64
//
// # Invariants
//
//   - CF1: values stay what they are; a type that does not hold one is an error.
//   - CF2: what need not change stays in place, and is retained. Copy and Detach share no byte with their argument.
//
// # What it does not do
//
// It converts no values: a query of DuckDB's does (package cast). It has no locks.
package conform
