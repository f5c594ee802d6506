package driver_test

import (
	"database/sql"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/driver"
)

// memory is a DB over one session of an engine without a directory: what is SET stays set.
func memory(t *testing.T) *sql.DB {
	e, err := engine.Open(t.Context(), engine.Config{})
	require.NoError(t, err)
	db := sql.OpenDB(driver.NewConnector(e))
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		require.NoError(t, e.Close())
	})
	return db
}

func one(t *testing.T, db *sql.DB, query string, args ...any) (value any) {
	require.NoError(t, db.QueryRow(query, args...).Scan(&value), query)
	return value
}

// What database/sql has no type for is written as PostgreSQL writes it, not as Arrow does.
func TestOtherValuesAreTextAsPostgreSQLHasIt(t *testing.T) {
	db := memory(t)
	for expression, want := range map[string]any{
		"'123e4567-e89b-12d3-a456-426614174000'::uuid":        "123e4567-e89b-12d3-a456-426614174000",
		"interval '1 year 2 days 03:04:05.6'":                 "1 year 2 days 03:04:05.6",
		"time '12:13:14.5'":                                   "12:13:14.5",
		"18446744073709551615::ubigint":                       "18446744073709551615",
		"170141183460469231731687303715884105727::hugeint":    "170141183460469231731687303715884105727",
		"1.50::decimal(5,2)":                                  "1.50",
		"[1.50::decimal(5,2), NULL]":                          "{1.50,NULL}",
		"['a', 'b c']":                                        `{a,"b c"}`,
		"[timestamptz '2020-01-01 00:00:00+00']":              `{"2020-01-01 00:00:00+00"}`,
		"{'a': interval '1 day', 'b': ['x']}":                 `{"a":"1 day","b":["x"]}`,
		"row(1, 'x')":                                         "(1,x)",
		"map {'k': 1}":                                        `{"k":1}`,
		"[union_value(k := 1), NULL]":                         "[1,null]",
		"'infinity'::timestamp":                               "infinity",
		"'-infinity'::timestamptz":                            "-infinity",
		"'infinity'::date":                                    "infinity",
		"timestamptz '2020-01-01 00:00:00+02'":                time.Date(2019, 12, 31, 22, 0, 0, 0, time.UTC),
		"''::bytea":                                           []byte{},
		"{'u': '123e4567-e89b-12d3-a456-426614174000'::uuid}": `{"u":"123e4567-e89b-12d3-a456-426614174000"}`,
	} {
		require.Equal(t, want, one(t, db, "SELECT "+expression), expression)
	}
}

// A time.Time is the same instant whatever zones it and the session have.
func TestTimesAreInstants(t *testing.T) {
	db := memory(t)
	at := time.Date(2020, 1, 1, 12, 0, 0, 0, time.FixedZone("east", 2*60*60))
	for _, zone := range []string{"UTC", "America/New_York"} {
		_, err := db.Exec("SET TimeZone = '" + zone + "'")
		require.NoError(t, err)
		_, err = db.Exec("CREATE OR REPLACE TABLE t (i timestamptz, w timestamp, d date)")
		require.NoError(t, err)
		_, err = db.Exec("INSERT INTO t VALUES ($1, $2, $3)", at, at, at)
		require.NoError(t, err)
		for _, column := range []string{"i", "w"} {
			require.Equal(t, at.UTC(), one(t, db, "SELECT "+column+" FROM t"), "%s in %s", column, zone)
			require.EqualValues(t, 1, one(t, db, "SELECT count(*) FROM t WHERE "+column+" = $1", at), "%s in %s", column, zone)
		}
		require.EqualValues(t, 1, one(t, db, "SELECT count(*) FROM t WHERE i - interval '1 day' = $1", at.Add(-24*time.Hour)), zone)
		require.Equal(t, at.UTC(), one(t, db, "SELECT $1::timestamptz", at), zone)
		require.Equal(t, at.UTC(), one(t, db, "SELECT $1::timestamptz FROM range($2)", at, 1), "planned late")
		require.Equal(t, at.UTC(), one(t, db, "SELECT coalesce(NULL::timestamptz, $1)", at), zone)
	}
}

func TestArgumentsKeepTheirValue(t *testing.T) {
	db := memory(t)
	_, err := db.Exec("CREATE TABLE t (u ubigint, h numeric(38,0), x bytea)")
	require.NoError(t, err)
	wide, _ := new(big.Int).SetString("-12345678901234567890123456789012345678", 10)
	_, err = db.Exec("INSERT INTO t VALUES ($1, $2, $3)", uint64(math.MaxUint64), wide, []byte(nil))
	require.NoError(t, err)
	require.Equal(t, "18446744073709551615", one(t, db, "SELECT u FROM t WHERE u = $1", uint64(math.MaxUint64)))
	require.Equal(t, wide.String(), one(t, db, "SELECT h FROM t WHERE h = $1 AND x IS NULL", wide))
	require.Equal(t, "-12345678901234567890123456789012345677", one(t, db, "SELECT $1::hugeint + 1", wide))
	require.Contains(t, one(t, db, "EXPLAIN SELECT h FROM t WHERE h = $1", wide), "DuckDB")
	require.EqualValues(t, 3, one(t, db, "SELECT count(*) FROM range($1)", big.NewInt(3)))
}

// What cannot be passed as it is is refused, and the connection goes on.
func TestArgumentsAreRefused(t *testing.T) {
	db := memory(t)
	for _, c := range []struct {
		query, want string
		args        []any
	}{
		{"SELECT $1::int - $2::int", "parameters have no names", []any{sql.Named("b", 1), sql.Named("a", 10)}},
		{"SELECT $1", "UTF-8", []any{"a\xff"}},
		{"SELECT 1", "0 parameters and was given 1", []any{1}},
		{"SHOW TimeZone", "0 parameters and was given 1", []any{1}},
		{"SELECT $1::int", "1 parameter and was given 2", []any{1, 2}},
		{"SELECT $1::timestamp", "out of range", []any{time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC)}},
		{"SELECT $1", "unsupported type", []any{[]int{1}}},
	} {
		err := db.QueryRow(c.query, c.args...).Scan(new(any))
		require.ErrorContains(t, err, c.want, c.query)
	}
	st, err := db.Prepare("SELECT $1::int")
	require.NoError(t, err)
	defer st.Close()
	require.ErrorContains(t, st.QueryRow(sql.Named("a", 1)).Scan(new(any)), "parameters have no names")
	require.EqualValues(t, 1, one(t, db, "SELECT 1"))
}
