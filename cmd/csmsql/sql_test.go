package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSQL asks over the wire and attached; both must print the same, byte for byte.
func TestSQL(t *testing.T) {
	n := shared.get(t)
	_, errOut, code := n.csmsql(t, "", "sql", "-c", `CREATE SCHEMA asked; CREATE TABLE asked.t (a integer, b varchar, c decimal(10, 2), d date, e boolean);
		INSERT INTO asked.t VALUES (1, 'x', 1.5, '2024-01-31', true), (-22, 'two'||chr(10)||'lines', NULL, NULL, false)`)
	require.Zero(t, code, errOut)
	for _, format := range []string{"table", "csv", "tsv", "json", "jsonl"} {
		const sql = "SELECT * FROM asked.t ORDER BY a DESC; SELECT '2024-06-30 12:34:56+02'::timestamptz AS at, [1, 2] AS list, NULL AS n"
		wire, errOut, code := n.csmsql(t, "", "sql", "--format", format, "-c", sql)
		require.Zero(t, code, errOut)
		attached, errOut, code := n.csmsql(t, "", "sql", "--format", format, "--attach", "-c", sql)
		require.Zero(t, code, errOut)
		require.Equal(t, wire, attached, format)
		if format == "table" {
			require.Equal(t, strings.TrimPrefix(`
  a  |   b   |  c   |     d      | e
-----+-------+------+------------+---
   1 | x     | 1.50 | 2024-01-31 | t
 -22 | two  +|      |            | f
     | lines |      |            |
(2 rows)

           at           | list  | n
------------------------+-------+---
 2024-06-30 10:34:56+00 | {1,2} |
(1 row)

`, "\n"), strings.ReplaceAll(strings.ReplaceAll(wire, " e \n", " e\n"), " n \n", " n\n"))
		}
	}
}

// TestSQLErrors: an error names its place, stops the script and is the exit code.
func TestSQLErrors(t *testing.T) {
	n := shared.get(t)
	for _, attach := range []string{"--attach=false", "--attach"} {
		out, errOut, code := n.csmsql(t, "", "sql", attach, "-c", "SELECT 1 AS one; SELECT nowhere\nFROM range(3); SELECT 2 AS two")
		require.Equal(t, 1, code)
		require.Contains(t, out, "one")
		require.NotContains(t, out, "two")
		require.Contains(t, errOut, "ERROR:  ")
		require.Contains(t, errOut, "LINE 1: SELECT nowhere\n               ^\n")
	}
	_, errOut, code := n.csmsql(t, "", "sql", "--attach", "-c", "CREATE TABLE never (a int)")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "without --attach")
	_, errOut, code = n.csmsql(t, "", "sql", "-f", "/no/such/file.sql")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "/no/such/file.sql")
}

// TestSQLScript: standard input is a script when nothing else is, and COPY's rows when it is asked to be.
func TestSQLScript(t *testing.T) {
	n := shared.get(t)
	out, errOut, code := n.csmsql(t, "SELECT 40 + 2 AS answer;\n-- done\n", "sql", "--format", "csv")
	require.Zero(t, code, errOut)
	require.Equal(t, "answer\n42\n", out)

	_, errOut, code = n.csmsql(t, "", "sql", "-c", "CREATE TABLE copied (a integer, b varchar)")
	require.Zero(t, code, errOut)
	out, errOut, code = n.csmsql(t, "1,x\n2,\n", "sql", "-c", "COPY copied FROM STDIN WITH (FORMAT csv)")
	require.Zero(t, code, errOut)
	require.Equal(t, "COPY 2\n", out)
	out, errOut, code = n.csmsql(t, "", "sql", "-c", "COPY (SELECT * FROM copied ORDER BY a) TO STDOUT WITH (FORMAT csv, HEADER)")
	require.Zero(t, code, errOut)
	require.Equal(t, "a,b\n1,x\n2,\n", out)
}

// TestLoad loads files, adds to them, and refuses what is wrong without a trace.
func TestLoad(t *testing.T) {
	n := shared.get(t)
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.csv"), filepath.Join(dir, "bad.csv")
	require.NoError(t, os.WriteFile(good, []byte("id,name\n1,one\n2,two\n"), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte("id,name\n3,three\nfour,4\n"), 0o600))

	out, errOut, code := n.csmsql(t, "", "load", "loaded", good)
	require.Zero(t, code, errOut)
	require.True(t, strings.HasPrefix(out, "loaded: 2 rows, "), out)
	_, errOut, code = n.csmsql(t, "", "load", "loaded", good)
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "--append")
	out, errOut, code = n.csmsql(t, "", "load", "loaded", good, "--append")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "2 rows")
	_, errOut, code = n.csmsql(t, "", "load", "loaded", bad, "--append")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "bad.csv")
	require.Equal(t, 1, strings.Count(strings.ToLower(errOut), "nothing was loaded"), errOut)
	_, errOut, code = n.csmsql(t, "", "load", "loaded", filepath.Join(dir, "missing.parquet"), "--append")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "missing.parquet")
	notParquet := filepath.Join(dir, "false.parquet")
	require.NoError(t, os.WriteFile(notParquet, []byte("these are some words and no Parquet at all"), 0o600))
	_, errOut, code = n.csmsql(t, "", "load", "loaded", notParquet, "--append")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "false.parquet: this is no Parquet file\n")
	_, errOut, code = n.csmsql(t, "", "cluster", "drain", "x")
	require.Equal(t, 1, code)
	require.Equal(t, 1, strings.Count(errOut, "belongs to no cluster"), errOut)
	_, errOut, code = n.csmsql(t, "", "sql", "-c", "CREATE VIEW loaded_view AS SELECT * FROM loaded")
	require.Zero(t, code, errOut)
	_, errOut, code = n.csmsql(t, "", "load", "loaded_view", good, "--append")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, `"public.loaded_view" is a view`)

	out, errOut, code = n.csmsql(t, "", "sql", "--format", "csv", "-c", "SELECT count(*) AS n, sum(id) AS s FROM loaded")
	require.Zero(t, code, errOut)
	require.Equal(t, "n,s\n4,6\n", out)
}

// TestChunk: a descriptor is shown as borrowers get it, and what there is none of is named.
func TestChunk(t *testing.T) {
	n := shared.get(t)
	_, errOut, code := n.csmsql(t, "", "sql", "-c", "CREATE SCHEMA described; CREATE TABLE described.t AS SELECT range AS i FROM range(1000)")
	require.Zero(t, code, errOut)
	out, errOut, code := n.csmsql(t, "", "chunk", "described.t", "0")
	require.Zero(t, code, errOut)
	require.Contains(t, out, `chunk of 1000 rows, owner "described.t", 1 extents`)
	require.Contains(t, out, `column "i" int64: 1000 values, 0 nulls`)
	for _, c := range []struct {
		table, number string
		code          int
		says          string
	}{
		{"described.t", "1", 1, "there is no chunk 1: described.t has 1, which are numbered from 0"},
		{"described.none", "0", 1, `relation "described.none" does not exist`},
		{"none", "0", 1, `relation "public.none" does not exist`},
		{"described.t", "first", 2, `"first" is no number of a chunk`},
		{"described.t", "", 2, "which chunk?"},
	} {
		args := []string{"chunk", c.table}
		if c.number != "" {
			args = append(args, c.number)
		}
		_, errOut, code := n.csmsql(t, "", args...)
		require.Equal(t, c.code, code, "%v: %s", args, errOut)
		require.Contains(t, errOut, c.says)
	}
}
