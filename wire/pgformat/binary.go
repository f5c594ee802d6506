package pgformat

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// binary chooses the binary encoder: oid decides the form, the array where the values come from.
func (c *column) binary(values arrow.Array, oid uint32) (appendFunc, error) {
	switch values := values.(type) {
	case *array.Null:
		return appendNothing, nil
	case *array.Dictionary:
		return c.ofDictionary(values, oid, BinaryFormat)
	case *array.RunEndEncoded:
		return c.ofRunEnd(values, oid, BinaryFormat)
	}
	if _, isArray := ElementOID(oid); isArray {
		if list, ok := values.(array.ListLike); ok {
			return c.binaryOfList(list, oid)
		}
	}
	if encoder := binaryOfNumber(values, oid); encoder != nil {
		return encoder, nil
	}
	if encoder := c.binaryOfTime(values, oid); encoder != nil {
		return encoder, nil
	}
	return c.binaryOfBytes(values, oid)
}

// binaryOfNumber encodes the numeric types and bool; nil when oid or array are of another kind.
func binaryOfNumber(values arrow.Array, oid uint32) appendFunc {
	switch oid {
	case Bool:
		return binaryOfBool(values)
	case Int2:
		if read := intOf(values); read != nil {
			return func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint16(dst, uint16(read(row))) }
		}
	case Int4, OID, XID, Regproc, Regclass, Regtype:
		if values, ok := values.(*array.Int32); ok {
			numbers := values.Int32Values()
			return func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint32(dst, uint32(numbers[row])) }
		}
		if read := intOf(values); read != nil {
			return func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint32(dst, uint32(read(row))) }
		}
	case Int8:
		if values, ok := values.(*array.Int64); ok {
			numbers := values.Int64Values()
			return func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint64(dst, uint64(numbers[row])) }
		}
		if read := intOf(values); read != nil {
			return func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint64(dst, uint64(read(row))) }
		}
	case Float4:
		if read := floatOf(values); read != nil {
			return func(dst []byte, row int) []byte {
				return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(read(row))))
			}
		}
	case Float8:
		if read := floatOf(values); read != nil {
			return func(dst []byte, row int) []byte {
				return binary.BigEndian.AppendUint64(dst, math.Float64bits(read(row)))
			}
		}
	case NumericOID:
		if read, scale := decimalOf(values); read != nil {
			return func(dst []byte, row int) []byte {
				magnitude, negative := read(row)
				return appendNumericBinary(dst, magnitude, negative, scale)
			}
		}
	}
	return nil
}

func binaryOfBool(values arrow.Array) appendFunc {
	var read func(row int) bool
	switch values := values.(type) {
	case *array.Boolean:
		read = values.Value
	case *array.Int8:
		read = func(row int) bool { return values.Value(row) != 0 }
	default:
		return nil
	}
	return func(dst []byte, row int) []byte {
		if read(row) {
			return append(dst, 1)
		}
		return append(dst, 0)
	}
}

// appendNumericBinary writes numeric_send's form: digits in base 10,000, neither first nor last of them zero.
//
//	int16 digits | int16 weight of the first | int16 sign | int16 display scale | int16 digit …
func appendNumericBinary(dst []byte, magnitude wide, negative bool, scale int32) []byte {
	if scale < 0 { // Arrow allows it, PostgreSQL's display scale does not: write the zeros out
		for ; scale < 0 && magnitude != (wide{}); scale++ {
			magnitude.multiply10()
		}
		scale = 0
	}
	if scale <= numericScaleFast && magnitude.fits64() {
		return appendNumericSmall(dst, magnitude[0], negative, scale)
	}
	var room [decimalDigitsMax + len(blankDigits)]byte
	digits := appendMagnitude(room[:0], magnitude)
	whole := len(digits) - int(scale) // digits before the point; ≤ 0 when the number starts behind it
	groupsBefore := (whole + 3) >> 2  // ceil, also for negative numbers
	first := whole - 4*groupsBefore   // ≤ 0: where the first group starts, counted in digits

	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, byte(scale>>8), byte(scale))
	weight, count := groupsBefore-1, 0
	for at := first; at < len(digits); at += 4 {
		group := uint16(0)
		for i := at; i < at+4; i++ {
			group *= 10
			if i >= 0 && i < len(digits) {
				group += uint16(digits[i] - '0')
			}
		}
		if group == 0 && count == 0 {
			weight--
			continue
		}
		dst = append(dst, byte(group>>8), byte(group))
		count++
	}
	for count > 0 && dst[len(dst)-1] == 0 && dst[len(dst)-2] == 0 {
		dst = dst[:len(dst)-2]
		count--
	}
	if count == 0 {
		weight = 0
		negative = false
	}
	binary.BigEndian.PutUint16(dst[start:], uint16(count))
	binary.BigEndian.PutUint16(dst[start+2:], uint16(int16(weight)))
	if negative {
		dst[start+4] = 0x40
	}
	return dst
}

// numericScaleFast is the largest scale whose fraction, filled up to whole groups, fits 64 bits.
const numericScaleFast = 16

// appendNumericSmall is appendNumericBinary for magnitudes of 64 bits: the common case, without text in between.
func appendNumericSmall(dst []byte, magnitude uint64, negative bool, scale int32) []byte {
	unit := powersOf10[scale]
	whole := magnitude / unit
	fractionGroups := int(scale+3) >> 2
	fraction := (magnitude - whole*unit) * powersOf10[4*fractionGroups-int(scale)]

	var groups [9]uint16 // five before the point, four behind it; filled from the back
	first := len(groups) - fractionGroups
	for at := len(groups) - 1; at >= first; at-- {
		groups[at] = uint16(fraction % 10_000)
		fraction /= 10_000
	}
	point := first
	for ; whole > 0; whole /= 10_000 {
		first--
		groups[first] = uint16(whole % 10_000)
	}
	end := len(groups)
	for end > first && groups[end-1] == 0 {
		end--
	}
	for first < end && groups[first] == 0 {
		first++
	}
	weight, sign := int16(point-first-1), byte(0)
	if first == end {
		weight = 0
	} else if negative {
		sign = 0x40
	}
	count := end - first
	dst = append(dst, 0, byte(count), byte(uint16(weight)>>8), byte(weight), sign, 0, 0, byte(scale))
	for _, group := range groups[first:end] {
		dst = append(dst, byte(group>>8), byte(group))
	}
	return dst
}

// multiply10 multiplies in place; what leaves 256 bits is lost, and an Arrow decimal of scale ≥ -76 loses none.
func (w *wide) multiply10() {
	var carry uint64
	for i := range w {
		high, low := bits.Mul64(w[i], 10)
		sum := low + carry
		if sum < low {
			high++
		}
		w[i], carry = sum, high
	}
}

// binaryOfTime encodes dates, times and intervals; nil when oid or array are of another kind.
func (c *column) binaryOfTime(values arrow.Array, oid uint32) appendFunc {
	switch oid {
	case DateOID:
		if read := dateOf(values); read != nil {
			return func(dst []byte, row int) []byte {
				moved, ok := dateTo2000(read(row))
				if !ok {
					c.fail(errDateRange)
				}
				return binary.BigEndian.AppendUint32(dst, uint32(moved))
			}
		}
	case Time:
		if read := timeOfDayOf(values); read != nil {
			return func(dst []byte, row int) []byte {
				if nanosOf(values, row)%1000 != 0 {
					c.fail(errNanoseconds)
				}
				return binary.BigEndian.AppendUint64(dst, uint64(read(row)))
			}
		}
	case TimestampNT, TimestampTZ:
		if values, ok := values.(*array.Timestamp); ok {
			return c.binaryOfTimestamp(values)
		}
	case IntervalOID:
		if read := intervalOf(values); read != nil {
			return func(dst []byte, row int) []byte {
				v := read(row)
				dst = binary.BigEndian.AppendUint64(dst, uint64(v.Microseconds))
				dst = binary.BigEndian.AppendUint32(dst, uint32(v.Days))
				return binary.BigEndian.AppendUint32(dst, uint32(v.Months))
			}
		}
	}
	return nil
}

var errDateRange = &ValueError{State: "22008", Message: "date out of range", Help: "Ask for results in text format, or CAST it to VARCHAR."}

// dateTo2000 moves to PostgreSQL's epoch; ok is false for what does not fit there.
func dateTo2000(date Date) (days int32, ok bool) {
	switch {
	case date == DateInfinity:
		return math.MaxInt32, true
	case date <= DateNegativeInfinity+1: // DuckDB's is -MaxInt32
		return math.MinInt32, true
	case date <= DateNegativeInfinity+daysTo2000:
		return 0, false
	}
	return int32(date) - daysTo2000, true
}

var errNanoseconds = &ValueError{
	State: "0A000", Message: "a time with nanoseconds has no binary format", Help: "Ask for results in text format, or CAST it to TIMESTAMP, TIME or VARCHAR.",
}

func (c *column) binaryOfTimestamp(values *array.Timestamp) appendFunc {
	points, unit := values.TimestampValues(), values.DataType().(*arrow.TimestampType).Unit
	return func(dst []byte, row int) []byte {
		t, ok := toTimestamp(int64(points[row]), unit)
		switch {
		case !ok || !t.isInfinite() && t < TimestampNegativeInfinity+microsTo2000:
			c.fail(errTimeRange)
		case t == TimestampInfinity:
		case t.isInfinite():
			t = TimestampNegativeInfinity
		case unit == arrow.Nanosecond && points[row]%1000 != 0:
			c.fail(errNanoseconds)
		default:
			t -= microsTo2000
		}
		return binary.BigEndian.AppendUint64(dst, uint64(t))
	}
}

// binaryOfBytes encodes the types whose binary form is bytes or text.
func (c *column) binaryOfBytes(values arrow.Array, oid uint32) (appendFunc, error) {
	value := bytesOf(values)
	switch oid {
	case Bytea:
		if value != nil {
			return func(dst []byte, row int) []byte { return append(dst, value(row)...) }, nil
		}
		if encoder := textOfStrings(values); encoder != nil {
			return encoder, nil
		}
		return nil, unsupported(values, oid, BinaryFormat)
	case UUIDOID:
		return c.binaryOfUUID(values, value)
	case JSONB:
		text, err := c.text(values, oid)
		return func(dst []byte, row int) []byte { return text(append(dst, 1), row) }, err
	}
	if !isTextLike(oid) {
		return nil, unsupported(values, oid, BinaryFormat)
	}
	return c.text(values, oid)
}

// isTextLike reports whether a type's binary form is its text.
func isTextLike(oid uint32) bool {
	switch oid {
	case Text, Varchar, BPChar, Name, QChar, JSON, Unknown:
		return true
	}
	return isUsers(oid)
}

func (c *column) binaryOfUUID(values arrow.Array, value func(row int) []byte) (appendFunc, error) {
	if value != nil {
		return func(dst []byte, row int) []byte {
			if bytes := value(row); len(bytes) == 16 {
				return append(dst, bytes...)
			}
			c.fail(&ValueError{State: "22P03", Message: "a uuid has 16 bytes"})
			return dst
		}, nil
	}
	text := textOfStrings(values)
	if text == nil {
		return nil, unsupported(values, UUIDOID, BinaryFormat)
	}
	return func(dst []byte, row int) []byte {
		start := len(dst)
		dst = text(dst, row)
		id, err := parseUUID(string(dst[start:]))
		if err != nil {
			c.fail(err)
		}
		return append(dst[:start], id[:]...)
	}, nil
}
