package pgformat

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// text chooses the text encoder of an array. oid decides only where the layout leaves a choice.
func (c *column) text(values arrow.Array, oid uint32) (appendFunc, error) {
	if encoder := textOfNumber(values, oid); encoder != nil {
		return encoder, nil
	}
	if encoder := c.textOfTime(values); encoder != nil {
		return encoder, nil
	}
	if encoder := textOfStrings(values); encoder != nil {
		return encoder, nil
	}
	if value := bytesOf(values); value != nil {
		return textOfBytes(value, oid), nil
	}
	switch values := values.(type) {
	case *array.Null:
		return appendNothing, nil
	case *array.Dictionary:
		return c.textOfDictionary(values, oid)
	case *array.RunEndEncoded:
		return c.ofRunEnd(values, oid, TextFormat)
	}
	if oid != JSON && oid != JSONB {
		if list, ok := values.(array.ListLike); ok {
			return c.textOfList(list, oid)
		}
	}
	return c.json(values, typeOfData(values.DataType()).OID)
}

func appendNothing(dst []byte, _ int) []byte { return dst }

// textOfNumber encodes numbers and booleans; nil for all else.
func textOfNumber(values arrow.Array, oid uint32) appendFunc {
	switch values := values.(type) {
	case *array.Boolean:
		return func(dst []byte, row int) []byte { return appendBool(dst, values.Value(row)) }
	case *array.Int8:
		if oid == Bool { // the arrow.bool8 extension
			bytes := values.Int8Values()
			return func(dst []byte, row int) []byte { return appendBool(dst, bytes[row] != 0) }
		}
		return textOfInts(values.Int8Values())
	case *array.Int16:
		return textOfInts(values.Int16Values())
	case *array.Int32:
		return textOfInts(values.Int32Values())
	case *array.Int64:
		return textOfInts(values.Int64Values())
	case *array.Uint8:
		return textOfInts(values.Uint8Values())
	case *array.Uint16:
		return textOfInts(values.Uint16Values())
	case *array.Uint32:
		return textOfInts(values.Uint32Values())
	case *array.Uint64:
		numbers := values.Uint64Values()
		return func(dst []byte, row int) []byte { return appendUint(dst, numbers[row]) }
	case *array.Float16:
		return func(dst []byte, row int) []byte { return appendFloat4(dst, values.Value(row).Float32()) }
	case *array.Float32:
		numbers := values.Float32Values()
		return func(dst []byte, row int) []byte { return appendFloat4(dst, numbers[row]) }
	case *array.Float64:
		numbers := values.Float64Values()
		return func(dst []byte, row int) []byte { return appendFloat8(dst, numbers[row]) }
	}
	return textOfDecimal(values)
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 't')
	}
	return append(dst, 'f')
}

func textOfInts[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](numbers []T) appendFunc {
	return func(dst []byte, row int) []byte { return appendInt(dst, int64(numbers[row])) }
}

// textOfDecimal encodes decimals of all widths; nil for all else.
func textOfDecimal(values arrow.Array) appendFunc {
	data, ok := values.DataType().(arrow.DecimalType)
	if !ok {
		return nil
	}
	scale := data.GetScale()
	switch values := values.(type) {
	case *array.Decimal32:
		numbers := values.Values()
		return func(dst []byte, row int) []byte { return appendDecimal64(dst, int64(numbers[row]), scale) }
	case *array.Decimal64:
		numbers := values.Values()
		return func(dst []byte, row int) []byte { return appendDecimal64(dst, int64(numbers[row]), scale) }
	case *array.Decimal128:
		numbers := values.Values()
		return func(dst []byte, row int) []byte {
			high, low := numbers[row].HighBits(), numbers[row].LowBits()
			if high == int64(low)>>63 { // fits 64 bits: the common case
				return appendDecimal64(dst, int64(low), scale)
			}
			magnitude, negative := wideOf128(high, low)
			return appendDecimal(dst, magnitude, negative, scale)
		}
	case *array.Decimal256:
		numbers := values.Values()
		return func(dst []byte, row int) []byte {
			magnitude, negative := wideOf(numbers[row].Array())
			return appendDecimal(dst, magnitude, negative, scale)
		}
	}
	return nil
}

// bytesOf returns the accessor of binaries, nil for all else. The bytes belong to the array.
func bytesOf(values arrow.Array) func(row int) []byte {
	switch values := values.(type) {
	case *array.Binary:
		return values.Value
	case *array.LargeBinary:
		return values.Value
	case *array.BinaryView:
		return values.Value
	case *array.FixedSizeBinary:
		return values.Value
	}
	return nil
}

// textOfBytes encodes bytea in hex, UUIDs with dashes, and bytes that are shown as another type as they are.
func textOfBytes(value func(row int) []byte, oid uint32) appendFunc {
	switch oid {
	case UUIDOID:
		return func(dst []byte, row int) []byte {
			if bytes := value(row); len(bytes) == 16 {
				return appendUUID(dst, UUID(bytes))
			}
			return appendHex(dst, value(row))
		}
	case Bytea:
		return func(dst []byte, row int) []byte { return appendHex(append(dst, '\\', 'x'), value(row)) }
	}
	return func(dst []byte, row int) []byte { return append(dst, value(row)...) }
}

// textOfStrings encodes strings; nil for all else.
func textOfStrings(values arrow.Array) appendFunc {
	switch values := values.(type) {
	case *array.String:
		return func(dst []byte, row int) []byte { return append(dst, values.Value(row)...) }
	case *array.LargeString:
		return func(dst []byte, row int) []byte { return append(dst, values.Value(row)...) }
	case *array.StringView:
		return func(dst []byte, row int) []byte { return append(dst, values.Value(row)...) }
	}
	return nil
}

const hexDigits = "0123456789abcdef"

func appendHex(dst, bytes []byte) []byte {
	for _, b := range bytes {
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}

func appendUUID(dst []byte, id UUID) []byte {
	dst = append(appendHex(dst, id[0:4]), '-')
	dst = append(appendHex(dst, id[4:6]), '-')
	dst = append(appendHex(dst, id[6:8]), '-')
	dst = append(appendHex(dst, id[8:10]), '-')
	return appendHex(dst, id[10:16])
}

// errTimeRange says that a point in time cannot be counted in microseconds.
var errTimeRange = &ValueError{State: "22008", Message: "timestamp out of range"}

// textOfTime encodes dates, times and intervals; nil for all else.
func (c *column) textOfTime(values arrow.Array) appendFunc {
	if date := dateOf(values); date != nil {
		return func(dst []byte, row int) []byte { return appendDate(dst, date(row)) }
	}
	if clock := timeOfDayOf(values); clock != nil {
		return func(dst []byte, row int) []byte {
			micros := clock(row)
			if micros < 0 || micros > microsPerDay {
				c.fail(&ValueError{State: "22008", Message: "time out of range"})
				return dst
			}
			if nanos := nanosOf(values, row); nanos%1000 != 0 {
				dst = append(appendClock(dst, micros-micros%microsPerSecond), '.')
				return bytes.TrimRight(appendDigits(dst, uint64(nanos%1_000_000_000), 9), "0")
			}
			return appendClock(dst, micros)
		}
	}
	if interval := intervalOf(values); interval != nil {
		return func(dst []byte, row int) []byte { return appendInterval(dst, interval(row)) }
	}
	if values, ok := values.(*array.Timestamp); ok {
		return c.textOfTimestamp(values)
	}
	return nil
}

func (c *column) textOfTimestamp(values *array.Timestamp) appendFunc {
	data := values.DataType().(*arrow.TimestampType)
	points, withZone := values.TimestampValues(), data.TimeZone != ""
	if data.Unit == arrow.Microsecond { // the common case: infinities are the caches' business
		if withZone {
			return func(dst []byte, row int) []byte { return c.instants.appendInstant(dst, Timestamp(points[row])) }
		}
		return func(dst []byte, row int) []byte { return c.days.appendTimestamp(dst, Timestamp(points[row])) }
	}
	return func(dst []byte, row int) []byte {
		t, ok := toTimestamp(int64(points[row]), data.Unit)
		if !ok {
			c.fail(errTimeRange)
			return dst
		}
		if withZone {
			return c.instants.appendInstant(dst, t)
		}
		if data.Unit == arrow.Nanosecond && !t.isInfinite() && points[row]%1000 != 0 {
			return c.days.appendNanoseconds(dst, int64(points[row]))
		}
		return c.days.appendTimestamp(dst, t)
	}
}

// ofRunEnd encodes run-end encoded arrays by way of their values.
func (c *column) ofRunEnd(values *array.RunEndEncoded, oid uint32, format Format) (appendFunc, error) {
	inner := c.child()
	if err := inner.bind(values.Values(), oid, format); err != nil {
		return nil, err
	}
	return func(dst []byte, row int) []byte { return inner.append(dst, values.GetPhysicalIndex(row)) }, nil
}

// child makes a column for values inside of this one's.
func (c *column) child() *column {
	child := &column{failure: c.failure}
	child.instants.zone = c.instants.zone
	return child
}

// ValueError is a value that a PostgreSQL type cannot hold.
type ValueError struct {
	State   string // SQLSTATE
	Message string
	Help    string
}

func (e *ValueError) Error() string { return e.Message }

// SQLState returns the SQLSTATE.
func (e *ValueError) SQLState() string { return e.State }

// Hint says what to do about it; it may be empty.
func (e *ValueError) Hint() string { return e.Help }

var (
	errNoBatch  = errors.New("no batch is bound")
	errColumns  = errors.New("batch has another number of columns than announced")
	errRowLimit = &ValueError{State: "54000", Message: fmt.Sprintf("row is larger than %d bytes", rowBytesMax)}
)
