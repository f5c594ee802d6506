package reader

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// readMissing is ReadHeld of a chunk that does not store all columns of its table: those it stores are read in place,
// the others are made here, a value in each row. If it stores none of those that are wanted, nothing is read.
func (r *Reader) readMissing(ctx context.Context, by *Readings, hold descriptor.Hold, table string, number int,
	c *catalog.Chunk, columns []int) (arrow.RecordBatch, error) {
	d := c.Descriptor()
	var stored []int
	for _, i := range columns {
		if d.Value(i) == nil {
			stored = append(stored, i)
		}
	}
	arrays, fields := make([]arrow.Array, 0, len(columns)), make([]arrow.Field, len(columns))
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	var batch arrow.RecordBatch
	if len(stored) > 0 {
		var err error
		if batch, err = r.readStored(ctx, by, hold, table, number, c, stored); err != nil {
			return nil, err
		}
		defer batch.Release()
	}
	next := 0
	for k, i := range columns {
		fields[k] = d.Schema.Field(i)
		if d.Value(i) == nil {
			batch.Column(next).Retain()
			arrays = append(arrays, batch.Column(next))
			next++
			continue
		}
		made, err := hugetable.Repeat(d.Value(i), d.Rows, duckdb.Outside)
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, made)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, d.Rows), nil
}
