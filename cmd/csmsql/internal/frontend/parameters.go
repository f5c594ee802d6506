package frontend

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/wire"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// oids are the PostgreSQL types of the engine's families.
var oids = map[duckdb.ParameterType]uint32{
	duckdb.TypeBoolean: pgformat.Bool, duckdb.TypeInt16: pgformat.Int2, duckdb.TypeInt32: pgformat.Int4, duckdb.TypeInt64: pgformat.Int8,
	duckdb.TypeFloat32: pgformat.Float4, duckdb.TypeFloat64: pgformat.Float8, duckdb.TypeNumeric: pgformat.NumericOID,
	duckdb.TypeText: pgformat.Text, duckdb.TypeBytes: pgformat.Bytea, duckdb.TypeDate: pgformat.DateOID, duckdb.TypeTime: pgformat.Time,
	duckdb.TypeTimestamp: pgformat.TimestampNT, duckdb.TypeTimestampTZ: pgformat.TimestampTZ, duckdb.TypeInterval: pgformat.IntervalOID,
	duckdb.TypeUUID: pgformat.UUIDOID, duckdb.TypeJSON: pgformat.JSON,
}

// oidOf is the PostgreSQL type of a family, or of lists of it; 0: none.
func oidOf(t duckdb.ParameterType) uint32 {
	if element, list := t.Element(); list {
		array, _ := pgformat.ArrayOID(oids[element])
		return array
	}
	return oids[t]
}

// parameterOIDs joins what the client declared with what the engine deduced (F2). 0 is left open: text.
func parameterOIDs(declared []uint32, deduced []duckdb.ParameterType) []uint32 {
	out := make([]uint32, len(deduced))
	for i, t := range deduced {
		out[i] = oidOf(t)
		if i < len(declared) && declared[i] != 0 && declared[i] != pgformat.Unknown {
			out[i] = declared[i]
		}
	}
	return out
}

// engineValues turns decoded parameters into what the engine takes.
func engineValues(args []wire.Value) ([]any, error) {
	if len(args) == 0 {
		return nil, nil
	}
	out := make([]any, len(args))
	for i, arg := range args {
		value, err := engineValue(arg.OID, arg.Data)
		if err != nil {
			return nil, fmt.Errorf("parameter $%d: %w", i+1, err)
		}
		out[i] = value
	}
	return out, nil
}

func engineValue(oid uint32, data any) (any, error) {
	switch v := data.(type) {
	case int64:
		return integer(oid, v), nil
	case float64:
		if oid == pgformat.Float4 {
			return float32(v), nil
		}
		return v, nil
	case pgformat.Numeric:
		return duckdb.Decimal(v), nil
	case pgformat.Date:
		return date(v), nil
	case pgformat.Timestamp:
		return timestamp(oid, v), nil
	case pgformat.TimeOfDay:
		return duckdb.TimeOfDay(v), nil
	case pgformat.Interval:
		return interval(v), nil
	case pgformat.UUID:
		return uuidText(v), nil
	case *pgformat.Array:
		return arrayText(v)
	}
	return data, nil // nil, bool, string, []byte
}

// integer keeps the type that the client chose: int4 + int4 is an int4.
func integer(oid uint32, v int64) any {
	switch {
	case oid == pgformat.Int2 && v >= math.MinInt16 && v <= math.MaxInt16:
		return int16(v)
	case oid == pgformat.Int4 && v >= math.MinInt32 && v <= math.MaxInt32:
		return int32(v)
	}
	return v
}

func date(v pgformat.Date) any {
	switch v {
	case pgformat.DateInfinity:
		return "infinity"
	case pgformat.DateNegativeInfinity:
		return "-infinity"
	}
	return duckdb.Date(v)
}

func timestamp(oid uint32, v pgformat.Timestamp) any {
	at, finite := v.Time()
	switch {
	case !finite && v == pgformat.TimestampInfinity:
		return "infinity"
	case !finite:
		return "-infinity"
	case oid == pgformat.TimestampTZ:
		return duckdb.TimestampTZ(at)
	}
	return at
}

func interval(v pgformat.Interval) any {
	if v.Microseconds > math.MaxInt64/1000 || v.Microseconds < math.MinInt64/1000 {
		return fmt.Sprintf("%d months %d days %d microseconds", v.Months, v.Days, v.Microseconds)
	}
	return arrow.MonthDayNanoInterval{Months: v.Months, Days: v.Days, Nanoseconds: v.Microseconds * 1000}
}

func uuidText(v pgformat.UUID) string {
	h := hex.EncodeToString(v[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
