package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/engine"
)

// PIVOT without values gives what PIVOT with them gives, wherever it stands.
func TestPivotFindsItsValues(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, `CREATE TABLE t AS SELECT * FROM (VALUES (1, 'a', DATE '2024-01-01', 1.50, 10), (2, 'b''c', DATE '2024-01-02', 2.5, 20), (1, 'a', NULL, 2.5, 5), (NULL, NULL, NULL, NULL, 30)) x(i, s, d, n, v)`)
	for sql, same := range map[string]string{
		"PIVOT t ON i USING sum(v) GROUP BY s ORDER BY s":                  "PIVOT t ON i IN (1, 2) USING sum(v) GROUP BY s ORDER BY s",
		"PIVOT t ON s USING sum(v), max(v) AS m GROUP BY i ORDER BY ALL":   "PIVOT t ON s IN ('a', 'b''c') USING sum(v), max(v) AS m GROUP BY i ORDER BY ALL",
		"pivot_wider t on d, s using sum(v) group by i order by i limit 2": "PIVOT t ON d IN ('2024-01-01', '2024-01-02'), s IN ('a', 'b''c') USING sum(v) GROUP BY i ORDER BY i LIMIT 2",
		"PIVOT t ON s, i IN (2) USING sum(v) GROUP BY d ORDER BY d":        "PIVOT t ON s IN ('a', 'b''c'), i IN (2) USING sum(v) GROUP BY d ORDER BY d",
		"PIVOT t ON i IN (SELECT 2) USING sum(v) GROUP BY s ORDER BY s":    "PIVOT t ON i IN (2) USING sum(v) GROUP BY s ORDER BY s",
		"PIVOT t ON n": "PIVOT t ON n IN (1.50, 2.50) ORDER BY ALL",
		"PIVOT t ON i + 1 -- up\n USING count(*) GROUP BY v ORDER BY v;":                                  "PIVOT t ON i + 1 IN (2, 3) USING count(*) GROUP BY v ORDER BY v",
		"PIVOT (FROM t WHERE v < 20) ON upper(s) USING sum(v) GROUP BY i":                                 "PIVOT (FROM t WHERE v < 20) ON upper(s) IN ('A') USING sum(v) GROUP BY i",
		"SELECT * FROM (PIVOT t ON i USING sum(v) GROUP BY s) AS p ORDER BY s":                            "SELECT * FROM (PIVOT t ON i IN (1, 2) USING sum(v) GROUP BY s) AS p ORDER BY s",
		"WITH x(a, b) AS (SELECT i, v FROM t) PIVOT x ON a USING sum(b)":                                  "PIVOT (SELECT i, v FROM t) ON i IN (1, 2) USING sum(v)",
		"WITH x AS (SELECT i, v FROM t), p AS (PIVOT x ON i USING sum(v)) SELECT * FROM p":                "PIVOT (SELECT i, v FROM t) ON i IN (1, 2) USING sum(v)",
		"WITH RECURSIVE x AS MATERIALIZED (SELECT i, v FROM t) SELECT * FROM (PIVOT x ON i USING sum(v))": "PIVOT (SELECT i, v FROM t) ON i IN (1, 2) USING sum(v)",
		"PIVOT (PIVOT t ON i USING sum(v) GROUP BY s) ON s USING max(\"1\")":                              "SELECT NULL::HUGEINT, 15::HUGEINT, NULL::HUGEINT LIMIT 0",
	} {
		want, err := tryRows(s, same)
		require.NoError(t, err, same)
		if len(want) > 0 {
			require.ElementsMatch(t, want, rows(t, s, sql), sql)
		} else {
			rows(t, s, sql)
		}
	}
	exec(t, s, "CREATE TABLE made AS PIVOT (SELECT i, v FROM t) ON i USING sum(v); INSERT INTO made PIVOT (SELECT i, v FROM t) ON i USING sum(v)")
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT count(*) FROM made WHERE \"1\" = 15 AND \"2\" = 20"))

	// The values are those of the statement's snapshot.
	st, err := s.Prepare(context.Background(), "PIVOT (SELECT i, v FROM t WHERE i = 1) ON i USING sum(v)")
	require.NoError(t, err)
	defer st.Close()
	exec(t, other, "INSERT INTO t (i, v) VALUES (1, 1)")
	reader, err := st.Query(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{"16"}, textsOf(reader))
	exec(t, other, "DELETE FROM t WHERE v = 1")
	exec(t, s, "BEGIN; INSERT INTO t (i, v) VALUES (7, 70)")
	require.Equal(t, []string{"15|20|70"}, rows(t, s, "PIVOT (SELECT i, v FROM t) ON i USING sum(v)"))
	require.Equal(t, []string{"15|20"}, rows(t, other, "PIVOT (SELECT i, v FROM t) ON i USING sum(v)"))
	exec(t, s, "ROLLBACK; CREATE TEMP TABLE mine AS SELECT 'x' AS k, 1 AS v")
	require.Equal(t, []string{"1"}, rows(t, s, "PIVOT mine ON k USING sum(v)"))
}

// Where the values cannot be found, the error says what to write.
func TestPivotErrors(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i AS k, i AS v FROM range(20000) r(i); CREATE TABLE none (k INTEGER, v INTEGER)")
	for sql, state := range map[string]string{
		"PIVOT t ON k USING sum(v)": "54011", "PIVOT none ON k USING sum(v)": "22023", "CREATE VIEW x AS PIVOT none ON k USING sum(v)": "0A000", "CREATE TEMP VIEW x AS PIVOT none ON k USING sum(v)": "0A000",
		"PIVOT t JOIN none ON t.k = none.k ON k USING sum(v)": "0A000", "EXPLAIN PIVOT (FROM t LIMIT 3) ON k USING sum(v)": "", "PIVOT t ON nothing USING sum(v)": "42703", "PIVOT nothing ON k USING sum(v)": "42P01",
		"PIVOT (FROM t LIMIT 3) ON k USING sum(nothing)": "42703", "PIVOT t ON": "42601", "PIVOT": "42601", "WITH": "42601", "WITH x": "42601", "WITH x AS (PIVOT": "42601", ")(PIVOT)": "42601",
	} {
		err := failing(s, sql)
		if state == "" {
			require.NoError(t, err, sql)
			continue
		}
		requireState(t, state, err)
		var failed *engine.Error
		if state[:2] != "42" {
			require.ErrorAs(t, err, &failed, sql)
			require.Contains(t, failed.Hint(), "ON x IN ('a', 'b')", sql)
		}
	}
}

// No text brings the scanner down.
func TestPivotScannerTakesEverything(t *testing.T) {
	words := []string{"PIVOT", "pivot_wider", "with", "recursive", "as", "not", "materialized", "x", "on", "in", "using", "join", "select", "(", ")", "[", "]", "{", "}", ",", ";", "'a'", "-- c\n", "/* c */", "1"}
	rapid.Check(t, func(r *rapid.T) {
		engine.PivotItems(strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 16).Draw(r, "words"), " "))
	})
	require.Equal(t, 2, engine.PivotItems("WITH a AS (PIVOT t ON x, y USING z) SELECT 1"))
}
