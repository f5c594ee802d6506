package clienttest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// A bad row is named by its line, its column and its value, in everything that a user sees. psql's text is
// PostgreSQL's, except that the line itself is not repeated where the row has too few or too many fields.
func TestBadRowsInPsql(t *testing.T) {
	mustPsql(t, "", "-c", "CREATE OR REPLACE TABLE bad_rows (a integer, b text, c date)")
	many := strings.Repeat("1\tx\t2024-01-01\n", 70_000)
	for name, c := range map[string]struct{ how, rows, want string }{
		"text":            {"", "1\tx\t2024-01-01\nfoo\tz\t2024-01-01\n", "invalid input syntax for type integer: \"foo\"\nCONTEXT:  COPY bad_rows, line 2, column a: \"foo\"\n"},
		"CSV":             {"CSV", "1,x,2024-01-01\n2,\"y\",2024-01-01\n3,z,\"\"\"\"\n", "invalid date field format: \"\"\", expected format is (YYYY-MM-DD)\nCONTEXT:  COPY bad_rows, line 3, column c: \"\"\"\n"},
		"the first line":  {"CSV", "x,x,2024-01-01\n", "invalid input syntax for type integer: \"x\"\nCONTEXT:  COPY bad_rows, line 1, column a: \"x\"\n"},
		"below a header":  {"CSV HEADER", "a,b,c\n1,x,2024-01-01\ny,x,2024-01-01\n", "invalid input syntax for type integer: \"y\"\nCONTEXT:  COPY bad_rows, line 3, column a: \"y\"\n"},
		"below long rows": {"CSV", "1,\"x\ny\nz\",2024-01-01\ny,x,2024-01-01\n", "invalid input syntax for type integer: \"y\"\nCONTEXT:  COPY bad_rows, line 4, column a: \"y\"\n"},
		"a later batch":   {"", many + "4000000000\tx\t2024-01-01\nz\tx\tz\n", "CONTEXT:  COPY bad_rows, line 70001, column a: \"4000000000\"\n"},
		"the first of several, by row and not by column": {"", "1\tx\tyesterday\nfoo\tz\t2024-01-01\n", "CONTEXT:  COPY bad_rows, line 1, column c: \"yesterday\"\n"},
		"columns in another order":                       {"(c, a)", "2024-01-01\t7x\n", "invalid input syntax for type integer: \"7x\"\nCONTEXT:  COPY bad_rows, line 1, column a: \"7x\"\n"},
		"too few":                                        {"", "1\tx\t2024-01-01\n2\ty\n", "missing data for column \"c\"\nCONTEXT:  COPY bad_rows, line 2\n"},
		"too many":                                       {"CSV", "1,x,2024-01-01,z\n", "extra data after last expected column"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rows")
			require.NoError(t, os.WriteFile(file, []byte(c.rows), 0o600))
			columns, how := "", c.how
			if strings.HasPrefix(how, "(") {
				columns, how = how, ""
			}
			_, errOut, ok := psql(t, `\copy bad_rows`+columns+` FROM '`+file+`' `+how+"\n", "-v", "ON_ERROR_STOP=1")
			require.False(t, ok)
			require.Regexp(t, `^ERROR:  `, errOut)
			require.Contains(t, errOut, c.want)
			if strings.Contains(c.want, "\nCONTEXT") {
				require.Equal(t, "ERROR:  "+c.want, errOut, "nothing else is said")
			}
			require.NotContains(t, errOut, "Auto-Detected")
			require.Equal(t, "0\n", mustPsql(t, "", "-Atc", "SELECT count(*) FROM bad_rows"), "nothing was stored")
		})
	}
	// In a block, whose DuckDB transaction the error aborts.
	_, errOut, ok := psql(t, "BEGIN;\nINSERT INTO bad_rows VALUES (1, 'x', NULL);\nCOPY bad_rows FROM STDIN;\nx\ty\t\\N\n\\.\nROLLBACK;\n")
	require.True(t, ok)
	require.Equal(t, "ERROR:  invalid input syntax for type integer: \"x\"\nCONTEXT:  COPY bad_rows, line 1, column a: \"x\"\n", errOut)
}

// The command line names file, line and column of a CSV file, and repeats the line; of a Parquet file the row group, row and column.
func TestBadRowsInFiles(t *testing.T) {
	mustPsql(t, "", "-c", "CREATE OR REPLACE TABLE bad_rows (a integer, b text)")
	file := filepath.Join(t.TempDir(), "bad.csv")
	refused := func(file string) string {
		_, errOut, err := run(t, "", shared.binary, "load", "bad_rows", file, "--append", "--to", shared.data())
		require.Error(t, err)
		return errOut
	}
	require.NoError(t, os.WriteFile(file, []byte("a,b\n1,x\nfoo,z\n"), 0o600))
	require.Equal(t, "csmsql: "+file+", line 3, column \"a\": invalid input syntax for type integer: \"foo\"\ndetail: The line is: foo,z\nhint: Nothing was loaded.\n", refused(file))
	require.NoError(t, os.WriteFile(file, []byte("a,b\n"+strings.Repeat("1,x\n", 100_000)+"4000000000,z\n"), 0o600))
	require.Regexp(t, `^csmsql: `+regexp.QuoteMeta(file)+`, line 100002, column "a": .*4000000000.*\ndetail: The line is: 4000000000,z\nhint: Nothing was loaded.\n$`, refused(file))

	file = filepath.Join(t.TempDir(), "bad.parquet")
	db, err := duckdb.Open(duckdb.Options{MemoryBytes: 1 << 28, Threads: 1, Files: duckdb.FileAccess{All: true}})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Connect(nil)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.Exec("COPY (SELECT CASE WHEN i = 5000 THEN 'foo' ELSE i::VARCHAR END AS a, 'x' AS b FROM range(10000) r(i) ORDER BY i) TO '"+file+"' (FORMAT parquet, ROW_GROUP_SIZE 2048)"))
	require.Equal(t, "csmsql: "+file+", row group 2, row 5001, column \"a\": invalid input syntax for type integer: \"foo\"\nhint: Nothing was loaded.\n", refused(file))
}
