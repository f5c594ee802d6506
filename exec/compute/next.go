package compute

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/exec/plan"
)

// next is the next batch of the result, or io.EOF.
func (e *execution) next() (arrow.RecordBatch, error) {
	for e.remaining != 0 && !e.done {
		batch, err := e.produce()
		if err != nil {
			return nil, err
		}
		if batch = e.cut(batch); batch != nil {
			return batch, nil
		}
	}
	e.done = true
	return nil, io.EOF
}

// cut applies OFFSET and LIMIT to a batch, which it takes over; nil if nothing of it remains.
func (e *execution) cut(batch arrow.RecordBatch) arrow.RecordBatch {
	rows := batch.NumRows()
	from := min(e.skip, rows)
	e.skip -= from
	to := rows
	if e.remaining >= 0 {
		to = from + min(e.remaining, rows-from)
		e.remaining -= to - from
	}
	switch {
	case from == to:
		batch.Release()
		return nil
	case from == 0 && to == rows:
		return batch
	}
	defer batch.Release()
	return batch.NewSlice(from, to)
}

// produce is the next batch before OFFSET and LIMIT.
func (e *execution) produce() (arrow.RecordBatch, error) {
	if e.query.Aggregated {
		e.done = true
		return e.aggregate()
	}
	for {
		n, err := e.nextRows(e.inPlace())
		if err != nil {
			return nil, err
		}
		if n.rows > 0 {
			defer n.release()
			return e.project(n)
		}
		n.release()
	}
}

// inPlace: every output is a column and nothing filters, so whole batches pass without a look at a value (X2).
func (e *execution) inPlace() bool {
	if e.query.Filter != nil {
		return false
	}
	for _, o := range e.query.Outputs {
		if o.Expr.Op != plan.OpColumn {
			return false
		}
	}
	return true
}

// project makes the outputs of some rows.
func (e *execution) project(n *narrowed) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, 0, len(e.query.Outputs))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for i, o := range e.query.Outputs {
		column, err := e.output(n, i, o)
		if err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return array.NewRecordBatch(e.schema, columns, int64(n.rows)), nil
}

// output is one column of the result; the caller releases it.
func (e *execution) output(n *narrowed, i int, o plan.Output) (arrow.Array, error) {
	if o.Expr.Op == plan.OpColumn {
		column, err := n.column(o.Expr.Column)
		if err != nil {
			return nil, err
		}
		return e.conform(column, e.schema.Field(i).Type)
	}
	v, err := n.eval(o.Expr)
	if err != nil {
		return nil, err
	}
	return e.materialize(v, n.rows)
}
