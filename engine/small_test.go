package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// Decision 0055: the kernels read tables of up to 131,072 rows, with DuckDB's answers; above it is DuckDB's. So is what
// the kernels would need more memory for than DuckDB: texts repeated for each row, lists of some rows, many expressions.
func TestSmallTablesNeedNoDuckDB(t *testing.T) {
	t.Parallel()
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
		"SELECT max(t), min(t), count(y) FROM %s WHERE i > 5",
		"SELECT coalesce(sum(i), 0), coalesce(sum(k)::BIGINT, 7), coalesce(max(i), -1), coalesce(sum(x), 0), sum(i)::BIGINT, coalesce(count(t), 1) FROM %s WHERE i < 0",
		"SELECT coalesce(sum(i), 0), coalesce(CAST(sum(k) AS BIGINT), 7), coalesce(max(i), -1), coalesce(sum(x), 0), coalesce(avg(n), 0) FROM %s WHERE i < 9",
		"SELECT i + 1, t, n * 2, l, y FROM %s",
		"SELECT t, i FROM %s WHERE t LIKE 'text 1%%' OR b IS NULL",
		"SELECT h, d, k / 2, y FROM %s WHERE x / 2 > 500",
	} {
		for table, backend := range map[string]string{"small": "Backend: Arrow kernels", "large": "Backend: DuckDB"} {
			sql := fmt.Sprintf(sql, table)
			require.Contains(t, strings.Join(rows(t, s, "EXPLAIN "+sql), "\n"), backend, sql)
			got, schema := rows(t, s, sql), schemaOf(t, s, sql)
			exec(t, s, "SET csm.backend = 'duckdb'")
			require.Equal(t, rows(t, s, sql), got, sql)
			require.Equal(t, schemaOf(t, s, sql), schema, sql)
			exec(t, s, "RESET csm.backend")
		}
	}
	many := "SELECT sum(i)"
	for n := range 40 {
		many += fmt.Sprintf(", sum(i * %d)", n+2)
	}
	for _, sql := range []string{many + " FROM small", "SELECT i, 'a text' FROM small", "SELECT max('a text') FROM small",
		"SELECT count(*) FROM small WHERE t = 'a text'", "SELECT count(l) FROM small WHERE i > 5", "SELECT i + 1, l FROM small WHERE i > 5",
		"SELECT coalesce(min(k), 5) FROM small", "SELECT coalesce(sum(n), 0) FROM small", "SELECT coalesce(sum(i), k) FROM small GROUP BY k",
		"SELECT sum(i)::INTEGER FROM small", "SELECT coalesce(sum(i), 0.5) FROM small", "SELECT coalesce(sum(i), sum(k), 0) FROM small",
		"SELECT k, count(*) FROM small GROUP BY k", "SELECT i FROM small ORDER BY i LIMIT 1", "SELECT upper(t) FROM small"} {
		require.Contains(t, strings.Join(rows(t, s, "EXPLAIN "+sql), "\n"), "Backend: DuckDB", sql)
	}
}

// schemaOf is the names and types of a query's columns.
func schemaOf(t *testing.T, s *engine.Session, sql string) (list []string) {
	r, err := s.Query(t.Context(), sql)
	require.NoError(t, err, sql)
	defer r.Release()
	for _, f := range r.Schema().Fields() {
		list = append(list, f.Name+" "+strings.TrimSuffix(f.Type.String(), "_view")) // as DuckDB lays bytes out
	}
	return list
}

// KE3: what cursors of the kernels hold is charged to their session, shown, refused beyond its share, and given back; so
// are copies of what the session's own transaction wrote.
func TestComputedRowsAreCharged(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE small AS SELECT i, i % 10 AS k, 'text ' || i AS t FROM range(100000) r(i)")
	const shown = "SELECT count(*), coalesce(sum(bytes), 0) FROM csm.memory WHERE kind = 'computed'"
	held := func() (bytes int64) {
		_, err := fmt.Sscanf(rows(t, other, shown)[0], "1|%d", &bytes)
		if err != nil {
			require.Equal(t, []string{"0|0"}, rows(t, other, shown))
		}
		return bytes
	}
	for _, test := range []struct {
		sql   string
		least int64
	}{
		{"SELECT i + 1, k * 2 FROM small", 2 * 16384 * 8},
		{"SELECT i, t FROM small WHERE k < 9", 2 * 14_000 * 24},
	} {
		exec(t, s, "BEGIN")
		exec(t, s, "SET LOCAL csm.session_memory = '8MB'")
		one := int64(0)
		for n := 1; ; n++ {
			require.Less(t, n, 100, "%s: nothing is refused", test.sql)
			cursor := fmt.Sprintf("c%d", n)
			exec(t, s, "DECLARE "+cursor+" CURSOR FOR "+test.sql)
			got, err := tryRows(s, "FETCH 1 FROM "+cursor)
			if err != nil {
				requireState(t, "53200", err)
				require.Greater(t, n, 2, test.sql)
				break
			}
			require.Len(t, got, 1)
			if n == 1 {
				one = held()
				require.GreaterOrEqual(t, one, test.least, test.sql)
			}
			require.GreaterOrEqual(t, held(), int64(n)*one*9/10, test.sql)
			require.LessOrEqual(t, held(), int64(8<<20), test.sql)
		}
		exec(t, s, "ROLLBACK")
		require.Zero(t, held(), test.sql)
	}

	exec(t, s, "BEGIN")
	exec(t, s, "CREATE TABLE own AS FROM small")
	exec(t, s, "DECLARE c CURSOR FOR SELECT i, t FROM own")
	require.Equal(t, []string{"0|text 0"}, rows(t, s, "FETCH 1 FROM c"))
	require.Greater(t, held(), int64(16_384*16))
	require.Less(t, held(), int64(4<<20), "a part of the rows is copied at once")
	require.Len(t, rows(t, s, "FETCH ALL FROM c"), 99_999)
	exec(t, s, "CLOSE c")
	require.Zero(t, held())
	exec(t, s, "ROLLBACK")
}

// A statement whose plan is all that could make room for its rows keeps it, and is refused, or runs; plans of others
// make room before it runs.
func TestComputedRowsTakeNoPlanAway(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE small AS SELECT i, i % 10 AS k FROM range(1000) r(i)")
	exec(t, s, "CREATE TABLE keyed (i BIGINT PRIMARY KEY, k BIGINT)")
	exec(t, s, "INSERT INTO keyed SELECT i, 0 FROM range(100) r(i)")
	texts := []string{"SELECT i + 1 FROM small WHERE k <> $1",
		"INSERT INTO keyed SELECT i + 1000, k FROM small WHERE i = $1",
		"UPDATE keyed SET k = k + 1 WHERE i = $1 RETURNING k"}
	ran := 0
	for share := 16; share <= 256; share += 8 {
		for _, text := range texts {
			st, err := s.Prepare(t.Context(), text)
			require.NoError(t, err)
			exec(t, s, fmt.Sprintf("SET csm.session_memory = %d", share))
			for n := range 2 {
				r, err := st.Query(t.Context(), share*4+n)
				if err == nil {
					_, err = linesOf(r)
				}
				if err == nil {
					ran++
					continue
				}
				var refused interface{ SQLState() string }
				require.ErrorAs(t, err, &refused, text)
				require.Contains(t, []string{"53200", "54000"}, refused.SQLState(), "%s: %v", text, err)
			}
			exec(t, s, "RESET csm.session_memory")
			require.NoError(t, st.Close())
		}
	}
	require.Greater(t, ran, 20)

	exec(t, s, "SET csm.session_memory = '1MB'")
	var many []*engine.Statement
	for n := range 100 {
		st, err := s.Prepare(t.Context(), fmt.Sprintf("SELECT i + %d FROM small WHERE k <> $1", n))
		require.NoError(t, err)
		if engine.PlanOf(st) == nil || e.Memory().Used > 1<<20-40<<10 {
			many = append(many, st)
			break
		}
		many = append(many, st)
	}
	r, err := many[len(many)-1].Query(t.Context(), 3)
	require.NoError(t, err)
	got, err := linesOf(r)
	require.NoError(t, err)
	require.Len(t, got, 900)
	require.Nil(t, engine.PlanOf(many[0]), "the plan that was not used for longest made room")
}
