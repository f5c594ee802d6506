package dbgen

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// scaleFactorMin is the smallest scale factor: the official generator
	// counts fractions in thousandths.
	scaleFactorMin = 0.001
	// scaleFactorLimit: from 30,000 on the official generator changes two
	// streams to 64-bit numbers which it does not advance consistently, so
	// that its parallel and its serial rows differ and none are "the" rows.
	scaleFactorLimit = 30000

	suppliersPerPart = 4
	linesPerOrderMax = 7
)

// Generator makes the rows of one scale factor. Immutable except for what it computes once; all methods may be called
// concurrently.
type Generator struct {
	scaleFactor float64
	units       [tableCount]int64
	clerks      int64

	lineRows func() int64 // exact rows of LINEITEM, counted once
}

// New returns the generator for a scale factor. It is cheap: the text pool
// (10 MiB) is written by the first Batch of the process.
//
// Accepted are multiples of 0.001 below 1, and whole numbers from 1 to 29,999.
// The official generator silently truncates others (1.5 makes the rows of 1);
// here they are ErrScaleFactor, since a table that is smaller than asked for
// is worse than an error.
func New(sf float64) (*Generator, error) {
	thousandths, err := checkScaleFactor(sf)
	if err != nil {
		return nil, err
	}
	g := &Generator{scaleFactor: sf}
	g.units = [tableCount]int64{
		Region: int64(len(regionNames)), Nation: int64(len(nations)),
		Supplier: 10 * thousandths, Customer: 150 * thousandths,
		Part: 200 * thousandths, PartSupp: 200 * thousandths,
		Orders: 1500 * thousandths, LineItem: 1500 * thousandths,
	}
	g.clerks = max(thousandths, 1000)
	g.lineRows = sync.OnceValue(func() int64 { return sumLineCounts(0, g.units[LineItem]) })
	return g, nil
}

// checkScaleFactor returns the scale factor in thousandths.
func checkScaleFactor(sf float64) (int64, error) {
	switch {
	case !(sf >= scaleFactorMin): // also catches NaN
		return 0, fmt.Errorf("dbgen: %w: %g; the smallest is %g", ErrScaleFactor, sf, scaleFactorMin)
	case sf >= scaleFactorLimit:
		return 0, fmt.Errorf("dbgen: %w: %g; it must be below %d", ErrScaleFactor, sf, scaleFactorLimit)
	case sf < 1:
		if near := math.Round(1000*sf) / 1000; math.Abs(sf-near) > 1e-9 {
			return 0, fmt.Errorf("dbgen: %w: %g; below 1 use thousandths, for instance %g", ErrScaleFactor, sf, near)
		}
		return int64(math.Round(1000 * sf)), nil
	case sf != math.Trunc(sf):
		return 0, fmt.Errorf("dbgen: %w: %g; from 1 on use whole numbers, for instance %g", ErrScaleFactor, sf, math.Round(sf))
	}
	return 1000 * int64(sf), nil
}

// ScaleFactor returns what New was called with.
func (g *Generator) ScaleFactor() float64 { return g.scaleFactor }

// Units returns how many units a table has. A unit is what a range counts: an
// order with its lines for Orders and LineItem, a part with its four suppliers
// for PartSupp, and a row for the other tables.
func (g *Generator) Units(t Table) int64 {
	if t >= tableCount {
		return 0
	}
	return g.units[t]
}

// Rows returns the exact number of rows of a table. For LineItem it draws the
// line counts of all orders once (about 1 ms per million orders) and keeps the
// result.
func (g *Generator) Rows(t Table) int64 {
	if t == LineItem {
		return g.lineRows()
	}
	return g.RowsIn(t, 0, g.Units(t))
}

// RowsIn returns the exact number of rows that units [first, first+count)
// make; 0 for a range that Batch would refuse.
func (g *Generator) RowsIn(t Table, first, count int64) int64 {
	if g.checkRange(t, first, count) != nil {
		return 0
	}
	switch t {
	case LineItem:
		return sumLineCounts(first, count)
	case PartSupp:
		return count * suppliersPerPart
	}
	return count
}

func (g *Generator) checkRange(t Table, first, count int64) error {
	if t >= tableCount {
		return fmt.Errorf("dbgen: %w: number %d", ErrUnknownTable, uint8(t))
	}
	if units := g.units[t]; first < 0 || count < 0 || first > units || count > units-first {
		return fmt.Errorf("dbgen: %w: %d units from %d on, but %s has %d at scale factor %g",
			ErrUnitRange, count, first, t, units, g.scaleFactor)
	}
	return nil
}

// stringBytesPerUnit bounds the bytes of a table's longest string column.
var stringBytesPerUnit = [tableCount]int64{
	Region: 115, Nation: 115, Supplier: 100, Customer: 116, // comments
	Part:     54,                     // p_name: five colours of at most ten letters
	PartSupp: 198 * suppliersPerPart, // ps_comment
	Orders:   78,                     // o_comment
	LineItem: 43 * linesPerOrderMax,  // l_comment
}

// MaxBatchUnits returns how many units one Batch can hold: the offsets of a
// string view have 32 bits, so that a string column is limited to 2 GiB. It is
// 7.1 million orders for LineItem, and at least 2.7 million units elsewhere.
func MaxBatchUnits(t Table) int64 {
	if t >= tableCount {
		return 0
	}
	return math.MaxInt32 / stringBytesPerUnit[t]
}

// Batch makes units [first, first+count) of a table as one record batch with
// PhysicalSchema(t). The caller owns the batch and must release it.
//
// Every buffer is allocated from mem, once, at its exact final size, and
// written in place (D5); only the shared dictionaries live elsewhere. There
// are no validity buffers, and a string column whose strings are all inline
// has no data buffer. mem must be safe for the concurrency of the callers.
// The context is looked at before each buffer.
// On an error, and if mem panics, everything allocated has been freed.
func (g *Generator) Batch(ctx context.Context, mem memory.Allocator, t Table, first,
	count int64) (batch arrow.RecordBatch, err error) {
	if err := g.checkRange(t, first, count); err != nil {
		return nil, err
	}
	if limit := MaxBatchUnits(t); count > limit {
		return nil, fmt.Errorf("dbgen: %w: %d units of %s, %d is the limit; ask for several ranges", ErrBatchTooLarge, count, t, limit)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("dbgen: making %s: %w", t, err)
	}
	w := &batchWriter{ctx: ctx, mem: mem, table: t, text: textPool()}
	defer w.release()
	switch t {
	case Region:
		g.writeRegion(w, first, count)
	case Nation:
		g.writeNation(w, first, count)
	case Supplier:
		g.writeSupplier(w, first, count)
	case Customer:
		g.writeCustomer(w, first, count)
	case Part:
		g.writePart(w, first, count)
	case PartSupp:
		g.writePartSupp(w, first, count)
	case Orders:
		g.writeOrders(w, first, count)
	case LineItem:
		g.writeLineItem(w, first, count)
	}
	return w.finish()
}
