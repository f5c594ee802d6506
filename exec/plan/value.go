package plan

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// ValueKind says which of a [Value]'s meanings applies.
type ValueKind uint8

// The kinds. Unknown is the zero value, so that forgotten statistics never prune.
const (
	Unknown   ValueKind = iota // nothing is known
	Null                       // SQL NULL
	Boolean                    // false < true
	Exact                      // integers and decimals: an unscaled 128-bit number and a scale
	Double                     // float64; NaN equals itself and is greater than everything else
	Text                       // bytes, compared bytewise
	Date                       // days since 1970-01-01
	Timestamp                  // microseconds since 1970-01-01 00:00:00, without time zone
	Parameter                  // $n, known later: see Predicate.Bind
	UUID                       // 16 bytes, compared bytewise
)

// Value is one typed constant: a literal, a bound of a column, a parameter. Values are immutable and comparable in Go.
type Value struct {
	kind  ValueKind
	typed bool // Text that a cast made VARCHAR: it no longer turns into a DATE by itself as a bare literal does
	scale int32
	int   int64 // Boolean, Date, Timestamp, Parameter
	float float64
	num   decimal128.Num
	text  string
}

// Constructors of every kind.

// NullValue is SQL NULL.
func NullValue() Value { return Value{kind: Null} }

// BoolValue is a BOOLEAN.
func BoolValue(b bool) Value {
	if b {
		return Value{kind: Boolean, int: 1}
	}
	return Value{kind: Boolean}
}

// IntValue is an integer of any width up to 64 bits.
func IntValue(i int64) Value { return Value{kind: Exact, num: decimal128.FromI64(i)} }

// UintValue is an unsigned integer of any width up to 64 bits.
func UintValue(u uint64) Value { return Value{kind: Exact, num: decimal128.FromU64(u)} }

// DecimalValue is unscaled × 10^-scale.
func DecimalValue(unscaled decimal128.Num, scale int32) Value {
	return Value{kind: Exact, num: unscaled, scale: scale}
}

// DoubleValue is a DOUBLE.
func DoubleValue(f float64) Value { return Value{kind: Double, float: f} }

// TextValue is a VARCHAR.
func TextValue(s string) Value { return Value{kind: Text, text: s} }

// DateValue is a DATE in days since 1970-01-01.
func DateValue(days int32) Value { return Value{kind: Date, int: int64(days)} }

// TimestampValue is a TIMESTAMP in microseconds since 1970-01-01 00:00:00.
func TimestampValue(micros int64) Value { return Value{kind: Timestamp, int: micros} }

// UUIDValue is a UUID of 16 bytes.
func UUIDValue(bytes []byte) Value { return Value{kind: UUID, text: string(bytes)} }

// ParameterValue stands for $n, n from 1.
func ParameterValue(n int) Value { return Value{kind: Parameter, int: int64(n)} }

// Kind says what the value is.
func (v Value) Kind() ValueKind { return v.kind }

// Int is the payload of Boolean, Date, Timestamp and Parameter.
func (v Value) Int() int64 { return v.int }

// Float is the payload of Double.
func (v Value) Float() float64 { return v.float }

// Text is the payload of Text, and the bytes of UUID.
func (v Value) Text() string { return v.text }

// Decimal is the payload of Exact: the unscaled number and its scale.
func (v Value) Decimal() (unscaled decimal128.Num, scale int32) { return v.num, v.scale }

// exactDoubleLimit: integers up to here, divided by a power of ten up to 10^22, become the nearest double in one
// rounding, so every implementation of the conversion gives the same answer.
const exactDoubleLimit = 1 << 53

// Compare orders two values of one column's domain as DuckDB would after its implicit casts. It says ok=false whenever
// the
// casts that DuckDB would insert could round, fail or depend on a setting: then nothing may be concluded (P1).
func (v Value) Compare(w Value) (order int, ok bool) {
	switch {
	case v.kind == Exact && w.kind == Exact:
		return compareExact(v, w), true
	case v.kind == w.kind && (v.kind == Text || v.kind == UUID):
		return compareOrdered(v.text, w.text), true
	case v.kind == w.kind && (v.kind == Boolean || v.kind == Date || v.kind == Timestamp):
		return compareOrdered(v.int, w.int), true
	case v.kind == Date && w.kind == Timestamp:
		return compareOrdered(midnight(v.int), w.int), true
	case v.kind == Timestamp && w.kind == Date:
		return compareOrdered(v.int, midnight(w.int)), true
	case v.isNumber() && w.isNumber():
		a, aok := v.asDouble()
		b, bok := w.asDouble()
		return compareDouble(a, b), aok && bok
	}
	return 0, false
}

func (v Value) isNumber() bool { return v.kind == Exact || v.kind == Double }

// asDouble converts exactly or with the single rounding that every implementation shares; otherwise ok is false.
func (v Value) asDouble() (f float64, ok bool) {
	if v.kind == Double {
		return v.float, true
	}
	i, fits := v.int64()
	if v.kind != Exact || !fits || i > exactDoubleLimit || i < -exactDoubleLimit || v.scale > 22 {
		return 0, false
	}
	return float64(i) / math.Pow10(int(v.scale)), true
}

// int64 gives the unscaled number if it has at most 63 bits.
func (v Value) int64() (int64, bool) {
	low := int64(v.num.LowBits())
	return low, v.num.HighBits() == low>>63
}

func compareExact(v, w Value) int {
	if v.scale == w.scale {
		return v.num.Cmp(w.num)
	}
	a, aok := v.int64()
	b, bok := w.int64()
	if aok && bok {
		if order, ok := compareScaled(a, v.scale, b, w.scale); ok {
			return order
		}
	}
	x, y := v.num.BigInt(), w.num.BigInt()
	if v.scale < w.scale {
		x.Mul(x, powerOfTen(w.scale-v.scale))
	} else {
		y.Mul(y, powerOfTen(v.scale-w.scale))
	}
	return x.Cmp(y)
}

// compareScaled is the common case: 64-bit numbers whose scaling does not overflow.
func compareScaled(a int64, ascale int32, b int64, bscale int32) (int, bool) {
	if ascale < bscale {
		scaled, ok := scaleUp(a, bscale-ascale)
		return compareOrdered(scaled, b), ok
	}
	scaled, ok := scaleUp(b, ascale-bscale)
	return compareOrdered(a, scaled), ok
}

func scaleUp(a int64, digits int32) (int64, bool) {
	if digits > 18 {
		return 0, false
	}
	for ; digits > 0; digits-- {
		if a > math.MaxInt64/10 || a < math.MinInt64/10 {
			return 0, false
		}
		a *= 10
	}
	return a, true
}

func powerOfTen(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// compareDouble is DuckDB's total order: -0 = 0, NaN = NaN, NaN above all.
func compareDouble(a, b float64) int {
	aNaN, bNaN := a != a, b != b
	switch {
	case aNaN && bNaN:
		return 0
	case aNaN:
		return 1
	case bNaN:
		return -1
	}
	return compareOrdered(a, b)
}

func compareOrdered[T int64 | float64 | string](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

const (
	microsPerDay    = 24 * 60 * 60 * 1_000_000
	lastMidnightDay = math.MaxInt64 / microsPerDay
)

// midnight is the timestamp at which a date begins; dates beyond what a timestamp can hold saturate, which keeps the
// order.
func midnight(days int64) int64 {
	switch {
	case days > lastMidnightDay:
		return math.MaxInt64
	case days < -lastMidnightDay:
		return math.MinInt64
	}
	return days * microsPerDay
}

// String is the form in goldens and EXPLAIN: a literal that says its type.
func (v Value) String() string {
	switch v.kind {
	case Null:
		return "NULL"
	case Boolean:
		return strconv.FormatBool(v.int != 0)
	case Exact:
		return v.num.ToString(v.scale)
	case Double:
		return strconv.FormatFloat(v.float, 'g', -1, 64) + "::double"
	case Text:
		return "'" + v.text + "'"
	case Date:
		return "date '" + time.Unix(v.int*86400, 0).UTC().Format(time.DateOnly) + "'"
	case Timestamp:
		return "timestamp '" + time.UnixMicro(v.int).UTC().Format("2006-01-02 15:04:05.999999") + "'"
	case UUID:
		return "uuid '" + hex.EncodeToString([]byte(v.text)) + "'"
	case Parameter:
		return fmt.Sprintf("$%d", v.int)
	}
	return "unknown"
}

func itoa(i int) string { return strconv.Itoa(i) }
