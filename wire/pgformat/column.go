package pgformat

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Format is how a value travels: the protocol's format codes.
type Format int16

// The two format codes of the protocol.
const (
	TextFormat   Format = 0
	BinaryFormat Format = 1
)

// appendFunc appends the value of one row, which is not null. It is chosen once per batch, so that no type is looked at
// inside the loop over the rows (PF2).
type appendFunc func(dst []byte, row int) []byte

// column encodes one column of the bound batch.
type column struct {
	append appendFunc
	// validity is the batch's null bitmap, nil when nothing is null; bit firstBit+row is row's.
	validity []byte
	firstBit int
	// isNull replaces validity for layouts without a bitmap of their own (dictionary, union, run-end).
	isNull func(row int) bool
	// plain says that texts consist of digits, letters, '+', '-', '.', ':' and single spaces at most: nothing to quote
	// or escape.
	plain bool

	// State that outlives a batch.
	instants   zoneCache
	days       dayCache
	dictionary dictionaryCache
	failure    *error // first error of any column; owned by Columns
}

func (c *column) null(row int) bool {
	if c.validity != nil {
		bit := c.firstBit + row
		return c.validity[bit>>3]&(1<<(bit&7)) == 0
	}
	return c.isNull != nil && c.isNull(row)
}

// fail remembers the first error; encoders return whatever they have and the row is dropped.
func (c *column) fail(err error) {
	if *c.failure == nil {
		*c.failure = err
	}
}

// bind points the column at a batch's array.
func (c *column) bind(values arrow.Array, oid uint32, format Format) (err error) {
	values = storage(values)
	c.bindNulls(values)
	if format == BinaryFormat {
		c.plain = false
		c.append, err = c.binary(values, oid)
		return err
	}
	c.plain = isPlain(values.DataType())
	c.append, err = c.text(values, oid)
	return err
}

func (c *column) bindNulls(values arrow.Array) {
	c.validity, c.firstBit, c.isNull = nil, 0, nil
	switch values.DataType().ID() {
	case arrow.NULL:
		c.isNull = func(int) bool { return true }
	case arrow.DICTIONARY, arrow.SPARSE_UNION, arrow.DENSE_UNION, arrow.RUN_END_ENCODED:
		c.isNull = logicalNull(values)
	default:
		if values.NullN() != 0 && len(values.NullBitmapBytes()) > 0 {
			c.validity, c.firstBit = values.NullBitmapBytes(), values.Data().Offset()
		}
	}
}

// logicalNull reports whether a row is null where the answer lies in a child; nil when no row is.
func logicalNull(values arrow.Array) func(row int) bool {
	switch values := values.(type) {
	case *array.Dictionary:
		if values.Dictionary().NullN() == 0 {
			if values.NullN() == 0 {
				return nil
			}
			return values.IsNull
		}
		return func(row int) bool {
			return values.IsNull(row) || values.Dictionary().IsNull(values.GetValueIndex(row))
		}
	case array.Union:
		return func(row int) bool {
			child, at := unionChild(values, row)
			return nullAt(child, at)
		}
	case *array.RunEndEncoded:
		return func(row int) bool { return nullAt(values.Values(), values.GetPhysicalIndex(row)) }
	}
	return values.IsNull
}

// nullAt is IsNull for any layout.
func nullAt(values arrow.Array, row int) bool {
	values = storage(values)
	switch values.DataType().ID() {
	case arrow.NULL:
		return true
	case arrow.DICTIONARY, arrow.SPARSE_UNION, arrow.DENSE_UNION, arrow.RUN_END_ENCODED:
		null := logicalNull(values)
		return null != nil && null(row)
	}
	return values.IsNull(row)
}

// unionChild finds the array and the position in it that hold a union's row.
func unionChild(values array.Union, row int) (child arrow.Array, at int) {
	child = values.Field(values.ChildID(row))
	if dense, ok := values.(*array.DenseUnion); ok {
		return child, int(dense.ValueOffset(row))
	}
	return child, row
}

// storage strips extension types; their meaning is in the OID already.
func storage(values arrow.Array) arrow.Array {
	for {
		extension, ok := values.(array.ExtensionArray)
		if !ok {
			return values
		}
		values = extension.Storage()
	}
}

// isPlain reports whether a type never prints a character that COPY or an array would have to quote or escape.
func isPlain(data arrow.DataType) bool {
	switch id := data.ID(); id {
	case arrow.BOOL, arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.DECIMAL32, arrow.DECIMAL64,
		arrow.DECIMAL128, arrow.DECIMAL256, arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.TIMESTAMP:
		return true
	default:
		return arrow.IsInteger(id)
	}
}

// unsupported is an error of the program, not of the user: the schema promised a type that the batch does not hold.
func unsupported(values arrow.Array, oid uint32, format Format) error {
	name := "text"
	if format == BinaryFormat {
		name = "binary"
	}
	return fmt.Errorf("cannot send Arrow %s as type %d in %s format", values.DataType(), oid, name)
}

// toMicros converts a count of units to microseconds, downwards; ok is false when it does not fit.
func toMicros(value int64, unit arrow.TimeUnit) (micros int64, ok bool) {
	factor := int64(1)
	switch unit {
	case arrow.Second:
		factor = 1_000_000
	case arrow.Millisecond:
		factor = 1_000
	case arrow.Nanosecond:
		return floorDiv(value, 1000), true
	}
	if value > math.MaxInt64/factor || value < math.MinInt64/factor {
		return 0, false
	}
	return value * factor, true
}

// toTimestamp is toMicros for points in time: a unit's largest and smallest values are its infinities.
func toTimestamp(value int64, unit arrow.TimeUnit) (t Timestamp, ok bool) {
	switch {
	case value == math.MaxInt64:
		return TimestampInfinity, true
	case value <= math.MinInt64+1:
		return TimestampNegativeInfinity, true
	}
	micros, ok := toMicros(value, unit)
	return Timestamp(micros), ok
}
