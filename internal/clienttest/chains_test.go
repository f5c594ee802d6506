package clienttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// chainLinks are queries that name the one before twice, in one way or another: %[1]s.
var chainLinks = []string{
	"SELECT a.i FROM %[1]s a JOIN %[1]s b ON a.i = b.i",
	"SELECT i FROM %[1]s a FULL JOIN %[1]s b USING (i)",
	"SELECT * FROM %[1]s a NATURAL JOIN %[1]s b",
	"SELECT a.* FROM %[1]s a, %[1]s b",
	"SELECT a.i + b.i - 1 AS i FROM %[1]s a, %[1]s b",
	"SELECT i + i - i AS i FROM %[1]s",
	"SELECT coalesce(a.i, b.i) AS i FROM %[1]s a, %[1]s b",
	"SELECT greatest(a.i, b.i) AS i FROM %[1]s a, %[1]s b",
	"SELECT CASE WHEN a.i = 1 THEN a.i ELSE b.i END AS i FROM %[1]s a, %[1]s b",
	"SELECT coalesce(nullif(a.i, b.i), 1) AS i FROM %[1]s a, %[1]s b",
	"SELECT i FROM %[1]s UNION SELECT i FROM %[1]s",
	"SELECT i FROM %[1]s INTERSECT SELECT i FROM %[1]s",
	"(SELECT i FROM %[1]s UNION ALL SELECT i FROM %[1]s) LIMIT 1",
	"SELECT i FROM %[1]s UNION ALL SELECT i FROM %[1]s WHERE i < 0",
	"SELECT i FROM %[1]s WHERE i IN (SELECT i FROM %[1]s)",
	"SELECT i FROM %[1]s x WHERE EXISTS (SELECT 1 FROM %[1]s y WHERE y.i = x.i)",
	"SELECT (SELECT max(i) FROM %[1]s) AS i FROM %[1]s",
	"SELECT (SELECT max(y.i) FROM %[1]s y WHERE y.i = x.i) AS i FROM %[1]s x",
	"SELECT max(a.i) AS i FROM %[1]s a, %[1]s b GROUP BY b.i",
	"SELECT max(a.i) OVER (ORDER BY b.i) AS i FROM %[1]s a, %[1]s b",
	"SELECT l.i FROM %[1]s a, LATERAL (SELECT a.i + b.i - 1 AS i FROM %[1]s b) l",
	"SELECT x.i FROM (SELECT * FROM %[1]s) x, (SELECT * FROM %[1]s) y WHERE x.i = y.i",
	"SELECT DISTINCT ON (a.i) a.i FROM %[1]s a, %[1]s b ORDER BY a.i, b.i",
	"WITH d AS MATERIALIZED (SELECT * FROM %[1]s) SELECT d.i FROM d, %[1]s e WHERE d.i = e.i",
	"SELECT x.i FROM (VALUES ((SELECT max(i) FROM %[1]s), (SELECT min(i) FROM %[1]s))) x(i, j)",
}

// TestChainsOfQueries asks queries of thirty links, each of which names the one before twice. A planner that goes
// through them link by link has thirty steps. One that follows each name has a billion (2^30), and never comes to the
// end.
func TestChainsOfQueries(t *testing.T) {
	const links = 30
	conn, ctx := connect(t)
	exec := func(sql string) {
		_, err := conn.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	exec("CREATE TABLE chained AS SELECT 1::int AS i")
	defer exec("DROP TABLE chained")
	for _, dialect := range []string{"postgres", "duckdb"} {
		exec("SET csm.dialect = " + dialect)
		for _, link := range chainLinks {
			with := make([]string, 0, links+1)
			with = append(with, "c0 AS (SELECT i FROM chained)")
			for i := range links {
				with = append(with, fmt.Sprintf("c%d AS MATERIALIZED (%s)", i+1, fmt.Sprintf(link, fmt.Sprintf("c%d", i))))
			}
			var answer int
			sql := "WITH " + strings.Join(with, ", ")
			exec("SET statement_timeout = '60s'")
			for last, arguments := range map[string][]any{
				" SELECT i::int FROM c30": nil, " SELECT i::int FROM c30 WHERE i = $1": {1},
				" SELECT t.i FROM chained t JOIN c30 ON t.i = c30.i": nil,
			} {
				require.NoError(t, conn.QueryRow(ctx, sql+last, arguments...).Scan(&answer), "%s: %s", dialect, link)
				require.Equal(t, 1, answer, link)
			}
		}
	}
}
