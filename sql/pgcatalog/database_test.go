package pgcatalog_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// sample is the catalog of the golden tests; testdata/sample.sql makes the same in PostgreSQL.
func sample() []pgcatalog.Relation {
	const int4, int8, text, boolean, bytea, date, float8, timestamptz, numeric, bpchar, varchar, textArray = 23, 20, 25, 16, 17, 1082, 701, 1184, 1700, 1042, 1043, 1009
	return []pgcatalog.Relation{
		{Schema: "public", Name: "region", Kind: 'r', OID: 16385, Rows: 5, Bytes: 8192, Columns: []pgcatalog.Column{
			{Name: "r_regionkey", Type: int4, Typmod: -1, NotNull: true},
			{Name: "r_name", Type: bpchar, Typmod: 29, NotNull: true},
			{Name: "r_comment", Type: varchar, Typmod: 156},
		}},
		{Schema: "public", Name: "lineitem", Kind: 'r', OID: 16388, Rows: 6001215, Bytes: 900 << 20, Columns: []pgcatalog.Column{
			{Name: "l_orderkey", Type: int8, Typmod: -1, NotNull: true},
			{Name: "l_quantity", Type: numeric, Typmod: 15<<16 | 2 + 4, NotNull: true},
			{Name: "l_shipdate", Type: date, Typmod: -1},
			{Name: "l_comment", Type: varchar, Typmod: -1},
			{Name: "l_ts", Type: timestamptz, Typmod: -1},
			{Name: "l_flag", Type: boolean, Typmod: -1, Default: "true"},
			{Name: "l_d", Type: float8, Typmod: -1},
			{Name: "l_raw", Type: bytea, Typmod: -1},
			{Name: "l_tags", Type: textArray, Typmod: -1},
		}},
		{Schema: "public", Name: "big_region", Kind: 'v', OID: 16394, Columns: []pgcatalog.Column{
			{Name: "r_regionkey", Type: int4, Typmod: -1}, {Name: "r_name", Type: bpchar, Typmod: 29},
		}, Definition: " SELECT region.r_regionkey,\n    region.r_name\n   FROM region\n  WHERE region.r_regionkey > 2;"},
		{Schema: "sales", Name: "orders", Kind: 'r', OID: 16399, Columns: []pgcatalog.Column{
			{Name: "id", Type: int4, Typmod: -1}, {Name: "note", Type: text, Typmod: -1},
		}},
	}
}

func schemas() []pgcatalog.Schema {
	return []pgcatalog.Schema{{Name: "public"}, {Name: "sales", OID: 16398}}
}

// open gives a connection as the engine's sessions have it.
func open(t testing.TB) *duckdb.Connection {
	db, err := duckdb.Open(duckdb.Options{Threads: 2})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	first, err := db.Connect(nil)
	require.NoError(t, err)
	attach(t, first, pgcatalog.Functions, pgcatalog.Catalogs)
	first.Close() // what was attached must not need the connection that did so
	return connect(t, db)
}

func attach(t testing.TB, c *duckdb.Connection, images ...pgcatalog.Image) {
	for _, image := range images {
		file, err := image.File()
		require.NoError(t, err)
		require.NoError(t, c.Attach(image.Name, file))
	}
}

func connect(t testing.TB, db *duckdb.Database) *duckdb.Connection {
	c, err := db.Connect(nil)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	// The engine's views over HugeTables, so that a query that rewriting must leave alone has something to read.
	require.NoError(t, c.Exec("CREATE VIEW IF NOT EXISTS csmsql.public.region AS SELECT 0 AS r_regionkey, 'AFRICA' AS r_name, NULL AS r_comment"))
	require.NoError(t, c.LookAlso(pgcatalog.SessionSchema))
	require.NoError(t, new(pgcatalog.Variables).SetSession(c.Exec, pgcatalog.Session{User: "postgres", ProcessID: 4711, SearchPath: []string{"public"},
		Settings: []pgcatalog.Setting{{Name: "application_name", Value: "golden", Shown: "golden", Source: "client", Reset: "golden"}}}))
	require.NoError(t, pgcatalog.Refresh(c.Exec, sample(), nil, schemas(), "csmsql"))
	return c
}

// ask runs one statement the way the engine does and gives its rows as psql -A would, a header first.
func ask(c *duckdb.Connection, sql string, args ...any) (string, error) {
	tree, err := pg.Parse(sql)
	if err != nil {
		return "", err
	}
	rewritten, err := pgcatalog.Rewrite(sql, tree)
	if err != nil {
		return "", err
	}
	s, err := c.Prepare(rewritten)
	if err != nil {
		return rewritten, err
	}
	defer s.Close()
	if len(args) > 0 {
		if err := s.Bind(args); err != nil {
			return rewritten, err
		}
	}
	rows, err := s.Execute(context.Background())
	if err != nil {
		return rewritten, err
	}
	defer rows.Close()
	var b strings.Builder
	for i, f := range rows.Schema().Fields() {
		if i > 0 {
			b.WriteString("|")
		}
		b.WriteString(f.Name)
	}
	b.WriteString("\n")
	for {
		batch, err := rows.Next()
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return rewritten, err
		}
		for i := range int(batch.NumRows()) {
			for j, column := range batch.Columns() {
				if j > 0 {
					b.WriteString("|")
				}
				if column.IsValid(i) {
					b.WriteString(strings.ReplaceAll(show(column, i), "\n", `\n`))
				}
			}
			b.WriteString("\n")
		}
		batch.Release()
	}
}

// show writes a value as PostgreSQL does, as far as catalogs need it.
func show(values arrow.Array, i int) string {
	switch a := values.(type) {
	case *array.Boolean:
		return map[bool]string{true: "t", false: "f"}[a.Value(i)]
	case *array.List:
		start, end := a.ValueOffsets(i)
		parts := []string{}
		for j := start; j < end; j++ {
			parts = append(parts, show(a.ListValues(), int(j)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return values.ValueStr(i)
}
