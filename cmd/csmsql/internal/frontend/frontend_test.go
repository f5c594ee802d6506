package frontend_test

import (
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/frontend"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/wire/pgformat"
)

func TestCommandLineOptions(t *testing.T) {
	require.Equal(t, map[string]string{"search_path": "a b", "statement_timeout": "5s", "work_mem": "1"},
		frontend.CommandLineOptions(`-c search_path=a\ b --statement-timeout=5s  -cwork_mem=1 -x --nothing -c`))
	require.Empty(t, frontend.CommandLineOptions(""))
}

func TestTimeoutOf(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "": 0, "1500": 1500 * time.Millisecond, "2s": 2 * time.Second, "1.5 min": 90 * time.Second, "1h": time.Hour, "1d": 24 * time.Hour,
		"-5": 0, "5 lightyears": 0, "1e300d": 0, "250us": 250 * time.Microsecond,
	} {
		require.Equal(t, want, frontend.TimeoutOf(text), text)
	}
}

func TestEngineValue(t *testing.T) {
	at := time.Date(2024, 2, 29, 12, 0, 0, 5000, time.UTC)
	for _, c := range []struct {
		oid  uint32
		data any
		want any
	}{
		{pgformat.Int4, nil, nil},
		{pgformat.Int4, int64(7), int32(7)},
		{pgformat.Int2, int64(-7), int16(-7)},
		{pgformat.Int8, int64(7), int64(7)},
		{pgformat.Int4, int64(math.MaxInt64), int64(math.MaxInt64)},
		{pgformat.Float4, 1.5, float32(1.5)},
		{pgformat.Float8, 1.5, 1.5},
		{pgformat.NumericOID, pgformat.Numeric("-1.50"), "-1.50"},
		{pgformat.DateOID, pgformat.Date(19782), duckdb.Date(19782)},
		{pgformat.DateOID, pgformat.DateInfinity, "infinity"},
		{pgformat.DateOID, pgformat.DateNegativeInfinity, "-infinity"},
		{pgformat.TimestampNT, pgformat.Timestamp(at.UnixMicro()), at},
		{pgformat.TimestampTZ, pgformat.Timestamp(at.UnixMicro()), duckdb.TimestampTZ(at)},
		{pgformat.TimestampNT, pgformat.TimestampInfinity, "infinity"},
		{pgformat.TimestampTZ, pgformat.TimestampNegativeInfinity, "-infinity"},
		{pgformat.Time, pgformat.TimeOfDay(1), duckdb.TimeOfDay(1)},
		{pgformat.IntervalOID, pgformat.Interval{Months: 1, Days: 2, Microseconds: 3}, arrow.MonthDayNanoInterval{Months: 1, Days: 2, Nanoseconds: 3000}},
		{pgformat.IntervalOID, pgformat.Interval{Microseconds: math.MaxInt64}, "0 months 0 days 9223372036854775807 microseconds"},
		{pgformat.UUIDOID, pgformat.UUID{0xab, 15: 1}, "ab000000-0000-0000-0000-000000000001"},
		{pgformat.Int4Array, &pgformat.Array{ElementOID: pgformat.Int4}, "[]"},
		{pgformat.Int4Array, array(pgformat.Int4, []int{3}, int64(1), nil, int64(-3)), `["1", NULL, "-3"]`},
		{pgformat.TextArray, array(pgformat.Text, []int{3}, `a"b`, `c\d`, ""), `["a\"b", "c\\d", ""]`},
		{pgformat.Int4Array, array(pgformat.Int4, []int{2, 2}, int64(1), int64(2), int64(3), int64(4)), `[["1", "2"], ["3", "4"]]`},
		{pgformat.ByteaArray, array(pgformat.Bytea, []int{1}, []byte{0, 0xff}), `["\\x00\\xff"]`},
		{pgformat.TimestampTZArray, array(pgformat.TimestampTZ, []int{1}, pgformat.Timestamp(at.UnixMicro())), `["2024-02-29 12:00:00.000005+00"]`},
		{pgformat.DateArray, array(pgformat.DateOID, []int{2}, pgformat.Date(-1), pgformat.DateInfinity), `["1969-12-31", "infinity"]`},
		{pgformat.TimeArray, array(pgformat.Time, []int{1}, pgformat.TimeOfDay(86_399_999_999)), `["23:59:59.999999"]`},
	} {
		got, err := frontend.EngineValue(c.oid, c.data)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%d %v", c.oid, c.data)
	}
}

func array(oid uint32, dimensions []int, elements ...any) *pgformat.Array {
	return &pgformat.Array{ElementOID: oid, Dimensions: dimensions, Elements: elements}
}

func TestInferred(t *testing.T) {
	for sql, want := range map[string][]uint32{
		"SELECT $1::int, CAST($2 AS varchar(5)), $3":        {pgformat.Int4, pgformat.Varchar, 0},
		"SELECT * FROM t WHERE a = ANY($1::bigint[])":       {pgformat.Int8Array},
		"SELECT $1::pg_catalog.timestamptz":                 {pgformat.TimestampTZ},
		"SELECT $1 + 1, 2.5 * $2, $3 || 'x'":                {pgformat.Int8, pgformat.NumericOID, 0},
		"SELECT $1::date::text, $1::text, $2::no_such_type": {pgformat.DateOID, 0},
		"INSERT INTO t SELECT $1::uuid":                     {pgformat.UUIDOID},
		"FROM t SELECT $1::int":                             {0}, // DuckDB's dialect has no tree
	} {
		require.Equal(t, want, frontend.Inferred(sql, make([]uint32, len(want))), sql)
	}
	require.Equal(t, []uint32{pgformat.Int2}, frontend.Inferred("SELECT $1::int", []uint32{pgformat.Int2}), "F2: what is known stays")
}

func TestShown(t *testing.T) {
	uuid := arrow.Field{Name: "u", Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}, Metadata: arrow.NewMetadata([]string{"ARROW:extension:name"}, []string{"arrow.uuid"})}
	plain := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int32}}, nil)
	require.Nil(t, frontend.Shown(nil))
	require.Same(t, plain, frontend.Shown(plain))
	shown := frontend.Shown(arrow.NewSchema([]arrow.Field{plain.Field(0), uuid, {Name: "l", Type: arrow.ListOfField(uuid)}}, nil))
	require.Equal(t, pgformat.Int4, pgformat.TypeOf(shown.Field(0)).OID)
	require.Equal(t, pgformat.UUIDOID, pgformat.TypeOf(shown.Field(1)).OID)
	require.Equal(t, pgformat.UUIDArray, pgformat.TypeOf(shown.Field(2)).OID)
	require.Equal(t, 1, uuid.Metadata.Len(), "the engine's schema must stay as it is")
}
