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

var east = time.FixedZone("east", 2*60*60)

func TestATimeIsAnInstant(t *testing.T) {
	at := time.Date(2020, 1, 1, 0, 30, 0, 123456789, east)
	utc := time.Date(2019, 12, 31, 22, 30, 0, 123456000, time.UTC)
	for wanted, want := range map[duckdb.ParameterType]any{
		duckdb.TypeTimestampTZ: duckdb.TimestampTZ(utc), duckdb.TypeUnknown: duckdb.TimestampTZ(utc), duckdb.TypeText: duckdb.TimestampTZ(utc),
		duckdb.TypeTimestamp: utc, duckdb.TypeDate: utc, duckdb.TypeTime: utc,
	} {
		got, err := argument.Normalize(at, wanted)
		require.NoError(t, err)
		require.Equal(t, want, got, wanted)
	}
}

func TestNilPointersAndSlicesAreNull(t *testing.T) {
	for _, v := range []any{nil, []byte(nil), (*big.Int)(nil)} {
		got, err := argument.Normalize(v, duckdb.TypeUnknown)
		require.NoError(t, err)
		require.True(t, got == nil, "%T", v)
	}
	got, err := argument.Normalize([]byte{}, duckdb.TypeUnknown)
	require.NoError(t, err)
	require.Equal(t, []byte{}, got)
}

func TestWideNumbers(t *testing.T) {
	small, wide := big.NewInt(7), new(big.Int).Lsh(big.NewInt(1), 70)
	for _, c := range []struct {
		given  *big.Int
		wanted duckdb.ParameterType
		want   any
	}{{small, duckdb.TypeInt32, int64(7)}, {small, duckdb.TypeUnknown, small}, {wide, duckdb.TypeInt64, wide}} {
		got, err := argument.Normalize(c.given, c.wanted)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

// AR1.
func TestWhatWouldNotArriveIsRefused(t *testing.T) {
	for state, values := range map[string][]any{
		"22021": {"a\xff"},
		"22008": {time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC), duckdb.TimestampTZ(time.Date(-300000, 1, 1, 0, 0, 0, 0, time.UTC))},
		"22023": {arrow.MonthDayNanoInterval{Nanoseconds: 1500}, time.Second, []int{1}, struct{}{}},
	} {
		for _, v := range values {
			_, err := argument.Normalize(v, duckdb.TypeTimestamp)
			var refused *argument.Error
			require.ErrorAs(t, err, &refused, "%v", v)
			require.Equal(t, state, refused.State, "%v", v)
		}
	}
	for _, v := range []any{math.NaN(), float32(1), uint64(math.MaxUint64), int8(1), true, "ä", duckdb.Date(1), time.Time{}, arrow.MonthDayNanoInterval{Nanoseconds: -1000}} {
		_, err := argument.Normalize(v, duckdb.TypeTimestamp)
		require.NoError(t, err, "%v", v)
	}
}
