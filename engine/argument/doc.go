// Package argument says what the values that a Go program gives for $1, $2, … mean to SQL.
//
//	nil, a nil []byte, a nil *big.Int          NULL
//	bool, the integers, float32, float64       themselves
//	string                                     a text, or what its text means where another type is wanted; it is UTF-8
//	[]byte                                     bytea
//	*big.Int                                   a BIGINT where an integer is wanted and it fits, else HUGEINT or UHUGEINT, else its digits
//	time.Time                                  an instant, to the microsecond; where a type without a zone is wanted, what the clock
//	                                           shows in UTC then, whatever zones the value and the session have
//	duckdb.Date, TimeOfDay, TimestampTZ        themselves
//	duckdb.Decimal                             a numeric, with all of its digits
//	arrow.MonthDayNanoInterval                 an interval of whole microseconds
//
// The engine asks once per execution, before anything looks at the values: DuckDB, the Arrow kernels, pruning and the
// nodes of a cluster then see the same ones.
//
// Encode and Decode are how they travel to the nodes that run parts of a statement, type and all.
//
// # Invariants
//
//   - AR1: a value that would not arrive as it is is an error: other types, texts that are not UTF-8, times and
//     intervals that SQL has not. Only the nanoseconds of a time are cut, as every client of PostgreSQL does.
//   - AR2: Decode(Encode(v)) is v, and whatever another node sends is values or an error.
package argument
