package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// What a borrower may believe (E3). It reads memory that the node re-uses when the lease is over, and it may be stopped at any
// moment for any time. So a result is believed when the lease is found valid after the last load that it is made of.

// detach takes a batch over and gives one that outlives the lease. Whoever gets it may be stopped before it looks at the values, and checks no
// lease: so in a borrower rows leave as copies. In the node itself no lease runs out while a batch is in use (held), and they go out in place;
// but for what the session's own transaction wrote, which the lease knows nothing of.
func detach(ctx context.Context, batch arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	defer batch.Release()
	copied, err := copyOfBatch(batch, schema)
	if err == nil {
		err = ctx.Err()
	}
	return copied, err
}

// copyOfBatch has schema's types and shares no byte with batch.
func copyOfBatch(batch arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, batch.NumCols())
	for i, c := range batch.Columns() {
		copied, err := copyOf(c, schema.Field(i).Type)
		if err != nil {
			return nil, err
		}
		columns[i] = copied
		defer copied.Release()
	}
	return array.NewRecordBatch(arrow.NewSchema(schema.Fields(), nil), columns, batch.NumRows()), nil
}

// copyOf shares no byte with a.
func copyOf(a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	if !arrow.TypeEqual(a.DataType(), want) {
		return conformArray(a, want) // another layout is another array
	}
	return array.Concatenate([]arrow.Array{a}, memory.DefaultAllocator)
}
