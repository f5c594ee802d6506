package tree_test

import (
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/csmsql/csmsql/sql/tree"
)

// tree.T4: with PERCENT behind the number of a sample a text has the tree that it has with blanks there, and nothing else that says percent is touched.
func TestSamplesOfPercents(t *testing.T) {
	for sql, blank := range map[string]string{
		"SELECT a FROM t TABLESAMPLE bernoulli (10 PERCENT) REPEATABLE (3) WHERE a > 1":  "SELECT a FROM t TABLESAMPLE bernoulli (10        ) REPEATABLE (3) WHERE a > 1",
		"SELECT 1 FROM t TableSample /* x */ SYSTEM(0.5%), u":                            "SELECT 1 FROM t TableSample /* x */ SYSTEM(0.5 ), u",
		"SELECT 'tablesample system (1 percent)', percent FROM t TABLESAMPLE system (1)": "SELECT 'tablesample system (1 percent)', percent FROM t TABLESAMPLE system (1)",
		"SELECT (SELECT 1 FROM a.t x TABLESAMPLE system (1 percent)), 2 % 3 FROM t":      "SELECT (SELECT 1 FROM a.t x TABLESAMPLE system (1        )), 2 % 3 FROM t",
	} {
		want, err := pg.Parse(blank)
		require.NoError(t, err)
		got, err := tree.Parse(sql)
		require.NoError(t, err, sql)
		require.True(t, proto.Equal(want, got), "%s: %v", sql, got)
		tree.Check(got, sql)
		text, err := tree.JSON(sql)
		require.NoError(t, err, sql)
		wantText, err := pg.ParseToJSON(blank)
		require.NoError(t, err)
		require.Equal(t, wantText, text)
	}
	for _, sql := range []string{"SELECT a FROM t TABLESAMPLE 10 PERCENT", "SELECT a FROM t TABLESAMPLE reservoir (10 PERCENT)", "SELECT a FROM t TABLESAMPLE system (10 PERCENT, 2)"} {
		_, err := tree.Parse(sql)
		require.ErrorContains(t, err, "syntax error", sql)
	}
}

// What the deparser writes becomes what DuckDB takes.
func TestPercents(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT a FROM t TABLESAMPLE bernoulli(10) REPEATABLE (3)":        "SELECT a FROM t TABLESAMPLE bernoulli(10 PERCENT) REPEATABLE (3)",
		"SELECT a FROM t TABLESAMPLE system(10 percent), u":               "SELECT a FROM t TABLESAMPLE system(10 percent), u",
		"SELECT 'tablesample system(10)' FROM t TABLESAMPLE reservoir(3)": "SELECT 'tablesample system(10)' FROM t TABLESAMPLE reservoir(3)",
	} {
		require.Equal(t, want, tree.Percents(sql))
	}
}
