package pgformat

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// rowBytesMax bounds one row: PostgreSQL's clients read no larger message.
const rowBytesMax = 1<<30 - 1

// columnsMax is what a DataRow can count.
const columnsMax = math.MaxInt16

// Columns encodes the rows of a result, batch by batch. It is made once per portal; not for concurrent use.
type Columns struct {
	types   []Type
	formats []Format
	columns []column
	rows    int // of the bound batch; -1 when none is
	failure error
}

// NewColumns makes an encoder for columns shown as types, each in its format (formats shorter than types: the rest is
// text). zone is where timestamptz values are printed; nil is UTC.
func NewColumns(types []Type, formats []Format, zone *time.Location) (*Columns, error) {
	if len(types) > columnsMax {
		return nil, &ValueError{State: "54011", Message: "target lists can have at most 32767 entries"}
	}
	if zone == nil {
		zone = time.UTC
	}
	c := &Columns{types: types, formats: formats, columns: make([]column, len(types)), rows: -1}
	for i := range c.columns {
		c.columns[i].failure = &c.failure
		c.columns[i].instants.zone = zone
	}
	return c, nil
}

// Len is the number of columns.
func (c *Columns) Len() int { return len(c.types) }

func (c *Columns) format(i int) Format {
	if i < len(c.formats) {
		return c.formats[i]
	}
	return TextFormat
}

// Bind points the encoder at a batch, which must stay valid until the next Bind or Unbind (PF1).
func (c *Columns) Bind(batch arrow.RecordBatch) error {
	c.rows = -1
	if int(batch.NumCols()) != len(c.types) {
		return errColumns
	}
	for i := range c.columns {
		if err := c.columns[i].bind(batch.Column(i), c.types[i].OID, c.format(i)); err != nil {
			return err
		}
	}
	c.rows = int(batch.NumRows())
	return c.Failure() // a dictionary's values are encoded while binding
}

// Unbind forgets the batch.
func (c *Columns) Unbind() {
	c.rows = -1
	for i := range c.columns {
		c.columns[i].append, c.columns[i].isNull, c.columns[i].validity = nil, nil, nil
	}
}

// AppendDataRows appends rows [from, to) of the bound batch to dst as DataRow messages, and stops after the row with
// which dst reaches limit bytes. It returns dst and the first row that was not appended. On an error dst ends with
// the last whole row.
//
//	'D' | int32 length | int16 columns | { int32 length or -1 | bytes } …
func (c *Columns) AppendDataRows(dst []byte, from, to, limit int) (out []byte, next int, err error) {
	if to > c.rows {
		return dst, from, errNoBatch
	}
	columns := c.columns
	for row := from; row < to; row++ {
		start := len(dst)
		dst = append(dst, 'D', 0, 0, 0, 0, byte(len(columns)>>8), byte(len(columns)))
		for i := range columns {
			column := &columns[i]
			if column.null(row) {
				dst = append(dst, 0xff, 0xff, 0xff, 0xff)
				continue
			}
			// The length is written once the value is known: no value is measured before it is formatted.
			mark := len(dst)
			dst = column.append(append(dst, 0, 0, 0, 0), row)
			binary.BigEndian.PutUint32(dst[mark:], uint32(len(dst)-mark-4))
		}
		if len(dst)-start > rowBytesMax && c.failure == nil {
			c.failure = errRowLimit
		}
		if c.failure != nil {
			err, c.failure = c.failure, nil
			return dst[:start], row, err
		}
		binary.BigEndian.PutUint32(dst[start+1:], uint32(len(dst)-start-1))
		if len(dst) >= limit {
			return dst, row + 1, nil
		}
	}
	return dst, to, nil
}

// Null reports whether a value of the bound batch is null.
func (c *Columns) Null(column, row int) bool { return c.columns[column].null(row) }

// Plain reports whether the bound column's texts need neither quoting nor escaping: digits, letters, signs, points,
// colons and single spaces.
func (c *Columns) Plain(column int) bool { return c.columns[column].plain }

// AppendValue appends one value, which is not null.
func (c *Columns) AppendValue(dst []byte, column, row int) []byte {
	return c.columns[column].append(dst, row)
}

// Failure returns and clears the first error since the last call: AppendValue cannot return one.
func (c *Columns) Failure() error {
	err := c.failure
	c.failure = nil
	return err
}
