package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// Resolver answers which base table a name in a FROM clause means. It is asked once per occurrence, with the parts as
// the text has them (quotes removed, case kept); parts that were not written are empty.
type Resolver interface {
	// Relation returns nil for whatever is not a base table of ours: a view, a temporary object, an unknown name.
	// The caller keeps ownership of the result and must not change it while a plan that mentions it lives.
	Relation(catalog, schema, table string) *Relation
}

// ResolverFunc makes a function a [Resolver].
type ResolverFunc func(catalog, schema, table string) *Relation

// Relation calls the function.
func (f ResolverFunc) Relation(catalog, schema, table string) *Relation {
	return f(catalog, schema, table)
}

// Relation is what the analyses know of one base table in the snapshot of the statement.
type Relation struct {
	Schema, Name string
	Rows         int64 // exact number of rows in the snapshot
	Columns      []Column
	// Numbered says that the last column has the numbers of the rows, which no chunk stores: they are made as rows are
	// read.
	Numbered bool
	// Guess changes what is estimated of the table, so that tests see that no answer depends on an estimate; nil in
	// production.
	Guess func(rows int64) int64
}

// guessed is the estimate, or what tests have Guess make of it.
func (r *Relation) guessed(rows int64) int64 {
	if r.Guess != nil {
		return r.Guess(rows)
	}
	return rows
}

// Column is one column as users see it, with what the chunks' statistics say of it over the whole table.
type Column struct {
	Name string
	Type arrow.DataType // the logical type: what users see, not how chunks store it
	// Mark distinguishes types that Arrow stores alike and has no types for: UUID, TIMETZ, BIT, … Empty: Type says it
	// all.
	Mark string
	// Dictionary says that the column is VARCHAR and that the engine could show it to DuckDB as an ENUM whose
	// values are in bytewise order (invariant P3 rests on that order).
	Dictionary bool
	Stats      ColumnStats
}

// OpaqueMark begins the Mark of types that Arrow lacks, and of what has one in it: their bytes are DuckDB's.
const OpaqueMark = "arrow.opaque"

// ColumnStats bounds the values of one column in one chunk, or in one table. The zero value knows nothing.
//
// Bounds are promises: Min ≤ v ≤ Max for every value v that is neither NULL nor NaN. They need not be attained (a
// cut string is a fine lower bound). They are in the logical type's terms: exact numbers for integers and decimals,
// days for DATE, microseconds for TIMESTAMP.
type ColumnStats struct {
	Rows       int64 // number of rows, NULLs included
	Nulls      int64 // number of NULLs, meaningful if NullsKnown
	NullsKnown bool
	NaNFree    bool  // known to hold no NaN; NaN is greater than every number in DuckDB and outside Min and Max
	Distinct   int64 // estimate of distinct values, 0 if unknown
	Min, Max   Value // Unknown if not known
}
