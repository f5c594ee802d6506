package bind_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// tables are those of the tests: t (a, b, c), u (a, d), v (b, e), all in main.
var tables = map[string][]string{"t": {"a", "b", "c"}, "u": {"a", "d"}, "v": {"b", "e"}}

var catalog = bind.CatalogFunc(func(database, schema, name string) *bind.Table {
	name = lex.Fold(name)
	if tables[name] == nil || schema != "" && !lex.Same(schema, "main") || database != "" {
		return nil
	}
	return &bind.Table{Schema: "main", Name: name, Columns: tables[name]}
})

func bound(t require.TestingT, sql string) (*bind.Statement, *pg.ParseResult) {
	readable, _ := bind.WithoutExclude(sql)
	parsed, err := pg.Parse(readable)
	require.NoError(t, err, sql)
	s, err := bind.Bind(sql, parsed, catalog)
	require.NoError(t, err, sql)
	return s, parsed
}

// TestGolden: what names mean, and what queries put out.
func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/golden", func(t *testing.T, d *datadriven.TestData) string {
		s, parsed := bound(t, d.Input)
		return describe(d.Input, s, parsed)
	})
}

func describe(sql string, s *bind.Statement, parsed *pg.ParseResult) string {
	var b strings.Builder
	for _, q := range s.Queries {
		fmt.Fprintf(&b, "query %d", q.ID)
		if q.Around != nil {
			fmt.Fprintf(&b, " in %d", q.Around.ID)
		}
		for _, flag := range []struct {
			is   bool
			name string
		}{{q.Lateral, "lateral"}, {q.Stored, "stored"}, {q.Dialect, "dialect"}, {q.Stmt == nil, "apart"}} {
			if flag.is {
				b.WriteString(" " + flag.name)
			}
		}
		b.WriteString("\n")
		for _, c := range q.With {
			fmt.Fprintf(&b, "  with %s: query %d, %d mentions\n", c.Name, c.Query.ID, len(c.Refs))
		}
		for _, it := range q.Items {
			b.WriteString("  from " + describeItem(it) + "\n")
		}
		if q.Left != nil {
			fmt.Fprintf(&b, "  arms %d, %d\n", q.Left.ID, q.Right.ID)
		}
		if q.Stmt != nil {
			b.WriteString("  gives " + describeOutputs(q) + "\n")
		}
	}
	for m := range tree.All(parsed.ProtoReflect()) {
		if ref, ok := m.Interface().(*pg.ColumnRef); ok && !bind.IsStar(ref) {
			fmt.Fprintf(&b, "%s at %d: %s\n", textAt(sql, ref), ref.Location, describeRef(s.Ref(ref)))
		}
	}
	return b.String()
}

// textAt is a reference as the text has it.
func textAt(sql string, ref *pg.ColumnRef) string {
	if n, ok := bind.NameAt(sql, int(ref.Location)); ok {
		return sql[n.Start:n.End]
	}
	return sql[ref.Location:]
}

func describeItem(it *bind.Item) string {
	what := "something"
	switch {
	case it.Table != nil:
		what = fmt.Sprintf("table %s.%s [%d,%d)", it.Table.Schema, it.Table.Name, it.Name.Start, it.Name.End)
	case it.CTE != nil:
		what = "with " + it.CTE.Name
	case it.Query != nil:
		what = fmt.Sprintf("query %d", it.Query.ID)
	case it.Sources != nil:
		what = "join"
	}
	what = fmt.Sprintf("%q (%s) = %s", it.Alias, strings.Join(it.Columns, ", "), what)
	if it.Open {
		what += ", open"
	}
	if it.Hidden {
		what += ", hidden"
	}
	for _, c := range it.Cuts {
		what += fmt.Sprintf(", cut [%d,%d)", c.Start, c.End)
	}
	return what
}

func describeOutputs(q *bind.Query) string {
	var parts []string
	for _, o := range q.Outputs {
		parts = append(parts, fmt.Sprintf("%s = %s", o.Name, describeColumn(o.Column)))
	}
	if q.Open {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

func describeColumn(c bind.Column) string {
	switch {
	case c.Item == nil:
		return "?"
	case c.Index < 0:
		return fmt.Sprintf("%d.*", c.Item.ID)
	}
	name := fmt.Sprintf("%s#%d.%s", c.Item.Alias, c.Item.ID, c.Item.Columns[c.Index])
	if base := c.Base(); base.Item != nil && base != c {
		name += " ← " + describeColumn(base)
	}
	return name
}

func describeRef(r bind.Ref) string {
	switch {
	case r.Certain && r.Column.Item == nil:
		return fmt.Sprintf("entry %d of query %d", r.Target, r.Query.ID)
	case r.Certain:
		return fmt.Sprintf("%s of query %d", describeColumn(r.Column), r.Query.ID)
	}
	var parts []string
	for _, m := range r.May {
		if m.Item == nil {
			parts = append(parts, fmt.Sprintf("entry %d of query %d", m.Target, m.Query.ID))
		} else {
			parts = append(parts, describeColumn(m.Column))
		}
	}
	return "perhaps " + strings.Join(parts, ", ")
}

// A tree of another text is refused, not obeyed.
func TestForeignTree(t *testing.T) {
	parsed, err := pg.Parse("SELECT * FROM t, u")
	require.NoError(t, err)
	for _, sql := range []string{"", "SELECT 1", "SELECT * FROM u, t", "SELECT * FROM t AS"} {
		_, err := bind.Bind(sql, parsed, catalog)
		var foreign *bind.ForeignError
		require.ErrorIs(t, err, bind.ErrForeign, sql)
		require.True(t, errors.As(err, &foreign))
	}
	s, err := bind.Bind("SELECT 1", nil, catalog)
	require.NoError(t, err)
	require.Empty(t, s.Queries)
}

// A name of 63 bytes or more means nothing for certain (bind.N3): to PostgreSQL's parser it is another one.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	parsed, err := pg.Parse("SELECT " + long + ", a FROM " + long + ", t AS " + long)
	require.NoError(t, err)
	s, err := bind.Bind("SELECT "+long+", a FROM "+long+", t AS "+long, parsed, bind.CatalogFunc(func(_, _, name string) *bind.Table {
		require.Equal(t, "t", name)
		return &bind.Table{Name: "t", Columns: []string{long, long[:63], "a"}}
	}))
	require.NoError(t, err)
	require.Len(t, s.Items, 2)
	require.True(t, s.Items[0].Open)
	for m := range tree.All(parsed.ProtoReflect()) {
		if ref, ok := m.Interface().(*pg.ColumnRef); ok {
			require.Equal(t, ref.Fields[0].GetString_().Sval == "a", s.Ref(ref).Certain)
		}
	}
}

// FuzzBind: whatever parses is bound without a panic, each query and each mention of a table once, and what is said of
// columns stays within them (bind.N1, bind.N4 to bind.N6).
func FuzzBind(f *testing.F) {
	for _, path := range []string{"../../exec/plan/testdata/odd.sql", "testdata/golden"} {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		for sql := range strings.Lines(string(text)) {
			f.Add(strings.TrimSpace(sql))
		}
	}
	f.Fuzz(func(t *testing.T, sql string) {
		parsed, err := pg.Parse(sql)
		if err != nil {
			return
		}
		before := proto.Clone(parsed)
		s, err := bind.Bind(sql, parsed, catalog)
		require.NoError(t, err)
		require.True(t, proto.Equal(before, parsed))
		for i, q := range s.Queries {
			require.Equal(t, i, q.ID)
			require.True(t, q.Around == nil || q.Around.ID < i)
			for _, o := range q.Outputs {
				require.True(t, o.Column.Item == nil || slices.Contains(q.Items, o.Column.Item))
				checkColumn(t, o.Column)
			}
		}
		for i, it := range s.Items {
			require.Equal(t, i, it.ID)
			require.Contains(t, it.In.Items, it)
			require.True(t, it.Table == nil || len(it.Columns) <= len(it.Table.Columns))
			if it.Table != nil {
				require.True(t, 0 <= it.Name.Start && it.Name.Start < it.Name.End && it.Name.End <= len(sql))
			}
			for c := range it.Columns {
				checkColumn(t, bind.Column{Item: it, Index: c})
			}
		}
		for m := range tree.All(parsed.ProtoReflect()) {
			if ref, ok := m.Interface().(*pg.ColumnRef); ok {
				r := s.Ref(ref)
				checkColumn(t, r.Column)
				require.True(t, !r.Certain || len(r.May) == 0 && r.Query != nil)
			}
		}
	})
}

func checkColumn(t *testing.T, c bind.Column) {
	if c.Item != nil {
		require.True(t, 0 <= c.Index && c.Index < len(c.Item.Columns))
		base := c.Base()
		require.True(t, base.Item == nil || base.Index < len(base.Item.Table.Columns))
	}
}

// BenchmarkBind measures beside its parse what it takes to bind a query.
func BenchmarkBind(b *testing.B) {
	const sql = "SELECT x.b, count(*) FROM (SELECT t.a AS k, b FROM t JOIN u ON t.a = u.a WHERE d > 3) x, v WHERE x.b = v.b AND k < 5 GROUP BY x.b"
	parsed, err := pg.Parse(sql)
	require.NoError(b, err)
	b.Run("bind", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := bind.Bind(sql, parsed, catalog); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			if _, err := pg.Parse(sql); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What stands behind a star and is no list of names is left to fail.
func TestWithoutExclude(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT * EXCLUDE (a) FROM t":             "SELECT *             FROM t",
		"SELECT t.* exclude \"A\", 1 FROM t":      "SELECT t.*            , 1 FROM t",
		"SELECT DISTINCT * EXCLUDE (a, b) FROM t": "SELECT DISTINCT *                FROM t",
		"SELECT * EXCLUDE (t.a) FROM t":           "", "SELECT * REPLACE (1 AS a) FROM t": "", "SELECT a * exclude (b) FROM t": "",
		"SELECT * EXCLUDE (a FROM t": "", "SELECT * EXCLUDE () FROM t": "", "SELECT '* EXCLUDE (a)'": "", "SELECT * FROM t": "",
	} {
		got, ok := bind.WithoutExclude(sql)
		require.Equal(t, want != "", ok, sql)
		if ok {
			require.Equal(t, want, got)
		} else {
			require.Equal(t, sql, got)
		}
	}
}

// views are those of the tests: each as a catalog keeps it.
var views = map[string]bind.View{
	"plain":     {Text: "SELECT a AS k, b FROM main.t WHERE c > 3 -- up to here", Columns: []string{"k", "b"}},
	"named":     {Text: "SELECT a, count(*) FROM main.t GROUP BY a;", Columns: []string{"a", "n"}},
	"nested":    {Text: "SELECT k FROM main.plain AS p", Columns: []string{"k"}},
	"with":      {Text: "WITH c AS (SELECT a FROM main.t) SELECT a FROM c", Columns: []string{"a"}},
	"narrow":    {Text: "SELECT * FROM main.t", Columns: []string{"a", "b"}},
	"bare":      {Text: "SELECT a FROM t", Columns: []string{"a"}},
	"lost":      {Text: "SELECT a, gone FROM main.t", Columns: []string{"a", "gone"}},
	"elsewhere": {Text: "SELECT a FROM main.nowhere", Columns: []string{"a"}},
	"random":    {Text: "SELECT a, random() AS r FROM main.t", Columns: []string{"a", "r"}},
	"itself":    {Text: "SELECT a FROM main.itself", Columns: []string{"a"}},
	"asked":     {Text: "SELECT a FROM main.t WHERE b = $1", Columns: []string{"a"}},
	"joined":    {Text: "SELECT a FROM main.t ANTI JOIN main.u ON true", Columns: []string{"a"}},
}

// bind.N7: which names of views are replaced, and by what.
func TestInline(t *testing.T) {
	in := bind.Inliner{
		Catalog: catalog,
		View: func(database, schema, name string) *bind.View {
			if schema != "" && schema != "main" || database != "" {
				return nil
			}
			v, known := views[name]
			if known {
				v.Tree, _ = pg.Parse(v.Text)
			}
			return &v
		},
		Reproducible: func(parsed *pg.ParseResult) bool {
			for m := range tree.All(parsed.ProtoReflect()) {
				if call, ok := m.Interface().(*pg.FuncCall); ok && call.Funcname[0].GetString_().Sval == "random" {
					return false
				}
			}
			return true
		},
	}
	for sql, want := range map[string]string{
		"SELECT k FROM plain WHERE k = 5":                     "SELECT k FROM (SELECT a AS k, b FROM main.t WHERE c > 3 -- up to here\n) AS \"plain\" WHERE k = 5",
		"SELECT x.k FROM main.plain x(k), t":                  "SELECT x.k FROM (SELECT a AS k, b FROM main.t WHERE c > 3 -- up to here\n) x(k), t",
		"SELECT * FROM named JOIN t USING (a)":                "SELECT * FROM (SELECT * FROM (SELECT a, count(*) FROM main.t GROUP BY a\n) AS csm_view(\"a\", \"n\")) AS \"named\" JOIN t USING (a)",
		"SELECT k FROM nested":                                "SELECT k FROM (SELECT k FROM (SELECT a AS k, b FROM main.t WHERE c > 3 -- up to here\n) AS p\n) AS \"nested\"",
		"SELECT 1 WHERE EXISTS (SELECT 1 FROM \"with\" AS w)": "SELECT 1 WHERE EXISTS (SELECT 1 FROM (WITH c AS (SELECT a FROM main.t) SELECT a FROM c\n) AS w)",

		"SELECT main.plain.k FROM main.plain": "", "TABLE plain": "", "SELECT 1 FROM ONLY plain": "", "SELECT 1 FROM plain TABLESAMPLE SYSTEM (1)": "",
		"SELECT 1 FROM plain anti JOIN t ON true": "", "WITH plain AS (SELECT 1 AS k) SELECT k FROM plain": "", "SELECT 1 FROM other.plain": "",
		"SELECT 1 FROM narrow": "", "SELECT 1 FROM bare": "", "SELECT 1 FROM lost": "", "SELECT 1 FROM elsewhere": "", "SELECT 1 FROM random": "",
		"SELECT 1 FROM itself": "", "SELECT 1 FROM asked": "", "SELECT 1 FROM joined": "", "SELECT 1 FROM t": "",
	} {
		parsed, err := pg.Parse(sql)
		require.NoError(t, err, sql)
		got, inlined, made := in.Inline(sql, parsed)
		if want == "" {
			require.Nil(t, made, "%s: %s", sql, got)
			want = sql
		}
		require.Equal(t, want, got)
		read, err := pg.Parse(got) // tree.T3
		require.NoError(t, err, got)
		require.True(t, proto.Equal(read, inlined), "%s: %v, not %v", got, inlined, read)
	}
}
