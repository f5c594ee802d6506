package rewrite

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/statement"
)

// Change is a statement that changes rows of a table: a query finds them by their numbers, and gives what they become.
// It is a Rewrite, or what is made of other statements.
type Change interface {
	// Verb is the statement's, in capitals.
	Verb() string
	Target() statement.Name
	// Conditions are what the statement says of one row each.
	Conditions(version *catalog.TableVersion) ([]Condition, error)
	Numbers(version *catalog.TableVersion) *snapshot.Numbers
	// Text is the query, its columns cast to the table's types. table is what the table with its numbers is called.
	Text(n *snapshot.Numbers, table string) (string, error)
	// Query is Text without the casts.
	Query(n *snapshot.Numbers, table string) (string, error)
	// Assigns reports whether a row that was there may get another value in a column.
	Assigns(schema *arrow.Schema) func(column string) bool
	// Does reports whether rows may go with nothing in their place, and whether some may come that were not there.
	Does() (removes, inserts bool)
	// Drain notes the rows that the query gives, of a version of the table, and writes what they become; returns, if
	// not nil, keeps what RETURNING is asked of; charge is for what it keeps beside.
	Drain(ctx context.Context, next func(context.Context) (arrow.RecordBatch, error), version *catalog.TableVersion,
		limits []ingest.Limit, w *ingest.Writer, returns *retained.Batches,
		charge func(bytes int64) error) (Changed, error)
}

// Changed is what a statement has done with rows.
type Changed struct {
	Count   int64                  // of rows that it is about
	Gone    map[int]*positions.Set // rows of the table that are not there any more as they were, by chunk
	Deleted map[int]*positions.Set // those of them in whose place none came; nil: all, or none
}
