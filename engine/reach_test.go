package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// TestCopyReachesNoFile: COPY, which partly opens files itself, neither reads nor makes nor replaces what SQL may not reach, and waits for no FIFO.
func TestCopyReachesNoFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	allowed, outside := filepath.Join(root, "allowed"), filepath.Join(root, "outside")
	for _, d := range []string{allowed, outside} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	e := open(t, quiet, func(c *engine.Config) { c.Files = engine.FileAccess{Directories: []string{allowed}} })
	spills, err := filepath.Glob(filepath.Join(e.Directory(), "spill", "*"))
	require.NoError(t, err)
	require.Len(t, spills, 1, "the database's own")
	spill := spills[0]
	require.NoError(t, os.WriteFile(filepath.Join(spill, "duckdb_temp_storage_S32K-99.tmp"), []byte("9"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "file"), []byte("9"), 0o600))
	for link, to := range map[string]string{
		"dangling": "../outside/made", "link": "../outside/file", "absolute": outside + "/file", "directory": "../outside", "spilled": spill, "loop": "loop", "null": "/dev/null",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(allowed, link)))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(allowed, "fifo"), 0o600))
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a")
	targets := []string{
		allowed + "/dangling", allowed + "/link", allowed + "/absolute", allowed + "/directory/file", allowed + "/directory/new", allowed + "/spilled/duckdb_temp_storage_S32K-99.tmp",
		allowed + "/spilled/new", allowed + "/loop", allowed + "/null", allowed + "/fifo", allowed + "/../outside/file", allowed + "/../outside/new", outside + "/file", outside + "/new", outside + "/f*",
		"file://" + outside + "/file", spill + "/duckdb_temp_storage_S32K-99.tmp", spill + "/new", spill + "/*", "/proc/self/environ", "/proc/self/fd/1", "/dev/stdout", "/dev/null", "/dev/fd/1",
		"http://127.0.0.1:1/file", "s3://bucket/file",
	}
	for _, format := range []string{"csv", "text", "parquet", "json", "arrow", "arrows"} {
		for _, target := range targets {
			from := fmt.Sprintf("COPY t FROM '%s' (FORMAT %s)", target, format)
			_, err := tryRows(s, from)
			require.Error(t, err, from)
			into := fmt.Sprintf("COPY t TO '%s' (FORMAT %s)", target, format)
			if _, err := tryRows(s, into); err == nil {
				what, err := os.Lstat(target)
				require.NoError(t, err, into)
				require.True(t, strings.HasPrefix(target, allowed) && what.Mode().IsRegular(), "%s: only a link below may be replaced, by a file", into)
				require.NoError(t, os.Remove(target))
				require.NoError(t, os.Symlink("../outside/made", target))
			}
			require.NoFileExists(t, outside+"/made", into)
		}
	}
	for _, d := range []string{outside, spill} {
		entries, err := os.ReadDir(d)
		require.NoError(t, err)
		require.Len(t, entries, 1, d)
		content, err := os.ReadFile(filepath.Join(d, entries[0].Name()))
		require.NoError(t, err)
		require.Equal(t, "9", string(content))
	}
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT a FROM t"))
	require.NoError(t, os.Link(filepath.Join(outside, "file"), filepath.Join(allowed, "hard")))
	require.Equal(t, []string{"9"}, rows(t, s, "SELECT content::text FROM read_text('"+allowed+"/hard')"), "a hard link is the file itself")
}
