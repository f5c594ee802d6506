package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// changedRows hold the rows that an UPDATE changes to the table's checks. Those that it leaves as they were are not asked about again, although
// the table is written anew: they passed when they were written, and a check may say something else today (d >= current_date).
type changedRows struct {
	checks *tableChecks // nil: the table has none
	parts  []arrow.RecordBatch
	rows   int64
}

// changedRowsMost is how many rows are asked about at once.
const changedRowsMost = 1 << 16

// add takes the rows of a batch of which the flag is true.
func (c *changedRows) add(ctx context.Context, batch arrow.RecordBatch, flags *array.Boolean) error {
	if c.checks == nil {
		return nil
	}
	hit := func(i int) bool { return flags.IsValid(i) && flags.Value(i) }
	for from := 0; from < flags.Len(); {
		to := from
		for to < flags.Len() && hit(to) {
			to++
		}
		if to > from {
			c.parts = append(c.parts, batch.NewSlice(int64(from), int64(to)))
			c.rows += int64(to - from)
		}
		from = to + 1
	}
	if c.rows < changedRowsMost {
		return nil
	}
	return c.flush(ctx)
}

// flush asks about the rows that were taken.
func (c *changedRows) flush(ctx context.Context) error {
	defer c.release()
	if c.rows == 0 {
		return nil
	}
	rows, err := joined(c.parts)
	if err != nil {
		return err
	}
	defer rows.Release()
	return c.checks.hold(ctx, rows.Schema(), rows)
}

func (c *changedRows) release() {
	for _, p := range c.parts {
		p.Release()
	}
	c.parts, c.rows = nil, 0
}

// joined is one batch of several, in memory that C may point to (D2), with words instead of dictionaries of them.
func joined(parts []arrow.RecordBatch) (arrow.RecordBatch, error) {
	fields := parts[0].Schema().Fields()
	columns := make([]arrow.Array, len(fields))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i := range fields {
		pieces := make([]arrow.Array, len(parts))
		for k, p := range parts {
			pieces[k] = p.Column(i)
		}
		column, err := array.Concatenate(pieces, outside)
		if err != nil {
			return nil, err
		}
		columns[i] = column
		if d, ok := column.(*array.Dictionary); ok {
			columns[i], err = spelledOut(d)
			column.Release()
			if err != nil {
				return nil, err
			}
		}
		fields[i].Type = columns[i].DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(columns[0].Len())), nil
}

// spelledOut are the values of a dictionary column, each where it stands.
func spelledOut(d *array.Dictionary) (arrow.Array, error) {
	b := array.NewBuilder(outside, d.Dictionary().DataType())
	defer b.Release()
	for i := range d.Len() {
		if d.IsNull(i) {
			b.AppendNull()
		} else if err := b.AppendValueFromString(d.Dictionary().ValueStr(d.GetValueIndex(i))); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}
