package engine_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// files is a session that reaches a directory, and what writes there.
func files(t *testing.T) (*engine.Engine, *engine.Session, func(name string) string) {
	t.Helper()
	directory := t.TempDir()
	e := open(t, func(c *engine.Config) { c.Files = duckdb.FileAccess{Directories: []string{directory}} })
	return e, session(t, e), func(name string) string { return filepath.Join(directory, name) }
}

// refusedWith runs a statement that must fail, and gives the error.
func refusedWith(t *testing.T, s *engine.Session, sql, state, message string) *engine.Error {
	t.Helper()
	_, err := s.Exec(t.Context(), sql)
	var failed *engine.Error
	require.ErrorAs(t, err, &failed, sql)
	require.Equal(t, [2]string{state, message}, [2]string{failed.State, failed.Message}, sql)
	return failed
}

// Columns of Parquet and Arrow files are those of the table by their places, and none may be left over; keys of JSON are names.
func TestCopyOfOtherColumns(t *testing.T) {
	t.Parallel()
	_, s, in := files(t)
	exec(t, s, "CREATE TABLE t (i TEXT, b TEXT)")
	for name, query := range map[string]string{"swapped": "SELECT 'x' b, '1' i", "more": "SELECT '1' i, 'x' b, 5 z", "less": "SELECT '1' i"} {
		for _, format := range []string{"parquet", "arrow", "json"} {
			exec(t, s, "COPY ("+query+") TO '"+in(name+"."+format)+"'")
		}
	}
	exec(t, s, "COPY t FROM '"+in("swapped.json")+"'")
	exec(t, s, "COPY t FROM '"+in("less.json")+"'")
	require.Equal(t, []string{"1|(null)", "1|x"}, rows(t, s, "SELECT * FROM t ORDER BY ALL NULLS FIRST"))
	for _, format := range []string{"parquet", "arrow"} {
		refusedWith(t, s, "COPY t FROM '"+in("more."+format)+"'", "22P04", in("more."+format)+" has 3 columns, 2 are copied")
		refusedWith(t, s, "COPY t FROM '"+in("less."+format)+"'", "22P04", in("less."+format)+" has 1 column, 2 are copied")
	}
	refusedWith(t, s, "COPY t FROM '"+in("more.json")+"'", "22P04", in("more.json")+` has a key "z" that is not copied`)
	require.NoError(t, os.WriteFile(in("empty.json"), nil, 0o600))
	exec(t, s, "COPY t FROM '"+in("empty.json")+"'")
	refusedWith(t, s, "COPY t (b) FROM '"+in("swapped.json")+"'", "22P04", in("swapped.json")+` has a key "i" that is not copied`)
}

// A value that the table does not take is named by file, row and column.
func TestBadValuesOfFiles(t *testing.T) {
	t.Parallel()
	e, s, in := files(t)
	exec(t, s, "CREATE TABLE t (a TEXT, n INTEGER)")
	bad := "SELECT 'r' || r AS x, CASE WHEN r = 5 THEN 'bad' WHEN r = 7 THEN 'worse' ELSE r::TEXT END AS n FROM range(10) q(r)"
	for format, where := range map[string]string{"parquet": `, row group 0, row 6, column "n"`, "arrow": `, row 6, column "n"`, "json": `, row 6, column "n"`, "csv": `, line 6, column "n"`} {
		file := in("bad." + format)
		exec(t, s, "COPY ("+map[bool]string{true: "SELECT x AS a, n FROM (" + bad + ")", false: bad}[format == "json"]+") TO '"+file+"'")
		for _, block := range []bool{false, true} {
			if block {
				exec(t, s, "BEGIN")
			}
			failed := refusedWith(t, s, "COPY t FROM '"+file+"'", "22P02", file+where+`: invalid input syntax for type integer: "bad"`)
			require.Equal(t, "Nothing was loaded.", failed.HintText+map[bool]string{true: "Nothing was loaded."}[failed.HintText == ""], file)
			if block {
				exec(t, s, "ROLLBACK")
			}
		}
	}
	exec(t, s, "COPY (SELECT x AS a, n FROM ("+bad+")) TO '"+in("load.arrow")+"'")
	_, err := e.Load(t.Context(), noderpc.LoadRequest{Table: catalog.TableName{Name: "t"}, Files: []string{in("load.arrow")}, Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend}}, nil)
	require.EqualError(t, err, in("load.arrow")+`, row 6, column "n": invalid input syntax for type integer: "bad"`)
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM t"))
}

// Text stays text, whatever it looks like.
func TestFilesIntoText(t *testing.T) {
	t.Parallel()
	e, s, in := files(t)
	exec(t, s, "CREATE TABLE t (zip TEXT, d TEXT, n TEXT)")
	require.NoError(t, os.WriteFile(in("t.csv"), []byte("zip,d,n\n007,2024-1-5,1.10\n0123,2024-01-06,2\n"), 0o600))
	require.NoError(t, os.WriteFile(in("t.json"), []byte(`{"zip":"7e0","n":"1.50","d":"2024-01-01T00:00:00Z"}`+"\n"), 0o600))
	_, err := e.Load(t.Context(), noderpc.LoadRequest{Table: catalog.TableName{Name: "t"}, Files: []string{in("t.csv"), in("t.json")}, Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend}}, nil)
	require.NoError(t, err)
	want := []string{"007|2024-1-5|1.10", "0123|2024-01-06|2", "7e0|2024-01-01T00:00:00Z|1.50"}
	require.Equal(t, want, rows(t, s, "FROM t ORDER BY ALL"))
	exec(t, s, "TRUNCATE t")
	exec(t, s, "COPY t FROM '"+in("t.csv")+"' (HEADER)")
	exec(t, s, "COPY t FROM '"+in("t.json")+"'")
	require.Equal(t, want, rows(t, s, "FROM t ORDER BY ALL"))
}

// An option has its effect or is refused, in both directions and for each format; a file's name says its format as it does for load.
func TestCopyOptionsOfFiles(t *testing.T) {
	t.Parallel()
	_, s, in := files(t)
	exec(t, s, "CREATE TABLE t (a INTEGER)")
	exec(t, s, "INSERT INTO t VALUES (1)")
	for _, name := range []string{"t.parquet", "t.pq", "t.json", "t.jsonl", "t.json.gz", "t.ndjson", "t.csv.gz", "t.csv.zst", "t.arrow", "t.arrows", "t.feather"} {
		exec(t, s, "COPY t TO '"+in(name)+"'")
		exec(t, s, "CREATE OR REPLACE TABLE u (a INTEGER)")
		exec(t, s, "COPY u FROM '"+in(name)+"'")
		require.Equal(t, []string{"1"}, rows(t, s, "FROM u"), name)
	}
	for name, start := range map[string]string{"t.pq": "PAR1", "t.jsonl": `{"a":1}`, "t.arrow": "ARROW1"} {
		text, err := os.ReadFile(in(name))
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(text, []byte(start)), name)
	}
	for _, o := range []string{"HEADER", "DELIMITER '|'", "COMPRESSION zstd", "NULL 'x'", "nonsense 1"} {
		for _, format := range []string{"parquet", "json", "arrow"} {
			_, err := s.Exec(t.Context(), "COPY t FROM '"+in("t."+format)+"' ("+o+")")
			require.ErrorContains(t, err, "COPY option", "%s of %s", o, format)
		}
	}
	refusedWith(t, s, "COPY t FROM '"+in("t.csv.gz")+"' (HEADER maybe)", "42601", `header requires a Boolean value, not "maybe"`)
	refusedWith(t, s, "COPY t TO '"+in("h.csv")+"' (HEADER maybe)", "42601", `header requires a Boolean value, not "maybe"`)
	refusedWith(t, s, "COPY t FROM '"+in("t.csv.gz")+"' (HEADER match)", "0A000", "COPY … HEADER MATCH is not supported")
	refusedWith(t, s, "COPY t TO '"+in("h.parquet")+"' (ROW_GROUP_SIZE 'x')", "22023", `COPY option "row_group_size" is not "x"`)
	for _, name := range []string{"a.arrow.gz", "a.arrows.zst"} {
		refusedWith(t, s, "COPY t TO '"+in(name)+"'", "0A000", "Arrow files are not compressed as a whole").HintText = ""
	}
}

// Files that are read as one have the same columns, and none is read as the type of another one's.
func TestCopyOfSeveralFiles(t *testing.T) {
	t.Parallel()
	_, s, in := files(t)
	exec(t, s, "CREATE TABLE t (a DOUBLE, b TEXT)")
	for name, query := range map[string]string{"a1": "SELECT 1 a, 'x' b", "a2": "SELECT 'y' b, 2.75::DOUBLE a", "c": "SELECT 3 a, 'z' b, 4 more", "d": "SELECT 3 a, 'z' other", "e": "SELECT 'bad' a, 'x' b"} {
		exec(t, s, "COPY ("+query+") TO '"+in(name+".parquet")+"'")
	}
	exec(t, s, "COPY t FROM '"+in("a*.parquet")+"'")
	require.Equal(t, []string{"1|x", "2.75|y"}, rows(t, s, "FROM t ORDER BY a"))
	refusedWith(t, s, "COPY t FROM '"+in("[ac]*.parquet")+"'", "22P04", in("c.parquet")+" has 3 columns, 2 are copied")
	refusedWith(t, s, "COPY t FROM '"+in("[ad]*.parquet")+"'", "22P04", in("d.parquet")+` has no column "b", as `+in("a1.parquet")+" has")
	refusedWith(t, s, "COPY t FROM '"+in("[ae]*.parquet")+"'", "22P02", in("e.parquet")+`, row group 0, row 1, column "a": invalid input syntax for type double precision: "bad"`)
	_, err := s.Exec(t.Context(), "COPY t FROM '"+in("none*.parquet")+"'")
	require.ErrorContains(t, err, "No files found")
	refusedWith(t, s, "COPY t FROM '"+in("a.csv")+"' (DELIMITER '')", "22023", "COPY delimiter must not be empty")
	refusedWith(t, s, "COPY t TO '"+in("a.csv")+"' (DELIMITER '')", "22023", "COPY delimiter must not be empty")
}

// DuckDB's dialect finds names where search_path leads, in an engine that borrows the memory, too: also those that were not there when it
// was set.
func TestSearchPathOfABorrower(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE SCHEMA s9")
	b := session(t, attached(t, e, filepath.Join(t.TempDir(), "s"))())
	exec(t, b, "SET search_path = s9")
	_, err := tryRows(b, "FROM integers")
	require.ErrorContains(t, err, "integers")
	exec(t, s, "CREATE TABLE s9.integers (i INTEGER); INSERT INTO s9.integers VALUES (7); CREATE VIEW s9.v AS FROM s9.integers")
	for _, query := range []string{"FROM integers", "FROM v", "SELECT * EXCLUDE (z) FROM (SELECT *, 1 AS z FROM integers)", "SELECT i FROM integers GROUP BY ALL", "SELECT [x FOR x IN [i]][1] FROM integers"} {
		require.Equal(t, []string{"7"}, rows(t, b, query), query)
	}
	require.Equal(t, []string{"i|INTEGER|YES|(null)|(null)|(null)"}, rows(t, b, "DESCRIBE integers"))
	require.Len(t, rows(t, b, "SUMMARIZE integers"), 1)
	require.Equal(t, []string{"1"}, rows(t, b, "PIVOT integers ON i USING count(*)"))
}

// A compressed file that was cut off is refused, and not read as far as it goes.
func TestCutOffFiles(t *testing.T) {
	t.Parallel()
	e, s, in := files(t)
	exec(t, s, "CREATE TABLE t (a INTEGER)")
	var whole bytes.Buffer
	w := gzip.NewWriter(&whole)
	for _, row := range []string{"1\n", "2\n"} {
		_, err := w.Write([]byte(row))
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	cut := whole.Len()
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(in("cut.csv.gz"), whole.Bytes()[:cut], 0o600))
	refusedWith(t, s, "COPY t FROM '"+in("cut.csv.gz")+"'", "22P04", in("cut.csv.gz")+": the compressed data is damaged, or ends too early: unexpected EOF")
	refusedWith(t, s, "COPY t FROM '"+in("c*.csv.gz")+"'", "22P04", in("cut.csv.gz")+": the compressed data is damaged, or ends too early: unexpected EOF")
	_, err := e.Load(t.Context(), noderpc.LoadRequest{Table: catalog.TableName{Name: "new"}, Files: []string{in("cut.csv.gz")}}, nil)
	require.ErrorContains(t, err, "ends too early")
	require.NoError(t, os.WriteFile(in("cut.csv.gz"), whole.Bytes(), 0o600))
	exec(t, s, "COPY t FROM '"+in("c*.csv.gz")+"'")
	require.Equal(t, []string{"1", "2"}, rows(t, s, "FROM t ORDER BY a"))
}
