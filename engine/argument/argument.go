package argument

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Error is a value that cannot be passed.
type Error struct {
	State  string // SQLSTATE
	Reason string
}

func (e *Error) Error() string { return e.Reason }

func failure(state, format string, args ...any) error {
	return &Error{State: state, Reason: fmt.Sprintf(format, args...)}
}

// NormalizeAll is Normalize for all parameters of a statement. An error names the parameter.
func NormalizeAll(values []any, wanted []duckdb.ParameterType) ([]any, error) {
	out := slices.Clone(values)
	for i, value := range values {
		normal, err := Normalize(value, wanted[i])
		var refused *Error
		if errors.As(err, &refused) {
			return nil, sqlerror.New(refused.State, "parameter $%d: %s", i+1, refused.Reason)
		}
		out[i] = normal
	}
	return out, nil
}

// Normalize gives the value as the engine passes it on, for a parameter of the type that the statement wants. Errors:
// *Error.
func Normalize(value any, wanted duckdb.ParameterType) (any, error) {
	switch v := value.(type) {
	case nil, bool, int, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, duckdb.Date, duckdb.TimeOfDay,
		duckdb.Decimal:
		return v, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, failure("22021", "a text that is not UTF-8 cannot be passed: pass []byte")
		}
		return v, nil
	case []byte:
		if v == nil {
			return nil, nil
		}
		return v, nil
	case *big.Int:
		if v == nil {
			return nil, nil
		}
		if v.IsInt64() && integer(wanted) {
			return v.Int64(), nil
		}
		return v, nil
	case time.Time:
		return instant(v, wanted)
	case duckdb.TimestampTZ:
		return instant(time.Time(v), duckdb.TypeTimestampTZ)
	case arrow.MonthDayNanoInterval:
		if v.Nanoseconds%1000 != 0 {
			return nil, failure("22023", "an interval has whole microseconds, not %d nanoseconds", v.Nanoseconds)
		}
		return v, nil
	}
	return nil, failure("22023", "values of Go type %T cannot be passed", value)
}

func integer(t duckdb.ParameterType) bool {
	return t == duckdb.TypeInt16 || t == duckdb.TypeInt32 || t == duckdb.TypeInt64
}

// The seconds that DuckDB's timestamps reach, without the values that stand for infinity.
const earliest, latest = -9223372022400, 9223372036853

// instant is the time in UTC: as a timestamp where a type without a zone is wanted, else as an instant. Text of an
// instant says its zone, so that it is the same one whatever it becomes.
func instant(t time.Time, wanted duckdb.ParameterType) (any, error) {
	if seconds := t.Unix(); seconds < earliest || seconds > latest {
		return nil, failure("22008", "timestamp out of range: the year %d", t.UTC().Year())
	}
	t = time.UnixMicro(t.UnixMicro()).UTC()
	switch wanted {
	case duckdb.TypeTimestamp, duckdb.TypeDate, duckdb.TypeTime:
		return t, nil
	}
	return duckdb.TimestampTZ(t), nil
}
