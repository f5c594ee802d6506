package duckdb_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a query reads, and where it says so: every dialect and clause, and no common table expression.
func TestMentions(t *testing.T) {
	_, c := open(t)
	for query, want := range map[string]string{
		"SELECT 1":                             "",
		"SELECT 'ä€', \"ü\" FROM t":            "t",
		"TABLE t":                              "t",
		"FROM t":                               "t",
		"FROM 'a file'":                        "a file",
		`SELECT x.* FROM "my "" t" AS x`:       `my " t`,
		"SELECT * FROM ONLY T":                 "T",
		"SELECT * FROM db.s.t JOIN s.u ON t.a": "db.s.t s.u",
		"SELECT a, (SELECT 1 FROM b) FROM c WHERE EXISTS (SELECT 1 FROM d) GROUP BY (SELECT 2 FROM e) HAVING (FROM f) QUALIFY a IN (FROM g) ORDER BY (FROM h) LIMIT (FROM i)": "b c d e f g h i",
		"SELECT * FROM a JOIN b ON a.x = (FROM c), LATERAL (SELECT * FROM d), unnest((SELECT [1] FROM e)) SEMI JOIN f USING (x)":                                              "a b c d e f",
		"SELECT * FROM a UNION (SELECT * FROM b EXCEPT SELECT * FROM c INTERSECT SELECT * FROM d) UNION ALL SELECT * FROM e":                                                  "a b c d e",
		"VALUES ((FROM a)), ((FROM b))": "a b",
		"SELECT sum(a) FILTER (a IN (FROM b)) OVER (PARTITION BY (FROM c) ORDER BY (FROM d)) FROM e": "b c d e",
		"SELECT CASE WHEN (FROM a) THEN [(FROM b)] ELSE {'k': (FROM c)} END":                         "a b c",
		"PIVOT t ON a IN (1, 2) USING sum(b)":                                                        "t",
		"SELECT * FROM t PIVOT (sum(b) FOR a IN (1, 2))":                                             "t",
		"UNPIVOT t ON a INTO NAME n VALUE v":                                                         "t",
		"SELECT * FROM (DESCRIBE t), (SUMMARIZE u), (DESCRIBE SELECT * FROM v)":                      "t u v",
		"SELECT * FROM (SHOW TABLES)":                                                                "",
		"SELECT * FROM t TABLESAMPLE 10%":                                                            "t",

		// Common table expressions.
		"WITH a AS (SELECT * FROM t) SELECT * FROM a, A":                                                             "t",
		"WITH t AS (SELECT * FROM t) SELECT * FROM t":                                                                "t",
		"WITH t AS MATERIALIZED (SELECT * FROM t) SELECT * FROM t":                                                   "t",
		"WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a, b":                                     "b",
		"WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM a, t WHERE n < 3) FROM a":                    "t",
		"WITH RECURSIVE a(n) AS (SELECT 1 UNION SELECT n FROM b), b AS (FROM a, c) FROM a, b":                        "b c",
		"SELECT (WITH a AS (SELECT 1) SELECT * FROM a), * FROM a":                                                    "a",
		"WITH a AS (SELECT 1) SELECT (SELECT 1 FROM a WHERE EXISTS (FROM a, b)) FROM (SELECT * FROM a) x":            "b",
		"WITH a AS (SELECT 1) SELECT * FROM s.a, (WITH b AS (SELECT * FROM a, c) SELECT * FROM b) x, b":              "s.a c b",
		"WITH a AS (SELECT 1) (SELECT * FROM a UNION (WITH b AS (FROM a) SELECT * FROM b)) UNION SELECT * FROM b, a": "b",
		"SELECT * FROM a ORDER BY (WITH b AS (FROM c) SELECT 1 FROM b)":                                              "a c",
		"WITH a AS (SELECT 1) SELECT 1 ORDER BY (SELECT 1 FROM a)":                                                   "",
		"WITH a AS (VALUES (1)) TABLE a":                                                                             "",
		"WITH a(x) AS (SELECT 1), b AS (PIVOT a ON x IN (1) USING sum(x)) FROM b":                                    "",
	} {
		m, err := c.Mentions(context.Background(), query)
		require.NoError(t, err, query)
		var got []string
		for _, r := range m.Relations {
			name := strings.TrimLeft(r.Catalog+"."+r.Schema+"."+r.Name, ".")
			got = append(got, name)
			first, _, _ := strings.Cut(name, ".")
			at := strings.TrimLeft(query[r.Offset:], `"'`)
			require.True(t, strings.HasPrefix(strings.ReplaceAll(at, `""`, `"`), first), "%s: %q is not at %d", query, name, r.Offset)
		}
		require.Equal(t, want, strings.Join(got, " "), query)
	}
}

func TestMentionedFunctions(t *testing.T) {
	_, c := open(t)
	m, err := c.Mentions(context.Background(), "SELECT lower(a), sum(b) OVER (), x.y.f(1) FROM query_table('t'), range(3) WHERE a + 1 > 2")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range m.Functions {
		names[f.Catalog+"."+f.Schema+"."+f.Name] = true
	}
	for _, want := range []string{"..lower", "..sum", "x.y.f", "..query_table", "..range"} {
		require.True(t, names[want], "%s of %v", want, names)
	}
}

func TestMentionsRefuses(t *testing.T) {
	_, c := open(t)
	for query, state := range map[string]string{
		"SELECT FROM WHERE": "42601", "SELECT 1; SELECT 2": "0A000", "INSERT INTO t SELECT 1": "0A000", "": "0A000",
		"SELECT '" + strings.Repeat("x", 300_000) + "'": "54001", "FROM query('FROM t')": "42501",
		fmt.Sprintf("SELECT %s1%s", strings.Repeat("(", 5000), strings.Repeat(")", 5000)): "",
	} {
		_, err := c.Mentions(context.Background(), query)
		if state != "" {
			requireState(t, state, err)
		}
	}
}
