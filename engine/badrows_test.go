package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// The error of a bad row of a CSV file names the file, the line and the column, without DuckDB's advice on options that
// the user did not give.
func TestBadRowsOfFilesInSQL(t *testing.T) {
	directory := t.TempDir()
	e := open(t, func(c *engine.Config) { c.Files = duckdb.FileAccess{Directories: []string{directory}} })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (a INTEGER, b TEXT)")
	file := filepath.Join(directory, "bad.csv")
	require.NoError(t, os.WriteFile(file, []byte("1,x\n2,y\nfoo,z\n4,w\n"), 0o600))
	call := "read_csv('" + file + "', columns = {'a': 'INTEGER', 'b': 'VARCHAR'}, auto_detect = false)"
	for _, sql := range []string{"SELECT * FROM " + call, "FROM " + call, "INSERT INTO t SELECT * FROM " + call, "CREATE TABLE u AS FROM " + call, "COPY t FROM '" + file + "'",
		"COPY (FROM " + call + ") TO '" + filepath.Join(directory, "out.csv") + "'", "CREATE TEMP TABLE u AS FROM " + call} {
		_, err := s.Exec(t.Context(), sql)
		var failed *engine.Error
		require.ErrorAs(t, err, &failed, sql)
		require.Equal(t, "22P02", failed.State, sql)
		require.Equal(t, file+`, line 3, column "a": invalid input syntax for type integer: "foo"`, failed.Message, sql)
		require.Equal(t, "The line is: foo,z", failed.DetailText, sql)
		require.NotContains(t, failed.HintText, "Auto-Detected", sql)
	}
}
