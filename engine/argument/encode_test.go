package argument_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// everyArgument is one value of each type that a statement takes.
var everyArgument = []any{
	nil, true, false, int8(-8), int16(-16), int32(-32), int64(math.MinInt64), uint8(200), uint16(60000), uint32(1 << 31), uint64(math.MaxUint64),
	float32(1.5), math.Inf(-1), big.NewInt(-170), duckdb.Decimal("-1.50"), "text \x00 'quoted'", []byte{0, 0xff}, duckdb.Date(-1), duckdb.TimeOfDay(86399_000_001),
	time.UnixMicro(-1).UTC(), duckdb.TimestampTZ(time.UnixMicro(1_700_000_000_000_001).UTC()), arrow.MonthDayNanoInterval{Months: -1, Days: 2, Nanoseconds: -3000},
}

func TestArgumentsTravel(t *testing.T) {
	encoded, err := argument.Encode(everyArgument)
	require.NoError(t, err)
	back, err := argument.Decode(encoded)
	require.NoError(t, err)
	require.Equal(t, everyArgument, back)
	_, err = argument.Encode([]any{struct{}{}})
	require.ErrorContains(t, err, "parameter $1")
}

// FuzzArguments: whatever another node sends is a value or an error, and a value is what it is.
func FuzzArguments(f *testing.F) {
	encoded, err := argument.Encode(everyArgument)
	require.NoError(f, err)
	for _, e := range encoded {
		f.Add(e)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		args, err := argument.Decode([][]byte{data})
		if err != nil {
			return
		}
		again, err := argument.Encode(args)
		require.NoError(t, err)
		same, err := argument.Decode(again)
		require.NoError(t, err)
		if f, ok := args[0].(float64); ok && f != f {
			return
		}
		if f, ok := args[0].(float32); ok && f != f {
			return
		}
		require.Equal(t, args, same)
	})
}
