package frontend_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/frontend"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/wire/pgformat"
)

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
		{pgformat.NumericOID, pgformat.Numeric("-1.50"), duckdb.Decimal("-1.50")},
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

func TestPlaces(t *testing.T) {
	type types = map[int32]uint32
	for _, c := range []struct {
		sql    string
		types  types
		places string
	}{
		{"SELECT $1::int, CAST($2 AS varchar(5)), $3", types{1: pgformat.Int4, 2: pgformat.Varchar}, "aa-"},
		{"SELECT * FROM t WHERE a = ANY($1::bigint[])", types{1: pgformat.Int8Array}, "a"},
		{"SELECT * FROM t WHERE a = ANY($1) AND b <> ALL ($2)", types{}, "mm"},
		{"SELECT $1::pg_catalog.timestamptz", types{1: pgformat.TimestampTZ}, "a"},
		{"SELECT $1 + 1, 2.5 * $2, $3 || 'x'", types{1: pgformat.Int8, 2: pgformat.NumericOID}, "---"},
		{"UPDATE t SET a = a + $1, b = $2 * (1 - t.b), c = $3 || c, d = $4 - $5, e = $6 + e::float8", types{6: pgformat.Float8}, "bb----"},
		{"SELECT $1::date::text, $1::text, $2::no_such_type", types{1: pgformat.DateOID}, "aaa"},
		{"INSERT INTO t VALUES ($1, $2 + 1)", types{2: pgformat.Int8}, "a-"},
		{"INSERT INTO t SELECT $1, a + $2 FROM u", types{}, "ab"},
		{"SELECT 1 FROM t WHERE a BETWEEN $1 AND $2 AND b IN ($3, $4) AND c LIKE $5 AND $6 = $7 AND $8 < d LIMIT $9 OFFSET $10", types{}, "aaaaa--aaa"},
		{"SELECT lower($1), coalesce(a, $2) FROM t", types{}, "--"},
	} {
		parsed, err := statement.Parse(c.sql)
		require.NoError(t, err)
		found, places := frontend.Places(parsed.Tree)
		require.Equal(t, c.types, found, c.sql)
		require.Equal(t, c.places, places, c.sql)
	}
}

// TestEdits: positions go back to where they are in the original, whatever its characters.
func TestEdits(t *testing.T) {
	const original = "SELECT 'ä', $1 + $2, nope"
	pairs := [][2]string{{"$1", "CAST($1 AS INTEGER)"}, {"$2", "CAST($2 AS BIGINT)"}}
	for word, want := range map[string]string{"'ä'": "'ä'", "CAST($1": "$1", "INTEGER": "$1", "CAST($2": "$2", "nope": "nope"} {
		edited, _ := frontend.Edited(original, pairs, 1)
		require.Equal(t, "SELECT 'ä', CAST($1 AS INTEGER) + CAST($2 AS BIGINT), nope", edited)
		position := utf8.RuneCountInString(edited[:strings.Index(edited, word)]) + 1
		_, back := frontend.Edited(original, pairs, position)
		require.Equal(t, utf8.RuneCountInString(original[:strings.Index(original, want)])+1, back, word)
	}
}
