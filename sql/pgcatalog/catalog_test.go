package pgcatalog_test

import (
	"fmt"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// TestSessionFunctions: they work without rewriting, through the search path alone.
func TestSessionFunctions(t *testing.T) {
	c := open(t)
	sql := "SELECT version(), current_user, session_user, current_database(), current_schema(), current_schemas(true), pg_backend_pid(), " +
		"current_setting('application_name'), current_setting('server_version_num'), current_setting('nosuch', true), pg_is_in_recovery(), inet_server_addr()"
	tree, err := pg.Parse(sql)
	require.NoError(t, err)
	require.False(t, pgcatalog.IsCatalogQuery(tree))
	out, err := ask(c, sql)
	require.NoError(t, err)
	require.Contains(t, out, "\n"+pgcatalog.Version+"|postgres|postgres|csmsql|public|{pg_catalog,public}|4711|golden|150000||f|\n")
	_, err = ask(c, "SELECT current_setting('nosuch')")
	require.ErrorContains(t, err, `unrecognized configuration parameter "nosuch"`)
}

// TestErrorState: what our macros raise has the state that drivers look for.
func TestErrorState(t *testing.T) {
	c := open(t)
	for sql, want := range map[string]string{
		"SELECT 'nosuch'::regclass::oid":                            "42P01",
		"SELECT oid FROM pg_type WHERE oid = 'nosuch'::regtype":     "42704",
		"SELECT 'nosuch'::regnamespace::oid":                        "3F000",
		"SELECT 'nosuch'::regproc::oid":                             "42883",
		"SELECT 'nosuch'::regrole::oid":                             "42704",
		"SELECT pg_catalog.current_setting('nosuch') FROM pg_class": "42704",
	} {
		_, err := ask(c, sql)
		require.Error(t, err, sql)
		state, ok := pgcatalog.ErrorState(err.Error())
		require.True(t, ok, "%s: %v", sql, err)
		require.Equal(t, want, state, sql)
	}
	_, ok := pgcatalog.ErrorState("out of memory")
	require.False(t, ok)
}

// TestObjectIDsAreStable attacks P3: other objects come and go.
func TestObjectIDsAreStable(t *testing.T) {
	c := open(t)
	const sql = "SELECT c.oid, c.reltype, t.typarray, n.oid FROM pg_class c JOIN pg_type t ON t.oid = c.reltype JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = 'orders'"
	before, err := ask(c, sql)
	require.NoError(t, err)
	require.NoError(t, pgcatalog.Refresh(c.Exec, sample()[3:], nil, []pgcatalog.Schema{{Name: "a"}, {Name: "sales", OID: 16398}}, "csmsql"))
	after, err := ask(c, sql)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestObjectIDRange: an object ID out of range would be taken for a row type or a schema.
func TestObjectIDRange(t *testing.T) {
	for _, oid := range []uint32{0, pgcatalog.FirstOID - 1, pgcatalog.LastOID + 1} {
		err := pgcatalog.Refresh(func(string) error { return nil }, []pgcatalog.Relation{{Schema: "public", Name: "x", Kind: 'r', OID: oid}}, nil, nil, "csmsql")
		require.ErrorContains(t, err, "outside of")
	}
}

// TestConnectionsSeeTheirOwn attacks P4: a refresh is private, and goes when its transaction is rolled back.
func TestConnectionsSeeTheirOwn(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{Threads: 1})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	first, err := db.Connect(nil)
	require.NoError(t, err)
	attach(t, first, pgcatalog.Functions, pgcatalog.Catalogs)
	first.Close()
	one, two := connect(t, db), connect(t, db)
	const sql = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"

	require.NoError(t, one.Exec("BEGIN"))
	require.NoError(t, two.Exec("BEGIN"))
	extra := append(sample(), pgcatalog.Relation{Schema: "public", Name: "mine", Kind: 'r', OID: 20000})
	require.NoError(t, pgcatalog.Refresh(one.Exec, extra, nil, schemas(), "csmsql"))
	require.NoError(t, pgcatalog.Refresh(two.Exec, nil, nil, nil, "csmsql"), "refreshes of two transactions do not conflict")
	expect(t, one, sql, "3")
	expect(t, two, sql, "0")
	require.NoError(t, one.Exec("ROLLBACK"))
	require.NoError(t, two.Exec("COMMIT"))
	expect(t, one, sql, "2")
	expect(t, two, sql, "0")
}

// TestStrangeNames: names go through unharmed, except for the two marks that separate values on their way.
func TestStrangeNames(t *testing.T) {
	c := open(t)
	for _, name := range []string{`it's`, `"quoted"`, "new\nline", "tab\t", `back\slash`, "größe", "{brace,}", "[a, b]", "", "NULL", strings.Repeat("x", 255)} {
		r := []pgcatalog.Relation{{Schema: name, Name: name, Kind: 'v', OID: 16384, Definition: "SELECT '" + name + "'",
			Columns: []pgcatalog.Column{{Name: name, Type: 23, Typmod: -1, Default: "'" + name}}}}
		require.NoError(t, pgcatalog.Refresh(c.Exec, r, nil, nil, name))
		shown := strings.ReplaceAll(name, "\n", `\n`)
		expect(t, c, "SELECT n.nspname, c.relname, a.attname, pg_get_viewdef(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = 16384",
			shown+"|"+shown+"|"+shown+"|SELECT '"+shown+"'")
		expect(t, c, "SELECT 16384::regclass::oid", "16384")
	}
	require.NoError(t, pgcatalog.Refresh(c.Exec, []pgcatalog.Relation{{Schema: "public", Name: "a\x1fb\x1ec\x00d", Kind: 'r', OID: 16384}}, nil, nil, "x"))
	expect(t, c, "SELECT relname FROM pg_class WHERE oid = 16384", "a b c d")
}

// TestEveryRelation: each of the system's relations can be read, whole, and has PostgreSQL's columns.
func TestEveryRelation(t *testing.T) {
	c := open(t)
	out, err := ask(c, "SELECT n.nspname, c.relname, string_agg(a.attname, ',' ORDER BY a.attnum) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid < 16384 GROUP BY 1, 2")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")[1:]
	require.Greater(t, len(lines), 190)
	for _, line := range lines {
		parts := strings.Split(line, "|")
		named := strings.HasPrefix(parts[1], "pg_") // by which IsCatalogQuery goes
		require.Equal(t, parts[0] == "pg_catalog", named, line)
		rows, err := ask(c, fmt.Sprintf("SELECT * FROM %s.%s LIMIT 1", parts[0], parts[1]))
		require.NoError(t, err, line)
		header, _, _ := strings.Cut(rows, "\n")
		require.Equal(t, parts[2], strings.ReplaceAll(header, "|", ","), line)
	}
}

// TestSizes compares pg_size_pretty with what PostgreSQL 15 says.
func TestSizes(t *testing.T) {
	c := open(t)
	for bytes, want := range map[string]string{
		"0": "0 bytes", "10239": "10239 bytes", "10240": "10 kB", "10241": "10 kB", "10485247": "10239 kB", "10485248": "10 MB", "943718400": "900 MB",
		"10736893951": "10239 MB", "10736893952": "10 GB", "10994579406848": "10 TB", "-20000": "-20 kB", "NULL": "", "1125899906842624": "1024 TB",
	} {
		expect(t, c, "SELECT pg_size_pretty("+bytes+"::bigint)", want)
	}
}

func expect(t *testing.T, c *duckdb.Connection, sql, want string) {
	t.Helper()
	out, err := ask(c, sql)
	require.NoError(t, err)
	_, rows, _ := strings.Cut(out, "\n")
	require.Equal(t, want, strings.TrimSuffix(rows, "\n"))
}
