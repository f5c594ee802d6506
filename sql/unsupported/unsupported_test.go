package unsupported_test

import (
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/unsupported"
)

// UN1: each text is PostgreSQL's, and DuckDB's parser stops at the byte of the bar.
func TestClausesInTexts(t *testing.T) {
	for marked, want := range map[string]string{
		"SELECT a FROM t ORDER BY a FETCH FIRST 2 ROWS |WITH TIES": "ROWS WITH TIES",
		"SELECT a FROM t GROUP BY |DISTINCT ROLLUP (a)":            "GROUP BY DISTINCT ROLLUP",
		"DROP |DATABASE d":                                                     "DROP DATABASE",
		"DROP FUNCTION f|(int)":                                                "DROP FUNCTION",
		"SELECT xmlelement|(name x)":                                           "XMLELEMENT",
		"SELECT json_array(|SELECT a FROM t RETURNING text)":                   "SELECT in JSON_ARRAY",
		"SELECT json_exists('{}', '$.a' |PASSING 1 AS x)":                      "PASSING in JSON_EXISTS",
		"SELECT 6 |# 3":                                                        "operator #",
		"SELECT '{}' @? |'$.a'":                                                "operator @?",
		"SELECT j.a FROM t JOIN v USING (a) |AS j":                             "USING … AS",
		"CREATE TEMP TABLE n (c text |COMPRESSION pglz)":                       "COMPRESSION",
		"CREATE TEMP TABLE n (c int, EXCLUDE |USING gist (c WITH =))":          "EXCLUDE USING",
		"SELECT /* a comment */ '{}' IS |JSON OBJECT WITH UNIQUE KEYS -- here": "IS JSON OBJECT WITH UNIQUE KEYS",
	} {
		at := strings.IndexByte(marked, '|')
		text := marked[:at] + marked[at+1:]
		_, err := pg.Parse(text)
		require.NoError(t, err, text)
		clause, ok := unsupported.InText(text, at)
		require.True(t, ok, text)
		require.Equal(t, want, clause.Name, text)
	}
}

// What DuckDB stops at has no name here; the nearest keyword is that of a clause that it has.
func TestWellKnownClausesAreNotNamed(t *testing.T) {
	for _, marked := range []string{
		"SELECT |describe FROM t", "SELECT a FROM t WHERE a > 1 AND |qualify > 1", "SELECT lambda |FROM t", "SELECT 1 |select",
		"SELECT a FROM t WHERE a BETWEEN 1 AND |b", "SELECT CASE WHEN a THEN |b END", "SELECT a FROM t ORDER BY |x",
	} {
		at := strings.IndexByte(marked, '|')
		clause, ok := unsupported.InText(marked[:at]+marked[at+1:], at)
		require.False(t, ok, "%s: %s", marked, clause.Name)
	}
}

// UN2: every place of every prefix.
func TestAnyPlaceHasAClauseOrNone(t *testing.T) {
	text := "SELECT 'ä' AS \"b\" FROM t WHERE a @? $1 -- end\n FOR UPDATE"
	for end := range len(text) + 1 {
		for at := -1; at <= end+1; at++ {
			unsupported.InText(text[:end], at)
		}
	}
	_, ok := unsupported.InText("a + 1", 2)
	require.False(t, ok, "no keyword")
}

func TestClausesInTrees(t *testing.T) {
	for text, c := range map[string]struct{ said, want string }{
		"SELECT a FROM (SELECT a FROM t FOR NO KEY UPDATE OF t NOWAIT) s":   {"SELECT locking clause is not supported!", "FOR NO KEY UPDATE OF NOWAIT"},
		"WITH c AS (DELETE FROM t RETURNING a) SELECT a FROM c":             {"A CTE needs a SELECT", "WITH … AS (DELETE …)"},
		"SELECT a FROM t ORDER BY a USING >":                                {"Unimplemented order by type", "ORDER BY … USING"},
		"SELECT a FROM t WHERE a NOT BETWEEN SYMMETRIC 2 AND 1":             {"Expression type T_List (223)", "NOT BETWEEN SYMMETRIC"},
		"DROP MATERIALIZED VIEW v":                                          {"Cannot drop this type yet", "DROP MATERIALIZED VIEW"},
		"DROP ACCESS METHOD m":                                              {"Cannot drop this type yet", "DROP ACCESS METHOD"},
		"CREATE TEMP TABLE n (c int UNIQUE NOT DEFERRABLE)":                 {"Constraint not implemented!", "NOT DEFERRABLE"},
		"CREATE TEMP TABLE n (c int GENERATED ALWAYS AS IDENTITY NOT NULL)": {"Constraint not implemented!", "GENERATED … AS IDENTITY"},
	} {
		tree, err := pg.Parse(text)
		require.NoError(t, err, text)
		require.True(t, unsupported.Refuses(c.said))
		clause, ok := unsupported.InTree(tree, c.said)
		require.True(t, ok, text)
		require.Equal(t, c.want, clause.Name)
	}
	tree, err := pg.Parse("SELECT 1 FOR UPDATE")
	require.NoError(t, err)
	_, ok := unsupported.InTree(tree, "Unimplemented order by type")
	require.False(t, ok, "not what was said")
	require.False(t, unsupported.Refuses("syntax error"))
}
