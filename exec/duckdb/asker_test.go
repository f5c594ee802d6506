package duckdb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// D10: each question is answered for the one who asks it, whatever the thread asked before: one thread runs a client's
// statement that reads a file, then spills for the database, then runs another client's statement. When a thread's
// previous question decided instead, spilling was refused after a client's question, and a client reached spilled files
// after the database's.
func TestOneThreadAsksForBoth(t *testing.T) {
	runtime.LockOSThread() // with one thread, DuckDB does all in the caller's
	defer runtime.UnlockOSThread()
	root := t.TempDir()
	welcome := filepath.Join(root, "welcome.txt")
	require.NoError(t, os.WriteFile(welcome, []byte("welcome"), 0o600))
	o := duckdb.Options{Threads: 1, MemoryBytes: 32 << 20, SpillDirectory: filepath.Join(root, "spill")}
	o.Files.Directories = []string{root}
	db, err := duckdb.Open(o)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	one, other := connect(t, db), connect(t, db)
	refused := func(file string) {
		for _, sql := range []string{"SELECT size FROM read_blob('%s')", "SELECT content FROM read_text('%s')", "COPY (SELECT 1) TO '%s'", "SELECT file FROM glob('%s')"} {
			sql = fmt.Sprintf(sql, file)
			got, _ := tryAsk(other, sql)
			require.Empty(t, got, sql)
		}
	}
	for range 3 {
		require.Equal(t, []string{"welcome"}, ask(t, other, "SELECT content FROM read_text('"+welcome+"')"))
		refused(filepath.Join(o.SpillDirectory, "duckdb_temp_storage_DEFAULT-0.tmp"))
		require.NoError(t, one.Exec("CREATE OR REPLACE TEMP TABLE x AS SELECT repeat('"+secret+"', 3) || md5(i::VARCHAR) AS a FROM range(400000) r(i)"))
		files, err := filepath.Glob(o.SpillDirectory + "/*/*")
		require.NoError(t, err)
		require.NotEmpty(t, files, "something was spilled")
		for _, file := range files {
			require.Equal(t, []string{"400000"}, ask(t, one, "SELECT count(DISTINCT a) FROM x"), "it spills and reads what is spilled")
			refused(file)
		}
	}
}
