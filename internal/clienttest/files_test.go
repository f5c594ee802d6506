package clienttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// filesPlace stands in examples for the directory of the files that they read and write.
const filesPlace = "{files}"

// duckFiles are the files that are not text: DuckDB writes them.
const duckFiles = `COPY (SELECT 1 AS a) TO '{files}/packed.csv' (FORMAT csv, COMPRESSION gzip);
	COPY (SELECT 1 AS a) TO '{files}/packed.json' (FORMAT json, COMPRESSION gzip);
	COPY (SELECT unnest([1, 2]) AS a, 'x' AS b) TO '{files}/people.parquet';
	COPY (SELECT 'x'::blob AS s) TO '{files}/blob.parquet';
	COPY (SELECT unnest([1::double, 'nan'::double]) AS n) TO '{files}/nan.parquet';
	COPY (SELECT 1 AS a) TO '{files}/hive/k=01/one.parquet';
	COPY (SELECT 1 AS a, 'x' AS b) TO '{files}/part1.parquet';
	COPY (SELECT 2 AS a, 'y' AS c) TO '{files}/part2.parquet';
	COPY (SELECT 1::bigint AS a) TO '{files}/fields.parquet' (FIELD_IDS {a: 1});
	ATTACH '{files}/one.duckdb' AS one; CREATE TABLE one.t AS SELECT 1 AS a; CREATE TABLE one.u AS SELECT 2 AS a; DETACH one`

// files is a directory of files for examples, and what it is to be like before each.
type files struct{ directory, original string }

// newFiles fills a directory with testdata/files and duckFiles.
func newFiles(t *testing.T, directory string) *files {
	t.Helper()
	f := &files{directory: directory, original: filepath.Join(t.TempDir(), "files")}
	require.NoError(t, os.CopyFS(f.original, os.DirFS("testdata/files")))
	db, err := duckdb.Open(duckdb.Options{Threads: 1, Files: duckdb.FileAccess{All: true}})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Connect(nil)
	require.NoError(t, err)
	defer conn.Close()
	for _, one := range strings.Split(duckFiles, ";") {
		require.NoError(t, conn.Exec(strings.ReplaceAll(one, filesPlace, f.original)), one)
	}
	f.reset(t)
	return f
}

// reset leaves in the directory what was there at first.
func (f *files) reset(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(f.directory)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.RemoveAll(filepath.Join(f.directory, e.Name())))
	}
	require.NoError(t, os.CopyFS(f.directory, os.DirFS(f.original)))
}

// run tries an example in the directory, and takes the directory's name out of what comes.
func (f *files) run(t *testing.T, sql string, try func(sql string) tried) tried {
	t.Helper()
	if f == nil || !strings.Contains(sql, filesPlace) {
		return try(sql)
	}
	got := try(strings.ReplaceAll(sql, filesPlace, f.directory))
	if got.text = strings.ReplaceAll(got.text, f.directory, filesPlace); strings.Contains(strings.ToUpper(sql), "COPY") {
		f.reset(t)
	}
	return got
}
