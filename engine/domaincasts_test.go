package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// A cast to a domain gives values that the domain allows, wherever an expression may stand, in both dialects.
func TestCastsToDomains(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{engine.DialectPostgres, engine.DialectDuckDB} {
		t.Run(dialect, func(t *testing.T) {
			s := session(t, open(t, func(c *engine.Config) { c.Dialect = dialect }))
			exec(t, s, "CREATE DOMAIN d AS int CONSTRAINT zz CHECK (VALUE <> 7) CONSTRAINT aa CHECK (VALUE > 0)")
			exec(t, s, "CREATE DOMAIN word AS varchar(5) NOT NULL")
			exec(t, s, "CREATE DOMAIN free AS numeric(6, 2)")
			exec(t, s, "CREATE TABLE t (a int, b d, w word)")
			exec(t, s, "INSERT INTO t VALUES (1, 2, 'x'), (3, 4, 'y'), (-1, NULL, 'z')")
			for text, want := range map[string][]string{
				"SELECT 1::d":                                                      {"1"},
				"SELECT CAST('5' AS d) + 1":                                        {"6"},
				"SELECT d '5'":                                                     {"5"},
				"SELECT (2 + 3)::d::text || 'x'":                                   {"5x"},
				"SELECT ((1)::d + 1)::d":                                           {"2"},
				"SELECT CAST(CAST(3 AS d)::d AS d)":                                {"3"},
				"SELECT -(5::d)":                                                   {"-5"},
				"SELECT NULL::d":                                                   {"(null)"},
				"SELECT 'abcdefgh'::word":                                          {"abcde"},
				"SELECT 1.239::free":                                               {"1.24"},
				"SELECT a::d FROM t WHERE a > 0 ORDER BY a":                        {"1", "3"},
				"SELECT a FROM t WHERE a = 3::d":                                   {"3"},
				"SELECT a FROM t WHERE a > 0 AND a::d = 3":                         {"3"},
				"SELECT sum(b::d) FROM t":                                          {"6"},
				"SELECT max(a)::d FROM t":                                          {"3"},
				"SELECT max(b)::d, count(*) FROM t GROUP BY b ORDER BY 1":          {"2|1", "4|1", "(null)|1"},
				"SELECT (CASE WHEN a > 0 THEN a END)::d FROM t ORDER BY 1":         {"1", "3", "(null)"},
				"SELECT (SELECT max(a) FROM t)::d":                                 {"3"},
				"SELECT x.d FROM (SELECT 4::d) AS x":                               {"4"},
				"SELECT x.a FROM (SELECT a::d FROM t WHERE a = 3) AS x":            {"3"},
				"SELECT sum(a) OVER (ORDER BY a)::d FROM t WHERE a > 0 ORDER BY 1": {"1", "4"},
				"SELECT count(DISTINCT r) FROM (SELECT (random() * 1e6)::int::d AS r FROM generate_series(1, 40))": nil,
				"WITH c AS (SELECT 9::d AS q) SELECT q::d FROM c":                                                  {"9"},
				"SELECT pg_typeof(1::d)":              {"d"},
				"VALUES (1::d), (2::d)":               {"1", "2"},
				"SELECT 3::public.d":                  {"3"},
				"SELECT '2'::d BETWEEN 1::d AND 3::d": {"true"},
			} {
				if got := rows(t, s, text); want != nil {
					require.Equal(t, want, got, text)
				}
			}
			for text, want := range map[string]string{
				"SELECT 0::d":                    `value for domain d violates check constraint "aa"`,
				"SELECT 7::d":                    `value for domain d violates check constraint "zz"`,
				"SELECT CAST('0' AS d)":          `value for domain d violates check constraint "aa"`,
				"SELECT d '0'":                   `value for domain d violates check constraint "aa"`,
				"SELECT a::d FROM t":             `value for domain d violates check constraint "aa"`,
				"SELECT 1 FROM t WHERE a::d > 0": `value for domain d violates check constraint "aa"`,
				"SELECT NULL::word":              "domain word does not allow null values",
				"INSERT INTO t (a, w) SELECT a::d, 'x' FROM t":   `value for domain d violates check constraint "aa"`,
				"INSERT INTO t (a, w) VALUES (0::d, 'x')":        `value for domain d violates check constraint "aa"`,
				"UPDATE t SET a = (a - 1)::d":                    `value for domain d violates check constraint "aa"`,
				"DELETE FROM t WHERE a::d = 1":                   `value for domain d violates check constraint "aa"`,
				"CREATE TABLE u AS SELECT a::d FROM t":           `value for domain d violates check constraint "aa"`,
				"CREATE VIEW v AS SELECT 1::d AS a":              `a view that names domain "d" is not supported`,
				"CREATE MATERIALIZED VIEW v AS SELECT 1::d AS a": `a materialized view that names domain "d" is not supported`,
				"CREATE TEMP VIEW v AS SELECT 1::free AS a":      `a view that names domain "free" is not supported`,
				"CREATE TABLE u (a int DEFAULT 1::free)":         `a default or a constraint that names domain "free" is not supported`,
				"CREATE TABLE u (a int CHECK (a::free > 1))":     `a default or a constraint that names domain "free" is not supported`,
				"SELECT ARRAY[1]::d[]":                           `a type made of domain "d" is not supported`,
			} {
				_, err := s.Exec(t.Context(), text)
				require.ErrorContains(t, err, want, text)
			}
			// A value is computed once.
			exec(t, s, "CREATE SEQUENCE q")
			require.Equal(t, []string{"1"}, rows(t, s, "SELECT nextval('q')::d"))
			require.Equal(t, []string{"2"}, rows(t, s, "SELECT nextval('q')::d"))
			exec(t, s, "CREATE TABLE u AS SELECT a::d, 3::d FROM t WHERE a > 0")
			require.Equal(t, []string{"1|3", "3|3"}, rows(t, s, "SELECT a, d FROM u ORDER BY a"))
			exec(t, s, "CREATE TYPE mood AS ENUM ('sad'); CREATE TABLE m AS SELECT 'sad'::mood")
			require.Equal(t, []string{"sad"}, rows(t, s, "SELECT mood FROM m"))
			exec(t, s, "UPDATE t SET a = (a + 1)::d WHERE a > 0")
			exec(t, s, "CREATE TEMP TABLE own (a int)")
			exec(t, s, "INSERT INTO own SELECT 5::d")
			_, err := s.Exec(t.Context(), "INSERT INTO own VALUES (0::d)")
			requireRefused(t, "23514", err)
			require.Equal(t, []string{"5"}, rows(t, s, "SELECT a FROM own"))
			// Parameters have the domain's own type.
			require.Equal(t, []string{"3|abcde"}, rows(t, s, "SELECT $1::d, CAST($2 AS word)", int32(3), "abcdef"))
			_, err = s.Exec(t.Context(), "SELECT $1::d", int32(0))
			requireRefused(t, "23514", err)
			exec(t, s, "PREPARE p AS INSERT INTO t (a, w) VALUES ($1::d, 'p')")
			exec(t, s, "EXECUTE p(8)")
			_, err = s.Exec(t.Context(), "EXECUTE p(0)")
			requireRefused(t, "23514", err)
		})
	}
}

// Statements of all kinds hold what they cast to a domain to it.
func TestStatementsThatCastToDomains(t *testing.T) {
	t.Parallel()
	s := session(t, open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres }))
	exec(t, s, "CREATE DOMAIN d AS int CHECK (VALUE > 0)")
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, a int); CREATE TEMP TABLE own (k int, a int)")
	for _, c := range []struct{ before, text string }{
		{"", "INSERT INTO t VALUES (1, %::d) RETURNING a::d"},
		{"", "INSERT INTO t VALUES (1, 5) RETURNING (a - 5 + %)::d"},
		{"INSERT INTO t VALUES (1, 5)", "INSERT INTO t VALUES (1, 2) ON CONFLICT (k) DO UPDATE SET a = (excluded.a - 2 + %)::d"},
		{"INSERT INTO t VALUES (1, 5)", "MERGE INTO t USING (SELECT 1 AS k) AS u ON t.k = u.k WHEN MATCHED THEN UPDATE SET a = %::d"},
		{"INSERT INTO t VALUES (1, 5)", "MERGE INTO t USING (SELECT %::d AS k) AS u ON t.k = u.k WHEN MATCHED THEN DELETE"},
		{"INSERT INTO t VALUES (1, 5)", "UPDATE t SET a = u.x::d FROM (SELECT % AS x) AS u"},
		{"INSERT INTO t VALUES (1, 5)", "UPDATE t SET (k, a) = (SELECT 1, %::d)"},
		{"INSERT INTO t VALUES (1, 5)", "DELETE FROM t USING (SELECT %::d AS x) AS u WHERE u.x = t.k"},
		{"INSERT INTO t VALUES (1, 5)", "SELECT a FROM t WHERE (k - 1 + %)::d = 1 FOR UPDATE"},
		{"", "WITH w AS (INSERT INTO t VALUES (1, %::d) RETURNING a) SELECT a FROM w"},
		{"", "INSERT INTO own VALUES (1, %::d)"},
		{"INSERT INTO own VALUES (1, 5)", "UPDATE own SET a = %::d"},
		{"INSERT INTO own VALUES (1, 5)", "DELETE FROM own WHERE a = %::d"},
		{"", "CREATE TEMP TABLE made AS SELECT %::d AS a"},
		{"", "SELECT * FROM (VALUES (%::d)) AS v (x)"},
		{"", "SELECT %::d UNION ALL SELECT 2"},
		{"", "SELECT sum(x) FROM generate_series(1, %::d) AS g (x)"},
		{"", "SELECT * FROM (SELECT 1 AS a) AS u JOIN LATERAL (SELECT (u.a - 1 + %)::d AS b) AS l ON true"},
		{"", "SELECT 1 ORDER BY %::d"},
		{"", "SELECT 1 LIMIT %::d"},
		{"", "EXPLAIN ANALYZE SELECT %::d"},
		{"PREPARE p AS SELECT $1::d", "EXECUTE p(%)"},
	} {
		for value, want := range map[string]string{"1": "", "0": "23514"} {
			exec(t, s, "BEGIN")
			if c.before != "" {
				exec(t, s, strings.ReplaceAll(c.before, "%", value))
			}
			_, err := tryRows(s, strings.ReplaceAll(c.text, "%", value))
			exec(t, s, "ROLLBACK")
			if want == "" {
				require.NoError(t, err, "%.100s", c.text)
			} else {
				require.Error(t, err, "%.100s", c.text)
				require.Equal(t, want, state(t, err), "%.100s: %v", c.text, err)
			}
			if c.before == "PREPARE p AS SELECT $1::d" {
				exec(t, s, "DEALLOCATE p")
			}
		}
	}
}

// What is prepared follows a domain.
func TestPreparedCastsFollowDomains(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres })
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (a int)")
	exec(t, s, "INSERT INTO t VALUES (1)")
	make := func(more string) {
		t.Helper()
		exec(t, other, "CREATE DOMAIN d AS int "+more)
	}
	texts := []string{"SELECT 1::d", "SELECT a::d FROM t", "INSERT INTO t SELECT a::d FROM t", "INSERT INTO t VALUES (1::d)", "UPDATE t SET a = 1::d",
		"DELETE FROM t WHERE a::d = 2", "EXPLAIN ANALYZE SELECT a::d FROM t", "CREATE TABLE u AS SELECT 1::d AS a"}
	make("")
	for _, text := range texts {
		st, err := s.Prepare(t.Context(), text)
		require.NoError(t, err, text)
		exec(t, other, "DROP DOMAIN d")
		_, err = st.Exec(t.Context())
		requireRefused(t, "42704", err)
		make("CHECK (VALUE > 1)")
		if strings.HasPrefix(text, "SELECT") { // the others have a domain by its number
			_, err = st.Exec(t.Context())
			requireRefused(t, "23514", err)
		}
		require.NoError(t, st.Close())
		exec(t, other, "DROP DOMAIN d")
		make("")
	}
	exec(t, s, "PREPARE p AS SELECT $1::d")
	require.Equal(t, []string{"1"}, rows(t, s, "EXECUTE p(1)"))
	exec(t, other, "DROP DOMAIN d")
	_, err := s.Exec(t.Context(), "EXECUTE p(1)")
	requireRefused(t, "42704", err)
}

// Casts to domains are the same on all nodes, in workers and in attached processes, at once.
func TestCastsToDomainsElsewhere(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, other := c.session(0), c.session(1)
	exec(t, s, "CREATE TABLE t WITH (placement = 'rows') AS SELECT i::int AS a FROM range(1, 100001) r(i)")
	for i := range 5 {
		exec(t, s, "CREATE DOMAIN d AS int CHECK (VALUE > 0)")
		require.Equal(t, []string{"99000"}, rows(t, other, "SELECT count(*) FROM t WHERE a::d > 1000"), i)
		exec(t, other, "DROP DOMAIN d")
		exec(t, other, "CREATE DOMAIN d AS int CHECK (VALUE > 1)")
		for _, on := range []*engine.Session{s, other} {
			_, err := on.Exec(t.Context(), "SELECT sum(a::d) FROM t")
			requireRefused(t, "23514", err)
		}
		exec(t, s, "DROP DOMAIN d")
	}
	w := session(t, openWithWorkers(t, 1))
	exec(t, w, "CREATE DOMAIN d AS int CHECK (VALUE > 0)")
	require.Equal(t, []string{"1"}, rows(t, w, "SELECT 1::d"))
	_, err := w.Exec(t.Context(), "SELECT 0::d")
	requireRefused(t, "23514", err)
	exec(t, w, "BEGIN; CREATE DOMAIN e AS int CHECK (VALUE > 1)")
	_, err = w.Exec(t.Context(), "SELECT 1::e")
	requireRefused(t, "23514", err)
	exec(t, w, "ROLLBACK")
	_, err = w.Exec(t.Context(), "SELECT 1::e")
	requireRefused(t, "42704", err)
}
