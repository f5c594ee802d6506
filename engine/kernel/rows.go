package kernel

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/plan"
)

// Rows is a query that the kernels run. It belongs to one goroutine at a time.
type Rows struct {
	ctx    context.Context
	table  *Table
	reader array.RecordReader
	blame  func(error) error // gives the cause of an error: the lease's end, another table's chunk
}

// Open begins a query, over the table's chunks where they lie. It takes Held over. What the query allocates is charged
// to Memory until its rows are released (KE3).
func (t *Table) Open(ctx context.Context, q *plan.Query, args []any) (*Rows, error) {
	l := t.Held.Lease
	blame := func(err error) error { return l.ErrorOr(t.Read.Blame(ctx, err), t.Read) }
	reader, err := t.run(ctx, q, args)
	if err != nil {
		t.Held.Close()
		return nil, blame(err)
	}
	return &Rows{ctx, t, reader, blame}, nil
}

// Next gives the next batch, which the caller releases, or io.EOF. It ends with the context of Open.
func (r *Rows) Next(context.Context) (arrow.RecordBatch, error) {
	if !r.reader.Next() {
		if err := r.reader.Err(); err != nil {
			return nil, r.blame(err)
		}
		if err := r.table.Trust(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	batch, err := r.given(r.reader.RecordBatch())
	if err != nil {
		return nil, r.blame(err)
	}
	if err := r.table.Trust(); err != nil {
		batch.Release()
		return nil, err
	}
	return batch, nil
}

// given is a batch as the query gives it, which stays the reader's.
func (r *Rows) given(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	t := r.table
	given := conform.Decimals(t.Memory, batch, t.Schema)
	bytes := int64(0)
	if t.Copied {
		for i, c := range given.Columns() {
			bytes += compute.Bytes(c, t.Schema.Field(i).Type)
		}
	}
	if err := t.Memory.Fits(bytes); err != nil {
		given.Release()
		return nil, err
	}
	if !t.Copied {
		return given, nil
	}
	return conform.Detach(r.ctx, t.Memory, given, t.Schema)
}

// Close ends the query.
func (r *Rows) Close() {
	r.reader.Release()
	r.table.Held.Close()
}
