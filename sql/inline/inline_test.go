package inline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/inline"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

var known = map[string]*inline.Function{
	"half": {Name: "half", Parameters: []inline.Parameter{{Name: "n", Type: inline.Of("int")}, {Name: "by", Type: inline.Of("int"), Default: "2"}},
		Result: inline.Of("int"), Body: "n / half.by"},
	"twice":   {Name: "twice", Parameters: []inline.Parameter{{Type: inline.Of("int")}}, Result: inline.Of("int"), Body: "$1 + $1"},
	"quarter": {Name: "quarter", Parameters: []inline.Parameter{{Name: "n", Type: inline.Of("int")}}, Result: inline.Of("int"), Body: "half(half(n))"},
	"strict":  {Name: "strict", Parameters: []inline.Parameter{{Name: "n", Type: inline.Of("int")}}, Result: inline.Of("int"), Body: "1", Strict: true},
	"nth":     {Name: "nth", Parameters: []inline.Parameter{{Name: "a", Type: inline.Of("int[]")}, {Name: "n"}}, Body: "a[n]"},
	"plain":   {Name: "plain", Parameters: []inline.Parameter{{Name: "n", Default: "one()"}}, Body: "n"},
	"around":  {Name: "around", Parameters: []inline.Parameter{{Name: "n", Default: "around()"}}, Body: "n"},
	"said": {Name: "said", Parameters: []inline.Parameter{{Name: "n", Type: inline.Type{Name: "text",
		Cast: "csm_text(" + inline.Place + ")"}}}, Result: inline.Of("text"), Body: "n", Means: dialect.PostgresName},
	"one":     {Name: "one", Result: inline.Of("int"), Body: "1"},
	"plus":    {Name: "plus", Parameters: []inline.Parameter{{Name: "a"}, {Name: "b"}}, Body: "a + b"},
	"endless": {Name: "endless", Result: inline.Of("int"), Body: "endless() + 1"},
}

func find(schema, name string) (*inline.Function, error) {
	if schema != "" && schema != "public" {
		return nil, nil
	}
	return known[name], nil
}

// Calls are written as bodies, with the arguments for the parameters, wherever they stand.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT half(a) FROM t":               "SELECT CAST((CAST((a) AS int) / CAST(2 AS int)) AS int) AS \"half\" FROM t",
		"SELECT public.half(by => 3, n => a)": "SELECT CAST((CAST((a) AS int) / CAST(3 AS int)) AS int) AS \"half\"",
		"SELECT twice(half(a)) + 1": "SELECT CAST((CAST((CAST((CAST((a) AS int) / CAST(2 AS int)) AS int)) AS int) + " +
			"CAST((CAST((CAST((a) AS int) / CAST(2 AS int)) AS int)) AS int)) AS int) + 1",
		"SELECT strict(a)":               "SELECT CAST((CASE WHEN CAST((a) AS int) IS NOT NULL THEN (1) END) AS int) AS \"strict\"",
		"SELECT other.half(a), lower(b)": "SELECT other.half(a), lower(b)",
		"SELECT (one()::text), CAST(one() AS int) FROM t WHERE one() IN (1)": "SELECT (CAST(1 AS int)::text) AS \"one\", " +
			"CAST(CAST(1 AS int) AS int) AS \"one\" FROM t WHERE CAST(1 AS int) IN (1)",
		"SELECT nth('{1}', 1), one() IS DISTINCT FROM one(), CASE WHEN true THEN one() ELSE one() END FROM t": "SELECT " +
			"((CAST('{1}' AS int[]))[(1)]) AS \"nth\", CAST(1 AS int) IS DISTINCT FROM CAST(1 AS int), " +
			"CASE WHEN true THEN CAST(1 AS int) ELSE CAST(1 AS int) END AS \"one\" FROM t",
		"SELECT plain() AS a, plain(2) AS b": "SELECT ((CAST(1 AS int))) AS a, ((2)) AS b",
		"SELECT said($1) AS a, said('x') AS b, said(NULL) AS c, said(c) AS d FROM t": "SELECT CAST((CAST($1 AS text)) AS text) " +
			"AS a, CAST((CAST('x' AS text)) AS text) AS b, CAST((CAST(NULL AS text)) AS text) AS c, CAST((csm_text(c)) AS text) AS d FROM t",
		"SELECT plus(2, 3) AS a": "SELECT ((2) + (3)) AS a",
	} {
		got, made, err := inline.Text(dialect.SourceOf(text), dialect.PostgresName, find)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		require.Equal(t, want == text, made == nil)
	}
	for text, state := range map[string]string{
		"SELECT half()": "42883", "SELECT half(1, 2, 3)": "42883", "SELECT half(x => 1)": "42883",
		"SELECT twice(random()::int)": "0A000", "SELECT endless()": "0A000", "SELECT around()": "0A000", "SELECT * FROM half(1)": "0A000",
		"SELECT half(1) OVER ()": "42809", "SELECT half(DISTINCT 1)": "42809",
	} {
		_, _, err := inline.Text(dialect.SourceOf(text), dialect.PostgresName, find)
		e, ok := err.(*sqlerror.Error)
		require.True(t, ok, "%s: %v", text, err)
		require.Equal(t, state, e.State, text)
	}
}

// Calls name the schemas of their functions, and columns keep their names, in both dialects.
func TestQualified(t *testing.T) {
	schema := func(f *inline.Function) string { return "S of " + f.Name }
	for _, c := range []struct{ in, of, want string }{
		{"SELECT half(half(a)), b FROM t WHERE half(c) > 1", dialect.PostgresName,
			`SELECT "S of half".half("S of half".half(a)) AS "half", b FROM t WHERE "S of half".half(c) > 1`},
		{"SELECT public.half(a) AS x, lower(b)", dialect.PostgresName, "SELECT public.half(a) AS x, lower(b)"},
		{"SELECT q.\"plain(a)\" FROM (SELECT plain(a) FROM t) AS q", dialect.DuckDBName,
			`SELECT q."plain(a)" FROM (SELECT "S of plain".plain(a) AS "plain(a)" FROM t) AS q`},
	} {
		got, err := inline.Qualified(dialect.SourceOf(c.in), c.of, find, schema)
		require.NoError(t, err, c.in)
		require.Equal(t, c.want, got)
	}
}

// A body that is a query selects one expression.
func TestExpression(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1": "1", " select /* a */ a + 1 AS b ; ": "a + 1", "SELECT ALL a b": "a", "SELECT (SELECT 1)": "(SELECT 1)",
	} {
		got, err := inline.Expression("f", query)
		require.NoError(t, err, query)
		require.Equal(t, want, got)
	}
	for _, query := range []string{"", "SELECT", "SELECT 1, 2", "SELECT a FROM t", "SELECT 1; SELECT 2", "VALUES (1)", "(SELECT 1)",
		"SELECT DISTINCT 1", "SELECT 1 LIMIT 1", "WITH a AS (SELECT 1) SELECT 2", "SELECT 1 UNION SELECT 2", "INSERT INTO t SELECT 1"} {
		_, err := inline.Expression("f", query)
		require.Error(t, err, query)
	}
}
