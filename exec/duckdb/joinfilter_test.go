package duckdb_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// An estimate changes an answer in one place that is DuckDB's own (duckdb#23933): from 64 rows on an ASOF join with an equality matches rows
// whose ordering column is NULL. When DuckDB is right by itself, this and what refers to it can go.
func TestASOFJoinsOfManyRows(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 2, Files: duckdb.FileAccess{All: true}})
	for _, sql := range []string{
		"CREATE TEMP TABLE l AS SELECT CASE WHEN i > 0 THEN i END AS k, 1 AS g FROM range(10) r(i)",
		"CREATE TEMP TABLE r AS SELECT i AS k, 1 AS g FROM range(10) r(i)",
	} {
		require.NoError(t, c.Exec(sql))
	}
	const sql = "SELECT count(*) FROM l ASOF JOIN r ON l.k >= r.k AND l.g = r.g"
	require.Equal(t, []string{"9"}, ask(t, c, sql))
	require.NoError(t, c.Exec("SET asof_loop_join_threshold = 0"))
	require.Equal(t, []string{"10"}, ask(t, c, sql), "DuckDB is right")
}

// What has an ASOF join can be run again, by whatever name it goes.
func TestASOFJoinsRunAgain(t *testing.T) {
	_, c := open(t)
	for _, sql := range []string{
		"CREATE TEMP TABLE l AS SELECT i AS k, i % 3 AS g FROM range(1000) r(i)", "CREATE TEMP TABLE r AS SELECT i AS k, i % 3 AS g FROM range(1000) r(i)",
		"CREATE TEMP VIEW v AS SELECT l.k FROM l ASOF JOIN r ON l.k >= r.k AND l.g = r.g",
	} {
		require.NoError(t, c.Exec(sql))
	}
	for _, sql := range []string{"SELECT count(*) FROM l AsOf JOIN r ON l.k >= r.k AND l.g = r.g", "SELECT count(*) FROM v WHERE k >= $1"} {
		s, err := c.Prepare(sql)
		require.NoError(t, err)
		s.Hides()
		for range 3 {
			if strings.Contains(sql, "$1") {
				require.NoError(t, s.Bind([]any{int64(0)}))
			}
			rows, err := s.Execute(t.Context())
			require.NoError(t, err, sql)
			batch, err := rows.Next()
			require.NoError(t, err)
			require.Equal(t, "1000", batch.Column(0).ValueStr(0))
			batch.Release()
			rows.Close()
		}
		s.Close()
	}
}

// A join's keys do not filter what LIMIT counts. Whether DuckDB's filter comes before the rows that it must not take is chance, so what
// is seen is that there is one where it is allowed, and none without. When DuckDB does it right by itself, Options.JoinFilters can go.
func TestJoinFiltersStayAboveLimit(t *testing.T) {
	const limited = "SELECT count(*) FROM small JOIN (SELECT a FROM big ORDER BY a LIMIT 1000 OFFSET 1) x ON small.a = x.a"
	for _, filters := range []bool{false, true} {
		c := openWith(t, duckdb.Options{Threads: 2, JoinFilters: filters})
		for _, sql := range []string{"CREATE TEMP TABLE big AS SELECT range AS a FROM range(100000)", "CREATE TEMP TABLE small AS SELECT unnest([99999, 99998, 5]) AS a"} {
			require.NoError(t, c.Exec(sql))
		}
		plan := strings.Join(ask(t, c, "EXPLAIN ANALYZE SELECT count(*) FROM small JOIN big ON small.a = big.a"), "")
		require.Equal(t, filters, strings.Contains(plan, "Dynamic Filters"), "with join filters: %v: %s", filters, plan)
		for tries := 0; tries < 20 && !filters; tries++ {
			require.Equal(t, []string{"1"}, ask(t, c, limited))
		}
	}
}
