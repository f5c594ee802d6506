package constantrows

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/statement"
)

const (
	// digitsMost a whole number in 64 bits may have, whatever they are.
	digitsMost = 18
	// exactDigits is how many digits of a decimal a double keeps: the number and the power of ten are doubles
	// themselves, so that their quotient is the nearest one.
	exactDigits = 15
	// exactSingle is likewise of whole numbers and a float of four bytes.
	exactSingle = 7
)

// ofConstant is what a constant of a VALUES list is in a column; not ok: DuckDB must say.
func (k kind) ofConstant(text string, v *statement.Value) (out value, ok bool) {
	switch v.Kind {
	case statement.NullValue:
		return value{null: true}, true
	case statement.BooleanValue:
		out.number = 0
		if strings.EqualFold(text, "true") {
			out.number = 1
		}
		return out, k.id == arrow.BOOL && (out.number == 1 || strings.EqualFold(text, "false"))
	case statement.TextValue:
		return k.ofText(v.Text)
	case statement.IntegerValue, statement.DecimalValue:
		return k.ofDigits(text)
	case statement.FloatValue:
		return k.ofExponent(text)
	}
	return out, false
}

// ofText is what a string is.
func (k kind) ofText(text string) (out value, ok bool) {
	switch k.id {
	case arrow.STRING:
		out.text = text
		return out, strings.IndexByte(text, 0) < 0
	case arrow.DATE32:
		if len(text) != len(time.DateOnly) {
			return out, false
		}
		at, ok := instant(text + " 00:00:00")
		out.number = at / (24 * time.Hour).Microseconds()
		return out, ok
	case arrow.TIMESTAMP:
		if k.parameter != duckdb.TypeTimestamp { // an instant asks the session's time zone
			return out, false
		}
		out.number, ok = instant(text)
		return out, ok
	}
	return out, false
}

// instant reads 2024-05-17 08:09:10.123456, of any year from 1 to 9999, in microseconds since 1970.
func instant(text string) (microseconds int64, ok bool) {
	const shape = "0000-00-00 00:00:00"
	if len(text) < len(shape) || len(text) > len(shape)+len(".123456") || len(text) == len(shape)+1 {
		return 0, false
	}
	for i := range len(text) {
		digit := lex.IsDigit(text[i])
		switch {
		case i < len(shape) && shape[i] != '0':
			ok = text[i] == shape[i]
		case i == len(shape):
			ok = text[i] == '.'
		default:
			ok = digit
		}
		if !ok {
			return 0, false
		}
	}
	at, err := time.Parse(time.DateTime, text) // which takes a fraction, too
	return at.UnixMicro(), err == nil && at.Year() >= 1
}

// ofDigits is what a number is that is written as digits with a sign, a point, or both.
func (k kind) ofDigits(text string) (out value, ok bool) {
	number, digits, fraction, ok := digitsOf(text)
	if !ok {
		return out, false
	}
	_, integer := integers[k.id]
	switch {
	case integer:
		out.number = number
		return out, fraction < 0 && number >= k.low && number <= k.high
	case arrow.IsDecimal(k.id):
		return k.scaled(number, digits, max(fraction, 0))
	case k.id == arrow.FLOAT64:
		out.float = float64(number) / math.Pow10(max(fraction, 0))
		return out, digits <= exactDigits
	case k.id == arrow.FLOAT32:
		out.float = float64(number)
		return out, fraction < 0 && digits <= exactSingle
	}
	return out, false
}

// scaled is a number with so many digits, of which fraction are behind the point, in a column of decimals.
func (k kind) scaled(number int64, digits, fraction int) (out value, ok bool) {
	more := k.scale - fraction
	if more < 0 || digits-fraction > k.digits-k.scale || digits+more > digitsMost {
		return out, false
	}
	for range more {
		number *= 10
	}
	out.number = number
	return out, true
}

// digitsOf reads digits with a point, or none, as a whole number; fraction is how many are behind the point, -1:
// there is none.
func digitsOf(text string) (number int64, digits, fraction int, ok bool) {
	text = strings.TrimSpace(text)
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+"), " ")
	whole, behind, point := strings.Cut(text, ".")
	if fraction = -1; point {
		fraction = len(behind)
	}
	digits = len(whole) + len(behind)
	if digits == 0 || digits > digitsMost {
		return 0, 0, 0, false
	}
	for i := range digits {
		c := (whole + behind)[i]
		if !lex.IsDigit(c) {
			return 0, 0, 0, false
		}
		number = 10*number + int64(c-'0')
	}
	if negative {
		number = -number
	}
	return number, digits, fraction, true
}

// ofExponent is what a number with an exponent is, which SQL has as a double.
func (k kind) ofExponent(text string) (out value, ok bool) {
	if k.id != arrow.FLOAT64 || strings.Trim(text, "0123456789.eE+-") != "" {
		return out, false
	}
	number, err := strconv.ParseFloat(text, 64)
	out.float = number
	return out, err == nil && number != 0
}
