package compute

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/exec/plan"
)

// aggregate reads everything and makes the one batch of an aggregated query.
func (e *execution) aggregate() (arrow.RecordBatch, error) {
	groups := newGroups(e.query.Groups)
	accumulators := make([]accumulator, len(e.query.Aggregates))
	for i, a := range e.query.Aggregates {
		accumulators[i] = newAccumulator(a)
	}
	for {
		n, err := e.nextRows(e.scansNothing())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		err = e.accumulate(n, groups, accumulators)
		n.release()
		if err != nil {
			return nil, err
		}
	}
	e.stats.Groups = int64(groups.count())
	return e.finish(groups, accumulators)
}

// accumulate adds some rows to their groups.
func (e *execution) accumulate(n *narrowed, groups *groups, accumulators []accumulator) error {
	if n.rows == 0 {
		return nil
	}
	ids, err := groups.assign(n)
	if err != nil {
		return err
	}
	for i, a := range e.query.Aggregates {
		var v vector
		if a.Argument != nil {
			if v, err = n.eval(a.Argument); err != nil {
				return err
			}
		}
		accumulators[i].grow(groups.count())
		if err := accumulators[i].add(&v, ids, n.rows); err != nil {
			return err
		}
	}
	return nil
}

// finish makes the result: one row per group, one row in all without GROUP BY.
func (e *execution) finish(groups *groups, accumulators []accumulator) (arrow.RecordBatch, error) {
	count := groups.count()
	columns := make([]arrow.Array, 0, len(e.query.Outputs))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, o := range e.query.Outputs {
		b := array.NewBuilder(e.mem, o.Type.Arrow())
		var err error
		if o.Group >= 0 {
			err = groups.keys[o.Group].appendTo(b, count)
		} else {
			accumulators[o.Aggregate].grow(count)
			err = accumulators[o.Aggregate].appendTo(b, count)
		}
		columns = append(columns, b.NewArray())
		b.Release()
		if err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(e.schema, columns, int64(count)), nil
}

// accumulator holds one aggregate of every group.
type accumulator interface {
	grow(groups int)
	// add takes rows values; ids[i] is the group of row i, nil for group 0 throughout.
	add(v *vector, ids []int32, rows int) error
	appendTo(b array.Builder, groups int) error
}

func newAccumulator(a plan.Aggregate) accumulator {
	switch a.Op {
	case plan.CountStar, plan.Count:
		return &counter{}
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

func group(ids []int32, i int) int32 {
	if ids == nil {
		return 0
	}
	return ids[i]
}

// counter counts the rows that are not NULL; without an argument there is no NULL.
type counter struct{ counts []int64 }

func (c *counter) grow(groups int) { c.counts = extend(c.counts, groups) }

func (c *counter) add(v *vector, ids []int32, rows int) error {
	if ids == nil && v.nulls == nil {
		c.counts[0] += int64(rows)
		return nil
	}
	for i := 0; i < rows; i++ {
		if !v.null(i) {
			c.counts[group(ids, i)]++
		}
	}
	return nil
}

func (c *counter) appendTo(b array.Builder, groups int) error {
	for _, n := range c.counts[:groups] {
		b.(*array.Int64Builder).Append(n)
	}
	return nil
}

// extend grows a slice with zero values.
func extend[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	return append(s, make([]T, n-len(s))...)
}

// scansNothing: no column is read, so batches only have a number of rows and need not be cut.
func (e *execution) scansNothing() bool {
	return e.query.Filter == nil && (e.query.Table == nil || len(e.query.Table.Project) == 0)
}
