package check

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// Changed holds the rows that an UPDATE changes to the table's checks. Those that it leaves as they were are not asked
// about again, although the table is written as a whole: they passed when they were written, and a check may say
// something else today (d >= current_date).
type Changed struct {
	Checks *Table // nil: the table has none
	parts  []arrow.RecordBatch
	rows   int64
}

// changedMost is how many rows are asked about at once.
const changedMost = 1 << 16

// Add takes the rows of a batch of which the flag is true.
func (c *Changed) Add(ctx context.Context, batch arrow.RecordBatch, flags *array.Boolean) error {
	if c.Checks == nil {
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
	if c.rows < changedMost {
		return nil
	}
	return c.Flush(ctx)
}

// Flush asks about the rows that were taken.
func (c *Changed) Flush(ctx context.Context) error {
	defer c.Release()
	if c.rows == 0 {
		return nil
	}
	rows, err := joined(c.parts)
	if err != nil {
		return err
	}
	defer rows.Release()
	return c.Checks.Hold(ctx, rows.Schema(), rows)
}

// Release drops the rows that were taken.
func (c *Changed) Release() {
	for _, p := range c.parts {
		p.Release()
	}
	c.parts, c.rows = nil, 0
}

// joined is one batch of several, out of Go's heap (duck.D2), with words instead of dictionaries of them.
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
		column, err := array.Concatenate(pieces, duckdb.Outside)
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
	b := array.NewBuilder(duckdb.Outside, d.Dictionary().DataType())
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
