package order

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// cells are the values of one column, as they compare (OD2). Either code or text is there.
type cells struct {
	array arrow.Array
	nulls bool
	code  func(i int) uint64
	text  func(i int) []byte
	value func(i int) plan.Value // nil: the planner does not compare such values
}

// CanOrder reports whether rows can be sorted by a column of this type.
func CanOrder(t arrow.DataType) bool {
	switch enumeration.Stored(t).ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32,
		arrow.UINT64, arrow.FLOAT32, arrow.FLOAT64, arrow.DATE32, arrow.TIME64, arrow.TIMESTAMP, arrow.DECIMAL32,
		arrow.DECIMAL64, arrow.DECIMAL128, arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW, arrow.BINARY,
		arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

// texts are arrays of strings or bytes.
type texts interface {
	arrow.Array
	Value(i int) string
}

func cellsOf(a arrow.Array) (c cells, ok bool) {
	c = cells{array: a, nulls: a.NullN() > 0}
	switch a := a.(type) {
	case *array.Boolean:
		c.code = func(i int) uint64 {
			if a.Value(i) {
				return 1
			}
			return 0
		}
		c.value = func(i int) plan.Value { return plan.BoolValue(a.Value(i)) }
	case *array.Int8:
		c.integers(signed(a.Int8Values()))
	case *array.Int16:
		c.integers(signed(a.Int16Values()))
	case *array.Int32:
		c.integers(signed(a.Int32Values()))
	case *array.Int64:
		c.integers(signed(a.Int64Values()))
	case *array.Uint8:
		c.integers(signed(a.Uint8Values()))
	case *array.Uint16:
		c.integers(signed(a.Uint16Values()))
	case *array.Uint32:
		c.integers(signed(a.Uint32Values()))
	case *array.Uint64:
		values := a.Uint64Values()
		c.code = func(i int) uint64 { return values[i] }
		c.value = func(i int) plan.Value { return plan.UintValue(values[i]) }
	case *array.Float32:
		values := a.Float32Values()
		c.floats(func(i int) float64 { return float64(values[i]) })
	case *array.Float64:
		values := a.Float64Values()
		c.floats(func(i int) float64 { return values[i] })
	case *array.Date32:
		of := signed(a.Date32Values())
		c.signed(of)
		c.value = func(i int) plan.Value { return plan.DateValue(int32(of(i))) }
	case *array.Time64:
		c.signed(signed(a.Time64Values()))
	case *array.Timestamp:
		of := signed(a.TimestampValues())
		c.signed(of)
		if t := a.DataType().(*arrow.TimestampType); t.Unit == arrow.Microsecond && t.TimeZone == "" {
			c.value = func(i int) plan.Value { return plan.TimestampValue(of(i)) }
		}
	case *array.Decimal32:
		scale := a.DataType().(*arrow.Decimal32Type).Scale
		c.decimals(func(i int) int64 { return int64(a.Value(i)) }, scale)
	case *array.Decimal64:
		scale := a.DataType().(*arrow.Decimal64Type).Scale
		c.decimals(func(i int) int64 { return int64(a.Value(i)) }, scale)
	case *array.Decimal128:
		c.decimals128(a)
	case *array.Dictionary:
		return c.dictionary(a)
	default:
		return c.bytes(a)
	}
	return c, true
}

func signed[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](values []T) func(i int) int64 {
	return func(i int) int64 { return int64(values[i]) }
}

func (c *cells) signed(of func(i int) int64) {
	c.code = func(i int) uint64 { return uint64(of(i)) ^ 1<<63 }
}

func (c *cells) integers(of func(i int) int64) {
	c.signed(of)
	c.value = func(i int) plan.Value { return plan.IntValue(of(i)) }
}

func (c *cells) decimals(of func(i int) int64, scale int32) {
	c.signed(of)
	c.value = func(i int) plan.Value { return plan.DecimalValue(decimal128.FromI64(of(i)), scale) }
}

// decimals128 have bytes that compare as they do.
func (c *cells) decimals128(a *array.Decimal128) {
	scale := a.DataType().(*arrow.Decimal128Type).Scale
	c.text = func(i int) []byte {
		v := a.Value(i)
		var b [16]byte
		binary.BigEndian.PutUint64(b[:8], uint64(v.HighBits())^1<<63)
		binary.BigEndian.PutUint64(b[8:], v.LowBits())
		return b[:]
	}
	c.value = func(i int) plan.Value { return plan.DecimalValue(a.Value(i), scale) }
}

// floats: 0 and -0 are equal, and so are all NaN, which are above the others.
func (c *cells) floats(of func(i int) float64) {
	c.code = func(i int) uint64 {
		v := of(i)
		switch {
		case math.IsNaN(v):
			return math.MaxUint64
		case v == 0:
			return 1 << 63
		}
		bits := math.Float64bits(v)
		if bits>>63 == 1 {
			return ^bits
		}
		return bits | 1<<63
	}
	c.value = func(i int) plan.Value { return plan.DoubleValue(of(i)) }
}

func (c cells) dictionary(a *array.Dictionary) (cells, bool) {
	words, ok := cellsOf(a.Dictionary())
	if !ok || words.text == nil || words.nulls {
		return cells{}, false
	}
	c.text = func(i int) []byte { return words.text(a.GetValueIndex(i)) }
	if words.value != nil {
		c.value = func(i int) plan.Value { return words.value(a.GetValueIndex(i)) }
	}
	return c, true
}

const uuidBytes = 16

// bytes are those of strings, which the planner compares, and of others.
func (c cells) bytes(a arrow.Array) (cells, bool) {
	if a, ok := a.(texts); ok {
		c.text = func(i int) []byte { return []byte(a.Value(i)) }
		c.value = func(i int) plan.Value { return plan.TextValue(a.Value(i)) }
		return c, true
	}
	if a, ok := a.(interface{ Value(i int) []byte }); ok {
		c.text = a.Value
		if t, ok := c.array.DataType().(*arrow.FixedSizeBinaryType); ok && t.ByteWidth == uuidBytes {
			c.value = func(i int) plan.Value { return plan.UUIDValue(a.Value(i)) }
		}
		return c, true
	}
	return cells{}, false
}

func (c *cells) null(i int) bool { return c.nulls && c.array.IsNull(i) }

// compare orders two cells of columns of one type.
func (c *cells) compare(i int, other *cells, j int) int {
	switch a, b := c.null(i), other.null(j); {
	case a && b:
		return 0
	case a:
		return 1
	case b:
		return -1
	}
	if c.code != nil {
		return cmp.Compare(c.code(i), other.code(j))
	}
	return bytes.Compare(c.text(i), other.text(j))
}

// columns of some rows.
type columns []cells

// columnsOf is nil if rows cannot be compared by one of them.
func columnsOf(arrays []arrow.Array) columns {
	list := make(columns, len(arrays))
	for k, a := range arrays {
		c, ok := cellsOf(a)
		if !ok {
			return nil
		}
		list[k] = c
	}
	return list
}

func (c columns) compare(i int, other columns, j int) int {
	for k := range c {
		if order := c[k].compare(i, &other[k], j); order != 0 {
			return order
		}
	}
	return 0
}
