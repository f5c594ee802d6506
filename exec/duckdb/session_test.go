package duckdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

func connect(t testing.TB, db *duckdb.Database) *duckdb.Connection {
	c, err := db.Connect(nil)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func openWith(t testing.TB, options duckdb.Options) *duckdb.Connection {
	db, err := duckdb.Open(options)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return connect(t, db)
}

// D5, and why one Database serves all sessions: what is temporary is private, what is not is shared.
func TestTwoConnections(t *testing.T) {
	db, a := open(t)
	b := connect(t, db)
	require.NoError(t, a.Exec("CREATE TEMP TABLE mine AS SELECT 1 AS x"))
	require.NoError(t, a.Exec("CREATE TEMP VIEW look AS SELECT 2 AS x"))
	require.NoError(t, a.Exec("CREATE TEMP MACRO twice(v) AS v * 2"))
	for _, sql := range []string{"SELECT * FROM mine", "SELECT * FROM look", "SELECT twice(1)"} {
		ask(t, a, sql)
		_, err := tryAsk(b, sql)
		require.Error(t, err, sql)
	}
	require.NoError(t, b.Exec("CREATE TEMP TABLE mine AS SELECT 3 AS x"))
	require.Equal(t, []string{"1"}, ask(t, a, "SELECT x FROM mine"))
	require.Equal(t, []string{"3"}, ask(t, b, "SELECT x FROM mine"))
	require.NoError(t, a.Exec("CREATE VIEW ours AS SELECT 4 AS x"))
	require.Equal(t, []string{"4"}, ask(t, b, "SELECT x FROM ours"))
	require.NoError(t, a.Exec("SET TimeZone = 'Asia/Tokyo'"))
	require.NotEqual(t, ask(t, a, "SELECT current_setting('TimeZone')"), ask(t, b, "SELECT current_setting('TimeZone')"))

	schema, batch := numbers(t, 10)
	number := a.Register(scanOf(schema, batch))
	defer a.Forget(number)
	ask(t, a, fmt.Sprintf("SELECT * FROM csm_scan(%d)", number))
	for _, foreign := range []uint64{number, number + 1000, 0} {
		_, err := tryAsk(b, fmt.Sprintf("SELECT * FROM csm_scan(%d)", foreign))
		requireState(t, "42P01", err)
	}
	require.NoError(t, a.Exec(fmt.Sprintf("CREATE VIEW leak AS SELECT * FROM csm_scan(%d)", number)))
	_, err := tryAsk(b, "SELECT * FROM leak")
	requireState(t, "42P01", err)
}

// D1: a scan is released once, after its owner forgot it and the last plan is closed.
func TestScanIsReleasedOnce(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 300_000)
	var released atomic.Int32
	s := scanOf(schema, batch)
	s.Release = func() { released.Add(1) }
	number := c.Register(s)
	sql := fmt.Sprintf("SELECT a FROM csm_scan(%d) WHERE a %% 2 = 0", number)
	first, err := c.Prepare(sql)
	require.NoError(t, err)
	second, err := c.Prepare(sql)
	require.NoError(t, err)
	c.Forget(number)
	require.Zero(t, released.Load())
	for range 2 { // a prepared statement runs again over the same scan
		rows, err := first.Execute(context.Background())
		require.NoError(t, err)
		require.Equal(t, 150_000, drain(t, rows))
		rows.Close()
	}
	rows, err := second.Execute(context.Background())
	require.NoError(t, err)
	_, err = rows.Next()
	require.NoError(t, err)
	first.Close()
	require.Zero(t, released.Load(), "the second statement still reads")
	rows.Close() // in the middle
	second.Close()
	require.Equal(t, int32(1), released.Load())
	_, err = tryAsk(c, "SELECT sum(a) FROM csm_scan("+fmt.Sprint(number)+")")
	requireState(t, "42P01", err)
	require.Equal(t, int32(1), released.Load())
}

// D1: also when planning fails behind the table function.
func TestScanIsReleasedWhenPlanningFails(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 10)
	released := 0
	s := scanOf(schema, batch)
	s.Release = func() { released++ }
	number := c.Register(s)
	_, err := c.Prepare(fmt.Sprintf("SELECT nothing FROM csm_scan(%d)", number))
	requireState(t, "42703", err)
	c.Forget(number)
	require.Equal(t, 1, released)
}

// endsMeanwhile is a context that has ended when it is asked for the second time, and does not notify.
type endsMeanwhile struct {
	context.Context
	asked int
}

func (c *endsMeanwhile) Err() error {
	if c.asked++; c.asked > 1 {
		return context.Canceled
	}
	return nil
}

// A batch that was made while its statement was cancelled is not handed out.
func TestNoBatchComesAfterTheEnd(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 10)
	number := c.Register(scanOf(schema, batch))
	defer c.Forget(number)
	s, err := c.Prepare(fmt.Sprintf("SELECT a FROM csm_scan(%d)", number))
	require.NoError(t, err)
	defer s.Close()
	ctx := &endsMeanwhile{Context: context.Background(), asked: -10}
	rows, err := s.Execute(ctx)
	require.NoError(t, err)
	defer rows.Close()
	ctx.asked = 0
	_, err = rows.Next()
	requireState(t, "57014", err)
	require.Equal(t, 2, ctx.asked)
}

func drain(t testing.TB, rows *duckdb.Rows) (n int) {
	for {
		b, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return n
		}
		require.NoError(t, err)
		n += int(b.NumRows())
		b.Release()
	}
}

// Errors say what clients expect: the state of PostgreSQL's table, and where.
func TestErrorStates(t *testing.T) {
	_, c := open(t)
	require.NoError(t, c.Exec("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR NOT NULL); INSERT INTO t VALUES (1, 'x')"))
	for _, k := range []struct {
		sql, state string
		position   int // 0: not asked
	}{
		{"SELEC 1", "42601", 1},
		{"SELECT 1 FROM", "42601", 0},
		{"SELECT * FROM nowhere", "42P01", 15},
		{"SELECT nothing FROM t", "42703", 8},
		{"SELECT t.nothing FROM t", "42703", 8},
		{"SELECT 'é', nothing FROM t", "42703", 13},
		{"SELECT nosuch(1)", "42883", 8},
		{"SELECT sqrt('x', 2)", "42883", 8},
		{"SELECT a FROM t x, t y", "42702", 8},
		{"SELECT a, count(*) FROM t", "42803", 8},
		{"SELECT 'x'::INTEGER", "22P02", 0},
		{"SELECT 1000::TINYINT", "22003", 0},
		{"SELECT 9223372036854775807 + 1::BIGINT", "22003", 0},
		{"SELECT 1::nosuchtype", "42704", 0},
		{"SELECT * FROM nosuch.t", "42P01", 0},
		{"CREATE TABLE t (a INTEGER)", "42P07", 0},
		{"INSERT INTO t VALUES (1, 'y')", "23505", 0},
		{"INSERT INTO t VALUES (2, NULL)", "23502", 0},
		{"COMMIT", "25P01", 0},
	} {
		_, err := tryAsk(c, k.sql)
		require.Error(t, err, k.sql)
		var e *duckdb.Error
		require.ErrorAs(t, err, &e, k.sql)
		if k.state != e.SQLState() {
			t.Errorf("%s: state %s instead of %s (%s: %s)", k.sql, e.SQLState(), k.state, e.Kind, e.Message)
		}
		if k.position > 0 && e.PositionIn(k.sql) != k.position {
			t.Errorf("%s: position %d instead of %d: %s", k.sql, e.PositionIn(k.sql), k.position, e.Message)
		}
	}
}

// Without FileAccess, SQL reaches no file, no network, no extension and none of the settings that would open them.
func TestNothingIsWithinReach(t *testing.T) {
	allowed, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.csv")
	require.NoError(t, os.WriteFile(outside, []byte("a\n1\n"), 0o600))
	inside := filepath.Join(allowed, "in.csv")
	require.NoError(t, os.WriteFile(inside, []byte("a\n2\n"), 0o600))
	closed := openWith(t, duckdb.Options{Threads: 1})
	directory := openWith(t, duckdb.Options{Threads: 1, Files: duckdb.FileAccess{Directories: []string{allowed}}})
	all := openWith(t, duckdb.Options{Threads: 1, Files: duckdb.FileAccess{All: true}})
	for _, c := range []*duckdb.Connection{closed, directory} {
		for _, sql := range []string{
			"SELECT * FROM '" + outside + "'",
			"SELECT * FROM read_text('" + outside + "')",
			"SELECT * FROM read_csv('" + allowed + "/../" + filepath.Base(filepath.Dir(outside)) + "/secret.csv')",
			"SELECT * FROM glob('" + filepath.Dir(outside) + "/*')",
			"COPY (SELECT 1) TO '" + outside + ".copy'",
			"ATTACH '" + outside + ".db'",
			"EXPORT DATABASE '" + outside + ".dir'",
			"INSTALL httpfs",
			"LOAD httpfs",
			"SELECT * FROM 'https://127.0.0.1:1/x.parquet'",
			"SET enable_external_access = true",
			"SET allowed_directories = ['/']",
			"SET allowed_paths = ['/etc/passwd']",
			"SET autoinstall_known_extensions = true",
			"SET GLOBAL memory_limit = '1TB'",
			"SET threads = 64",
			"SET temp_directory = '" + filepath.Dir(outside) + "'",
			"SET errors_as_json = false",
			"SET log_query_path = '" + outside + ".log'",
			"PRAGMA profile_output = '" + outside + ".profile'",
			"PRAGMA memory_limit = '1TB'",
			"RESET lock_configuration",
			"SET lock_configuration = false",
			"SET allowed_configs = ['threads']",
		} {
			_, err := tryAsk(c, sql)
			require.Error(t, err, sql)
			require.NoFileExists(t, outside+".copy")
		}
	}
	for _, sql := range []string{"SET TimeZone = 'Asia/Tokyo'", "USE csmsql.public", "SET search_path = 'csmsql.public'", "SET integer_division = true", "RESET integer_division", "CREATE SCHEMA other; USE csmsql.other"} {
		require.NoError(t, closed.Exec(sql), sql)
	}
	require.Error(t, closed.Exec("SELECT * FROM '"+inside+"'"))
	require.Equal(t, []string{"2"}, ask(t, directory, "SELECT * FROM '"+inside+"'"))
	require.NoError(t, directory.Exec("COPY (SELECT 3 AS a) TO '"+allowed+"/out.csv'"))
	require.Equal(t, []string{"1"}, ask(t, all, "SELECT * FROM '"+outside+"'"))
}

// A log file out of reach would stop every session, and in the end the process.
func TestLoggingIsOutOfReach(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 1})
	require.NoError(t, c.Exec("CREATE MACRO my_query(x) AS x"))
	path := "storage = 'file', storage_path = '" + t.TempDir() + "/log'"
	for _, sql := range []string{
		"CALL enable_logging()",
		"CALL enable_logging(" + path + ")",
		"CALL enable_logging('QueryLog', " + path + ")",
		"CALL enable_logging(['QueryLog', 'FileSystem'], " + path + ")",
		"CALL enable_logging(NULL, " + path + ")",
		"CALL enable_logging([], " + path + ")",
		"CALL enable_logging('QueryLog'::BLOB, " + path + ")",
		"CALL enable_logging(1, " + path + ")",
		"CALL enable_logging('a', 'b', " + path + ")",
		"SELECT * FROM enable_logging(level = 'trace')",
		"SELECT * FROM system.main.enable_logging('QueryLog', " + path + ")",
		"SELECT * FROM enable_logging((SELECT 'QueryLog'), " + path + ")",
		"SELECT * FROM (VALUES ('QueryLog')) v(x), enable_logging(x, " + path + ")",
		`SELECT * FROM "Enable_Logging"()`,
		`SELECT * FROM U&"\0065nable_logging"()`,
		"SELECT * FROM query('FROM enable' || '_logging()')",
		"SELECT * FROM system.main.query /* /* */ */ -- \n\n ('FROM enable' || '_logging()')",
		"SELECT * FROM \"query\"('FROM enable' || '_logging()')",
		"SELECT * FROM query\u2003('FROM enable' || '_logging()')",
		"SELECT * FROM\u3000query\ufeff('FROM enable' || '_logging()')",
		"SELECT * FROM \"query\"\u200b/* */\u00a0('FROM enable' || '_logging()')",
		"SELECT * FROM query --\r('FROM enable' || '_logging()')",
		"CREATE MACRO m() AS TABLE FROM query('FROM enable' || '_logging()')",
		"FROM json_execute_serialized_sql('{}')",
		"FROM enable_peg_parser()",
		`SELECT * FROM system.main."ENABLE_PEG_PARSER"()`,
		"FROM disable_logging()",
		"PRAGMA enable_logging",
		"PRAGMA enable_logging('QueryLog')",
		"SET enable_logging = true",
	} {
		_, err := tryAsk(c, sql)
		require.Error(t, err, sql)
		require.Equal(t, []string{"1"}, ask(t, c, "SELECT 1"), sql)
	}
	require.Equal(t, []string{"0"}, ask(t, c, "SELECT count(*) FROM duckdb_logs"))
	require.Equal(t, []string{"1|2"}, ask(t, c, "SELECT query, my_query(2) FROM (SELECT 1 AS query)"), "a name like it is no harm")
}

// Whatever DuckDB takes for a space, or for the end of a comment, may stand between a name and its parenthesis.
func TestNoSpaceHidesACall(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 1})
	gives := func(sql, want string) bool {
		got, err := tryAsk(c, sql)
		return err == nil && len(got) == 1 && got[0] == want
	}
	var hiding []string
	for r := rune(1); r <= 0xffff; r++ {
		if r >= 0x80 && !unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf) { // letters and signs take too long to try
			continue
		}
		if between := string(r); gives("SELECT"+between+"1 AS a", "1") && gives("SELECT 1"+between+"AS a", "1") {
			hiding = append(hiding, between)
		}
		if between := "--" + string(r); gives("SELECT 1 "+between+" + 1", "2") {
			hiding = append(hiding, between)
		}
	}
	require.Greater(t, len(hiding), 20, "ASCII's spaces and Unicode's, and ends of comments")
	for _, between := range hiding {
		for _, sql := range []string{"FROM query%s('SELECT 1')", "FROM%squery('SELECT 1')", "FROM arrow_scan%s(1, 2, 3)", "FROM read_duckdb%s('x')", "SELECT switch%s(1, MAP {1: 2})", "SELECT%sswitch (1, MAP {1: 2})", "%s/* */ SET memory_limit = '1GB'"} {
			_, err := tryAsk(c, fmt.Sprintf(sql, between))
			require.ErrorContains(t, err, map[bool]string{true: "not supported", false: "permission denied"}[strings.Contains(sql, "switch")], "%q: %s", between, sql)
		}
	}
}

// A statement that needs more memory than there is spills within its limit or fails with 53200; the process goes on.
func TestMemoryLimit(t *testing.T) {
	const sort = "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY hash(i)) + length(md5(i::VARCHAR) || md5((i+1)::VARCHAR)) AS n FROM range(4000000) r(i))"
	small := openWith(t, duckdb.Options{Threads: 1, MemoryBytes: 64 << 20})
	_, err := tryAsk(small, "SELECT count(*) FROM (SELECT md5(i::VARCHAR), count(*) FROM range(3000000) r(i) GROUP BY 1)")
	requireState(t, "53200", err)
	_, err = tryAsk(small, sort)
	requireState(t, "53200", err)
	require.Equal(t, []string{"1"}, ask(t, small, "SELECT 1"))
	spilling := openWith(t, duckdb.Options{Threads: 1, MemoryBytes: 64 << 20, SpillDirectory: t.TempDir(), SpillBytes: 2 << 30})
	require.Equal(t, []string{"4000064"}, ask(t, spilling, sort))
}

// What looks its columns' types up once gives the rows that it gave, and instants in the time zone of the session.
func TestSteadyStatements(t *testing.T) {
	_, c := open(t)
	for _, sql := range []string{
		"SELECT i AS a, 'w' || i AS b, i::DECIMAL(9,2) AS c, [i, i] AS d FROM range(3) r(i)", "SELECT TIMESTAMPTZ '2024-05-05 12:00:00+00' AS at, [TIMESTAMPTZ '2024-05-05 12:00:00+00'] AS list",
	} {
		steady, err := c.Prepare(sql)
		require.NoError(t, err)
		defer steady.Close()
		steady.Steady()
		for _, zone := range []string{"UTC", "UTC", "Asia/Tokyo"} {
			require.NoError(t, c.Exec("SET TimeZone = '"+zone+"'"))
			schema, batches := fetch(t, c, sql)
			rows, err := steady.Execute(t.Context())
			require.NoError(t, err)
			batch, err := rows.Next()
			require.NoError(t, err)
			require.True(t, schema.Equal(rows.Schema()), "%v, not %v", rows.Schema(), schema)
			require.Equal(t, fmt.Sprint(batches[0]), fmt.Sprint(batch))
			batch.Release()
			rows.Close()
		}
	}
}

// Planning ends with its context, where DuckDB looks: an order for sixty joins is sought for longer. When it ends is no
// matter: DuckDB forgets an interrupt while it reads the text.
func TestPlanningHears(t *testing.T) {
	_, c := open(t)
	var from, where []string
	for i := range 60 {
		from = append(from, fmt.Sprintf("(VALUES (1), (2)) t%d(a)", i))
		for j := range i {
			where = append(where, fmt.Sprintf("t%d.a = t%d.a", i, j))
		}
	}
	text := "SELECT count(*) FROM " + strings.Join(from, ", ") + " WHERE " + strings.Join(where, " AND ")
	for _, after := range []time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond, 20 * time.Millisecond} {
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(after, cancel).Stop()
		done := c.Hear(ctx)
		_, err := c.Prepare(text)
		requireState(t, "57014", err)
		require.ErrorContains(t, err, "canceling statement due to user request")
		_, err = c.Prepare("SELECT 1")
		requireState(t, "57014", err)
		done()
		require.Equal(t, []string{"1"}, ask(t, c, "SELECT 1"))
	}
}

// What is nested too deeply is refused as PostgreSQL does it, without the advice to change a setting that no client can change.
func TestNestingIsBounded(t *testing.T) {
	_, c := open(t)
	for _, text := range []string{
		"SELECT " + strings.Repeat("abs(", 1100) + "1" + strings.Repeat(")", 1100),
		"SELECT " + strings.Repeat("(SELECT ", 500) + "1" + strings.Repeat(")", 500),
	} {
		_, err := c.Prepare(text)
		requireState(t, "54001", err)
		require.EqualError(t, err, "stack depth limit exceeded: expressions and queries may be nested 1000 deep")
	}
}
