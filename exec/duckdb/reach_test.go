package duckdb_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// secret is what no answer may say.
const secret = "canary in a coal mine"

// fortress is a directory that SQL may reach and things around it that it may not.
type fortress struct{ root, allowed, outside, spill string }

func newFortress(t testing.TB) fortress {
	root := t.TempDir()
	f := fortress{root, filepath.Join(root, "allowed"), filepath.Join(root, "outside"), filepath.Join(root, "spill")}
	for _, d := range []string{f.allowed, f.outside, f.spill, filepath.Join(f.allowed, "sub")} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	for name, text := range map[string]string{"s.csv": "a\n" + secret + "\n", "s.json": `{"a": "` + secret + `"}`, "s.txt": secret} {
		for _, d := range []string{f.outside, f.spill} {
			require.NoError(t, os.WriteFile(filepath.Join(d, name), []byte(text), 0o600))
		}
		require.NoError(t, os.WriteFile(filepath.Join(f.allowed, name), []byte(strings.ReplaceAll(text, secret, "welcome")), 0o600))
	}
	for _, name := range []string{"duckdb_temp_storage_DEFAULT-7.tmp", "duckdb_temp_block-4611686018427388000.block"} {
		require.NoError(t, os.WriteFile(filepath.Join(f.spill, name), []byte(secret), 0o600))
	}
	control := openWith(t, duckdb.Options{Threads: 1, Files: duckdb.FileAccess{All: true}})
	require.NoError(t, control.Exec("COPY (SELECT '"+secret+"' AS a) TO '"+f.outside+"/s.parquet'"))
	for link, to := range map[string]string{
		"out.csv": "../outside/s.csv", "out.json": "../outside/s.json", "out.parquet": "../outside/s.parquet", "out.txt": "../outside/s.txt", "absolute.csv": f.outside + "/s.csv", "dir": "../outside",
		"dangling": "../outside/made", "spilled": "../spill", "proc": "/proc/self", "chain": "out.csv", "loop": "loop", "zero": "/dev/zero",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(f.allowed, link)))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(f.allowed, "fifo"), 0o600))
	short, err := os.MkdirTemp("", "s") // a socket's name has a bound that a test's directory may pass
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(short) })
	socket, err := net.Listen("unix", filepath.Join(short, "s"))
	require.NoError(t, err)
	t.Cleanup(func() { socket.Close() })
	require.NoError(t, os.Rename(filepath.Join(short, "s"), filepath.Join(f.allowed, "socket")))
	return f
}

// paths are ways to name what is outside. %s is the end of a file's name.
func (f fortress) paths() []string {
	relative, _ := filepath.Rel(must(os.Getwd()), f.outside)
	return []string{
		f.outside + "/s%s", f.outside + "/*%s", f.outside + "/s?%s", f.outside + "//./s%s", "file://" + f.outside + "/s%s", "file:" + f.outside + "/s%s", "file://localhost" + f.outside + "/s%s",
		f.allowed + "/../outside/s%s", f.allowed + "/sub/../../outside/s%s", f.allowed + "/./../outside/*%s", f.allowed + "/dir/../outside/s%s", f.allowed + "*/../outside/s%s",
		f.root + "/*/s%s", f.root + "/**/s%s", relative + "/s%s", "~/../.." + f.outside + "/s%s", "/proc/self/root" + f.outside + "/s%s", "/proc/self/cwd/" + relative + "/s%s",
		f.allowed + "/out%s", f.allowed + "/chain", f.allowed + "/absolute.csv", f.allowed + "/dir/s%s", f.allowed + "/dir/*%s", f.allowed + "/sub/../dir/s%s", f.allowed + "/d*/s%s", f.allowed + "/**/s%s",
		f.allowed + "/proc/root" + f.outside + "/s%s", f.allowed + "/proc/environ", f.allowed + "/loop", f.allowed + "/zero", f.allowed + "/fifo", f.allowed + "/socket", f.allowed + "/dangling",
		f.spill + "/s%s", f.spill + "/*", f.spill + "/duckdb_temp_storage_DEFAULT-7.tmp", f.spill + "/duckdb_temp_block-4611686018427388000.block", f.spill + "/duckdb_temp*",
		f.spill + "//./duckdb_temp_storage_DEFAULT-7.tmp", f.allowed + "/../spill/*", f.allowed + "/../spill/duckdb_temp_storage_DEFAULT-7.tmp", "file://" + f.spill + "/*", f.spill + "/../spill/s%s",
		f.spill + "/../outside/s%s", f.allowed + "/spilled/duckdb_temp_storage_DEFAULT-7.tmp", f.allowed + "/spilled/*", f.allowed + "/spilled/s%s", f.allowed + "/spilled/../outside/s%s",
		"/proc/self/environ", "/proc/self/fd/0", "/proc/self/maps", "/proc/self/mem", "/dev/stdin", "/dev/fd/0", "/dev/zero", "/etc/passwd",
		"http://127.0.0.1:1/s%s", "https://127.0.0.1:1/s%s", "s3://bucket/s%s", "gcs://bucket/s%s", "r2://bucket/s%s", "hf://datasets/x/y/s%s", "azure://c/s%s", "abfss://c/s%s", "ftp://127.0.0.1/s%s",
	}
}

func must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}

// readers are DuckDB's ways to read a file, and the end of a file's name that they read; true: one that does read what is put outside.
var readers = []struct {
	sql, end string
	reads    bool
}{
	{"SELECT * FROM read_csv('%s')", ".csv", true}, {"SELECT * FROM read_csv_auto(['%s'])", ".csv", true}, {"SELECT * FROM sniff_csv('%s')", ".csv", false},
	{"SELECT * FROM read_csv('%s', all_varchar = true, header = false, delim = '\x02', columns = {'a': 'VARCHAR'})", ".csv", true},
	{"SELECT * FROM read_json('%s')", ".json", true}, {"SELECT * FROM read_json_auto('%s')", ".json", true}, {"SELECT * FROM read_json_objects('%s')", ".json", true},
	{"SELECT * FROM read_json_objects_auto('%s')", ".json", true}, {"SELECT * FROM read_ndjson('%s')", ".json", true}, {"SELECT * FROM read_ndjson_auto('%s')", ".json", true}, {"SELECT * FROM read_ndjson_objects('%s')", ".json", true},
	{"SELECT * FROM read_text('%s')", ".txt", true}, {"SELECT filename, content::VARCHAR FROM read_blob('%s')", ".txt", true}, {"SELECT * FROM read_text(['%s', '%[1]s'])", ".txt", true}, {"SELECT content::VARCHAR FROM read_blob('' || '%s')", ".txt", true},
	{"SELECT filename, size FROM read_blob('%s')", ".txt", false}, {"SELECT * FROM glob('%s')", ".txt", false}, {"SELECT * FROM glob(['%s'])", ".csv", false},
	{"SELECT * FROM read_parquet('%s')", ".parquet", true}, {"SELECT * FROM parquet_scan('%s')", ".parquet", true}, {"SELECT stats_min FROM parquet_metadata('%s')", ".parquet", true},
	{"SELECT * FROM parquet_schema('%s')", ".parquet", false}, {"SELECT * FROM parquet_file_metadata('%s')", ".parquet", false}, {"SELECT * FROM parquet_kv_metadata('%s')", ".parquet", false},
	{"SELECT * FROM parquet_full_metadata('%s')", ".parquet", false}, {"SELECT * FROM parquet_bloom_probe('%s', 'a', '1')", ".parquet", false},
	{"SELECT * FROM '%s'", ".csv", true}, {`SELECT * FROM "%s"`, ".parquet", true}, {"FROM '%s'", ".json", true}, {"SELECT * FROM read_duckdb('%s', table_name = 'a')", ".db", false}, {"FROM '%s'", ".duckdb", false},
	{"CREATE OR REPLACE TEMP TABLE g AS SELECT * FROM read_text('%s')", ".txt", false}, {"SUMMARIZE FROM read_csv('%s')", ".csv", false}, {"DESCRIBE FROM '%s'", ".csv", false},
	{"CREATE OR REPLACE TEMP VIEW v AS FROM read_csv('%s')", ".csv", false}, {"EXPLAIN ANALYZE FROM read_text('%s')", ".txt", false},
}

// writers are DuckDB's ways to make, replace or open for writing.
var writers = []string{
	"COPY (SELECT 1 AS a) TO '%s' (FORMAT csv)", "COPY (SELECT 1 AS a) TO '%s' (FORMAT parquet)", "COPY (SELECT 1 AS a) TO '%s' (FORMAT json)", "COPY (SELECT 1 AS a) TO '%s' (FORMAT csv, USE_TMP_FILE true)",
	"COPY (SELECT 1 AS a) TO '%s' (FORMAT csv, USE_TMP_FILE false)", "COPY (SELECT 1 AS a, 2 AS b) TO '%s' (FORMAT csv, PARTITION_BY (b), OVERWRITE true)",
	"COPY (SELECT 1 AS a) TO '%s' (FORMAT csv, PER_THREAD_OUTPUT true)", "COPY (SELECT 1 AS a) TO '%s' (FORMAT csv, PER_THREAD_OUTPUT true, OVERWRITE_OR_IGNORE true)",
	"EXPORT DATABASE '%s'", "IMPORT DATABASE '%s'", "ATTACH '%s'", "ATTACH '%s' AS z (READ_ONLY)", "INSTALL '%s'", "LOAD '%s'",
	"SET temp_directory = '%s'", "SET home_directory = '%s'", "SET secret_directory = '%s'", "SET extension_directory = '%s'", "SET log_query_path = '%s'", "SET file_search_path = '%s'",
	"SET allowed_directories = ['%s']", "SET allowed_paths = ['%s']", "SET profile_output = '%s'", "PRAGMA profiling_output = '%s'", "SET http_logging_output = '%s'", "SET custom_extension_repository = '%s'",
	"PRAGMA import_database('%s')", "CALL enable_logging(storage = 'file', storage_path = '%s')", "CALL enable_profiling(save_location = '%s')",
}

// picture is what lies where SQL may not reach: names, contents and times.
func (f fortress) picture(t *testing.T) string {
	var b strings.Builder
	for _, d := range []string{f.outside, f.spill} {
		require.NoError(t, filepath.WalkDir(d, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				info, failed := e.Info()
				content, read := os.ReadFile(path)
				if failed != nil || read != nil {
					return fmt.Errorf("%v, %v", failed, read)
				}
				fmt.Fprintf(&b, "%s %s %q\n", path, info.ModTime(), content)
			}
			return err
		}))
	}
	return b.String()
}

// D10: every way to name what is outside, with every way to read or write, against both configurations.
func TestNoAttackReachesAFile(t *testing.T) {
	f := newFortress(t)
	options := func(access duckdb.FileAccess) duckdb.Options {
		return duckdb.Options{Threads: 1, SpillDirectory: f.spill, MemoryBytes: 64 << 20, Files: access}
	}
	all := openWith(t, duckdb.Options{Threads: 1, Files: duckdb.FileAccess{All: true}})
	for _, r := range readers {
		if r.reads {
			require.Contains(t, strings.Join(ask(t, all, fmt.Sprintf(r.sql, f.outside+"/s"+r.end)), "\n"), secret, "%s reads, if it may", r.sql)
		}
	}
	before, attacks := f.picture(t), 0
	for name, access := range map[string]duckdb.FileAccess{"none": {}, "directory": {Directories: []string{f.allowed}}} {
		t.Run(name, func(t *testing.T) {
			c := openWith(t, options(access))
			for _, p := range f.paths() {
				for _, r := range readers {
					path := strings.ReplaceAll(p, "%s", r.end)
					sql := fmt.Sprintf(r.sql, path)
					got, err := tryAsk(c, sql)
					attacks++
					said := strings.Join(got, "\n")
					if err != nil {
						said += err.Error()
					} else {
						for _, row := range got { // what there is inside may be read and listed
							listed := strings.Contains(sql, "glob(") && row == path // as duckdb_temporary_files() lists
							require.True(t, listed || strings.HasPrefix(sql, "EXPLAIN") || inside(f, row), "%s: %s", sql, row)
						}
					}
					require.NotContains(t, said, secret, sql)
				}
				for _, w := range writers {
					sql := fmt.Sprintf(w, strings.ReplaceAll(p, "%s", ".csv"))
					_, err := tryAsk(c, sql)
					attacks++
					if !strings.HasPrefix(p, f.allowed) { // below it a file may be made, and a link be replaced by one
						require.Error(t, err, sql)
					}
				}
				require.Equal(t, before, f.picture(t), p)
			}
			require.Equal(t, []string{"1"}, ask(t, c, "SELECT 1"))
		})
	}
	require.Greater(t, attacks, 340)
	require.Equal(t, before, f.picture(t))
	left, err := os.ReadDir(f.root)
	require.NoError(t, err)
	require.Len(t, left, 3)
}

// inside reports whether a row names nothing outside.
func inside(f fortress, row string) bool {
	return !strings.Contains(row, f.outside) && !strings.Contains(row, f.spill) && !strings.Contains(row, "/dir/") && !strings.Contains(row, "/spilled/") && !strings.Contains(row, "/proc/")
}

// D10: the file that was checked is the file that is opened, while files and links, directories and links are
// exchanged.
func TestFilesThatBecomeLinks(t *testing.T) {
	f := newFortress(t)
	c := openWith(t, duckdb.Options{Threads: 1, Files: duckdb.FileAccess{Directories: []string{f.allowed}}})
	before, stop, over := f.picture(t), make(chan struct{}), make(chan error, 1)
	go func() { over <- exchange(f, stop) }()
	for range 120 {
		for _, sql := range []string{
			"SELECT content FROM read_text('%s/swap.txt')", "SELECT * FROM read_csv('%s/swapped/s.csv')", "SELECT content FROM read_text('%s/swap*')", "SELECT content FROM read_text('%s/swapped/*.txt')",
		} {
			got, err := tryAsk(c, fmt.Sprintf(sql, f.allowed))
			require.NotContains(t, strings.Join(got, "\n"), secret)
			if err != nil {
				require.NotContains(t, err.Error(), secret)
			}
		}
		_, _ = tryAsk(c, "COPY (SELECT 1) TO '"+f.allowed+"/swap.txt'")
		_, _ = tryAsk(c, "COPY (SELECT 1) TO '"+f.allowed+"/swapped/s.txt'")
	}
	close(stop)
	require.NoError(t, <-over)
	require.Equal(t, []string{"a\nwelcome\n"}, ask(t, c, "SELECT content FROM read_text('"+f.allowed+"/swap.txt')"), "what is inside is read")
	require.Equal(t, before, f.picture(t))
}

// exchange makes two names mean what is inside and what is outside by turns, until stop; at the end what is inside.
func exchange(f fortress, stop <-chan struct{}) error {
	file, directory := filepath.Join(f.allowed, "swap.txt"), filepath.Join(f.allowed, "swapped")
	for n := 0; ; n++ {
		if n%2 == 1 {
			select {
			case <-stop:
				return nil
			default:
			}
		}
		fresh := fmt.Sprintf("%s/fresh-%d", f.root, n)
		target := []string{f.allowed, "../outside"}[n%2]
		if err := os.Symlink(strings.Replace(target, f.allowed, "sub", 1), fresh); err != nil {
			return err
		}
		if err := os.Rename(fresh, directory); err != nil {
			return err
		}
		var err error
		if n%2 == 0 {
			err = os.WriteFile(fresh, []byte("a\nwelcome\n"), 0o600)
		} else {
			err = os.Symlink("../outside/s.txt", fresh)
		}
		if err == nil {
			err = os.Rename(fresh, file)
		}
		if err != nil {
			return err
		}
	}
}

// D10: what one session spilled is not read by another one, with or without directories that hold the place; and spilling works there.
func TestSpilledRowsAreOutOfReach(t *testing.T) {
	for name, widely := range map[string]bool{"none": false, "all around": true} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			o := duckdb.Options{Threads: 1, MemoryBytes: 32 << 20, SpillDirectory: filepath.Join(root, "spill")}
			if widely {
				o.Files.Directories = []string{root}
			}
			db, err := duckdb.Open(o)
			require.NoError(t, err)
			t.Cleanup(db.Close)
			one, other := connect(t, db), connect(t, db)
			require.NoError(t, one.Exec("CREATE TEMP TABLE x AS SELECT repeat('"+secret+"', 3) || md5(i::VARCHAR) AS a FROM range(400000) r(i)"))
			files, err := filepath.Glob(o.SpillDirectory + "/*/*")
			require.NoError(t, err)
			require.NotEmpty(t, files, "something was spilled")
			for _, file := range files {
				for _, sql := range []string{"SELECT size FROM read_blob('%s')", "SELECT * FROM read_csv('%s')", "COPY (SELECT 1) TO '%s'", "SELECT * FROM sniff_csv('%s')"} {
					for _, path := range []string{file, filepath.Dir(file) + "/duckdb*", root + "/*/*/" + filepath.Base(file)} {
						got, err := tryAsk(other, fmt.Sprintf(sql, path))
						require.Empty(t, got, sql)
						if !strings.Contains(path, "*/") { // which means no file
							require.Error(t, err, sql)
						}
					}
				}
			}
			require.Equal(t, []string{"400000"}, ask(t, one, "SELECT count(DISTINCT a) FROM x"))
		})
	}
}
