package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// quiet is a node's configuration for tests that provoke warnings.
func quiet(c *engine.Config) { c.Log = slog.New(slog.DiscardHandler) }

// position of an error in the statement, from 1.
func position(err error) int {
	if p, ok := err.(interface{ Position() int }); ok {
		return p.Position()
	}
	return 0
}

// fingerprint is everything that a refused statement must leave as it was (E4).
func fingerprint(t testing.TB, e *engine.Engine) string {
	t.Helper()
	require.NoError(t, e.CheckSpace(context.Background()))
	st := e.Status(noderpc.Frontend{})
	var text strings.Builder
	fmt.Fprintf(&text, "revision %d, %d extents, %d bytes\n", st.Node.Revision, st.Regions[0].Extents, st.Regions[0].Used)
	for _, table := range st.Tables {
		fmt.Fprintf(&text, "%s.%s version %d: %d rows, %d chunks\n", table.Schema, table.Name, table.Version, table.Rows, table.Chunks)
	}
	return text.String()
}

// refused demands an error with a state and words, and that nothing has changed.
func refused(t testing.TB, e *engine.Engine, state string, words []string, do func() error) error {
	t.Helper()
	before := fingerprint(t, e)
	err := do()
	require.Error(t, err)
	require.Equal(t, state, sqlState(err), "%v", err)
	for _, w := range words {
		require.Contains(t, err.Error(), w)
	}
	require.Equal(t, before, fingerprint(t, e), "after %v", err)
	return err
}

func TestRegionLargerThanItsFabric(t *testing.T) {
	t.Parallel()
	dir, shm := t.TempDir(), shmDirectory(t)
	config := engine.Config{Directory: dir, RegionDirectory: shm, RegionBytes: 1 << 50, Log: slog.New(slog.DiscardHandler)}
	_, err := engine.Open(context.Background(), config)
	require.Error(t, err)
	require.Equal(t, "53200", sqlState(err), "%v", err)
	require.Contains(t, err.Error(), shm, "says where")
	left, err := os.ReadDir(shm)
	require.NoError(t, err)
	require.Empty(t, left)
	config.RegionBytes = 16 << 20
	e, err := engine.Open(context.Background(), config)
	require.NoError(t, err, "the directory is as good as before")
	require.NoError(t, e.Close())
}

// TestRegionFull: every way to write meets the end of the region in its middle.
func TestRegionFull(t *testing.T) {
	t.Parallel()
	e := open(t, quiet, func(c *engine.Config) { c.RegionBytes = 8 << 20 })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i, 'a text that is different in every row: ' || i AS body FROM range(20000) r(i)")
	file := filepath.Join(t.TempDir(), "big.csv")
	var text strings.Builder
	text.WriteString("i,body\n")
	for i := range 400_000 {
		fmt.Fprintf(&text, "%d,a text that is different in every row: %d\n", i, i)
	}
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	load := func(mode noderpc.LoadMode, table string) func() error {
		return func() error {
			_, err := e.Load(context.Background(), noderpc.LoadRequest{Table: catalog.TableName{Name: table}, Files: []string{file}, Options: noderpc.LoadOptions{Mode: mode}}, nil)
			return err
		}
	}
	statement := func(sql string) func() error {
		return func() error { _, err := s.Exec(context.Background(), sql); return err }
	}
	for name, do := range map[string]func() error{
		"tpch load":     func() error { return e.LoadTPCH(context.Background(), noderpc.TPCHRequest{ScaleFactor: 0.05}, nil) },
		"insert":        statement("INSERT INTO t SELECT i, 'a text that is different in every row: ' || i FROM range(1000000) r(i)"),
		"create as":     statement("CREATE TABLE u AS SELECT i, 'a text that is different in every row: ' || i AS body FROM range(1000000) r(i)"),
		"replace as":    statement("CREATE OR REPLACE TABLE t AS SELECT i, 'a text that is different in every row: ' || i AS body FROM range(1000000) r(i)"),
		"update":        statement("UPDATE t SET body = repeat(body, 10) WHERE true"),
		"load":          load(noderpc.LoadCreate, "loaded"),
		"load, append":  load(noderpc.LoadAppend, "t"),
		"load, replace": load(noderpc.LoadReplace, "t"),
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, e, "53200", []string{"full"}, do)
		})
	}
	t.Run("in a block", func(t *testing.T) {
		before := fingerprint(t, e)
		exec(t, s, "BEGIN; INSERT INTO t VALUES (1, 'x'); CREATE TABLE v (a int)")
		_, err := s.Exec(context.Background(), "INSERT INTO t SELECT i, 'a text that is different in every row: ' || i FROM range(1000000) r(i)")
		require.Equal(t, "53200", sqlState(err), "%v", err)
		_, err = s.Exec(context.Background(), "SELECT 1")
		require.Equal(t, "25P02", sqlState(err), "%v", err)
		exec(t, s, "ROLLBACK")
		require.Equal(t, before, fingerprint(t, e))
	})
	exec(t, s, "INSERT INTO t VALUES (-1, 'there is room for this')")
	require.Equal(t, []string{"20001"}, rows(t, s, "SELECT count(*) FROM t"))
}

func TestQuota(t *testing.T) {
	t.Parallel()
	e := open(t, quiet)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (i bigint)")
	e.SetQuota("public.t", 1<<20)
	refused(t, e, "53200", []string{"quota", "public.t"}, func() error {
		_, err := s.Exec(context.Background(), "INSERT INTO t SELECT * FROM range(1000000)")
		return err
	})
	exec(t, s, "INSERT INTO t SELECT * FROM range(1000)")
	exec(t, s, "CREATE TABLE free AS SELECT * FROM range(1000000) r(i)")
}

// loadFile loads a file into a new table "loaded".
func loadFile(e *engine.Engine, file string) error {
	_, err := e.Load(context.Background(), noderpc.LoadRequest{Table: catalog.TableName{Name: "loaded"}, Files: []string{file}, Options: noderpc.LoadOptions{Mode: noderpc.LoadCreate}}, nil)
	return err
}

// parquet makes a Parquet file with one column of each common kind.
func parquet(t testing.TB, dir string, rows int) string {
	t.Helper()
	e := open(t, quiet, func(c *engine.Config) { c.Files = engine.FileAccess{Directories: []string{dir}} })
	file := filepath.Join(dir, "good.parquet")
	exec(t, session(t, e), fmt.Sprintf(`COPY (SELECT i::bigint AS i, 'text number ' || i AS body, (i / 4.0)::decimal(10,2) AS part, ['x', 'y'][1 + i %% 2] AS word,
		DATE '2020-01-01' + (i %% 1000)::int AS day, CASE WHEN i %% 3 = 0 THEN NULL ELSE i END AS hole, [i, i + 1] AS list FROM range(%d) r(i)) TO '%s' (FORMAT parquet)`, rows, file))
	return file
}

// TestDamagedParquet: cut off anywhere and altered anywhere. A file without checksums may be altered into another valid one; then
// its rows are loaded. What must not be is half a table, lost memory, or a process that ends.
func TestDamagedParquet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, err := os.ReadFile(parquet(t, dir, 5000))
	require.NoError(t, err)
	e := open(t, quiet)
	s := session(t, e)
	file := filepath.Join(dir, "bad.parquet")
	attempt := func(bytes []byte) error {
		require.NoError(t, os.WriteFile(file, bytes, 0o600))
		before := fingerprint(t, e)
		err := loadFile(e, file)
		if err != nil {
			require.Contains(t, err.Error(), file)
			require.NotContains(t, []string{"-----", "XX000", ""}, sqlState(err), "%v", err)
			require.Equal(t, before, fingerprint(t, e), "%v", err)
			return err
		}
		exec(t, s, "DROP TABLE loaded")
		return nil
	}
	require.NoError(t, attempt(good))
	for _, length := range []int{0, 1, 4, 11, 12, len(good) / 3, len(good) / 2, len(good) - 100, len(good) - 9, len(good) - 8, len(good) - 4, len(good) - 1} {
		require.Error(t, attempt(good[:length]), "%d of %d bytes", length, len(good))
	}
	r := rand.New(rand.NewPCG(4, 4))
	noticed := 0
	flips := 40 * testsuite.Effort()
	for i := range flips {
		bad := append([]byte(nil), good...)
		at := r.IntN(len(bad))
		if i%2 == 0 { // the footer says where everything is: the most can go wrong there
			at = len(bad) - 1 - r.IntN(1500)
		}
		bad[at] ^= byte(1 << r.IntN(8))
		if attempt(bad) != nil {
			noticed++
		}
	}
	t.Logf("%d of %d altered files were noticed", noticed, flips)
	require.Positive(t, noticed)
}

func TestBadRowsOfCSV(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, quiet, func(c *engine.Config) { c.Files = engine.FileAccess{Directories: []string{dir}} })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (id bigint, price decimal(10,2), name text)")
	file := filepath.Join(dir, "orders.csv")
	many := strings.Repeat("1,2.50,name\n", 30_000)
	appended := func() error {
		_, err := e.Load(context.Background(), noderpc.LoadRequest{Table: catalog.TableName{Name: "t"}, Files: []string{file}, Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend}}, nil)
		return err
	}
	copied := func() error {
		_, err := s.Exec(context.Background(), "COPY t FROM '"+file+"' (FORMAT csv, HEADER)")
		return err
	}
	for name, c := range map[string]struct {
		text   string
		states []string
		words  []string
	}{
		"a word where a number must be": {"id,price,name\n" + many + "x17,1.5,name\n" + many, []string{"22P02", "22P04", "22018"}, []string{file, "line 30002", "id"}},
		"a price that is none":          {"id,price,name\n" + many + "17,cheap,name\n", []string{"22P02", "22P04", "22018"}, []string{file, "line 30002", "price"}},
		"a column too many":             {"id,price,name\n" + many + "17,1.5,name,more\n" + many, []string{"22P04"}, []string{file, "line 30002"}},
		"a column too few":              {"id,price,name\n" + many + "17,1.5\n" + many, []string{"22P04"}, []string{file, "line 30002"}},
		"text that is not UTF-8":        {"id,price,name\n" + many + "17,1.5,caf\xe9\n" + many, []string{"22021", "22P04"}, []string{file, "line 30002"}},
		"a quote without end":           {"id,price,name\n" + many + "17,1.5,\"name\n" + strings.Repeat("1,2.50,name\n", 30), []string{"22P04"}, []string{file}},
	} {
		for how, do := range map[string]func() error{"load": appended, "copy": copied} {
			if name == "a quote without end" && how == "load" {
				continue // a guessed format reads a file without quotes
			}
			t.Run(name+", "+how, func(t *testing.T) {
				require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
				before := fingerprint(t, e)
				err := do()
				require.Error(t, err)
				require.Contains(t, c.states, sqlState(err), "%v", err)
				for _, w := range c.words {
					require.Contains(t, err.Error(), w)
				}
				require.NotRegexp(t, `Possible|auto-detected|types=`, err.Error(), "what cannot be done here is not proposed")
				require.Equal(t, before, fingerprint(t, e))
			})
		}
	}
}

func TestBadStatements(t *testing.T) {
	t.Parallel()
	e := open(t, quiet)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, 'x' AS b FROM range(10) r(i)")
	exec(t, s, "CREATE TABLE u AS SELECT i AS a, 'y' AS c FROM range(10) r(i)")
	for sql, want := range map[string]struct {
		state string
		at    string // what the position must point at; empty: no position demanded
		words []string
	}{
		"SELECT * FROM nowhere":                                  {"42P01", "nowhere", []string{"nowhere", "does not exist"}},
		"SELECT a, nothing FROM t":                               {"42703", "nothing", []string{"nothing"}},
		"SELECT t.nothing FROM t":                                {"42703", "t.nothing", []string{"nothing"}},
		"SELECT a FROM t JOIN u ON t.a = u.a":                    {"42702", "a FROM", []string{"a", "mbiguous"}},
		"SELECT 1 // 0, a FROM t WHERE a / 0 > 1 AND error('x')": {"", "", nil},
		"INSERT INTO nowhere VALUES (1)":                         {"42P01", "nowhere", []string{"nowhere"}},
		"INSERT INTO t VALUES (1, 'x', 2)":                       {"42601", "", []string{"more expressions"}},
		"INSERT INTO t (a, zz) VALUES (1, 2)":                    {"42703", "", []string{"zz"}},
		"INSERT INTO t VALUES ('seven', 'x')":                    {"22P02", "", []string{"seven"}},
		"INSERT INTO t SELECT c, c FROM u":                       {"22P02", "", []string{"y"}},
		"CREATE TABLE v AS SELECT CAST(b AS int) AS n FROM t":    {"22P02", "", []string{"x"}},
		"UPDATE t SET a = b":                                     {"22P02", "", []string{"x"}},
		"UPDATE t SET zz = 1":                                    {"42703", "", []string{"zz"}},
		"DELETE FROM t WHERE zz = 1":                             {"42703", "", []string{"zz"}},
		"DROP TABLE nowhere":                                     {"42P01", "", []string{"nowhere"}},
		"TRUNCATE nowhere":                                       {"42P01", "", []string{"nowhere"}},
		"CREATE TABLE t (a int)":                                 {"42P07", "", []string{"t", "exists"}},
		"SELECT CAST('zwölf' AS int)":                            {"22P02", "", []string{"zwölf"}},
		"SELECT CAST(300 AS tinyint)":                            {"22003", "", []string{"300"}},
		"SELECT DATE '2020-13-45'":                               {"22008", "", []string{"2020-13-45"}},
		"SELEC 1":                                                {"42601", "SELEC", nil},
		"SELECT a FROM t WHERE":                                  {"42601", "", nil},
		"SELECT count(a, b, 3) FROM t":                           {"42883", "", nil},
		"SELECT nofunction(a) FROM t":                            {"42883", "nofunction", []string{"nofunction"}},
		"SELECT * FROM t WHERE a = 'x'":                          {"22P02", "", []string{"x"}},
		"COPY t FROM '/etc/passwd'":                              {"42501", "", nil},
		"SELECT * FROM read_csv('/etc/passwd')":                  {"42501", "", nil},
	} {
		if want.state == "" {
			continue
		}
		t.Run(sql, func(t *testing.T) {
			err := refused(t, e, want.state, want.words, func() error { _, err := tryRows(s, sql); return err })
			if want.at != "" {
				require.Equal(t, len([]rune(sql[:strings.Index(sql, want.at)]))+1, position(err), "%v", err)
			}
		})
	}
	// DuckDB's dialect divides by zero to NULL; it must be that, and no error halfway.
	require.Equal(t, []string{"(null)|(null)"}, rows(t, s, "SELECT 1 // 0, 1 % 0"))
}

func TestTwoNodesOnOneDirectory(t *testing.T) {
	t.Parallel()
	e := open(t, quiet)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a")
	dir := e.RegionSpec().Path
	config := engine.Config{Directory: e.Directory(), RegionBytes: 16 << 20}
	_, err := engine.Open(context.Background(), config)
	require.ErrorIs(t, err, store.ErrInUse)
	require.Contains(t, err.Error(), e.Directory())
	require.Contains(t, err.Error(), fmt.Sprint(os.Getpid()), "says who")
	require.FileExists(t, dir)
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT a FROM t"))
	require.NoError(t, e.CheckSpace(context.Background()))
}

// E5: what fails while it runs is pointed at in the user's text, however often that was rewritten: a table was put in, values of a pivot, casts.
func TestFailuresPointIntoTheText(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE some_table AS SELECT 1 AS a, 'x' AS k")
	for _, c := range []struct {
		sql, at string
		args    []any
	}{
		{"SELECT 'ä', a FROM some_table WHERE CAST(k AS int) = 3", "CAST", nil},
		{"SELECT a FROM some_table WHERE $1 IS NULL AND CAST(k AS int) = 0x3", "CAST", []any{nil}},
		{"SELECT a, $1 FROM some_table x WHERE CAST(k AS int) = 3", "CAST", []any{"ä"}},
		{"SELECT * FROM (PIVOT some_table ON k USING sum(a)) p WHERE CAST('ö' AS int) = p.x", "CAST", nil},
		{"PIVOT (SELECT a, k, CAST(k AS int) FROM some_table) ON k USING sum(a)", "CAST", nil},
	} {
		_, err := tryRows(s, c.sql, c.args...)
		require.Equal(t, "22P02", sqlState(err), "%s: %v", c.sql, err)
		require.Equal(t, utf8.RuneCountInString(c.sql[:strings.Index(c.sql, c.at)])+1, position(err), "%s: %v", c.sql, err)
	}
}
