package compute

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/exec/plan"
)

// aggregate reads everything and makes the one row of an aggregated query.
func (e *execution) aggregate() (arrow.RecordBatch, error) {
	partials := make([][]accumulator, e.threads)
	for i := range partials {
		for _, a := range e.query.Aggregates {
			partials[i] = append(partials[i], newAccumulator(a))
		}
	}
	for {
		morsels, err := e.round(e.scansNothing())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		err = e.parallel(morsels, func(k int, n *narrowed) error { return e.accumulate(partials[k], n) })
		if err != nil {
			return nil, err
		}
	}
	for _, p := range partials[1:] {
		for i, a := range partials[0] {
			a.merge(p[i])
		}
	}
	columns := make([]arrow.Array, 0, len(e.query.Outputs))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, o := range e.query.Outputs {
		column, err := e.summedUp(o, partials[0][o.Aggregate])
		if err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return array.NewRecordBatch(e.schema, columns, 1), nil
}

// summedUp is what an output is of what all threads have.
func (e *execution) summedUp(o plan.Output, all accumulator) (arrow.Array, error) {
	b := array.NewBuilder(e.mem, o.Type.Arrow())
	defer b.Release()
	if err := all.appendTo(b); err != nil {
		return nil, err
	}
	if b.NullN() == 0 || o.Default == nil {
		return b.NewArray(), nil
	}
	instead := array.NewBuilder(e.mem, o.Type.Arrow())
	defer instead.Release()
	i, _ := whole(*o.Default, 0)
	put := func() error { return appendInt(instead, i) }
	if o.Type.Kind == plan.KindDouble {
		put = func() error { return appendFloat(instead, float64(i)) }
	}
	if err := put(); err != nil {
		return nil, err
	}
	return instead.NewArray(), nil
}

// accumulate adds the rows that stay of a morsel to what one thread has.
func (e *execution) accumulate(partial []accumulator, n *narrowed) error {
	for i, a := range e.query.Aggregates {
		var values arrow.Array
		if a.Argument != nil {
			var err error
			if values, err = n.eval(a.Argument); err != nil {
				return err
			}
		}
		if err := partial[i].add(values, n.rows); err != nil {
			return err
		}
	}
	return nil
}

// accumulator holds one aggregate of what one thread has seen.
type accumulator interface {
	// add takes so many values, nil for count(*).
	add(values arrow.Array, rows int) error
	// merge takes what one of the same kind holds.
	merge(from accumulator)
	appendTo(b array.Builder) error
}

func newAccumulator(a plan.Aggregate) accumulator {
	switch a.Op {
	case plan.CountStar, plan.Count:
		return new(counter)
	case plan.Min:
		return newExtreme(a.Type, -1)
	case plan.Max:
		return newExtreme(a.Type, 1)
	}
	if domainOf(a.Argument.Type) == floatDomain {
		return &floatSum{average: a.Op == plan.Avg}
	}
	return &exactSum{average: a.Op == plan.Avg, argument: a.Argument.Type}
}

// counter counts the rows that are not NULL; without an argument there is no NULL.
type counter int64

func (c *counter) add(values arrow.Array, rows int) error {
	if values != nil {
		rows -= values.NullN()
	}
	*c += counter(rows)
	return nil
}

func (c *counter) merge(from accumulator) { *c += *from.(*counter) }

func (c *counter) appendTo(b array.Builder) error { return appendInt(b, int64(*c)) }

// scansNothing: no column is read, so batches only have a number of rows and need not be cut.
func (e *execution) scansNothing() bool {
	return e.query.Filter == nil && (e.query.Table == nil || len(e.query.Table.Project) == 0)
}
