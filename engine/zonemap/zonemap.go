package zonemap

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/plan"
)

// RunRows is how many rows a zone is of.
const RunRows = 8192

// Zones are those of one column of one chunk. Immutable.
type Zones struct {
	typ   arrow.DataType
	rows  int64
	zones []zone
}

type zone struct {
	min, max int64 // min > max: all values are NULL
}

// Stats bounds the values of a run.
func (z *Zones) Stats(run int) plan.ColumnStats {
	rows := min(z.rows-int64(run)*RunRows, RunRows)
	s := plan.ColumnStats{Rows: rows, NaNFree: true}
	if at := z.zones[run]; at.min > at.max {
		s.Nulls, s.NullsKnown = rows, true
	} else {
		s.Min, s.Max = valueOf(z.typ, at.min), valueOf(z.typ, at.max)
	}
	return s
}

// Cache keeps zones that were asked for lately. Safe for concurrent use.
type Cache struct {
	Account *account.Session // the node's; nil: nothing is charged

	mu      sync.Mutex // guards the rest
	asked   map[key]bool
	zones   map[key]*Zones
	charged int64
}

// key names a column of a chunk by where its values lie: its number in the table may become another one.
type key struct {
	extent descriptor.ExtentID
	offset int64
}

const (
	most      = 4096    // columns of chunks
	zoneBytes = 16      // of a zone
	bytesMost = 4 << 20 // of all zones
	leastRows = 4 * RunRows
)

// Of are the zones of a column of a version's chunk. nil: there are none, because the chunk is small, the column's type
// has none, or they were not asked for before. A chunk that is read once is not worth it.
func (c *Cache) Of(ctx context.Context, from *reader.Reader, v *catalog.TableVersion, number int,
	chunk *catalog.Chunk, column int) (*Zones, error) {
	typ := v.Table().Columns.Field(column).Type
	extents := chunk.Extents()
	buffers := chunk.Descriptor().Columns[column].Buffers
	if chunk.Rows() < leastRows || len(buffers) < 2 || !buffers[1].Present() || valueOf(typ, 0) == (plan.Value{}) {
		return nil, nil
	}
	k := key{extents[buffers[1].Extent-1], buffers[1].Offset}
	if z, known := c.known(k); known {
		return z, nil
	}
	z, err := build(ctx, from, v, number, chunk, column)
	if err == nil && z != nil {
		c.keep(k, z)
	}
	return z, err
}

// known are the zones that are kept; false: they are to be made.
func (c *Cache) known(k key) (*Zones, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if z := c.zones[k]; z != nil {
		return z, true
	}
	if c.asked[k] {
		return nil, false
	}
	if c.asked == nil || len(c.asked) >= most {
		c.asked = map[key]bool{}
	}
	c.asked[k] = true
	return nil, true
}

func (c *Cache) keep(k key, z *Zones) {
	c.mu.Lock()
	defer c.mu.Unlock()
	bytes := int64(len(z.zones)) * zoneBytes
	if len(c.zones) >= most || c.charged+bytes > bytesMost {
		c.forget()
	}
	if c.zones[k] != nil || c.Account != nil && c.Account.Take(account.Facts, bytes) != nil {
		return
	}
	if c.zones == nil {
		c.zones = map[key]*Zones{}
	}
	c.zones[k] = z
	c.charged += bytes
}

// forget requires mu.
func (c *Cache) forget() {
	if c.Account != nil {
		c.Account.Give(account.Facts, c.charged)
	}
	c.zones, c.charged = nil, 0
}

// build reads the column (ZM1).
func build(ctx context.Context, from *reader.Reader, v *catalog.TableVersion, number int, chunk *catalog.Chunk,
	column int) (z *Zones, err error) {
	table := v.Table()
	by := from.Readings(from.Verification())
	batch, err := from.Read(ctx, by, table.Name.String(), number, chunk, []int{column})
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	defer func() { // a lender may have restarted: then anything may be there
		if r := recover(); r != nil {
			cause := fmt.Errorf("%w: a zone: %v", descriptor.ErrData, r)
			node := from.NodeOf(chunk.Descriptor())
			z, err = nil, &reader.DamagedError{Table: table.Name.String(), Chunk: number, Node: node, Cause: cause}
		}
	}()
	zones := zonesOf(batch.Column(0))
	if err := by.Confirm(ctx); err != nil || zones == nil {
		return nil, err
	}
	return &Zones{table.Columns.Field(column).Type, chunk.Rows(), zones}, nil
}

// valueOf is a bound in the logical type's terms, the zero Value for types that have no zones.
func valueOf(t arrow.DataType, v int64) plan.Value {
	switch t := t.(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type,
		*arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type:
		return plan.IntValue(v)
	case *arrow.Date32Type:
		return plan.DateValue(int32(v))
	case *arrow.TimestampType:
		if t.Unit == arrow.Microsecond && t.TimeZone == "" {
			return plan.TimestampValue(v)
		}
	}
	return plan.Value{}
}

// zonesOf is nil for columns that have none.
func zonesOf(a arrow.Array) []zone {
	switch a := a.(type) {
	case *array.Int8:
		return bounds(a, a.Int8Values())
	case *array.Int16:
		return bounds(a, a.Int16Values())
	case *array.Int32:
		return bounds(a, a.Int32Values())
	case *array.Int64:
		return bounds(a, a.Int64Values())
	case *array.Uint8:
		return bounds(a, a.Uint8Values())
	case *array.Uint16:
		return bounds(a, a.Uint16Values())
	case *array.Uint32:
		return bounds(a, a.Uint32Values())
	case *array.Date32:
		return bounds(a, a.Date32Values())
	case *array.Timestamp:
		return bounds(a, a.TimestampValues())
	}
	return nil
}

func bounds[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](a arrow.Array, values []T) []zone {
	zones := make([]zone, 0, (len(values)+RunRows-1)/RunRows)
	nulls := a.NullN() > 0
	for from := 0; from < len(values); from += RunRows {
		run := values[from:min(from+RunRows, len(values))]
		z := zone{math.MaxInt64, math.MinInt64}
		for i, v := range run {
			if nulls && a.IsNull(from+i) {
				continue
			}
			z.min, z.max = min(z.min, int64(v)), max(z.max, int64(v))
		}
		zones = append(zones, z)
	}
	return zones
}
