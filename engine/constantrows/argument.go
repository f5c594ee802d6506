package constantrows

import (
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// ofArgument is what the value of a parameter is in a column; not ok: DuckDB must say.
func (k kind) ofArgument(arg any) (out value, ok bool) {
	switch v := arg.(type) {
	case nil:
		return value{null: true}, true
	case bool:
		if v {
			out.number = 1
		}
		return out, k.id == arrow.BOOL
	case string:
		out.text = v
		return out, k.id == arrow.STRING && strings.IndexByte(v, 0) < 0
	case []byte:
		out.text = string(v)
		return out, k.id == arrow.BINARY
	case float64:
		out.float = v
		return out, k.id == arrow.FLOAT64 && !math.IsNaN(v)
	case float32:
		out.float = float64(v)
		return out, k.id == arrow.FLOAT32 && v == v
	case duckdb.Decimal:
		if !arrow.IsDecimal(k.id) {
			return out, false
		}
		number, digits, fraction, ok := digitsOf(string(v))
		if !ok {
			return out, false
		}
		return k.scaled(number, digits, max(fraction, 0))
	case duckdb.Date:
		out.number = int64(v)
		return out, k.id == arrow.DATE32 && int64(v) > -daysMost && int64(v) < daysMost
	case time.Time:
		return k.ofInstant(v, duckdb.TypeTimestamp)
	case duckdb.TimestampTZ:
		return k.ofInstant(time.Time(v), duckdb.TypeTimestampTZ)
	}
	number, ok := whole(arg)
	_, integer := integers[k.id]
	out.number = number
	return out, ok && integer && number >= k.low && number <= k.high
}

// daysMost bounds days, and the instants in them: between the years -700 and 4700 nothing is near a limit.
const daysMost = 1_000_000

func (k kind) ofInstant(at time.Time, as duckdb.ParameterType) (out value, ok bool) {
	out.number = at.UnixMicro()
	days := at.Unix() / int64((24 * time.Hour).Seconds())
	return out, k.id == arrow.TIMESTAMP && k.parameter == as && days > -daysMost && days < daysMost
}

// whole is an integer of any of Go's types that fits.
func whole(arg any) (int64, bool) {
	switch v := arg.(type) {
	case int:
		return int64(v), true
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	}
	return 0, false
}
