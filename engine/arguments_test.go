package engine_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Statements with parameters are split like others, prepared once and run with values of many types.
func TestParametersAreSplit(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	makeShuffled(t, s)
	exec(t, s, `CREATE TABLE c WITH (placement = 'rows') AS SELECT i AS k, (i / 8)::DECIMAL(12,3) AS d, DATE '2000-01-01' + (i % 900)::INTEGER AS day, TIMESTAMP '2000-01-01' + to_hours(i) AS ts,
		TIMESTAMPTZ '2000-01-01 00:00:00+00' + to_hours(i) AS tz, 'word ' || i % 100 AS w, i % 2 = 0 AS even, i / 3.0::DOUBLE AS x FROM range(12000) r(i)`)
	day := duckdb.Date(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).Unix() / 86400)
	at := time.Date(2000, 3, 1, 0, 0, 0, 0, time.UTC)
	shuffling(t, s)
	for _, q := range []struct {
		sql  string
		args [][]any
	}{
		{"SELECT w, count(*), sum(k)::VARCHAR FROM c WHERE k > $1 GROUP BY w", [][]any{{int32(500)}, {int64(11000)}, {"700"}, {nil}, {99.5}}},
		{"SELECT w, count(*) FROM c WHERE w = $1 GROUP BY w", [][]any{{"word 7"}, {"no word"}}},
		{"SELECT count(*), min(k) FROM c WHERE day < $1 AND even = $2", [][]any{{day, true}, {"2001-01-01", "false"}}},
		{"SELECT count(*) FROM c WHERE ts >= $1 AND tz < $2", [][]any{{at, duckdb.TimestampTZ(at.AddDate(0, 1, 0))}}},
		{"SELECT count(*), max(d) FROM c WHERE d BETWEEN $1 AND $2", [][]any{{"1.125", "100.5"}, {int64(3), 77.25}, {big.NewInt(1), big.NewInt(900)}}},
		{"SELECT k, w, x * $2::DOUBLE FROM c WHERE x > $1 ORDER BY k LIMIT $3", [][]any{{1000.5, 2.0, int64(7)}, {float32(3), 0.5, int64(0)}}},
		{"SELECT a.g, count(*), sum(b.v + $2::INTEGER)::VARCHAR FROM a JOIN b ON a.k = b.k AND b.v > $1 WHERE a.w <> $3 GROUP BY a.g HAVING count(*) > $4", [][]any{{int64(100), int64(1), "word 1", int64(3)}}},
		{"SELECT max(ts + $1::INTERVAL)::VARCHAR, count(*) FROM c WHERE ts + $1::INTERVAL > $2", [][]any{{arrow.MonthDayNanoInterval{Months: 1, Days: 2, Nanoseconds: 3000}, at}}},
	} {
		plan := explain(t, s, q.sql, q.args[0]...)
		require.Contains(t, plan, "distributed", "%s", q.sql)
		split, err := s.Prepare(t.Context(), q.sql)
		require.NoError(t, err)
		for _, args := range q.args {
			want := alone(t, s, q.sql, args...)
			r, err := split.Execute(t.Context(), args)
			require.NoError(t, err, "%s %v", q.sql, args)
			require.NoError(t, r.Close())
			require.Equal(t, want, sorted(rows(t, s, q.sql, args...)), "%s %v", q.sql, args)
		}
		require.NoError(t, split.Close())
	}
	exec(t, s, "PREPARE p AS SELECT w, count(*) FROM c WHERE k > $1 GROUP BY w ORDER BY 1 LIMIT 3")
	require.Equal(t, []string{"word 0|100", "word 1|100", "word 10|100"}, rows(t, s, "EXECUTE p(1999)"))
	require.Contains(t, explain(t, s, "EXECUTE p(1999)"), "distributed")
	require.Equal(t, []string{"false", "true"}, rows(t, s, "SELECT DISTINCT fragments > 0 FROM csm.queries WHERE query LIKE 'SELECT w, count(*), sum%' ORDER BY 1"))
	c.requireSpace()
}

// The session's time zone counts on every node.
func TestTimeZoneTravels(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s := c.session(0)
	exec(t, s, "CREATE TABLE z WITH (placement = 'rows') AS SELECT TIMESTAMPTZ '2024-03-10 00:00:00+00' + to_hours(i) AS ts FROM range(3000) r(i)")
	exec(t, s, "SET TimeZone = 'America/New_York'")
	shuffling(t, s)
	sql := "SELECT extract(hour FROM ts), count(*), min(ts)::VARCHAR FROM z GROUP BY 1"
	require.Contains(t, explain(t, s, sql), "distributed")
	require.Equal(t, alone(t, s, sql), sorted(rows(t, s, sql)))
}

// A numeric is compared as it is, whatever the parameter was planned as, and however the statement was executed before.
func TestNumericsAreNotRounded(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i::smallint AS i, i::integer AS j, i::bigint AS k, i::decimal(10,2) AS d, i::double AS f FROM range(10) r(i)")
	for _, column := range []string{"i", "j", "k", "d", "f"} {
		equal, err := s.Prepare(t.Context(), "SELECT count(*) FROM t WHERE "+column+" = $1")
		require.NoError(t, err)
		less, err := s.Prepare(t.Context(), "SELECT count(*) FROM t WHERE "+column+" < $1")
		require.NoError(t, err)
		for _, c := range []struct {
			value       duckdb.Decimal
			equal, less int64
		}{{"7", 1, 7}, {"1.5", 0, 2}, {"2", 1, 2}, {"1.995", 0, 2}, {"2.000", 1, 2}, {"-0.001", 0, 0}, {"12345678901234567890.5", 0, 10}, {"9223372036854775808", 0, 10}, {"-9223372036854775809", 0, 0}, {"32768", 0, 10}} {
			require.Equal(t, c.equal, numberOf(t, equal, c.value), "%s = %s", column, c.value)
			require.Equal(t, c.less, numberOf(t, less, c.value), "%s < %s", column, c.value)
		}
		require.NoError(t, equal.Close())
		require.NoError(t, less.Close())
	}
	exec(t, s, "INSERT INTO t (i, d) VALUES ($1, $1)", duckdb.Decimal("20.125"))
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT count(*) FROM t WHERE i = 20 AND d = 20.13"), "a column that is written rounds")
}

func numberOf(t *testing.T, st *engine.Statement, args ...any) int64 {
	r, err := st.Query(t.Context(), args...)
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next(), r.Err())
	return r.RecordBatch().Column(0).(*array.Int64).Value(0)
}

// Statements about temporary tables tell of their parameters, as those about others do.
func TestTemporaryTablesTakeParameters(t *testing.T) {
	s := session(t, open(t))
	for _, c := range []struct {
		sql        string
		parameters int
		args       []any
	}{
		{"CREATE TEMP TABLE t AS SELECT i FROM range(10) r(i) WHERE i < $1", 1, []any{3}},
		{"INSERT INTO t VALUES ($1), ($2)", 2, []any{7, 8}},
	} {
		st, err := s.Prepare(t.Context(), c.sql)
		require.NoError(t, err, c.sql)
		require.Len(t, st.Parameters(), c.parameters, c.sql)
		_, err = st.Exec(t.Context(), c.args...)
		require.NoError(t, err, c.sql)
		require.NoError(t, st.Close())
	}
	require.Equal(t, []string{"0", "1", "2", "7", "8"}, rows(t, s, "SELECT i FROM t ORDER BY i"))
	exec(t, s, "CREATE TEMP TABLE u ON COMMIT PRESERVE ROWS AS SELECT 1")
}

// A parameter that is cast to a numeric without digits keeps all of its digits, or is an error. EXECUTE knows them.
func TestParametersOfNumerics(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "SET csm.dialect = 'postgres'")
	const sql = "SELECT CAST($1::numeric AS text)"
	for _, c := range []struct {
		value any
		want  string
	}{
		{0.1 + 0.2, "0.300000000"}, {float32(0.1), "0.100000000"}, {12345678901234.5, "12345678901234.500000000"},
		{"1.5", "1.500000000"}, {duckdb.Decimal("0.123456789000"), "0.123456789"}, {int64(7), "7.000000000"},
		{1e20, "100000000000000000000.000000000"}, {nil, "(null)"},
	} {
		require.Equal(t, []string{c.want}, rows(t, s, sql, c.value), "%v", c.value)
	}
	for _, value := range []any{1.0 / 3, 1e-10, "0.1234567891", duckdb.Decimal("0.1234567891")} {
		_, err := s.Query(t.Context(), sql, value)
		require.Equal(t, "22003", sqlerror.State(err), "%v: %v", value, err)
	}
	_, err := s.Query(t.Context(), "SELECT $1::numeric[]", "[1,0.1234567891]")
	require.Equal(t, "22003", sqlerror.State(err))
	exec(t, s, "PREPARE p AS "+sql)
	for argument, want := range map[string]string{
		"0.12345678901": "0.12345678901", "'0.12345678901'": "0.12345678901", "1::float8 / 3": "0.333333333333333",
		"1.50 * 1.50": "2.2500", "7": "7", "NULL": "(null)",
	} {
		require.Equal(t, []string{want}, rows(t, s, "EXECUTE p("+argument+")"), argument)
	}
	exec(t, s, "SET csm.dialect = 'duckdb'")
	require.Equal(t, []string{"0.333"}, rows(t, s, sql, 1.0/3), "DuckDB's own")
}
