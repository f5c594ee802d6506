package outline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/outline"
	"github.com/csmsql/csmsql/queries"
)

// O1, O2: the outlines of many shapes.
func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/outlines", func(t *testing.T, d *datadriven.TestData) string {
		text, s := parsed(t, d.Input)
		q, err := text.Statement(s)
		if err != nil {
			return err.Error() + "\n"
		}
		var b strings.Builder
		draw(&b, text, q, "")
		return b.String()
	})
}

func parsed(t testing.TB, sql string) (*outline.Text, *pg.SelectStmt) {
	tree, err := pg.Parse(sql)
	require.NoError(t, err)
	text, err := outline.New(sql)
	require.NoError(t, err)
	return text, tree.Stmts[0].Stmt.GetSelectStmt()
}

func draw(b *strings.Builder, text *outline.Text, q *outline.Query, indent string) {
	line := func(name string, s plan.Span) {
		if s != (plan.Span{}) {
			fmt.Fprintf(b, "%s%s: %s\n", indent, name, text.Of(s))
		}
	}
	for _, c := range q.With {
		line("with", c.Span)
		if c.Body != nil {
			draw(b, text, c.Body, indent+"  ")
		}
	}
	if q.Select == nil {
		line("operator", q.Operator)
		for _, arm := range []*outline.Query{q.Left, q.Right} {
			if arm == nil {
				fmt.Fprintf(b, "%s  no outline\n", indent)
				continue
			}
			draw(b, text, arm, indent+"  ")
		}
	} else {
		line("head", q.Select.Head)
		for _, target := range q.Select.Targets {
			line("target", target.Expr)
			line("  as", target.Alias)
		}
		line("from", q.Select.From)
		line("where", q.Select.Where)
		for _, g := range q.Select.Group {
			line("group", g)
		}
		line("having", q.Select.Having)
		line("window", q.Select.Window)
	}
	for _, k := range q.Order {
		line("order", k.Expr)
		line("  how", k.Suffix)
	}
	line("limit", q.Limit)
	line("offset", q.Offset)
}

// O2: every TPC-H query has an outline, and so has every query in it.
func TestTPCHHasOutlines(t *testing.T) {
	for _, q := range queries.TPCH() {
		text, s := parsed(t, q.SQL)
		_, err := text.Statement(s)
		require.NoError(t, err, "Q%d", q.Number)
	}
}

// O1, O2: whatever parses has an outline that covers the text in order, or an error.
func FuzzStatement(f *testing.F) {
	for _, q := range queries.TPCH() {
		f.Add(q.SQL)
	}
	for _, sql := range []string{"SELECT a AS from FROM t WHERE x IS DISTINCT FROM y", "(SELECT 1) UNION (SELECT 2 LIMIT 1)", "SELECT 1 LIMIT ALL"} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		tree, err := pg.Parse(sql)
		if err != nil || len(tree.Stmts) != 1 || tree.Stmts[0].Stmt.GetSelectStmt() == nil {
			t.Skip()
		}
		text, err := outline.New(sql)
		if err != nil {
			return
		}
		if q, err := text.Statement(tree.Stmts[0].Stmt.GetSelectStmt()); err == nil {
			inside(t, q, q.Span)
		}
	})
}

func inside(t *testing.T, q *outline.Query, around plan.Span) {
	in := func(s plan.Span) {
		require.True(t, s == (plan.Span{}) || around.Start <= s.Start && s.Start < s.End && s.End <= around.End)
	}
	in(q.Span)
	in(q.Tail)
	if q.Select != nil {
		for _, target := range q.Select.Targets {
			in(target.Expr)
		}
		in(q.Select.From)
		in(q.Select.Where)
		in(q.Select.Rest)
	}
	for _, arm := range []*outline.Query{q.Left, q.Right} {
		if arm != nil {
			inside(t, arm, q.Span)
		}
	}
}

// O1: the conditions of joins, found from a name in them.
func TestOn(t *testing.T) {
	const sql = "SELECT * FROM a LEFT JOIN b ON a.x = b.x AND left(b.y, 1) = 'q' JOIN (c JOIN d ON (c.x) IN (d.x, 2)) ON f(c.z) = 1, e WHERE a.w = 1"
	text, _ := parsed(t, sql)
	for name, want := range map[string]string{
		"b.x": "a.x = b.x AND left(b.y, 1) = 'q'", "b.y": "a.x = b.x AND left(b.y, 1) = 'q'", "c.x": "(c.x) IN (d.x, 2)", "d.x": "(c.x) IN (d.x, 2)", "c.z": "f(c.z) = 1",
	} {
		s, ok := text.On(strings.Index(sql, name))
		require.True(t, ok)
		require.Equal(t, want, text.Of(s))
	}
	for _, name := range []string{"a LEFT"} {
		_, ok := text.On(strings.Index(sql, name))
		require.False(t, ok)
	}
}
