package argument

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Values of parameters travel to the nodes that run parts of a statement as they were given, type and all: DuckDB
// chooses by the type of a value what the expressions around it mean, and must choose alike everywhere.
//
//	value   kind (1 byte), then: integers, dates, times 8 bytes; floats 4 or 8; texts and bytes as they are; an interval 4 + 4 + 8
type kind byte

// The kinds. They are a format: nodes of one cluster may run different versions of the program.
const (
	kindNull        kind = 'n'
	kindFalse       kind = 'f'
	kindTrue        kind = 't'
	kindInt8        kind = '1'
	kindInt16       kind = '2'
	kindInt32       kind = '4'
	kindInt64       kind = '8'
	kindUint8       kind = 'a'
	kindUint16      kind = 'b'
	kindUint32      kind = 'c'
	kindUint64      kind = 'd'
	kindFloat32     kind = 'r'
	kindFloat64     kind = 'R'
	kindBig         kind = 'B'
	kindDecimal     kind = 'N'
	kindText        kind = 's'
	kindBytes       kind = 'x'
	kindDate        kind = 'D'
	kindTime        kind = 'T'
	kindTimestamp   kind = 'S'
	kindTimestampTZ kind = 'Z'
	kindInterval    kind = 'I'
)

// Encode writes values as duckdb.Statement.Bind takes them.
func Encode(args []any) ([][]byte, error) {
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
	fixed := func(kind kind, v uint64) ([]byte, error) {
		return binary.BigEndian.AppendUint64([]byte{byte(kind)}, v), nil
	}
	switch v := arg.(type) {
	case nil:
		return []byte{byte(kindNull)}, nil
	case bool:
		if v {
			return []byte{byte(kindTrue)}, nil
		}
		return []byte{byte(kindFalse)}, nil
	case int8:
		return fixed(kindInt8, uint64(v))
	case int16:
		return fixed(kindInt16, uint64(v))
	case int32:
		return fixed(kindInt32, uint64(v))
	case int:
		return fixed(kindInt64, uint64(v))
	case int64:
		return fixed(kindInt64, uint64(v))
	case uint8:
		return fixed(kindUint8, uint64(v))
	case uint16:
		return fixed(kindUint16, uint64(v))
	case uint32:
		return fixed(kindUint32, uint64(v))
	case uint64:
		return fixed(kindUint64, v)
	case float32:
		return fixed(kindFloat32, uint64(math.Float32bits(v)))
	case float64:
		return fixed(kindFloat64, math.Float64bits(v))
	case *big.Int:
		return append([]byte{byte(kindBig)}, v.String()...), nil
	case duckdb.Decimal:
		return append([]byte{byte(kindDecimal)}, v...), nil
	case string:
		return append([]byte{byte(kindText)}, v...), nil
	case []byte:
		return append([]byte{byte(kindBytes)}, v...), nil
	case duckdb.Date:
		return fixed(kindDate, uint64(v))
	case duckdb.TimeOfDay:
		return fixed(kindTime, uint64(v))
	case time.Time:
		return fixed(kindTimestamp, uint64(v.UnixMicro()))
	case duckdb.TimestampTZ:
		return fixed(kindTimestampTZ, uint64(time.Time(v).UnixMicro()))
	case arrow.MonthDayNanoInterval:
		out := binary.BigEndian.AppendUint32([]byte{byte(kindInterval)}, uint32(v.Months))
		out = binary.BigEndian.AppendUint32(out, uint32(v.Days))
		return binary.BigEndian.AppendUint64(out, uint64(v.Nanoseconds)), nil
	}
	return nil, fmt.Errorf("values of Go type %T cannot be passed to another node", arg)
}

// Decode reads what Encode wrote; it comes from outside.
func Decode(list [][]byte) ([]any, error) {
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
	kind, rest := kind(encoded[0]), encoded[1:]
	switch kind {
	case kindText:
		return string(rest), nil
	case kindDecimal:
		return duckdb.Decimal(rest), nil
	case kindBytes:
		return append([]byte{}, rest...), nil
	case kindBig:
		if v, ok := new(big.Int).SetString(string(rest), 10); ok {
			return v, nil
		}
		return nil, fmt.Errorf("%q is no number", rest)
	}
	if want := kind.length(); len(rest) != want {
		return nil, fmt.Errorf("kind %q has %d bytes, not %d", byte(kind), len(rest), want)
	}
	switch kind {
	case kindNull:
		return nil, nil
	case kindFalse, kindTrue:
		return kind == kindTrue, nil
	case kindInterval:
		return arrow.MonthDayNanoInterval{
			Months: int32(binary.BigEndian.Uint32(rest)), Days: int32(binary.BigEndian.Uint32(rest[4:])), Nanoseconds: int64(binary.BigEndian.Uint64(rest[8:])),
		}, nil
	}
	return kind.number(binary.BigEndian.Uint64(rest))
}

// length is how many bytes a value of a kind without a length of its own has.
func (k kind) length() int {
	switch k {
	case kindNull, kindFalse, kindTrue:
		return 0
	case kindInterval:
		return 16
	}
	return 8
}

func (k kind) number(v uint64) (any, error) {
	switch k {
	case kindInt8:
		return int8(v), nil
	case kindInt16:
		return int16(v), nil
	case kindInt32:
		return int32(v), nil
	case kindInt64:
		return int64(v), nil
	case kindUint8:
		return uint8(v), nil
	case kindUint16:
		return uint16(v), nil
	case kindUint32:
		return uint32(v), nil
	case kindUint64:
		return v, nil
	case kindFloat32:
		return math.Float32frombits(uint32(v)), nil
	case kindFloat64:
		return math.Float64frombits(v), nil
	case kindDate:
		return duckdb.Date(v), nil
	case kindTime:
		return duckdb.TimeOfDay(v), nil
	case kindTimestamp:
		return time.UnixMicro(int64(v)).UTC(), nil
	case kindTimestampTZ:
		return duckdb.TimestampTZ(time.UnixMicro(int64(v)).UTC()), nil
	}
	return nil, fmt.Errorf("the kind %q is not known", byte(k))
}
