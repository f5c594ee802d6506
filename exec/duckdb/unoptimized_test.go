package duckdb_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// betweens are conditions that DuckDB's optimizer folds into a BETWEEN; x, low and high stand for values.
var betweens = []string{
	"x BETWEEN low AND high", "x > low AND x <= high", "x >= high AND x <= high", "id < 3 AND x BETWEEN low AND high",
	"x BETWEEN low AND high AND id + random() >= 0",
}

// Lists, arrays, structs and maps are compared as others are (duckdb: BetweenLoopTypeSwitch knows no nested type).
func TestBetweenOfNestedValues(t *testing.T) {
	_, c := open(t)
	require.NoError(t, c.Exec("CREATE TEMP TABLE t AS SELECT i AS id, [i] AS l, [i, i]::INTEGER[2] AS a, {'v': i} AS s, "+
		"MAP {'k': i} AS m, [[i], []] AS n FROM range(5) r(i)"))
	for _, of := range [][]string{
		{"l", "[1]", "[2]"}, {"a", "[1, 1]::INTEGER[2]", "[2, 2]::INTEGER[2]"}, {"s", "{'v': 1}", "{'v': 2}"},
		{"m", "MAP {'k': 1}", "MAP {'k': 2}"}, {"n", "[[1], []]", "[[2], []]"},
	} {
		values, ids := strings.NewReplacer("x", of[0], "low", of[1], "high", of[2]), strings.NewReplacer("x", "id", "low", "1", "high", "2")
		for _, condition := range betweens {
			want := ask(t, c, "SELECT id FROM t WHERE "+ids.Replace(condition)+" ORDER BY id")
			for range 2 { // the second time with the plan that is kept
				require.Equal(t, want, ask(t, c, "SELECT id FROM t WHERE "+values.Replace(condition)+" ORDER BY id"))
			}
			require.Equal(t, fmt.Sprint(len(want)), ask(t, c, "SELECT count(*) FROM (FROM t LIMIT 9) WHERE "+values.Replace(condition))[0])
		}
	}
}

// A plan without the optimizer serves every execution, whatever is bound, and other statements have theirs optimized.
func TestBetweenOfNestedValuesAgain(t *testing.T) {
	_, c := open(t)
	require.NoError(t, c.Exec("CREATE TEMP TABLE t AS SELECT i AS id, [i] AS l FROM range(5) r(i)"))
	s, err := c.Prepare("SELECT count(*) FROM t WHERE l BETWEEN [1] AND [3] AND id < $1")
	require.NoError(t, err)
	defer s.Close()
	for _, limit := range []int64{9, 2, 3, 0} {
		require.NoError(t, s.Bind([]any{limit}))
		rows, err := s.Execute(t.Context())
		require.NoError(t, err)
		batch, err := rows.Next()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(max(min(limit-1, 3), 0)), batch.Column(0).ValueStr(0))
		batch.Release()
		rows.Close()
		require.Contains(t, ask(t, c, "EXPLAIN SELECT count(*) FROM t x, t y WHERE x.id = y.id")[0], "HASH_JOIN")
	}
}

// A product of tables that the query asks for is one with the optimizer, too.
func TestBetweenOfNestedValuesBesideProducts(t *testing.T) {
	_, c := open(t)
	require.NoError(t, c.Exec("CREATE TEMP TABLE t AS SELECT i AS id, [i] AS l FROM range(5) r(i)"))
	require.Equal(t, []string{"10"}, ask(t, c, "SELECT count(*) FROM t x, t y WHERE x.l BETWEEN [1] AND [2]"))
	require.Equal(t, []string{"2"}, ask(t, c, "SELECT count(*) FROM t x JOIN t y ON x.id = 4 WHERE y.l >= [2] AND y.l <= [3]"))
	_, err := tryAsk(c, "SELECT count(*) FROM t x, t y, t z WHERE x.id = z.id AND x.l BETWEEN [1] AND [2]")
	requireState(t, "0A000", err)
}

// What would multiply tables without the optimizer, or has given rows already, is refused. When the first of these works, DuckDB
// can do without unoptimized.go's BETWEEN.
func TestBetweenOfNestedValuesRefused(t *testing.T) {
	_, c := open(t)
	require.NoError(t, c.Exec("CREATE TEMP TABLE t AS SELECT i AS id, [i] AS l FROM range(5) r(i)"))
	for _, sql := range []string{
		"SELECT count(*) FROM t x, t y WHERE x.id = y.id AND x.l BETWEEN [1] AND [2]",
		"SELECT count(*) FROM t WHERE [CAST(random() AS BIGINT)] BETWEEN [0] AND [1]",
	} {
		_, err := tryAsk(c, sql)
		var e *duckdb.Error
		require.True(t, errors.As(err, &e), sql)
		require.Equal(t, "0A000", e.State, sql)
		require.Equal(t, "BETWEEN cannot filter by BIGINT[]", e.Message)
		require.Contains(t, e.HintText, "NOT (x < low OR x > high)")
	}
	require.Equal(t, []string{"2"}, ask(t, c, "SELECT count(*) FROM t x, t y WHERE x.id = y.id AND NOT (x.l < [1] OR x.l > [2])"), "the hint")
	require.NoError(t, c.Exec("BEGIN"))
	_, err := tryAsk(c, "SELECT id FROM t WHERE l BETWEEN [1] AND [2]")
	require.ErrorContains(t, err, "BETWEEN cannot filter by BIGINT[]", "the failure has aborted DuckDB's transaction")
	require.NoError(t, c.Exec("ROLLBACK"))
	require.Equal(t, []string{"1", "2"}, ask(t, c, "SELECT id FROM t WHERE l BETWEEN [1] AND [2]"))
}

// DuckDB 1.5 binds a column below TRY past groups and aggregates (mended upstream); by luck of the optimizer it may answer all the same.
func TestTryBesideGroups(t *testing.T) {
	_, c := open(t)
	require.NoError(t, c.Exec("CREATE TEMP TABLE t AS SELECT i AS id, i % 2 AS k FROM range(4) r(i)"))
	for _, sql := range []string{
		"SELECT TRY(k), count(*) FROM t GROUP BY ALL", "SELECT TRY(k), count(*) FROM t GROUP BY k", "SELECT TRY (k), count(*) FROM t",
		"SELECT count(*) FROM t HAVING try(k) = 1", "SELECT count(*) FROM t ORDER BY TRY(k)",
		"SELECT q.n FROM t, (SELECT TRY(k) AS g, median(id) AS n FROM t GROUP BY ALL) AS q WHERE q.g < 1",
	} {
		_, err := tryAsk(c, sql)
		var e *duckdb.Error
		require.True(t, errors.As(err, &e), sql)
		require.Equal(t, "0A000", e.State, "%s: %v", sql, err)
		require.Contains(t, e.Message, "TRY of a column")
		require.Contains(t, e.HintText, "sub-query")
	}
	for _, sql := range []string{ // the hint
		"SELECT TRY(k), count(*) FROM t GROUP BY 1 ORDER BY 1", "SELECT TRY(k), count(*) FROM t GROUP BY TRY(k) ORDER BY 1",
		"SELECT g, count(*) FROM (SELECT TRY(k) AS g FROM t) GROUP BY ALL ORDER BY 1",
	} {
		require.Equal(t, []string{"0|2", "1|2"}, ask(t, c, sql), sql)
	}
}
