package pgcatalog_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

func TestCalls(t *testing.T) {
	for _, sql := range []string{
		"SELECT csm_power(2, 3)", "SELECT \"CSM_Power\"(2, 3)", "SELECT 'a' LIKE b FROM t", "SELECT a ~ b FROM t",
		"SELECT a !~~ b FROM t",
		"show tables", "FROM (DESCRIBE t)", "DESC t", " desc t", "FROM (desc t)", "SUMMARIZE t", "PRAGMA show_tables",
		"FROM duckdb_views()",
		"SELECT * FROM sqlite_master", "SELECT * FROM information_schema.tables", "CALL pragma_version()",
		"SELECT current_user",
		"SELECT csm_once__csm_power(random(), 2)", "SELECT * FROM pg_class", "SELECT 'of format'",
		"SELECT pg_compat.static_pg_settings FROM t",
	} {
		require.True(t, pgcatalog.Calls(sql), sql)
	}
	for _, sql := range []string{
		"", "SELECT 1", "SELECT * FROM csm_scan(7) ORDER BY a DESC, b DESC NULLS LAST",
		"SELECT sum(a), lower(b) FROM csm_table('public', 't') WHERE c BETWEEN 1 AND 2 AND d <> 'x' GROUP BY ALL",
		"SELECT liked, shown FROM t",
	} {
		require.False(t, pgcatalog.Calls(sql), sql)
	}
}

// A text that Calls nothing is planned and answered without it: asked are PostgreSQL's dialect's statements, by DuckDB
// as they stand, and what it has words for.
func TestWhatCallsNothingNeedsNothing(t *testing.T) {
	list, err := os.ReadFile("../../internal/clienttest/testdata/postgres/statements.txt")
	require.NoError(t, err)
	texts := strings.Split(string(list), "\n")
	for i, text := range texts {
		for strings.Contains(text, "«") { // its first alternatives
			before, rest, _ := strings.Cut(text, "«")
			choices, after, _ := strings.Cut(rest, "»")
			choice, _, _ := strings.Cut(choices, ";")
			text = before + choice + after
		}
		texts[i] = text
	}
	texts = append(texts, "SHOW ALL TABLES", "SHOW DATABASES", "SHOW TABLES FROM csmsql.public", "DESCRIBE",
		"FROM (DESCRIBE region)", "SHOW VARIABLES",
		"SUMMARIZE region", "DESC region", "FROM sqlite_master", "FROM information_schema.tables",
		"FROM duckdb_functions() WHERE function_name = 'x'",
		"SELECT [1, 2, 3][1:2], {'a': 1}.a, MAP {1: 2}[1], 2 ^ 3, 7 // 2, 5 % 3, -(-1), 1 << 2",
		"SELECT 'a' COLLATE nocase < 'B', 'a' SIMILAR TO 'b', 'a' GLOB 'a*'",
		"SELECT extract(year FROM DATE '2020-01-01'), position('a' IN 'ba'), substring('abc' FROM 2), trim(BOTH 'a' FROM 'aba')",
		"SELECT TIMESTAMPTZ '2020-01-01' AT TIME ZONE 'UTC'",
		"SELECT current_date IS NULL, current_timestamp IS NULL, localtime IS NULL,"+
			" CAST('1' AS int), try_cast('x' AS int), 1 IN (1, 2), [x FOR x IN [1, 2]]")
	open := func(install bool) *duckdb.Connection {
		db, err := duckdb.Open(duckdb.Options{Threads: 1})
		require.NoError(t, err)
		t.Cleanup(db.Close)
		c, err := db.Connect(nil)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		if install {
			attach(t, c, pgcatalog.Functions)
			require.NoError(t, c.LookAlso(pgcatalog.SessionSchema))
		}
		require.NoError(t, c.Exec("CREATE TABLE region AS SELECT 1 AS a"))
		return c
	}
	bare, installed := open(false), open(true)
	answer := func(c *duckdb.Connection, sql string) string {
		texts, err := c.Texts(t.Context(), "SELECT CAST(x AS VARCHAR) FROM ("+sql+"\n) AS x")
		if err != nil {
			texts, err = nil, c.Exec(sql)
		}
		if err != nil {
			return err.Error()
		}
		return strings.Join(texts, "\n")
	}
	asked, same := 0, 0
	for _, sql := range texts {
		if sql == "" || strings.HasPrefix(sql, "#") || pgcatalog.Calls(sql) {
			continue
		}
		asked++
		want := answer(installed, sql)
		if got := answer(bare, sql); got == want {
			same++
		} else {
			require.NotEqual(t, want, answer(installed, sql), "%s: where nothing is made %q", sql, got)
		}
	}
	require.Greater(t, asked, 500)
	require.Greater(t, same, asked*9/10)
}

// Images are attached beside sessions that work, list all databases or look for names that are missing, which DuckDB
// does in all databases: each statement finds what it would without that, and a transaction that began before finds
// what is attached.
func TestAttachingBesideSessions(t *testing.T) {
	for range 10 {
		attachBesideSessions(t)
	}
}

func attachBesideSessions(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{Threads: 2})
	require.NoError(t, err)
	defer db.Close()
	var connections []*duckdb.Connection
	for range 6 {
		c, err := db.Connect(nil)
		require.NoError(t, err)
		defer c.Close()
		connections = append(connections, c)
	}
	first, block := connections[0], connections[1]
	require.NoError(t, block.Exec("BEGIN; SELECT lower('A')"))
	const missing = "SELECT 1 FROM missing"
	asked := []string{
		"SELECT lower('A') || CAST(sum(x) AS VARCHAR) FROM range(10) AS t(x)", missing, missing,
		"SELECT table_name FROM system.main.duckdb_tables()",
	}
	var sessions, ready sync.WaitGroup
	defer sessions.Wait()
	stop := make(chan struct{})
	defer close(stop)
	for i, sql := range asked {
		c := connections[2+i]
		ready.Add(1)
		sessions.Go(func() {
			begun := sync.OnceFunc(ready.Done)
			defer begun()
			for {
				_, err := c.Texts(t.Context(), sql)
				if sql == missing {
					if !assert.ErrorContains(t, err, "Table with name missing does not exist") {
						return
					}
				} else if !assert.NoError(t, err) {
					return
				}
				begun()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	ready.Wait()
	attach(t, first, pgcatalog.Functions, pgcatalog.Catalogs)
	require.NoError(t, block.LookAlso(pgcatalog.SessionSchema))
	texts, err := block.Texts(t.Context(), "SELECT CAST(csm_power(2, 3) AS VARCHAR)")
	require.NoError(t, err)
	require.Equal(t, []string{"8.0"}, texts)
	require.NoError(t, block.Exec("COMMIT"))
}

// What could not be attached is attached when it is asked for again; what is there stays.
func TestAttachingAgain(t *testing.T) {
	broken, err := os.CreateTemp(t.TempDir(), "broken")
	require.NoError(t, err)
	defer broken.Close()
	_, err = broken.WriteString(strings.Repeat("no database of DuckDB's. ", 1000))
	require.NoError(t, err)
	db, err := duckdb.Open(duckdb.Options{Threads: 1})
	require.NoError(t, err)
	defer db.Close()
	c, err := db.Connect(nil)
	require.NoError(t, err)
	defer c.Close()
	for _, image := range []pgcatalog.Image{pgcatalog.Functions, pgcatalog.Catalogs} {
		require.Error(t, c.Attach(image.Name, broken))
		attach(t, c, image)
		require.NoError(t, c.Attach(image.Name, broken))
	}
	require.NoError(t, pgcatalog.Refresh(c.Exec, sample(), nil, schemas(), "csmsql"))
	require.NoError(t, c.LookAlso(pgcatalog.SessionSchema))
	expect(t, c, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", "2")
}

// What is attached cannot be changed, and no client reaches its file by a name.
func TestImagesAreSealed(t *testing.T) {
	c := open(t)
	for _, image := range []pgcatalog.Image{pgcatalog.Functions, pgcatalog.Catalogs} {
		file, err := image.File()
		require.NoError(t, err)
		_, err = file.WriteAt([]byte{0}, 0)
		require.ErrorIs(t, err, syscall.EPERM)
		require.ErrorIs(t, file.Truncate(0), syscall.EPERM)
		name := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
		for _, sql := range []string{
			"SELECT count(*) FROM read_blob('%s')", "COPY (SELECT 1) TO '%s'", "COPY (SELECT 1) TO '%s.wal'",
		} {
			require.ErrorContains(t, c.Exec(fmt.Sprintf(sql, name)), "disabled by configuration", sql)
		}
	}
	require.ErrorContains(t, c.Exec("CREATE MACRO "+pgcatalog.SessionSchema+".mine() AS 1"), "read-only")
}

// What Go hides of the engine's own names, the functions that take names as strings hide, too.
func TestFunctionsHideOwnNames(t *testing.T) {
	functions, err := os.ReadFile("data/duckdb.sql")
	require.NoError(t, err)
	require.Contains(t, string(functions), `'(?i)\b(`+pgcatalog.OwnNames+`)\b'`)
	require.Contains(t, string(functions), " IN "+pgcatalog.OwnTables)
}
