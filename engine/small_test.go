package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Decision 0055: the kernels sum up tables of up to 131,072 rows, with DuckDB's answers; above it is DuckDB's. So is what
// the kernels would need memory for that is on no account: rows, texts repeated for each row, many expressions.
func TestSmallTablesNeedNoDuckDB(t *testing.T) {
	s := session(t, open(t))
	const smallRows = 131_072
	for name, size := range map[string]int{"small": smallRows, "large": smallRows + 1} {
		exec(t, s, fmt.Sprintf(`CREATE TABLE %s AS SELECT i, (i %% 300)::SMALLINT AS k, (i * 1.25)::DECIMAL(9,2) AS n, i / 8.0 AS x,
			CASE i %% 7 WHEN 0 THEN NULL ELSE 'text ' || i %% 50 END AS t, [i, NULL] AS l,
			CASE i %% 5 WHEN 0 THEN NULL ELSE i::VARCHAR::BLOB END AS y, i::HUGEINT AS h, DATE '2020-01-01' + (i %% 900)::INTEGER AS d, i %% 3 = 0 AS b
			FROM range(%d) r(i)`, name, size))
	}
	for _, sql := range []string{
		"SELECT count(*) FROM %s WHERE i = 77",
		"SELECT count(x), min(d), max(n), sum(k), avg(n), sum(i) FROM %s WHERE b AND d < '2021-01-01'",
		"SELECT sum(i * 2), min(x / 4), max(b) FROM %s WHERE x < 5000.5",
		"SELECT count(*) FROM %s WHERE t LIKE 'text 4%%' AND k IN (1, 2, 3)",
		"SELECT min(k), max(d) FROM %s WHERE NOT b OR t IS NULL",
		"SELECT sum(k) FROM %s WHERE i < 0",
		"SELECT count(h), count(b) FROM %s WHERE l IS NOT NULL AND i < 100",
	} {
		for table, backend := range map[string]string{"small": "Backend: Arrow kernels", "large": "Backend: DuckDB"} {
			sql := fmt.Sprintf(sql, table)
			require.Contains(t, strings.Join(rows(t, s, "EXPLAIN "+sql), "\n"), backend, sql)
			got := rows(t, s, sql)
			exec(t, s, "SET csm.backend = 'duckdb'")
			require.Equal(t, rows(t, s, sql), got, sql)
			exec(t, s, "RESET csm.backend")
		}
	}
	many := "SELECT sum(i)"
	for n := range 40 {
		many += fmt.Sprintf(", sum(i * %d)", n+2)
	}
	for _, sql := range []string{many + " FROM small", "SELECT i + 1 FROM small", "SELECT i, 'a text' FROM small", "SELECT max('a text') FROM small",
		"SELECT count(*) FROM small WHERE t = 'a text'", "SELECT max(t) FROM small WHERE i > 5", "SELECT count(l) FROM small WHERE i > 5",
		"SELECT count(y) FROM small WHERE i > 5", "SELECT k, count(*) FROM small GROUP BY k", "SELECT i FROM small ORDER BY i LIMIT 1", "SELECT upper(t) FROM small"} {
		require.Contains(t, strings.Join(rows(t, s, "EXPLAIN "+sql), "\n"), "Backend: DuckDB", sql)
	}
}
