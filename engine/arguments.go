package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Values of parameters travel to the nodes that run parts of a statement as they were given, type and all: DuckDB chooses by the type
// of a value what the expressions around it mean, and must choose alike everywhere.
//
//	value   kind (1 byte), then: integers, dates, times 8 bytes; floats 4 or 8; texts and bytes as they are; an interval 4 + 4 + 8
type argumentKind byte

// The kinds. They are a format: nodes of one cluster may run different versions of the program.
const (
	argumentNull        argumentKind = 'n'
	argumentFalse       argumentKind = 'f'
	argumentTrue        argumentKind = 't'
	argumentInt8        argumentKind = '1'
	argumentInt16       argumentKind = '2'
	argumentInt32       argumentKind = '4'
	argumentInt64       argumentKind = '8'
	argumentUint8       argumentKind = 'a'
	argumentUint16      argumentKind = 'b'
	argumentUint32      argumentKind = 'c'
	argumentUint64      argumentKind = 'd'
	argumentFloat32     argumentKind = 'r'
	argumentFloat64     argumentKind = 'R'
	argumentBig         argumentKind = 'B'
	argumentDecimal     argumentKind = 'N'
	argumentText        argumentKind = 's'
	argumentBytes       argumentKind = 'x'
	argumentDate        argumentKind = 'D'
	argumentTime        argumentKind = 'T'
	argumentTimestamp   argumentKind = 'S'
	argumentTimestampTZ argumentKind = 'Z'
	argumentInterval    argumentKind = 'I'
)

// arguments are the values of the statement's parameters as everything behind it sees them.
func (st *Statement) arguments(args []any) ([]any, error) {
	if len(args) != len(st.params) && (len(args) > 0 || st.plan != nil || st.planText != "") {
		return nil, sqlerror.New("08P01", "the statement has %s and was given %d", counted.Of(len(st.params), "parameter"), len(args))
	}
	out := slices.Clone(args)
	for i, arg := range args {
		value, err := argument.Normalize(arg, st.params[i])
		var refused *argument.Error
		if errors.As(err, &refused) {
			return nil, sqlerror.New(refused.State, "parameter $%d: %s", i+1, refused.Reason)
		}
		out[i] = value
	}
	if st.elsewhere != nil {
		return out, nil // the worker does it
	}
	return st.translated(out)
}

// translated are texts of parameters in the spelling that DuckDB reads.
func (st *Statement) translated(args []any) ([]any, error) {
	out := slices.Clone(args)
	for i, value := range args {
		text, ok := value.(string)
		if !ok || i >= len(st.params) {
			continue
		}
		var err error
		if out[i], err = dialect.FormOfParameter(st.params[i]).Translate(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encodeArguments writes values as duckdb.Statement.Bind takes them.
func encodeArguments(args []any) ([][]byte, error) {
	list := make([][]byte, len(args))
	for i, arg := range args {
		encoded, err := encodeArgument(arg)
		if err != nil {
			return nil, sqlerror.New("22023", "parameter $%d: %v", i+1, err)
		}
		list[i] = encoded
	}
	return list, nil
}

func encodeArgument(arg any) ([]byte, error) {
	fixed := func(kind argumentKind, v uint64) ([]byte, error) {
		return binary.BigEndian.AppendUint64([]byte{byte(kind)}, v), nil
	}
	switch v := arg.(type) {
	case nil:
		return []byte{byte(argumentNull)}, nil
	case bool:
		if v {
			return []byte{byte(argumentTrue)}, nil
		}
		return []byte{byte(argumentFalse)}, nil
	case int8:
		return fixed(argumentInt8, uint64(v))
	case int16:
		return fixed(argumentInt16, uint64(v))
	case int32:
		return fixed(argumentInt32, uint64(v))
	case int:
		return fixed(argumentInt64, uint64(v))
	case int64:
		return fixed(argumentInt64, uint64(v))
	case uint8:
		return fixed(argumentUint8, uint64(v))
	case uint16:
		return fixed(argumentUint16, uint64(v))
	case uint32:
		return fixed(argumentUint32, uint64(v))
	case uint64:
		return fixed(argumentUint64, v)
	case float32:
		return fixed(argumentFloat32, uint64(math.Float32bits(v)))
	case float64:
		return fixed(argumentFloat64, math.Float64bits(v))
	case *big.Int:
		return append([]byte{byte(argumentBig)}, v.String()...), nil
	case duckdb.Decimal:
		return append([]byte{byte(argumentDecimal)}, v...), nil
	case string:
		return append([]byte{byte(argumentText)}, v...), nil
	case []byte:
		return append([]byte{byte(argumentBytes)}, v...), nil
	case duckdb.Date:
		return fixed(argumentDate, uint64(v))
	case duckdb.TimeOfDay:
		return fixed(argumentTime, uint64(v))
	case time.Time:
		return fixed(argumentTimestamp, uint64(v.UnixMicro()))
	case duckdb.TimestampTZ:
		return fixed(argumentTimestampTZ, uint64(time.Time(v).UnixMicro()))
	case arrow.MonthDayNanoInterval:
		out := binary.BigEndian.AppendUint32([]byte{byte(argumentInterval)}, uint32(v.Months))
		out = binary.BigEndian.AppendUint32(out, uint32(v.Days))
		return binary.BigEndian.AppendUint64(out, uint64(v.Nanoseconds)), nil
	}
	return nil, fmt.Errorf("values of Go type %T cannot be passed to another node", arg)
}

// decodeArguments reads what encodeArguments wrote; it comes from outside.
func decodeArguments(list [][]byte) ([]any, error) {
	args := make([]any, len(list))
	for i, encoded := range list {
		arg, err := decodeArgument(encoded)
		if err != nil {
			return nil, sqlerror.New("08P01", "parameter $%d of a fragment: %v", i+1, err)
		}
		args[i] = arg
	}
	return args, nil
}

func decodeArgument(encoded []byte) (any, error) {
	if len(encoded) == 0 {
		return nil, fmt.Errorf("it has no kind")
	}
	kind, rest := argumentKind(encoded[0]), encoded[1:]
	switch kind {
	case argumentText:
		return string(rest), nil
	case argumentDecimal:
		return duckdb.Decimal(rest), nil
	case argumentBytes:
		return append([]byte{}, rest...), nil
	case argumentBig:
		if v, ok := new(big.Int).SetString(string(rest), 10); ok {
			return v, nil
		}
		return nil, fmt.Errorf("%q is no number", rest)
	}
	if want := kind.length(); len(rest) != want {
		return nil, fmt.Errorf("kind %q has %d bytes, not %d", byte(kind), len(rest), want)
	}
	switch kind {
	case argumentNull:
		return nil, nil
	case argumentFalse, argumentTrue:
		return kind == argumentTrue, nil
	case argumentInterval:
		return arrow.MonthDayNanoInterval{
			Months: int32(binary.BigEndian.Uint32(rest)), Days: int32(binary.BigEndian.Uint32(rest[4:])), Nanoseconds: int64(binary.BigEndian.Uint64(rest[8:])),
		}, nil
	}
	return kind.number(binary.BigEndian.Uint64(rest))
}

// length is how many bytes a value of a kind without a length of its own has.
func (k argumentKind) length() int {
	switch k {
	case argumentNull, argumentFalse, argumentTrue:
		return 0
	case argumentInterval:
		return 16
	}
	return 8
}

func (k argumentKind) number(v uint64) (any, error) {
	switch k {
	case argumentInt8:
		return int8(v), nil
	case argumentInt16:
		return int16(v), nil
	case argumentInt32:
		return int32(v), nil
	case argumentInt64:
		return int64(v), nil
	case argumentUint8:
		return uint8(v), nil
	case argumentUint16:
		return uint16(v), nil
	case argumentUint32:
		return uint32(v), nil
	case argumentUint64:
		return v, nil
	case argumentFloat32:
		return math.Float32frombits(uint32(v)), nil
	case argumentFloat64:
		return math.Float64frombits(v), nil
	case argumentDate:
		return duckdb.Date(v), nil
	case argumentTime:
		return duckdb.TimeOfDay(v), nil
	case argumentTimestamp:
		return time.UnixMicro(int64(v)).UTC(), nil
	case argumentTimestampTZ:
		return duckdb.TimestampTZ(time.UnixMicro(int64(v)).UTC()), nil
	}
	return nil, fmt.Errorf("the kind %q is not known", byte(k))
}
