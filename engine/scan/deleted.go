package scan

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// skipDeleted has DuckDB leave out the rows that the version has no longer: the one that the scan reads by then.
func (t *Scan) skipDeleted() { t.Duck.Deleted = t.deleted }

// deleted is called as Open is.
func (t *Scan) deleted(chunk int) ([]uint64, error) {
	if t.keep != nil {
		chunk = t.keep[chunk]
	}
	gone, err := t.Facts.Version.Deleted(t.ctx, chunk)
	return gone.Words(), t.ended(err)
}

// NumberRows has the scan give one column more, with the number of each row (positions.NumberOf).
func (t *Scan) NumberRows(column string) {
	number := arrow.Field{Name: column, Type: arrow.PrimitiveTypes.Int64}
	t.Duck.Schema = arrow.NewSchema(append(t.Duck.Schema.Fields(), number), nil)
	t.Duck.Number = t.number
}

// number is called as Open is.
func (t *Scan) number(chunk int) (int64, error) {
	if t.keep != nil {
		chunk = t.keep[chunk]
	}
	c, err := t.Facts.Version.Chunk(t.ctx, chunk)
	if err != nil {
		return 0, t.ended(err)
	}
	return t.Facts.FirstNumber(chunk, c.Rows())
}
