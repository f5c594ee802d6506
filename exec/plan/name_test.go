package plan_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/exec/plan"
)

// TestSpansAreTokens attacks P4: a scan's span is exactly the tokens of the name, whatever quotes, blanks and comments do.
func TestSpansAreTokens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		part := func() string {
			return rapid.SampledFrom([]string{"t", "T", `"t"`, `"a b"`, `"x""y"`, "_u1", "ü", "r$2"}).Draw(rt, "part")
		}
		blank := func() string {
			return rapid.SampledFrom([]string{"", " ", "\n", "/* . */", " /* a /* b */ */ ", " -- c\n"}).Draw(rt, "blank")
		}
		text := part()
		for range rapid.IntRange(0, 2).Draw(rt, "qualification") {
			text += blank() + "." + blank() + part()
		}
		before := "SELECT 'é', " + rapid.SampledFrom([]string{"1", `"x.y"`, "$$ from $$"}).Draw(rt, "before") + " FROM " + blank()
		sql := before + text + rapid.SampledFrom([]string{"", " AS z", " z", " WHERE 1 = 1", ";", "--x", ", lateral (select 1) s"}).Draw(rt, "after")
		tree, err := pg.Parse(sql)
		require.NoError(rt, err, sql)
		var asked []string
		scans, err := plan.Read(sql, tree, plan.ResolverFunc(func(catalog, schema, table string) *plan.Relation {
			asked = append(asked, strings.Trim(catalog+"."+schema+"."+table, "."))
			return &plan.Relation{Schema: "s", Name: "n"}
		})).Scans()
		require.NoError(rt, err, sql)
		require.Len(rt, scans, 1, sql)
		require.Equal(rt, text, sql[scans[0].Start:scans[0].End], sql)
		require.Equal(rt, partsByTokens(rt, text), asked[0])
	})
}

// partsByTokens lets PostgreSQL's own scanner take the name apart.
func partsByTokens(t require.TestingT, text string) string {
	tokens, err := pg.Scan(text)
	require.NoError(t, err)
	var parts []string
	for _, k := range tokens.Tokens {
		part := text[k.Start:k.End]
		switch {
		case k.Token == pg.Token_ASCII_46 || k.Token == pg.Token_C_COMMENT || k.Token == pg.Token_SQL_COMMENT:
		case strings.HasPrefix(part, `"`):
			parts = append(parts, strings.ReplaceAll(part[1:len(part)-1], `""`, `"`))
		default:
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ".")
}

// TestForeignTree: a tree of another text is refused, not obeyed.
func TestForeignTree(t *testing.T) {
	tree, err := pg.Parse("SELECT * FROM lineitem, orders")
	require.NoError(t, err)
	for _, sql := range []string{"", "SELECT 1", "SELECT * FROM orders, lineitem"} {
		_, err := plan.Read(sql, tree, tpch()).Scans()
		require.ErrorIs(t, err, plan.ErrStatement, sql)
		var state interface{ SQLState() string }
		require.True(t, errors.As(err, &state))
		require.Equal(t, "XX000", state.SQLState())
		_, unsupported := plan.Read(sql, tree, tpch()).Compute()
		require.NotNil(t, unsupported)
	}
	_, err = plan.Read("SELECT 1", nil, tpch()).Scans()
	require.ErrorIs(t, err, plan.ErrStatement)
	_, unsupported := plan.Read("SELECT 1", nil, tpch()).Compute()
	require.NotNil(t, unsupported)
}

// TestLongNames: the tree cuts names at 63 bytes, the text does not; such names get no hint and no scan.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	sql := "SELECT m FROM t, " + long + " WHERE t." + long + " = 'a'"
	tree, err := pg.Parse(sql)
	require.NoError(t, err)
	scans, err := plan.Read(sql, tree, plan.ResolverFunc(func(_, _, table string) *plan.Relation {
		if table != "t" {
			return nil
		}
		return relation("t", 10, dictionary("m", 3), dictionary(long, 3), dictionary(long[:63], 3))
	})).Scans()
	require.NoError(t, err)
	require.Len(t, scans, 1)
	require.Equal(t, []string{"m"}, scans[0].EnumSafe)
	require.Empty(t, scans[0].Predicates)
}

// TestAnalysesDoNotPanic walks everything that PostgreSQL's grammar makes of odd statements. No tree is changed by that (P6).
func TestAnalysesDoNotPanic(t *testing.T) {
	odd, err := os.ReadFile("testdata/odd.sql")
	require.NoError(t, err)
	for _, sql := range strings.Split(strings.TrimSpace(string(odd)), "\n") {
		tree, err := pg.Parse(sql)
		require.NoError(t, err, sql)
		before := proto.Clone(tree)
		_, err = plan.Read(sql, tree, tpch()).Scans()
		require.NoError(t, err, sql)
		q, unsupported := plan.Read(sql, tree, tpch()).Compute()
		require.True(t, (q == nil) != (unsupported == nil), sql)
		require.True(t, proto.Equal(before, tree), sql)
	}
}

// FuzzScans: no statement that parses makes the analyses panic, leave the text's bounds or overlap.
func FuzzScans(f *testing.F) {
	for _, path := range []string{"testdata/odd.sql"} {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		for _, sql := range strings.Split(string(text), "\n") {
			f.Add(sql)
		}
	}
	f.Fuzz(func(t *testing.T, sql string) {
		tree, err := pg.Parse(sql)
		if err != nil {
			return
		}
		scans, err := plan.Read(sql, tree, tpch()).Scans()
		require.NoError(t, err)
		at := 0
		for _, s := range scans {
			require.True(t, at <= s.Start && s.Start < s.End && s.End <= len(sql))
			at = s.End
		}
		plan.Read(sql, tree, tpch()).Compute()
	})
}

// BenchmarkScans measures the analysis of the largest TPC-H queries beside their parse.
func BenchmarkScans(b *testing.B) {
	for _, number := range []string{"1", "7", "8", "19", "21"} {
		sql := tpchQuery(b, number)
		tree, err := pg.Parse(sql)
		require.NoError(b, err)
		resolver := tpch()
		b.Run("q"+number, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := plan.Read(sql, tree, resolver).Scans(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("parse"+number, func(b *testing.B) {
			for b.Loop() {
				if _, err := pg.Parse(sql); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// tpchQuery takes a query's text out of the golden file.
func tpchQuery(tb testing.TB, number string) string {
	golden, err := os.ReadFile("testdata/golden/tpch")
	require.NoError(tb, err)
	_, after, found := strings.Cut(string(golden), "# Query "+number+".\nscans\n")
	require.True(tb, found)
	sql, _, _ := strings.Cut(after, "\n----\n")
	return sql
}
