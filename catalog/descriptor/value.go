package descriptor

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// ValueKind says how a Value compares.
type ValueKind uint8

// The kinds of values; a column's type decides which one its statistics use.
const (
	// NoValue stands for unknown, or for a column without any value.
	NoValue ValueKind = iota
	// IntValue: signed integers, booleans, dates, times, timestamps, durations, decimal32 and decimal64 (unscaled).
	IntValue
	// UintValue: unsigned integers.
	UintValue
	// FloatValue: float16, float32, float64; never NaN.
	FloatValue
	// BytesValue: strings and binaries, compared bytewise.
	BytesValue
	// DecimalValue: decimal128 and decimal256, unscaled.
	DecimalValue
)

// Value is one bound of a column's statistics.
type Value struct {
	kind  ValueKind
	bits  uint64
	bytes string // BytesValue: the bytes; DecimalValue: 32 bytes, two's complement, little endian
}

// IntOf makes an IntValue.
func IntOf(v int64) Value { return Value{kind: IntValue, bits: uint64(v)} }

// UintOf makes a UintValue.
func UintOf(v uint64) Value { return Value{kind: UintValue, bits: v} }

// FloatOf makes a FloatValue; NaN has no place in an order and yields no value.
func FloatOf(v float64) Value {
	if math.IsNaN(v) {
		return Value{}
	}
	return Value{kind: FloatValue, bits: math.Float64bits(v)}
}

// BytesOf makes a BytesValue from a copy of v.
func BytesOf(v []byte) Value { return Value{kind: BytesValue, bytes: string(v)} }

// DecimalOf makes a DecimalValue.
func DecimalOf(v decimal256.Num) Value {
	words := v.Array()
	b := make([]byte, 0, 32)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return Value{kind: DecimalValue, bytes: string(b)}
}

// Kind says which of the accessors is meaningful.
func (v Value) Kind() ValueKind { return v.kind }

// Known reports whether there is a value.
func (v Value) Known() bool { return v.kind != NoValue }

// Int is the value of an IntValue.
func (v Value) Int() int64 { return int64(v.bits) }

// Uint is the value of a UintValue.
func (v Value) Uint() uint64 { return v.bits }

// Float is the value of a FloatValue.
func (v Value) Float() float64 { return math.Float64frombits(v.bits) }

// Bytes is the value of a BytesValue.
func (v Value) Bytes() string { return v.bytes }

// Decimal is the value of a DecimalValue.
func (v Value) Decimal() decimal256.Num {
	if len(v.bytes) != 32 {
		return decimal256.Num{}
	}
	var words [4]uint64
	for i := range words {
		words[i] = binary.LittleEndian.Uint64([]byte(v.bytes[8*i : 8*i+8]))
	}
	return decimal256.New(words[3], words[2], words[1], words[0])
}

// Compare orders two values of one kind: negative, zero, positive. Values of different kinds do not compare (false).
func (v Value) Compare(o Value) (int, bool) {
	if v.kind != o.kind {
		return 0, false
	}
	switch v.kind {
	case IntValue:
		return cmp.Compare(v.Int(), o.Int()), true
	case UintValue:
		return cmp.Compare(v.bits, o.bits), true
	case FloatValue:
		return cmp.Compare(v.Float(), o.Float()), true
	case BytesValue:
		return bytes.Compare([]byte(v.bytes), []byte(o.bytes)), true
	case DecimalValue:
		return v.Decimal().Cmp(o.Decimal()), true
	default:
		return 0, false
	}
}

func (v Value) String() string {
	switch v.kind {
	case IntValue:
		return strconv.FormatInt(v.Int(), 10)
	case UintValue:
		return strconv.FormatUint(v.bits, 10)
	case FloatValue:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case BytesValue:
		return strconv.Quote(v.bytes)
	case DecimalValue:
		return v.Decimal().BigInt().String()
	default:
		return "?"
	}
}

// UnknownNullCount stands for a null count that Arrow does not define for the type (unions).
const UnknownNullCount = -1

// Statistics is what is known of a top-level column of a chunk, a page or a table.
type Statistics struct {
	// NullCount counts rows that are null, or is UnknownNullCount.
	NullCount int64
	// Distinct estimates the number of different values that are not null; zero means unknown.
	Distinct int64
	// Min and Max bound all values that are neither null nor NaN. Long strings are cut, always outwards.
	Min, Max Value
	// MinExact and MaxExact: the bound is itself a value of the column.
	MinExact, MaxExact bool
	// HasNaN: the float column holds NaN, which SQL orders above every number.
	HasNaN bool
}

func (s Statistics) String() string {
	nulls := "?"
	if s.NullCount != UnknownNullCount {
		nulls = strconv.FormatInt(s.NullCount, 10)
	}
	text := fmt.Sprintf("nulls=%s distinct≈%d", nulls, s.Distinct)
	if s.Min.Known() || s.Max.Known() {
		text += fmt.Sprintf(" min%s%s max%s%s", relation(s.MinExact, "≥"), s.Min, relation(s.MaxExact, "≤"), s.Max)
	}
	if s.HasNaN {
		text += " NaN"
	}
	return text
}

func relation(exact bool, otherwise string) string {
	if exact {
		return "="
	}
	return otherwise
}
