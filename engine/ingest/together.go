package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/internal/concatenation"
)

// Together copies batches of one layout, of which there are some, together. The caller releases the result.
func Together(batches []arrow.RecordBatch, mem memory.Allocator) (arrow.RecordBatch, error) {
	rows, columns := int64(0), make([]arrow.Array, batches[0].NumCols())
	for _, b := range batches {
		rows += b.NumRows()
	}
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for k := range columns {
		parts := make([]arrow.Array, len(batches))
		for i, b := range batches {
			parts[i] = b.Column(k)
		}
		var err error
		if columns[k], err = concatenation.Arrays(parts, mem); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(batches[0].Schema(), columns, rows), nil
}
