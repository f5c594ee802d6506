package textblock

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// cells are the texts of one column of a block.
type cells struct {
	text   []byte
	fields []int32 // of all columns, from this one's first on
	stride int     // between the fields of two rows
	rows   int
}

// at is a row's text; nil: NULL.
func (c *cells) at(row int) []byte {
	from, to := c.fields[row*c.stride], c.fields[row*c.stride+1]
	if from < 0 {
		return nil
	}
	return c.text[from:to:to]
}

// converter makes an array of a column's texts; nil: not all of them are plain. Arrays lie outside of Go's heap.
type converter func(c *cells) arrow.Array

// converterOf is nil for types of which no text is plain, and for those that are only stored as another one: JSON as
// text, HUGEINT as a decimal.
func converterOf(f arrow.Field) converter {
	name, err := columntype.SQL(f)
	if stored, failed := columntype.SQL(arrow.Field{Type: f.Type}); err != nil || failed != nil || name != stored {
		return nil
	}
	switch t := f.Type.(type) {
	case *arrow.StringType:
		return texts
	case *arrow.BooleanType:
		return booleans
	case *arrow.Date32Type:
		return fixed(t, arrow.Date32Traits.CastFromBytes, date)
	case *arrow.TimestampType:
		switch {
		case name == "TIMESTAMP":
			return fixed(t, arrow.TimestampTraits.CastFromBytes, timestamp)
		case t.TimeZone != "" && t.Unit == arrow.Microsecond:
			return fixed(t, arrow.TimestampTraits.CastFromBytes, moment)
		}
	case *arrow.Int8Type:
		return fixed(t, arrow.Int8Traits.CastFromBytes, integer[int8])
	case *arrow.Int16Type:
		return fixed(t, arrow.Int16Traits.CastFromBytes, integer[int16])
	case *arrow.Int32Type:
		return fixed(t, arrow.Int32Traits.CastFromBytes, integer[int32])
	case *arrow.Int64Type:
		return fixed(t, arrow.Int64Traits.CastFromBytes, integer[int64])
	case *arrow.Float32Type:
		return fixed(t, arrow.Float32Traits.CastFromBytes, single)
	case *arrow.Float64Type:
		return fixed(t, arrow.Float64Traits.CastFromBytes, double)
	case *arrow.Decimal64Type:
		whole, scale := t.Precision-t.Scale, t.Scale
		return fixed(t, arrow.Int64Traits.CastFromBytes, func(text []byte) (int64, bool) {
			return decimal(text, whole, scale)
		})
	case *arrow.Decimal128Type:
		whole, scale := t.Precision-t.Scale, t.Scale
		return fixed(t, arrow.Decimal128Traits.CastFromBytes, func(text []byte) (decimal128.Num, bool) {
			value, plain := decimal(text, whole, scale)
			return decimal128.FromI64(value), plain
		})
	}
	return nil
}

// validity is which rows are no NULL, from the first NULL on.
type validity struct {
	rows, nulls int
	bits        *memory.Buffer // nil: no NULL so far
}

func (v *validity) null(row int) {
	if v.bits == nil {
		v.bits = memory.NewResizableBuffer(duckdb.Outside)
		v.bits.Resize(int(bitutil.BytesForBits(int64(v.rows))))
		memory.Set(v.bits.Bytes(), 0xFF)
	}
	bitutil.ClearBit(v.bits.Bytes(), row)
	v.nulls++
}

func (v *validity) release() {
	if v.bits != nil {
		v.bits.Release()
	}
}

// made is an array of the buffers behind the validity.
func (v *validity) made(t arrow.DataType, buffers ...*memory.Buffer) arrow.Array {
	d := array.NewData(t, v.rows, append([]*memory.Buffer{v.bits}, buffers...), nil, v.nulls, 0)
	defer d.Release()
	return array.MakeFromData(d)
}

// fixed converts to a type whose values lie one behind the other.
func fixed[T any](t arrow.FixedWidthDataType, values func([]byte) []T, read func(text []byte) (T, bool)) converter {
	return func(c *cells) arrow.Array {
		buffer := memory.NewResizableBuffer(duckdb.Outside)
		defer buffer.Release()
		buffer.Resize(c.rows * t.BitWidth() / 8)
		to, valid := values(buffer.Bytes()), validity{rows: c.rows}
		defer valid.release()
		for row := range to {
			text := c.at(row)
			if text == nil {
				var zero T
				to[row] = zero
				valid.null(row)
				continue
			}
			value, plain := read(text)
			if !plain {
				return nil
			}
			to[row] = value
		}
		return valid.made(t, buffer)
	}
}

func booleans(c *cells) arrow.Array {
	buffer := memory.NewResizableBuffer(duckdb.Outside)
	defer buffer.Release()
	buffer.Resize(int(bitutil.BytesForBits(int64(c.rows))))
	bits, valid := buffer.Bytes(), validity{rows: c.rows}
	defer valid.release()
	clear(bits)
	for row := range c.rows {
		text := c.at(row)
		if text == nil {
			valid.null(row)
			continue
		}
		switch string(text) {
		case "t", "true":
			bitutil.SetBit(bits, row)
		case "f", "false":
		default:
			return nil
		}
	}
	return valid.made(arrow.FixedWidthTypes.Boolean, buffer)
}

// texts are all plain; whether they are text at all is for their reader to say.
func texts(c *cells) arrow.Array { return textsOf(c, nil) }

// textsOf are the texts, with what instead has in the place of some; nil: they are too long for one array.
func textsOf(c *cells, instead [][]byte) arrow.Array {
	at := c.at
	if instead != nil {
		at = func(row int) []byte {
			if text := instead[row]; text != nil {
				return text
			}
			return c.at(row)
		}
	}
	size := 0
	for row := range c.rows {
		size += len(at(row))
	}
	if size > math.MaxInt32 {
		return nil
	}
	offsets, data := memory.NewResizableBuffer(duckdb.Outside), memory.NewResizableBuffer(duckdb.Outside)
	defer offsets.Release()
	defer data.Release()
	offsets.Resize(4 * (c.rows + 1))
	data.Resize(size)
	ends, into, valid := arrow.Int32Traits.CastFromBytes(offsets.Bytes()), data.Bytes(), validity{rows: c.rows}
	defer valid.release()
	end := 0
	ends[0] = 0
	for row := range c.rows {
		text := at(row)
		if text == nil {
			valid.null(row)
		}
		end += copy(into[end:], text)
		ends[row+1] = int32(end)
	}
	return valid.made(arrow.BinaryTypes.String, offsets, data)
}

// digitsMost is how many digits always fit into 64 bits.
const digitsMost = 18

// number reads digits alone.
func number(text []byte) (value int64, plain bool) {
	if len(text) == 0 || len(text) > digitsMost {
		return 0, false
	}
	for _, b := range text {
		digit := b - '0'
		if digit > 9 {
			return 0, false
		}
		value = 10*value + int64(digit)
	}
	return value, true
}

// sign takes the sign off a number.
func sign(text []byte) (rest []byte, negative bool) {
	if len(text) > 0 && text[0] == '-' {
		return text[1:], true
	}
	return text, false
}

func integer[T int8 | int16 | int32 | int64](text []byte) (T, bool) {
	digits, negative := sign(text)
	value, plain := number(digits)
	if negative {
		value = -value
	}
	return T(value), plain && int64(T(value)) == value
}

// decimal reads a number of so many digits before the point and behind it at most, as a whole number of the last ones.
func decimal(text []byte, whole, scale int32) (int64, bool) {
	digits, negative := sign(text)
	point := 0
	value := int64(0)
	for point < len(digits) && digits[point]-'0' <= 9 {
		point++
	}
	fraction := len(digits) - point - 1 // -1: there is no point
	if point == 0 || point > 1 && digits[0] == '0' || point > int(whole) && !(point == 1 && digits[0] == '0') ||
		fraction == 0 || fraction > int(scale) || point+int(scale) > digitsMost {
		return 0, false
	}
	for _, b := range digits[:point] {
		value = 10*value + int64(b-'0')
	}
	if fraction > 0 {
		if digits[point] != '.' {
			return 0, false
		}
		for _, b := range digits[point+1:] {
			digit := b - '0'
			if digit > 9 {
				return 0, false
			}
			value = 10*value + int64(digit)
		}
	}
	for range int(scale) - max(fraction, 0) {
		value *= 10
	}
	if negative {
		value = -value
	}
	return value, true
}

func single(text []byte) (float32, bool) {
	value, plain := float(text, 32)
	return float32(value), plain
}

func double(text []byte) (float64, bool) { return float(text, 64) }

// floatMost is how many characters a plain number with a point has at most: DuckDB rounds all of them as Go does, but
// there are hardly any longer ones.
const floatMost = 32

func float(text []byte, bits int) (float64, bool) {
	digits, _ := sign(text)
	if len(digits) == 0 || len(digits) > floatMost || digits[0]-'0' > 9 || digits[len(digits)-1]-'0' > 9 {
		return 0, false
	}
	points, exponent, zero := 0, 0, true
	for i, b := range digits {
		switch {
		case b-'0' <= 9:
			zero = zero && (b == '0' || exponent > 0)
		case b == '.' && points == 0 && exponent == 0:
			points++
		case (b == 'e' || b == 'E') && exponent == 0 && digits[i-1]-'0' <= 9:
			exponent = i
		case (b == '-' || b == '+') && exponent > 0 && i == exponent+1:
		default:
			return 0, false
		}
	}
	value, err := strconv.ParseFloat(string(text), bits)
	return value, err == nil && (value != 0 || zero) // what is too small is no zero
}

const secondsPerDay = 24 * 60 * 60

// date reads 2020-01-31. The years of four digits are those of which DuckDB and PostgreSQL write no era.
func date(text []byte) (arrow.Date32, bool) {
	if len(text) != len(time.DateOnly) || text[4] != '-' || text[7] != '-' {
		return 0, false
	}
	year, plain := number(text[:4])
	month, ofMonth := number(text[5:7])
	day, ofDay := number(text[8:])
	if !plain || !ofMonth || !ofDay || year < 1 || month < 1 || month > 12 || day < 1 || day > daysOf(year, month) {
		return 0, false
	}
	return arrow.Date32(daysSince1970(year, month, day)), true
}

func daysOf(year, month int64) int64 {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return int64([...]int8{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1])
}

// daysSince1970 counts years from March on, so that the day of a leap year is their last one.
func daysSince1970(year, month, day int64) int64 {
	const daysTo1970 = 719468 // from March 1st of the year 0
	if month > 2 {
		month -= 3
	} else {
		month += 9
		year--
	}
	return 365*year + year/4 - year/100 + year/400 + (153*month+2)/5 + day - 1 - daysTo1970
}

// timestamp reads 2020-01-31 10:20:30, with up to six digits behind the seconds.
func timestamp(text []byte) (arrow.Timestamp, bool) {
	const seconds = len(time.DateTime)
	if len(text) < seconds || text[10] != ' ' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	days, plain := date(text[:10])
	hour, ofHour := number(text[11:13])
	minute, ofMinute := number(text[14:16])
	second, ofSecond := number(text[17:seconds])
	if !plain || !ofHour || !ofMinute || !ofSecond || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	micros := int64(0)
	if behind := text[seconds:]; len(behind) > 0 {
		if micros, plain = number(behind[1:]); behind[0] != '.' || !plain || len(behind) > len(".123456") {
			return 0, false
		}
		for range len(".123456") - len(behind) {
			micros *= 10
		}
	}
	return arrow.Timestamp((int64(days)*secondsPerDay+hour*3600+minute*60+second)*1_000_000 + micros), true
}

// moment reads 2020-01-31 10:20:30+01, also with minutes: a timestamp with the offset of its time zone.
func moment(text []byte) (arrow.Timestamp, bool) {
	at := bytes.LastIndexAny(text, "+-")
	if at < len(time.DateTime) {
		return 0, false
	}
	zone, minute, ofMinute := text[at+1:], int64(0), true
	if len(zone) == len("01:30") && zone[2] == ':' {
		minute, ofMinute = number(zone[3:])
		zone = zone[:2]
	}
	hour, ofHour := number(zone)
	local, plain := timestamp(text[:at])
	if !plain || !ofHour || !ofMinute || len(zone) != 2 || hour > 14 || minute > 59 {
		return 0, false
	}
	offset := arrow.Timestamp((hour*60 + minute) * 60 * 1_000_000)
	if text[at] == '-' {
		offset = -offset
	}
	return local - offset, true
}
