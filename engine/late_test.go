package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// A parameter may be the argument of a table function, of any type that it takes, beside others that are not; the statement can be
// described before, and executed again with other values.
func TestParametersOfTableFunctions(t *testing.T) {
	ctx := context.Background()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, 'w' || i AS w FROM range(5) r(i)")
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		sql  string
		args []any
		want string
	}{
		{"SELECT * FROM range($1)", []any{int64(3)}, "0 1 2"},
		{"SELECT * FROM range($1)", []any{"3"}, "0 1 2"},
		{"SELECT * FROM range($1::int)", []any{int32(2)}, "0 1"},
		{"SELECT * FROM range($1)", []any{nil}, ""},
		{"SELECT $2, i FROM generate_series(1, $1) g(i) WHERE i > $3", []any{int64(3), "it's", int64(1)}, "it's|2 it's|3"},
		{"SELECT t.a, $1 FROM t, range($2) r(i) WHERE t.a = r.i AND t.w <> $3", []any{"p", int32(4), "w1"}, "0|p 2|p 3|p"},
		{"FROM range($1) SELECT range + 1, $2", []any{int64(2), int64(5)}, "1|5 2|5"},
		{"SELECT d::text FROM generate_series($1::timestamp, $2::timestamp, INTERVAL 1 DAY) g(d)", []any{day, day.AddDate(0, 0, 1)}, "2024-01-01 00:00:00 2024-01-02 00:00:00"},
		{"SELECT $1::date::text, $2::double, $3::blob::text, $4::time::text, $5::interval::text, $6::boolean, i FROM range($7) r(i)",
			[]any{duckdb.Date(1), 1.5, []byte{0, 255}, duckdb.TimeOfDay(3600e6), "1 day", true, int64(1)}, `1970-01-02|1.5|\x00ff|01:00:00|1 day|true|0`},
		{"SELECT $1, a FROM t WHERE a = $2", []any{"x", int64(3)}, "x|3"}, // none of one: it has been text all along, the other has not
	} {
		st, err := s.Prepare(ctx, c.sql)
		require.NoError(t, err, c.sql)
		require.Len(t, st.Parameters(), len(c.args), c.sql)
		for range 2 {
			got, err := st.Query(ctx, c.args...)
			require.NoError(t, err, c.sql)
			require.True(t, got.Schema().Equal(st.Schema()), c.sql)
			got.Release()
		}
		require.NoError(t, st.Close())
		require.Equal(t, c.want, strings.Join(rows(t, s, c.sql, c.args...), " "), c.sql)
	}
	_, err := tryRows(s, "SELECT * FROM range($1)", "x")
	require.Equal(t, "22P02", sqlState(err))
	_, err = tryRows(s, "SELECT * FROM range($1)")
	require.Equal(t, "08P01", sqlState(err))
	_, err = tryRows(s, "SELECT * FROM range($1) r(i) WHERE nope = 1", int64(1))
	require.Equal(t, "42703", sqlState(err))
	require.Equal(t, "INSERT 0 3", exec(t, s, "INSERT INTO t SELECT i, $2 FROM range($1) r(i)", int64(3), "new").Tag)
	require.Equal(t, "DELETE 2", exec(t, s, "DELETE FROM t WHERE w = $1 AND a IN (SELECT i FROM range($2) r(i))", "new", int64(2)).Tag)
	require.Equal(t, "SELECT 4", exec(t, s, "CREATE TABLE u AS SELECT * FROM range($1)", int64(4)).Tag)
}
