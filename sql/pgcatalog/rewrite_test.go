package pgcatalog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/csmsql/csmsql/queries"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// TestRewrite shows what becomes of each construct, without a database.
func TestRewrite(t *testing.T) {
	datadriven.RunTest(t, "testdata/rewrite.txt", func(t *testing.T, d *datadriven.TestData) string {
		tree, err := pg.Parse(d.Input)
		require.NoError(t, err)
		switch d.Cmd {
		case "names":
			return strings.Join(pgcatalog.ColumnNames(tree), " ") + "\n"
		case "types":
			return fmt.Sprintln(pgcatalog.ColumnTypes(tree))
		default:
			out, err := pgcatalog.Rewrite(d.Input, tree)
			require.NoError(t, err)
			if out == d.Input {
				return "(as it is)\n"
			}
			return out + "\n"
		}
	})
}

// TestOrdinaryQueriesAreLeftAlone attacks P1 with the queries that users came for.
func TestOrdinaryQueriesAreLeftAlone(t *testing.T) {
	for _, q := range queries.TPCH() {
		tree, err := pg.Parse(q.SQL)
		require.NoError(t, err)
		require.False(t, pgcatalog.IsCatalogQuery(tree), "Q%d", q.Number)
	}
}

// TestRewriteIsPure attacks P2: the tree stays as it was, and the same text gives the same text.
func TestRewriteIsPure(t *testing.T) {
	eachClientQuery(t, func(sql string) {
		tree, err := pg.Parse(sql)
		require.NoError(t, err)
		before := proto.Clone(tree)
		first, err := pgcatalog.Rewrite(sql, tree)
		require.NoError(t, err)
		require.True(t, proto.Equal(before, tree))
		second, err := pgcatalog.Rewrite(sql, tree)
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}

// FuzzRewrite attacks P5: whatever PostgreSQL's parser understands comes out, and can be read again.
func FuzzRewrite(f *testing.F) {
	eachClientQuery(f, func(sql string) { f.Add(sql) })
	text, err := os.ReadFile("testdata/rewrite.txt")
	require.NoError(f, err)
	for block := range strings.SplitSeq(string(text), "\n\n") {
		_, sql, _ := strings.Cut(block, "\n")
		sql, _, _ = strings.Cut(sql, "\n----")
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		tree, err := pg.Parse(sql)
		if err != nil {
			return
		}
		require.Equal(t, pgcatalog.IsCatalogQueryNaive(tree), pgcatalog.IsCatalogQuery(tree), "the search's shortcuts miss or invent something")
		pgcatalog.ColumnNames(tree)
		pgcatalog.ColumnTypes(tree)
		out, err := pgcatalog.Rewrite(sql, tree)
		require.NoError(t, err)
		again, err := pg.Parse(out)
		require.NoError(t, err, "%s became %s", sql, out)
		require.Len(t, again.Stmts, len(tree.Stmts), "%s became %s", sql, out)
	})
}

func eachClientQuery(t testing.TB, visit func(sql string)) {
	paths, err := filepath.Glob("testdata/clients/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for block := range strings.SplitSeq("\n"+string(text), "\nquery") {
			_, body, _ := strings.Cut(block, "\n")
			sql, _, ok := strings.Cut(body, "\n----\n")
			if !ok {
				continue
			}
			sql, _ = parameters(sql)
			visit(sql)
		}
	}
}
