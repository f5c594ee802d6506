package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// psql runs PostgreSQL's own client over the unix socket in the data directory.
func psql(t *testing.T, n *node, in string, args ...string) (out, errOut string, failed bool) {
	t.Helper()
	path, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not installed (Debian: postgresql-client): the tests through it are skipped")
	}
	c := exec.CommandContext(deadline(t), path, append([]string{"-X", "-v", "ON_ERROR_STOP=1", "-h", n.data, "-p", "5432", "-U", "postgres", "-d", "csmsql"}, args...)...)
	c.Env = append(os.Environ(), "PGOPTIONS=", "PGCLIENTENCODING=UTF8")
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(in), &stdout, &stderr
	err = c.Run()
	return stdout.String(), stderr.String(), err != nil
}

func TestPsqlSelect(t *testing.T) {
	n := shared.get(t)
	out, errOut, failed := psql(t, n, "", "-c", "SELECT 1 AS one, 'x' AS text, NULL AS nothing, 1.50::numeric(10,2) AS amount")
	require.False(t, failed, errOut)
	require.Equal(t, " one | text | nothing | amount \n-----+------+---------+--------\n   1 | x    |         |   1.50\n(1 row)\n\n", out)
	out, errOut, failed = psql(t, n, "SELECT 1;\nSELECT 2; SELECT 3;\n", "-At")
	require.False(t, failed, errOut)
	require.Equal(t, "1\n2\n3\n", out)
}

func TestPsqlErrors(t *testing.T) {
	n := shared.get(t)
	_, errOut, failed := psql(t, n, "", "-c", "SELECT 1;\nSELECT no_such_column FROM range(3)")
	require.True(t, failed)
	require.Contains(t, errOut, "LINE 2: SELECT no_such_column")
	require.Contains(t, errOut, "\n               ^\n")
	_, errOut, failed = psql(t, n, "", "-v", "VERBOSITY=sqlstate", "-c", "SELEC 1")
	require.True(t, failed)
	require.Contains(t, errOut, "42601")
}

// TestPsqlCopy: \copy moves a file on the client's side in and out; COPY's own streams, too.
func TestPsqlCopy(t *testing.T) {
	n := shared.get(t)
	file := filepath.Join(t.TempDir(), "rows.csv")
	_, errOut, failed := psql(t, n, "", "-c", "CREATE TABLE psql_copied (i integer, v varchar)",
		"-c", `\copy (SELECT range AS i, 'v,' || range AS v FROM range(3)) TO '`+file+`' WITH (FORMAT csv, HEADER)`,
		"-c", `\copy psql_copied FROM '`+file+`' WITH (FORMAT csv, HEADER)`)
	require.False(t, failed, errOut)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "i,v\n0,\"v,0\"\n1,\"v,1\"\n2,\"v,2\"\n", string(text))
	out, errOut, failed := psql(t, n, "7\tseven\n8\t\\N\n", "-At", "-c", "COPY psql_copied FROM STDIN", "-c", "COPY (SELECT * FROM psql_copied ORDER BY i) TO STDOUT")
	require.False(t, failed, errOut)
	require.Equal(t, "COPY 2\n0\tv,0\n1\tv,1\n2\tv,2\n7\tseven\n8\t\\N\n", out)
}

// TestPsqlDescribe: the commands that people type first.
func TestPsqlDescribe(t *testing.T) {
	n := shared.get(t)
	_, errOut, failed := psql(t, n, "", "-c", "CREATE TABLE described (i integer NOT NULL, v varchar)")
	require.False(t, failed, errOut)
	for command, want := range map[string]string{`\l`: "csmsql", `\dn`: "public", `\dt`: "described", `\d described`: "i ", `\conninfo`: "csmsql"} {
		out, errOut, failed := psql(t, n, "", "-c", command)
		require.False(t, failed, command+": "+errOut)
		require.Contains(t, out, want, command)
	}
}
