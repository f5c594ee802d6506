package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/engine"
)

// failing is the error of a statement.
func failing(s *engine.Session, sql string) error {
	_, err := s.Exec(context.Background(), sql)
	return err
}

// A view reads what its names meant when it was made: not what its own schema has, not what is made later, whatever search_path or temporary
// tables the reading session has.
func TestViewNamesAreBound(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, `CREATE SCHEMA aside; CREATE SCHEMA "Or Der"; CREATE TABLE t AS SELECT 'public' AS a; CREATE TABLE aside.t AS SELECT 'aside' AS a;
		CREATE TABLE once AS SELECT 'public' AS a; CREATE TABLE "Or Der".t AS SELECT 'quoted' AS a; CREATE VIEW v AS SELECT a FROM t`)
	views := map[string]string{ // query → what it reads
		"SELECT * FROM t": "public", "TABLE once": "public", "FROM once": "public", "SELECT t.a FROM once, t": "public", "FROM 't'": "public", "SELECT * FROM v": "public",
		"SELECT x.a FROM T AS x": "public", "SELECT * FROM aside.t": "aside", "SELECT * FROM csmsql.public.t": "public", "SELECT * FROM csmsql.t": "public",
		"WITH t AS (SELECT 'common' AS a) SELECT * FROM t": "common", "WITH t AS (SELECT a || '!' AS a FROM t) SELECT * FROM t": "public!",
		"SELECT (SELECT max(a) FROM once) AS a FROM t": "public", "SELECT a FROM t WHERE a IN (SELECT a FROM once)": "public",
		"/* t */ SELECT \"t\".\"a\" /* FROM t */ FROM \"t\" -- t": "public", "SELECT 'ä€' || ü.a AS a FROM t AS ü": "ä€public",
		"SELECT a FROM once UNION SELECT a FROM t": "public", "SELECT public.t.a FROM t": "public", "SELECT csmsql.public.t.a FROM t": "public",
		"PIVOT (SELECT a, 1 AS n FROM t) ON n IN (1) USING max(a)": "public", "SELECT t.* FROM t JOIN aside.t AS u ON u.a <> t.a": "public",
	}
	made, queries := map[string]string{}, map[string]string{}
	for query, want := range views {
		name := "aside.w" + strings.Repeat("w", len(made))
		exec(t, s, "CREATE VIEW "+name+" AS "+query)
		made[name], queries[name] = want, query
	}
	exec(t, s, `SET search_path = "Or Der", public; CREATE VIEW aside.elsewhere AS SELECT * FROM t; RESET search_path`)
	made["aside.elsewhere"] = "quoted"
	check := func(s *engine.Session) {
		t.Helper()
		for name, want := range made {
			require.Equal(t, []string{want}, rows(t, s, "SELECT * FROM "+name+" -- "+queries[name]))
			require.Equal(t, []string{want}, rows(t, s, "FROM "+name+" -- "+queries[name]))
		}
	}
	check(s)
	exec(t, s, `CREATE TABLE aside."V" AS SELECT 'wrong' AS a; SET search_path = public, aside`)
	require.Equal(t, []string{"public"}, rows(t, s, "SELECT a FROM V"))
	exec(t, s, "RESET search_path; DROP TABLE aside.\"V\"")
	exec(t, s, "CREATE TABLE aside.once AS SELECT 'later' AS a; CREATE VIEW aside.v AS SELECT 'later' AS a")
	exec(t, other, "SET search_path = aside")
	check(s)
	check(other)
	for _, s := range []*engine.Session{s, other} {
		exec(t, s, "CREATE TEMP TABLE t AS SELECT 'temporary' AS a; CREATE TEMP VIEW v AS SELECT 'temporary' AS a; CREATE TEMP TABLE once AS SELECT 'temporary' AS a")
	}
	check(s)
	check(other)
	exec(t, s, "BEGIN; CREATE TABLE unrelated AS SELECT 1 AS x; CREATE VIEW aside.inside AS SELECT * FROM public.once")
	made["aside.inside"] = "public"
	check(s)
	exec(t, s, "COMMIT")
	check(other)
}

// What PostgreSQL's tools are shown is the query with its schemas, which makes the same view again.
func TestViewDefinitionIsBound(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE SCHEMA aside; CREATE SCHEMA "select"; CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE "select".u AS SELECT 2 AS b; CREATE VIEW aside.w AS SELECT a, 't' AS t FROM t;
		SET search_path = "select"; CREATE VIEW u2 AS SELECT b FROM u AS t; RESET search_path`)
	definition := func(name string) string {
		return rows(t, s, "SELECT pg_get_viewdef('"+name+"'::regclass)")[0]
	}
	require.Equal(t, " SELECT a, 't' AS t FROM public.t;", definition("aside.w"))
	require.Equal(t, ` SELECT b FROM "select".u AS t;`, definition(`"select".u2`))
	exec(t, s, "CREATE VIEW again AS"+definition("aside.w"))
	require.Equal(t, definition("aside.w"), definition("again"))
}

// A view that reads a temporary object is temporary; other sessions' rows do not change by it.
func TestViewOfTemporaryIsTemporary(t *testing.T) {
	t.Parallel()
	e := open(t)
	var notices []string
	s, err := e.Session(engine.SessionOptions{Notice: func(n engine.Notice) { notices = append(notices, n.Message) }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	other := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 'public' AS a; CREATE SCHEMA aside; CREATE TEMP TABLE t AS SELECT 'temporary' AS a; CREATE TEMP MACRO f(x) AS x || '!'; CREATE TEMP VIEW tv AS SELECT a FROM t")
	for i, query := range []string{"SELECT * FROM t", "SELECT * FROM temp.t", "SELECT * FROM (SELECT 1) x, tv", "SELECT f(a) FROM public.t", "FROM t"} {
		name := "v" + strings.Repeat("v", i)
		exec(t, s, "CREATE VIEW "+name+"(x) AS "+query)
		require.Equal(t, []string{`view "` + name + `" will be a temporary view`}, notices, query)
		notices = nil
		require.Len(t, rows(t, s, "SELECT x FROM "+name), 1)
		_, err := other.Query(context.Background(), "SELECT * FROM "+name)
		require.Error(t, err, query)
		requireState(t, "42P16", failing(s, "CREATE VIEW aside.x AS "+query))
	}
	require.Equal(t, []string{"temporary"}, rows(t, s, "SELECT * FROM v"))
	exec(t, s, "CREATE OR REPLACE VIEW v AS SELECT a || '?' AS b FROM t; BEGIN; CREATE VIEW z AS SELECT * FROM v; CREATE VIEW kept AS SELECT * FROM public.t; COMMIT")
	require.Equal(t, []string{"temporary?"}, rows(t, s, "SELECT b FROM z"))
	require.Equal(t, []string{"public"}, rows(t, other, "SELECT a FROM kept"))

	// A temporary view is bound, too.
	exec(t, s, "DROP VIEW tv; DROP VIEW z; DROP VIEW v; DROP TABLE temp.t; CREATE TEMP VIEW bound AS SELECT * FROM t; CREATE TABLE aside.t AS SELECT 'aside' AS a; CREATE TEMP TABLE t AS SELECT 'again' AS a; SET search_path = aside")
	require.Equal(t, []string{"public"}, rows(t, s, "SELECT a FROM bound"))
	exec(t, s, "RESET search_path; DISCARD TEMP")
	require.Equal(t, []string{"public"}, rows(t, s, "SELECT * FROM t"))
}

// Errors point into what the user wrote.
func TestViewErrors(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a; CREATE TEMP TABLE mine AS SELECT 1 AS a")
	for sql, want := range map[string]string{
		"CREATE VIEW v AS SELECT b FROM t": "42703 b ", "CREATE VIEW v AS SELECT 1 FROM nothing": "42P01 nothing", "CREATE VIEW v AS SELECT 1 FROM": "42601 ",
		"CREATE VIEW v AS SELECT * FROM query_table('t')": "0A000 ", "CREATE VIEW v(x, y) AS SELECT a FROM t": "42601 ", "CREATE VIEW v AS SELECT $1::int": "42P02 ",
		"CREATE TEMP VIEW v AS SELECT a, b FROM t": "42703 b ", "CREATE TEMP VIEW v AS SELECT 1 FROM t JOIN nothing ON true": "42P01 nothing", "CREATE TEMP VIEW v AS SELECT 1 FROM": "42601 ",
		"CREATE VIEW v AS SELECT b FROM mine": "42703 b ", "CREATE VIEW v AS SELECT * FROM csmsql/**/.t": "0A000 ",
	} {
		err := failing(s, sql)
		requireState(t, want[:5], err)
		if at := want[6:]; at != "" {
			var e *engine.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, strings.Index(sql, at)+1, e.Position(), sql)
		}
	}
}

// A view whose table is gone, as DROP left it behind in former catalogs, is an error; with the table it comes back.
func TestViewOfDroppedTable(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE SCHEMA aside; CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE aside.t AS SELECT 2 AS a; DROP TABLE t")
	require.NoError(t, s.StoreView(context.Background(), "aside", "w", "SELECT * FROM public.t"))
	requireState(t, "42P01", failing(s, "SELECT * FROM aside.w"))
	exec(t, s, "CREATE TABLE t AS SELECT 3 AS a")
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT * FROM aside.w"))
}

// A view reads the same table when that has another name, and when another table has its former one.
func TestViewsFollowRenamedTables(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, `CREATE SCHEMA aside; CREATE TABLE t AS SELECT 'this' AS a; CREATE TABLE aside.t AS SELECT 'other' AS a; CREATE TABLE u AS SELECT 'u' AS b;`)
	require.NoError(t, s.StoreView(context.Background(), "public", "broken", "SELECT a AS t FROM public.gone"))
	queries := []string{
		"SELECT a FROM t", "SELECT t.a FROM t", "SELECT x.a FROM t AS x", "SELECT x.a FROM T x WHERE x.a <> ''", "TABLE t", "FROM t", "SELECT t.* FROM t, u", "SELECT t.a FROM csmsql.t",
		"WITH t AS (SELECT a || '' AS a FROM t) SELECT t.a FROM t", "SELECT (SELECT max(t.a) FROM t) FROM u", "SELECT l.a FROM t AS l JOIN t AS r ON l.a = r.a",
		"SELECT t.a FROM u JOIN t ON t.a <> u.b /* t */", "SELECT a FROM t TABLESAMPLE 100%", "SELECT o.p FROM t AS o(p)", "SELECT t.a FROM t WHERE t.a NOT IN (SELECT t.a FROM aside.t)",
	}
	for i, q := range queries {
		exec(t, s, fmt.Sprintf("CREATE VIEW v%d AS %s", i, q))
	}
	same := func(when string) {
		for i, q := range queries {
			require.Equal(t, []string{"this"}, rows(t, s, fmt.Sprintf("SELECT * FROM v%d", i)), "%s: %s", when, q)
		}
	}
	exec(t, s, "BEGIN; ALTER TABLE t RENAME TO temporarily")
	same("in a block")
	exec(t, s, "ROLLBACK")
	same("rolled back")
	exec(t, s, `ALTER TABLE t RENAME TO "Other t"; CREATE TABLE t AS SELECT 'that' AS a`)
	same("renamed")
	require.Equal(t, []string{"other"}, rows(t, s, "SELECT a FROM aside.t"))
	require.Equal(t, []string{`SELECT t.a FROM public."Other t" AS t`}, rows(t, s, "SELECT trim(definition, ' ;') FROM pg_catalog.pg_views WHERE viewname = 'v1'"))
	exec(t, s, `DROP TABLE t; ALTER TABLE "Other t" RENAME TO t`)
	same("renamed back")

	exec(t, s, "CREATE VIEW stiff AS SELECT public.u.b FROM u")
	fails(t, s, "2BP01", "ALTER TABLE u RENAME TO w")
	require.ErrorContains(t, failing(s, "ALTER TABLE u RENAME TO w"), "view public.stiff")
	require.Equal(t, []string{"u"}, rows(t, s, "SELECT * FROM stiff"))
	exec(t, s, "DROP VIEW stiff; ALTER TABLE u RENAME TO w")
	same("another")
}

// A view of a catalog that was written before names were bound keeps its text, which means what it meant; recreated, it
// is bound.
func TestViewsOfFormerCatalogs(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE SCHEMA aside; CREATE TABLE t AS SELECT 'public' AS a; CREATE TABLE aside.t AS SELECT 'aside' AS a")
	require.NoError(t, s.StoreView(context.Background(), "aside", "w", "SELECT * FROM t"))
	require.Equal(t, []string{"aside"}, rows(t, s, "SELECT a FROM aside.w"))
	exec(t, s, "CREATE VIEW over AS SELECT * FROM aside.w; CREATE OR REPLACE VIEW aside.w AS SELECT * FROM t")
	require.Equal(t, []string{"public"}, rows(t, s, "SELECT a FROM over"))
}

// A view of PostgreSQL's catalogs shows every session what a query of them shows now, and not what DuckDB has.
func TestViewsOfSystemCatalogs(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	queries := []string{
		"SELECT relname::text AS x FROM pg_class", "SELECT relname::text AS x FROM pg_catalog.pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname = 'public'",
		"SELECT table_schema || '.' || table_name AS x FROM information_schema.tables", "SELECT format_type(atttypid, atttypmod) AS x FROM pg_attribute WHERE attrelid = 't'::regclass",
	}
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
	for i, query := range queries {
		exec(t, s, "CREATE VIEW v"+strings.Repeat("v", i)+" AS "+query+"; CREATE TEMP VIEW tv"+strings.Repeat("v", i)+" AS "+query)
	}
	check := func() {
		t.Helper()
		for i, query := range queries {
			name, answer := "v"+strings.Repeat("v", i), "SELECT count(*), min(x), max(x), sum(length(x)) FROM "
			want := rows(t, s, answer+"("+query+") q")
			for _, view := range []string{name, "(FROM " + name + ")", "t" + name, "(FROM t" + name + ")"} {
				require.Equal(t, want, rows(t, s, answer+view), query)
			}
			exec(t, s, "CREATE OR REPLACE TEMP TABLE copied AS "+query)
			require.Equal(t, want, rows(t, s, answer+"copied"), query)
		}
	}
	check()
	exec(t, other, "CREATE TABLE later (c TIMESTAMP); CREATE OR REPLACE TABLE t AS SELECT 1 AS a, 2.5 AS z")
	check()
	require.Equal(t, rows(t, s, "SELECT count(*) FROM v"), rows(t, other, "SELECT count(*) FROM v"))
	exec(t, s, "BEGIN; CREATE TABLE mine AS SELECT 1 AS a; CREATE VIEW latest AS SELECT relname FROM pg_class")
	require.Equal(t, []string{"mine"}, rows(t, s, "SELECT relname FROM latest WHERE relname IN ('mine', 'csm_relation')"))
	check()
	exec(t, s, "ROLLBACK")
	check()
}

// Whatever names a query has, a bound view gives what the query gave.
func TestBoundViewsMeanTheirQueries(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, `CREATE SCHEMA aside; CREATE TABLE a AS SELECT 'a' AS x; CREATE TABLE aside.a AS SELECT 'aside a' AS x; CREATE TABLE b AS SELECT 'b' AS x; CREATE VIEW c AS SELECT x || 'c' AS x FROM a;
		CREATE VIEW aside.c AS SELECT 'aside c' AS x; CREATE TABLE aside.d AS SELECT 'd' AS x; SET search_path = public, aside`)
	exec(t, other, "SET search_path = aside; CREATE TEMP TABLE a AS SELECT 'wrong' AS x; CREATE TEMP TABLE b AS SELECT 'wrong' AS x; CREATE TEMP TABLE d AS SELECT 'wrong' AS x")
	checked := 0
	rapid.Check(t, func(r *rapid.T) {
		if checked++; checked > 40 {
			return
		}
		query := drawQuery(r, 3)
		want, err := tryRows(s, "SELECT min(x) FROM ("+query+") q")
		if err != nil {
			r.Skip(err)
		}
		exec(t, s, "CREATE OR REPLACE VIEW aside.drawn AS "+query)
		got, err := tryRows(other, "SELECT min(x) FROM drawn")
		require.NoError(t, err, query)
		require.Equal(t, want, got, query)
	})
}

// drawQuery makes queries of one column x.
func drawQuery(r *rapid.T, depth int) string {
	name := func() string {
		return rapid.SampledFrom([]string{"a", "b", "c", "d", "aside.a", "A", `"b"`, "public.c"}).Draw(r, "name")
	}
	if depth == 0 {
		return "SELECT x FROM " + name()
	}
	inner := func() string { return drawQuery(r, depth-1) }
	switch rapid.IntRange(0, 7).Draw(r, "shape") {
	case 0:
		return "SELECT q.x FROM (" + inner() + ") q"
	case 1:
		cte := rapid.SampledFrom([]string{"a", "b", "c", "e"}).Draw(r, "common")
		return "WITH " + cte + " AS (" + inner() + ") SELECT min(x) AS x FROM (" + inner() + " UNION ALL SELECT x FROM " + cte + ") q"
	case 2:
		return "SELECT max(x) AS x FROM " + name() + " WHERE x <> (SELECT max(x) FROM (" + inner() + ") q)"
	case 3:
		return "(" + inner() + ") UNION (" + inner() + ")"
	case 4:
		alias := rapid.SampledFrom([]string{"a", "b", "z"}).Draw(r, "alias")
		return "SELECT " + alias + ".x FROM " + name() + " AS " + alias + " LEFT JOIN (" + inner() + ") AS j ON j.x = " + alias + ".x"
	case 5:
		return "SELECT coalesce((SELECT min(x) FROM (" + inner() + ") q), '-') AS x FROM " + name()
	case 6:
		return "FROM " + name()
	}
	return "SELECT x FROM " + name()
}
