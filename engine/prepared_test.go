package engine_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// E5: what PREPARE finds wrong is pointed at in the user's text, whatever was put into it for planning.
func TestPrepareErrorsPointIntoTheText(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int, w text)")
	for sql, where := range map[string]string{
		"PREPARE p(int, text) AS SELECT $1, nope FROM t":          "nope",
		"PREPARE ünicode(text) AS SELECT 'ä', $1, a FROM nowhere": "nowhere",
		"PREPARE p AS SELECT $1 FROM t WHERE a = $2 AND nope = 3": "nope",
		"PREPARE p(int) AS CREATE TABLE u (a int)":                "CREATE",
		"PREPARE p(int) AS SELECT $1 FROM t WHERE AND":            "AND",
	} {
		_, err := s.Exec(context.Background(), sql)
		var e interface{ Position() int }
		require.True(t, errors.As(err, &e), "%s: %v", sql, err)
		require.Equal(t, len([]rune(sql[:strings.LastIndex(sql, where)]))+1, e.Position(), "%s: %v", sql, err)
		fails(t, s, "26000", "EXECUTE p")
	}
}

// What EXECUTE runs is planned for its values: a chunk that cannot hold them is not read.
func TestExecutePrunesByItsValues(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, DATE '2024-01-01' + i::int AS d FROM range(10) r(i)")
	for i := 1; i < 5; i++ {
		exec(t, s, "INSERT INTO t SELECT a + 10, d + 10 FROM t WHERE a >= (SELECT max(a) - 9 FROM t)")
	}
	exec(t, s, "PREPARE n AS SELECT count(DISTINCT a) FROM t WHERE a = $1; PREPARE d(date) AS FROM t SELECT count(*) WHERE d = $1")
	require.Equal(t, []string{"1"}, rows(t, s, "EXECUTE n(42)"))
	require.Equal(t, []string{"1"}, rows(t, s, "EXECUTE d('2024-01-02')"))
	plan := strings.Join(rows(t, s, "EXPLAIN EXECUTE n(40 + 2)"), "\n")
	require.Contains(t, plan, "1 of 5 chunks")
}

// Values survive the way from an argument to a constant of the parameter's type.
func TestExecuteValues(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	for _, c := range []struct{ kind, argument, want string }{
		{"int", "41 + 1", "42"}, {"bigint", "9223372036854775807", "9223372036854775807"}, {"smallint", "-32768", "-32768"},
		{"double precision", "'0.1'::float8 + 0.2", "0.30000000000000004"}, {"double precision", "'NaN'", "nan"}, {"real", "1.1", "1.1"},
		{"numeric", "1.23456789012345678901", "1.23456789012345678901"}, {"numeric(10,2)", "1.005", "1.01"}, {"numeric", "2 * 1.5", "3.0"},
		{"text", "'it''s ' || 'so'", "it's so"}, {"text", "E'a\\nb'", "a\nb"}, {"text", "''", ""}, {"varchar(3)", "NULL", "(null)"}, {"boolean", "NOT true", "false"},
		{"date", "DATE '2024-02-28' + 1", "2024-02-29"}, {"timestamp", "'2024-01-01 12:34:56.789'", "2024-01-01 12:34:56.789"}, {"timestamptz", "'2024-01-01 12:00:00+02'", "2024-01-01 10:00:00+00"},
		{"time", "'12:34'", "12:34:00"}, {"interval", "'1 month 2 days 03:04:05'", "1 month 2 days 03:04:05"}, {"uuid", "'f47ac10b-58cc-4372-a567-0e02b2c3d479'", "f47ac10b-58cc-4372-a567-0e02b2c3d479"},
		{"int[]", "'{1,NULL,3}'", "[1, NULL, 3]"}, {"text[]", `ARRAY['a,b', 'c"d', '', NULL]`, `['a,b', 'c"d', '', NULL]`}, {"bytea", `'\x00ff'`, `\x00ff`}, {"json", `'{"a": [1]}'`, `{"a": [1]}`}, {"jsonb", "'1'", "1"},
	} {
		exec(t, s, "SET timezone = 'UTC'; PREPARE p("+c.kind+") AS SELECT $1::text AS v")
		require.Equal(t, []string{c.want}, rows(t, s, "EXECUTE p("+c.argument+")"), "%s %s", c.kind, c.argument)
		require.Equal(t, []string{"(null)"}, rows(t, s, "EXECUTE p(NULL)"), c.kind)
		exec(t, s, "DEALLOCATE p")
	}
	exec(t, s, "PREPARE p AS SELECT $1 = $1 AS same, $2")
	require.Equal(t, []string{"true|x"}, rows(t, s, "EXECUTE p(random(), 'x')"), "an argument has one value")
	fails(t, s, "22P02", "PREPARE q(int) AS SELECT 1 WHERE false AND $1 = 1; EXECUTE q('x')")
	fails(t, s, "22003", "PREPARE r(smallint) AS SELECT 1 WHERE false AND $1 = 1; EXECUTE r(40000)")
}

// Prepared statements are a session's own, survive transactions, and are bounded.
func TestNamedStatementsOfASession(t *testing.T) {
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "BEGIN; PREPARE p AS FROM (VALUES (1), (2)) AS r(i) SELECT count(*) WHERE i > $1; ROLLBACK")
	fails(t, other, "26000", "EXECUTE p(1)")
	require.Equal(t, "DEALLOCATE", exec(t, s, "DEALLOCATE p").Tag)
	fails(t, s, "26000", "DEALLOCATE p")
	require.Equal(t, "DEALLOCATE ALL", exec(t, s, "DEALLOCATE ALL").Tag)
	exec(t, s, "PREPARE p AS SELECT 1; DISCARD ALL")
	fails(t, s, "26000", "EXECUTE p")
	exec(t, s, "CREATE TABLE t (a int); PREPARE i AS INSERT INTO t VALUES ($1)")
	require.Equal(t, engine.Result{Tag: "INSERT 0 1", RowsAffected: 1}, exec(t, s, "EXECUTE i(1)"))
	reader := session(t, e)
	require.Equal(t, []string{"1"}, rows(t, reader, "FROM t"))
	exec(t, s, "BEGIN; SAVEPOINT one; EXECUTE i(2)")
	fails(t, s, "22P02", "EXECUTE i('x')")
	exec(t, s, "ROLLBACK TO one; EXECUTE i(3); COMMIT")
	require.Equal(t, []string{"1", "3"}, rows(t, s, "SELECT a FROM t ORDER BY a"))
}

// duck.D12 through the engine, wherever it runs: a prepared statement's columns keep the types that were described, and
// their values what they are in DuckDB.
func TestParametersKeepTheResultsTypes(t *testing.T) {
	t.Parallel()
	const columns = "i AS n, i::TINYINT AS a, i::UINTEGER AS u, i::UBIGINT AS b, i::REAL AS r, i::DECIMAL(10,2) AS d, i::VARCHAR AS w"
	making := "CREATE TABLE t AS SELECT " + columns + " FROM range(3) r(i)"
	t.Run("in the node", func(t *testing.T) {
		s := session(t, open(t))
		exec(t, s, making)
		keepTypes(t, s)
		exec(t, s, "DROP TABLE t; CREATE TEMP TABLE t AS SELECT "+columns+" FROM range(3) r(i)")
		keepTypes(t, s)
	})
	t.Run("in a worker", func(t *testing.T) {
		s := session(t, openWithWorkers(t, 1))
		exec(t, s, making)
		keepTypes(t, s)
	})
	t.Run("in another process", func(t *testing.T) {
		e, socket := lend(t)
		exec(t, session(t, e), making)
		guest, err := engine.AttachWith(t.Context(), socket, engine.Config{MemoryBytes: 256 << 20, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, guest.Close()) })
		keepTypes(t, session(t, guest))
	})
	t.Run("on three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		exec(t, c.session(0), making+" WHERE false")
		for i := range 3 {
			exec(t, c.session(i), "INSERT INTO t SELECT "+columns+" FROM range($1, $2) r(i)", i, i+1)
		}
		s := c.session(1)
		exec(t, s, "SET csm.distribute = 'always'")
		require.Contains(t, explain(t, s, "SELECT n FROM t ORDER BY n"), "on n2")
		keepTypes(t, s)
	})
}

// keepTypes asks statements of t, a table of three rows.
func keepTypes(t *testing.T, s *engine.Session) {
	t.Helper()
	for _, c := range []struct {
		text  string
		args  []any
		want  string
		state string
	}{
		{"SELECT coalesce($1, a) FROM t ORDER BY n", []any{int64(7)}, "7 7 7", ""},
		{"SELECT coalesce(a, $1) FROM t ORDER BY n", []any{int64(1000)}, "0 1 2", ""},
		{"SELECT coalesce($1, a) FROM t ORDER BY n", []any{int64(1000)}, "", "22003"},
		{"SELECT coalesce($1, u) FROM t ORDER BY n", []any{int64(-1)}, "", "22003"},
		{"SELECT coalesce($1, u) FROM t ORDER BY n", []any{nil}, "0 1 2", ""},
		{"SELECT coalesce($1, b) FROM t ORDER BY n", []any{int64(5)}, "5 5 5", ""},
		{"SELECT coalesce($1, r) FROM t ORDER BY n", []any{0.5}, "0.5 0.5 0.5", ""},
		{"SELECT coalesce($1, r) FROM t ORDER BY n", []any{0.1}, "0.1 0.1 0.1", ""},
		{"SELECT CASE WHEN n = 1 THEN d ELSE floor($1::DECIMAL(20,2)) END FROM t ORDER BY n", []any{nil}, "(null) 1 (null)", ""},
		{"SELECT greatest(d, $1) FROM t ORDER BY n", []any{duckdb.Decimal("1.5")}, "1.5 1.5 2", ""},
		{"SELECT greatest(d, $1) FROM t ORDER BY n", []any{duckdb.Decimal("1.555")}, "", "22003"},
		{"SELECT n FROM t WHERE d = $1", []any{duckdb.Decimal("1.004")}, "", ""},
		{"SELECT n FROM t WHERE a < $1 ORDER BY n", []any{int64(1000)}, "0 1 2", ""},
		{"SELECT coalesce($1, w) FROM t ORDER BY n", []any{nil}, "0 1 2", ""},
		{"SELECT max(coalesce($1, a)) FROM t GROUP BY n % 2 ORDER BY n % 2", []any{int64(7)}, "7 7", ""},
		{"SELECT max(coalesce($1, u)) FROM t GROUP BY n % 2 ORDER BY n % 2", []any{nil}, "2 1", ""},
		{"SELECT sum(coalesce(u, $1)) FROM t", []any{int64(-5)}, "3", ""},
		{"SELECT min(CASE WHEN n = 1 THEN a ELSE $1 END) FROM t", []any{int64(300)}, "1", ""},
		{"SELECT DISTINCT coalesce($1, b) FROM t ORDER BY 1 DESC LIMIT 2", []any{nil}, "2 1", ""},
	} {
		st, err := s.Prepare(t.Context(), c.text)
		require.NoError(t, err, c.text)
		described := st.Schema()
		for range 2 {
			result, err := st.Execute(t.Context(), c.args)
			got := ""
			if err == nil {
				require.True(t, described.Equal(result.Schema()), "%s: %s", c.text, result.Schema())
				got, err = column(t, result)
			}
			if c.state != "" {
				var e interface{ SQLState() string }
				require.True(t, errors.As(err, &e), "%s: %v", c.text, got)
				require.Equal(t, c.state, e.SQLState(), "%s: %v", c.text, err)
				continue
			}
			require.NoError(t, err, c.text)
			require.Equal(t, c.want, got, "%s for %v", c.text, c.args)
		}
		require.NoError(t, st.Close())
	}
}

// column is the first column of a result, which it closes.
func column(t *testing.T, result *engine.Rows) (string, error) {
	defer func() { require.NoError(t, result.Close()) }()
	var list []string
	for {
		batch, err := result.Next(t.Context())
		if err == io.EOF {
			return strings.Join(list, " "), nil
		}
		if err != nil {
			return "", err
		}
		for i := range int(batch.NumRows()) {
			list = append(list, strings.Clone(batch.Column(0).ValueStr(i)))
		}
		batch.Release()
	}
}

// pgcatalog.P7: a query that is translated for the system catalogs means what it meant, whatever the deparser leaves out.
func TestTranslatedQueriesKeepTheirParentheses(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT NULL::INTEGER AS a, 2 AS b")
	for text, want := range map[string]string{
		"(a = 0 OR b = 1) IS NULL": "true", "(a = 0 AND b = 2) IS NULL": "true", "(NOT (b = 2)) IS NULL": "false", "(b = 2) IN (b = 2, b = 3)": "true",
		"(b = 3 OR b = 2) = (b = 2)": "true", "(b = 2 AND a = 3) IS NOT NULL": "false", "(b IS DISTINCT FROM a) IS NULL": "false",
		"b BETWEEN (a + 1) AND 3": "(null)", "(b BETWEEN 1 AND 3) IN (false)": "false", "(b = 2 OR a = 1)::text LIKE 'true'": "true",
	} {
		for _, among := range []string{"SELECT %s FROM t", "SELECT %s FROM t WHERE json_object('a', b) IS NOT NULL",
			"SELECT %s FROM t WHERE EXISTS (SELECT 1 FROM pg_class)"} {
			require.Equal(t, []string{want}, rows(t, s, strings.Replace(among, "%s", text, 1)), "%s in %s", text, among)
		}
	}
}

// What asks DuckDB for a literal's type may find a constant without a value, which ends DuckDB's transaction: the statement fails by that
// error, and not the next one by another.
func TestConstantsWithoutValuesEndBlocks(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a USMALLINT, b TIMESTAMPTZ, c TIMESTAMP_MS)")
	const update = "UPDATE t SET a = TRY_CAST(CAST('inf'::FLOAT AS INTEGER) AS USMALLINT), c = TRY_CAST(t.c AS TIMESTAMP_MS) WHERE t.b > '2024-01-01'"
	_, alone := s.Exec(t.Context(), update)
	exec(t, s, "BEGIN")
	_, err := s.Exec(t.Context(), update)
	if alone != nil || err != nil {
		requireState(t, "22003", err)
		fails(t, s, "25P02", "SELECT 1")
	}
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM t"))
}

// A statement that is replanned after another session has made a table has the columns that it had: also one whose text
// was rewritten for planning.
func TestPreparedColumnsStay(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	for _, sql := range []string{"SELECT upper('abc')", "SELECT to_char(1234.5, '9999.99')", "SELECT to_char(n, 'FM000') FROM (SELECT 7 AS n) s"} {
		st, err := s.Prepare(t.Context(), sql)
		require.NoError(t, err)
		exec(t, other, "CREATE TABLE made (a int); DROP TABLE made")
		got, err := st.Execute(t.Context(), nil)
		require.NoError(t, err, sql)
		require.True(t, got.Schema().Equal(st.Schema()), sql)
		got.Close()
		require.NoError(t, st.Close())
	}
}
