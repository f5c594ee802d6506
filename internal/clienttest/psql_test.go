package clienttest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// psql runs PostgreSQL's own client; ok reports whether it succeeded.
func psql(t *testing.T, in string, args ...string) (out, errOut string, ok bool) {
	t.Helper()
	path := tool(t, "psql", "postgresql-client")
	out, errOut, err := run(t, in, path, append([]string{"-X", "-d", shared.dsn()}, args...)...)
	return out, errOut, err == nil
}

func mustPsql(t *testing.T, in string, args ...string) string {
	t.Helper()
	out, errOut, ok := psql(t, in, append([]string{"-v", "ON_ERROR_STOP=1"}, args...)...)
	require.True(t, ok, "%s\n%s", out, errOut)
	require.Empty(t, errOut)
	return out
}

func TestPsqlDescribes(t *testing.T) {
	mustPsql(t, "", "-c", "CREATE OR REPLACE TABLE psql_described (i integer NOT NULL, v varchar, n numeric(12,3) DEFAULT 1.5)",
		"-c", "CREATE OR REPLACE VIEW psql_view AS SELECT i FROM psql_described", "-c", "CREATE SCHEMA IF NOT EXISTS psql_schema")
	for _, c := range []struct{ command, want string }{
		{`\l`, `csmsql +\| postgres +\| UTF8`},
		{`\dn`, `(?s)psql_schema.*public`},
		{`\dt`, `public \| lineitem +\| table \| postgres`},
		{`\dt+ lineitem`, `public \| lineitem +\| table \| postgres`},
		{`\dv`, `public \| psql_view +\| view +\| postgres`},
		{`\d`, `(?s)lineitem.*psql_view`},
		{`\d psql_described`, `(?s)Table "public.psql_described".* i +\| integer +\| +\| not null.* v +\| text +\| .* n +\| numeric\(12,3\) +\| +\| +\| 1.5`},
		{`\d+ psql_described`, `(?s)Table "public.psql_described".* i +\| integer .*not null`},
		{`\d psql_view`, `(?s)View "public.psql_view".* i +\| integer`},
		{`\d lineitem`, `(?s)l_orderkey +\| bigint .*l_quantity +\| numeric\(15,2\) .*l_shipdate +\| date`},
		{`\df lower`, `lower`},
		{`\du`, `postgres`},
		{`\dT`, `List of data types`},
		{`\di`, `Did not find any relations|List of relations`},
		{`\dp lineitem`, `lineitem`},
		{`\conninfo`, `You are connected to database "csmsql" as user "postgres"`},
		{`\encoding`, `UTF8`},
		{`SELECT 1 AS a, 'x' AS b \gdesc`, `(?s)a +\| integer.*b +\| `},
		{`SELECT $1::integer + $2 AS sum \bind 2 40 \g`, `42|invalid command`}, // \bind is psql 16's
	} {
		t.Run(c.command, func(t *testing.T) {
			out, errOut, ok := psql(t, c.command+"\n")
			require.True(t, ok, errOut)
			require.Regexp(t, regexp.MustCompile(c.want), out+errOut)
		})
	}
}

func TestPsqlStatements(t *testing.T) {
	require.Equal(t, "1\n2\n3\n", mustPsql(t, "SELECT 1;\nSELECT 2; SELECT 3;\n", "-At"))
	require.Equal(t, "1\n2\n", mustPsql(t, "", "-At", "-c", "SELECT 1; SELECT 2"))
	require.Equal(t, "a;b|$x;$\n", mustPsql(t, "SELECT 'a;b', $q$$x;$$q$ /* ; */ -- ;\n;\n", "-At"))
	require.Regexp(t, `(?s)Timing is on.*Time: [0-9.]+ ms`, mustPsql(t, "\\timing\nSELECT 1;\n"))
	require.Equal(t, "7 FRANCE\n", mustPsql(t, "SELECT n_name AS name FROM nation WHERE n_nationkey = 6 \\gset\n\\echo 7 :name\n"))
	require.Equal(t, "2\n", mustPsql(t, "\\set k 1\nSELECT :k + 1;\nSELECT 'SELECT 2' WHERE false \\gexec\n", "-At"))
}

func TestPsqlErrors(t *testing.T) {
	out, errOut, ok := psql(t, "SELECT 1;\nSELECT no_such_column FROM nation;\nSELECT 2;\n", "-At", "-v", "ON_ERROR_STOP=1")
	require.False(t, ok)
	require.Equal(t, "1\n", out)
	require.Contains(t, errOut, "LINE 1: SELECT no_such_column FROM nation;\n               ^\n")
	out, errOut, ok = psql(t, "SELECT 1;\nSELECT no_such_column FROM nation;\nSELECT :'LAST_ERROR_SQLSTATE';\n", "-At")
	require.True(t, ok)
	require.Equal(t, "1\n42703\n", out, errOut)
	// One transaction of all, and what comes after an error in it.
	_, errOut, ok = psql(t, "CREATE TABLE psql_never (i integer);\nSELEC;\n", "-1", "-v", "ON_ERROR_STOP=1")
	require.False(t, ok, errOut)
	_, errOut, ok = psql(t, "", "-c", "SELECT * FROM psql_never")
	require.False(t, ok)
	require.Contains(t, errOut, `psql_never`)
	require.Equal(t, "BEGIN\nROLLBACK\n1\n", func() string {
		out, errOut, ok := psql(t, "BEGIN;\nSELEC;\nCOMMIT;\nSELECT 1;\n", "-At")
		require.True(t, ok, errOut)
		return out
	}())
}

// TestPsqlFetchCount: psql reads through a cursor of SQL, a few rows at a time, so its memory is bounded.
func TestPsqlFetchCount(t *testing.T) {
	require.Equal(t, "0\n1\n2\n3\n4\n", mustPsql(t, "SELECT range FROM range(5);\n", "-At", "-v", "FETCH_COUNT=2"))
	out := mustPsql(t, "SELECT range, 'a text ' || range FROM range(1000000);\n", "-At", "-v", "FETCH_COUNT=10000")
	require.Equal(t, 1_000_000, strings.Count(out, "\n"))
	require.True(t, strings.HasSuffix(out, "\n999999|a text 999999\n"))
	_, errOut, ok := psql(t, "SELECT nope FROM nation;\n", "-At", "-v", "FETCH_COUNT=2", "-v", "ON_ERROR_STOP=1")
	require.False(t, ok)
	require.Contains(t, errOut, "nope")
	require.Equal(t, "", mustPsql(t, "CREATE OR REPLACE TABLE psql_fetched (i integer);\n", "-Atq", "-v", "FETCH_COUNT=2"))
}

func TestPsqlCopy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	mustPsql(t, "", "-c", "CREATE OR REPLACE TABLE psql_copied (i integer, v varchar)",
		"-c", `\copy (SELECT range AS i, 'v,' || range AS v FROM range(3)) TO '`+file+`' WITH (FORMAT csv, HEADER)`,
		"-c", `\copy psql_copied FROM '`+file+`' WITH (FORMAT csv, HEADER)`)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "i,v\n0,\"v,0\"\n1,\"v,1\"\n2,\"v,2\"\n", string(text))
	require.Equal(t, "COPY 2\n0\tv,0\n1\tv,1\n2\tv,2\n7\tseven\n8\t\\N\n",
		mustPsql(t, "COPY psql_copied FROM STDIN;\n7\tseven\n8\t\\N\n\\.\nCOPY (SELECT * FROM psql_copied ORDER BY i) TO STDOUT;\n", "-At"))
	out, errOut, ok := psql(t, "COPY psql_copied FROM STDIN;\nbad\tx\n\\.\nSELECT count(*) FROM psql_copied;\n", "-At")
	require.True(t, ok)
	require.Equal(t, "5\n", out)
	require.Contains(t, errOut, "line 1, column i: \"bad\"")
	require.Equal(t, "COPY 1\n", mustPsql(t, "", "-c", `\copy (SELECT 1) TO '`+file+`' WITH (FORMAT binary)`))
}

// TestPsqlRefusals: what is not offered says so, with what to do instead.
func TestPsqlRefusals(t *testing.T) {
	for _, sql := range []string{
		"BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT 1", "BEGIN; DECLARE c SCROLL CURSOR FOR SELECT 1",
		"LISTEN x", "LOCK TABLE nation", "GRANT SELECT ON nation TO joe", "SELECT * INTO x FROM nation",
	} {
		_, errOut, ok := psql(t, "", "-v", "VERBOSITY=verbose", "-c", sql)
		require.False(t, ok, sql)
		require.Regexp(t, `ERROR:  0A000: .*\n(LINE.*\n.*\n)?HINT:  `, errOut, sql)
	}
}
