package scan

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/order"
	"github.com/csmsql/csmsql/sql/optimization"
)

// skipDeleted has DuckDB leave out the rows that the version has no longer: the one that the scan reads by then. And
// those that an order of their chunk rules out.
func (t *Scan) skipDeleted() { t.Duck.Deleted = t.deleted }

// deleted is called as Open is.
func (t *Scan) deleted(chunk int) ([]uint64, error) {
	if t.keep != nil {
		chunk = t.keep[chunk]
	}
	gone, err := t.Facts.Version.Deleted(t.ctx, chunk)
	if err == nil && t.Skipped != nil {
		gone = positions.Union(gone, t.Skipped(chunk))
	}
	if err != nil || !t.looksUp() {
		return gone.Words(), t.ended(err)
	}
	words, err := t.butFound(chunk, gone.Words())
	return words, t.ended(err)
}

// looksUp reports whether rows are looked for in the orders of chunks.
func (t *Scan) looksUp() bool {
	return t.bound != nil && len(t.bound.Predicates) > 0 && !t.Without.Has(optimization.Indexes)
}

// butFound leaves out what gone does, and the rows that the condition cannot be true of (order.OD1).
func (t *Scan) butFound(chunk int, gone []uint64) ([]uint64, error) {
	v := t.Facts.Version
	c, err := v.Chunk(t.ctx, chunk)
	if err != nil {
		return nil, err
	}
	finder := order.Finder{Reader: t.tables.Reader}
	rows, found, err := finder.Rows(t.ctx, t.read, v, chunk, c, t.bound)
	if err != nil || !found {
		return gone, err
	}
	const bits = 64
	words := make([]uint64, (c.Rows()+bits-1)/bits)
	for i := range words {
		words[i] = ^uint64(0)
	}
	for _, row := range rows {
		words[row/bits] &^= 1 << (row % bits)
	}
	for i, g := range gone {
		words[i] |= g
	}
	if over := c.Rows() % bits; over > 0 { // behind the last row there is none to be left out
		words[len(words)-1] &= 1<<over - 1
	}
	return words, nil
}

// NumberRows has the scan give one column more, with the number of each row (positions.NumberOf).
func (t *Scan) NumberRows(column string) {
	number := arrow.Field{Name: column, Type: arrow.PrimitiveTypes.Int64}
	t.Duck.Schema = arrow.NewSchema(append(t.Duck.Schema.Fields(), number), nil)
	t.Duck.Number, t.Numbered = t.number, column
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
