package bind_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// shapes are texts of which DuckDB has the last word.
var shapes = []string{
	"SELECT * FROM t", "SELECT b, a FROM t", "SELECT x.* FROM t AS x", "SELECT * FROM t AS x(p, q)", "SELECT main.t.b FROM main.t",
	"SELECT * FROM t, u", "SELECT u.*, t.b FROM t, u", "SELECT * FROM t JOIN u USING (a)", "SELECT * FROM t LEFT JOIN u USING (a)",
	"SELECT * FROM t RIGHT JOIN u USING (a)", "SELECT * FROM t FULL JOIN u USING (a)", "SELECT a FROM t JOIN u USING (a)",
	"SELECT a FROM t LEFT JOIN u USING (a)", "SELECT a FROM t RIGHT JOIN u USING (a)", "SELECT a FROM t FULL JOIN u USING (a)",
	"SELECT t.a, u.a FROM t RIGHT JOIN u USING (a)", "SELECT t.*, u.* FROM t JOIN u USING (a)", "SELECT * FROM t NATURAL JOIN u",
	"SELECT * FROM u NATURAL LEFT JOIN t", "SELECT * FROM u NATURAL RIGHT JOIN t", "SELECT b FROM v NATURAL RIGHT JOIN t",
	"SELECT * FROM t JOIN u USING (a) JOIN v USING (b)", "SELECT * FROM t RIGHT JOIN u USING (a) RIGHT JOIN v USING (b)",
	"SELECT * FROM u LEFT JOIN t USING (a) RIGHT JOIN v USING (b)", "SELECT a, b FROM u RIGHT JOIN t USING (a) LEFT JOIN v USING (b)",
	"SELECT * FROM t x RIGHT JOIN t y USING (a) RIGHT JOIN t z USING (a)", "SELECT * FROM t x LEFT JOIN (t y RIGHT JOIN u USING (a)) USING (a)",
	"SELECT * FROM (t JOIN u USING (a)) AS j", "SELECT j.b, * FROM (t JOIN u USING (a)) AS j", "SELECT * FROM (t RIGHT JOIN u USING (a)) AS j",
	"SELECT t.b FROM (t JOIN u USING (a)) AS j", "SELECT j.x, j.d FROM (t JOIN u USING (a)) AS j(x)",
	"SELECT * FROM (SELECT b AS k, a FROM t) x", "SELECT k FROM (SELECT b AS k FROM t) x", "SELECT * FROM (SELECT * FROM t, u) x",
	"SELECT * FROM (SELECT a, a FROM t) x", "SELECT * FROM (SELECT a, a FROM t) x(p, q)", "SELECT a + 1, count(*) FROM t GROUP BY 1",
	"WITH c AS (SELECT b, a FROM t) SELECT * FROM c", "WITH c(p) AS (SELECT b, a FROM t) SELECT p, a FROM c", "WITH t AS (SELECT d FROM u) SELECT * FROM t",
	"WITH c AS (SELECT * FROM t), d AS (SELECT b FROM c) SELECT * FROM d, c", "WITH t AS (SELECT 1 AS z) SELECT * FROM main.t",
	"WITH RECURSIVE c AS (SELECT a FROM t UNION SELECT a FROM c WHERE a = 'z') SELECT * FROM c", "WITH RECURSIVE c AS (SELECT b FROM t) SELECT * FROM c",
	"SELECT a FROM t UNION ALL SELECT d FROM u", "VALUES (1, 2)", "SELECT * FROM (VALUES (1, 2)) w", "SELECT * FROM (VALUES (1, 2)) w(p)",
	"SELECT (SELECT d FROM u), b FROM t", "SELECT d FROM t, LATERAL (SELECT d FROM u) l", "SELECT l.k FROM t, (SELECT b AS k) l", "SELECT * FROM t, (SELECT b AS k) l",
	"SELECT * FROM t ANTI JOIN u ON false", "SELECT * FROM t SEMI JOIN u ON true", "SELECT d FROM t POSITIONAL JOIN u ON true", "SELECT a AS b, b AS a FROM t", "SELECT T.A, \"t\".\"B\" FROM T",
	"SELECT COLUMNS('a|b') FROM t", "SELECT * FROM (SELECT COLUMNS('b') FROM t) x", "SELECT #2 FROM t", "SELECT * FROM (SELECT #2 FROM t) x", "SELECT t FROM t",
	"SELECT NULL", "SELECT * EXCLUDE (a) FROM t", "SELECT t.* EXCLUDE b, d FROM t, u", "SELECT * EXCLUDE (b) FROM t JOIN u USING (a)", "SELECT * FROM (SELECT * EXCLUDE (a, C) FROM t) x", "SELECT * FROM (SELECT (ARRAY[b])[1] FROM t) x", "SELECT * FROM (SELECT current_date) x", "SELECT k FROM (SELECT (t).b AS k FROM t) x", "SELECT b FROM t TABLESAMPLE SYSTEM (100)", "TABLE t", "SELECT * FROM t x, t y", "SELECT y.c FROM t x JOIN t y ON x.a = y.a",
	"SELECT a_1 FROM (SELECT a, a FROM t) x", "SELECT a FROM (SELECT a, a AS a FROM t) x", "SELECT min(b) FROM t", "SELECT * FROM (SELECT min(b) FROM t) x",
	"SELECT x.b FROM t AS x WHERE x.a = 't.a' ORDER BY x.b", "SELECT b AS k FROM t GROUP BY k", "SELECT DISTINCT b FROM t", "SELECT * FROM generate_series(1, 1)",
}

// Where the text says which column of which table a result column is, DuckDB shows that column's value; where it says how
// many there are and what they are called, they are (bind.N1, bind.N4).
func TestDuckDBAgrees(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{Threads: 1})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Connect(func(string, string) (*duckdb.Scan, error) { return nil, fmt.Errorf("no table of the catalog's") })
	require.NoError(t, err)
	defer conn.Close()
	for table, columns := range tables { // each value is the name of its column, so no two rows meet
		var values []string
		for _, c := range columns {
			values = append(values, duckdb.QuoteLiteral(table+"."+c)+" AS "+c)
		}
		require.NoError(t, conn.Exec("CREATE TEMP TABLE "+table+" AS SELECT "+strings.Join(values, ", ")))
	}
	certain := 0
	for _, sql := range shapes {
		s, _ := bound(t, sql)
		top := s.Top[0]
		statement, err := conn.Prepare(strings.ReplaceAll(strings.ReplaceAll(sql, "main.t", "temp.main.t"), "temp.main.t.", "t."))
		if err != nil {
			continue // which name is wrong is DuckDB's to say
		}
		schema, err := statement.Schema()
		require.NoError(t, err, sql)
		if !top.Open && !top.Dialect {
			require.Len(t, top.Outputs, schema.NumFields(), sql)
		}
		rows, err := statement.Execute(context.Background())
		require.NoError(t, err, sql)
		batch, err := rows.Next()
		for i, o := range top.Outputs {
			if top.Open || top.Dialect {
				break
			}
			if o.Name != "" && !s.Top[0].Open {
				require.True(t, strings.EqualFold(o.Name, schema.Field(i).Name) || strings.HasPrefix(schema.Field(i).Name, o.Name), "%s: %s, %s", sql, o.Name, schema.Field(i).Name)
			}
			base := o.Column.Base()
			if base.Item == nil || err != nil || batch.NumRows() == 0 {
				continue
			}
			certain++
			if got := batch.Column(i); got.IsValid(0) {
				require.Equal(t, base.Item.Table.Name+"."+base.Item.Table.Columns[base.Index], got.ValueStr(0), "%s: %d", sql, i)
			}
		}
		if batch != nil {
			batch.Release()
		}
		rows.Close()
		statement.Close()
	}
	require.Greater(t, certain, 40)
}

// preferences are texts with names that an entry of the select list has and a column, too, or several of either.
var preferences = []string{
	"SELECT p + 1 AS q FROM w WHERE q = 10", "SELECT p + 1 AS q, q * 2 FROM w", "SELECT q AS p, p AS q FROM w WHERE p < 2",
	"SELECT q AS p, sum(p) AS s FROM w GROUP BY q, p", "SELECT p % 2 AS q, count(*) FROM w GROUP BY q, p ORDER BY 1, 2",
	"SELECT -p AS q, p FROM w ORDER BY q", "SELECT -p AS q, p FROM w ORDER BY q DESC", "SELECT p AS p, q FROM w ORDER BY p DESC",
	"SELECT -p AS k, q FROM w WHERE k < -1", "SELECT -p AS k, count(*) FROM w GROUP BY k ORDER BY k",
	"SELECT p % 2 AS q, rank() OVER (ORDER BY q) AS r, p FROM w ORDER BY p",
	"SELECT p % 2 AS q, rank() OVER x AS r, p FROM w WINDOW x AS (ORDER BY q) ORDER BY p",
	"SELECT -p AS q, p FROM w WHERE EXISTS (SELECT 1 FROM y WHERE m = q) ORDER BY p",
	"SELECT -p AS q, (SELECT max(m) FROM y WHERE m <= q) FROM w ORDER BY q",
	"SELECT p, k FROM w, LATERAL (SELECT m + p AS k FROM y WHERE m < q) x ORDER BY p, k",
	"SELECT p, k FROM w, (SELECT m + w.p AS k FROM y WHERE y.m < w.q) x ORDER BY w.p, k",
	"SELECT p, k FROM w JOIN (SELECT m + p AS k FROM y) x ON k > q ORDER BY p, k",
	"SELECT p, (SELECT sum(k) FROM (SELECT m + p AS k FROM y) x) FROM w ORDER BY p",
	"SELECT p, (SELECT sum(k) FROM y, (SELECT m + p AS k) x) FROM w ORDER BY p",
	"SELECT q FROM w UNION ALL SELECT m FROM y ORDER BY q",
	"SELECT NULL AS p, q FROM w ORDER BY p, q", "SELECT x.\"NULL\", x.p FROM (SELECT NULL, p FROM w) x ORDER BY p",
}

// What a name certainly means, DuckDB reads in its place: the text with tables and columns, or the numbers of entries,
// for names gives the same rows (bind.N1).
func TestDuckDBPrefersTheSame(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{Threads: 1})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Connect(func(string, string) (*duckdb.Scan, error) { return nil, fmt.Errorf("no table of the catalog's") })
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.Exec("CREATE TEMP TABLE w AS FROM (VALUES (1, 10), (2, 2), (3, 5)) AS v(p, q)"))
	require.NoError(t, conn.Exec("CREATE TEMP TABLE y AS FROM (VALUES (2), (3), (10)) AS v(m)"))
	columns := map[string][]string{"w": {"p", "q"}, "y": {"m"}}
	for _, sql := range preferences {
		parsed, err := pg.Parse(sql)
		require.NoError(t, err)
		s, err := bind.Bind(sql, parsed, bind.CatalogFunc(func(_, _, name string) *bind.Table {
			return &bind.Table{Name: name, Columns: columns[name]}
		}))
		require.NoError(t, err)
		edited := edit.New(sql)
		for m := range tree.All(parsed.ProtoReflect()) {
			ref, ok := m.Interface().(*pg.ColumnRef)
			if !ok {
				continue
			}
			r, name := s.Ref(ref), textAt(sql, ref)
			require.True(t, r.Certain, "%s: %s", sql, name)
			meaning := strconv.Itoa(r.Target + 1)
			if it := r.Column.Item; it != nil {
				meaning = lex.Quote(it.Alias) + "." + lex.Quote(it.Columns[r.Column.Index])
			} else if strings.Contains(sql, "WHERE "+name) {
				meaning = "(-p)"
			}
			edited.Replace(int(ref.Location), int(ref.Location)+len(name), meaning)
		}
		explicit, _ := edited.Text()
		require.NotEqual(t, sql, explicit)
		require.Equal(t, rowsOf(t, conn, explicit), rowsOf(t, conn, sql), "%s\n%s", sql, explicit)
	}
}

func rowsOf(t *testing.T, conn *duckdb.Connection, sql string) (out []string) {
	statement, err := conn.Prepare(sql)
	require.NoError(t, err, sql)
	defer statement.Close()
	rows, err := statement.Execute(context.Background())
	require.NoError(t, err, sql)
	defer rows.Close()
	for {
		batch, err := rows.Next()
		if err != nil || batch == nil {
			return out
		}
		for row := range int(batch.NumRows()) {
			for i := range int(batch.NumCols()) {
				out = append(out, batch.Column(i).ValueStr(row))
			}
		}
		batch.Release()
	}
}
