package compute

import (
	"io"
	"sync"

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
	for len(e.ready) == 0 {
		morsels, err := e.round(e.inPlace())
		if err != nil {
			return nil, err
		}
		results, left := make([]arrow.RecordBatch, len(morsels)), int64(0)
		err = e.parallel(morsels, func(k int, n *narrowed) (err error) {
			results[k], err = e.project(n)
			return err
		})
		for _, r := range results {
			if r != nil {
				e.ready, left = append(e.ready, r), left+r.NumRows()
			}
		}
		if err != nil {
			return nil, err
		}
		if e.morsel = min(2*e.morsel, morselRows); left*fewRows > e.morsel {
			e.morsel = givenRows
		}
	}
	batch := e.ready[0]
	e.ready = e.ready[1:]
	return batch, nil
}

// parallel filters morsels, which it takes over, and hands on those that keep a row: at once, the first on this
// goroutine. When it returns all are done; the error is that of the first morsel that has one.
func (e *execution) parallel(morsels []arrow.RecordBatch, do func(k int, n *narrowed) error) error {
	errs, panics := make([]error, len(morsels)), make([]any, len(morsels))
	one := func(k int) {
		n, err := e.narrow(morsels[k])
		if err != nil {
			errs[k] = err
			return
		}
		defer n.release()
		if n.rows > 0 {
			errs[k] = do(k, n)
		}
	}
	func() {
		var others sync.WaitGroup
		defer others.Wait()
		for k := 1; k < len(morsels); k++ {
			others.Go(func() {
				defer func() { panics[k] = recover() }()
				one(k)
			})
		}
		one(0)
	}()
	for k := range morsels {
		if panics[k] != nil {
			panic(panics[k]) // where the session's own panics are caught
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// inPlace: every output is a column and nothing filters, so whole batches pass without a look at a value (X2).
func (e *execution) inPlace() bool {
	if t := e.query.Table; e.query.Filter != nil || t != nil && t.Relation.Numbered {
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
	for i, o := range e.query.Outputs {
		column, err := n.eval(o.Expr)
		if err != nil {
			return nil, err
		}
		if column, err = n.conform(column, e.schema.Field(i).Type); err != nil {
			return nil, err
		}
		if err := e.mem.Refused(); err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return array.NewRecordBatch(e.schema, columns, int64(n.rows)), nil
}
