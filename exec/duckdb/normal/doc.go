// Package normal converts the Arrow columns that DuckDB writes to standard Arrow types.
//
//	DuckDB's type     as DuckDB writes it                     in results
//	BOOLEAN           int8, marked arrow.bool8                Boolean
//	HUGEINT, UHUGEINT bytes, marked arrow.opaque              decimals
//	BIT, TIMETZ, …    bytes, marked arrow.opaque              text
//	UUID, JSON        bytes or text, marked                   the same, with the mark
//	user-defined ENUM dictionary whose last word is its mark  the same, with a mark that says which type it is
//
// # Words
//
// Raw is a column as DuckDB writes it, normal as users see it. A mark is what a field's metadata says of its type.
//
// # Invariants
//
//   - NO1: values, NULLs and their order are the same in both.
//   - NO3: what Raw makes of normal values is, to the byte, what DuckDB wrote: it compares some types by their bytes.
//   - NO2: what Private gives shares buffers, and no structure that exporting writes to.
//
// # What it does not do
//
// It asks DuckDB nothing, and knows no tables.
package normal
