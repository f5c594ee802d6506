package engine_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine"
)

// What is not kept of functions is an error that says so: a text that is kept calls none (FN1), none hides one of the
// system's (FN3).
func TestFunctionsRefuse(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (a int)")
	exec(t, s, "INSERT INTO t VALUES (1), (NULL)")
	require.Equal(t, "CREATE FUNCTION", exec(t, s, "CREATE FUNCTION half(n int) RETURNS int RETURN n / 2").Tag)
	exec(t, s, "CREATE FUNCTION twice(n int) RETURNS int RETURN n + n")
	exec(t, s, "CREATE DOMAIN d AS int")
	exec(t, s, "CREATE TEMP TABLE own (a int)")
	exec(t, s, "CREATE TABLE of_half (a int DEFAULT half(4))")
	for text, want := range map[string]string{
		"CREATE TEMP VIEW v AS SELECT half(a) FROM t":                               "0A000",
		"CREATE VIEW v AS SELECT half(a) FROM own":                                  "0A000",
		"CREATE MATERIALIZED VIEW v AS SELECT half(a) FROM own":                     "0A000",
		"CREATE TEMP TABLE u (a int DEFAULT half(4))":                               "0A000",
		"CREATE TEMP TABLE u (LIKE of_half INCLUDING ALL)":                          "0A000",
		"CREATE DOMAIN e AS int DEFAULT half(4)":                                    "0A000",
		"CREATE INDEX ON t (half(a))":                                               "0A000",
		"CREATE FUNCTION lower(a int) RETURNS int RETURN a":                         "0A000",
		"CREATE FUNCTION sum(a int) RETURNS int RETURN a":                           "0A000",
		"CREATE FUNCTION csm_numeric(a int) RETURNS int RETURN a":                   "0A000",
		"CREATE FUNCTION half(n text) RETURNS int RETURN 1":                         "0A000",
		"CREATE FUNCTION half(n int, m int) RETURNS int RETURN 1":                   "0A000",
		"CREATE FUNCTION f(n int) RETURNS int RETURN (SELECT max(a) FROM t)":        "0A000",
		"CREATE FUNCTION f(n int) RETURNS int LANGUAGE sql AS 'SELECT a FROM t'":    "0A000",
		"CREATE FUNCTION f(n int) RETURNS int LANGUAGE sql AS 'SELECT 1; SELECT 2'": "0A000",
		"CREATE FUNCTION f(n int) RETURNS int LANGUAGE sql AS 'UPDATE t SET a = 1'": "0A000",
		"CREATE FUNCTION f(n int) RETURNS int RETURN sum(n)":                        "0A000",
		"CREATE FUNCTION f(n int) RETURNS int RETURN rank() OVER ()":                "0A000",
		"CREATE FUNCTION f(n d) RETURNS int RETURN n":                               "0A000",
		"CREATE FUNCTION f(n int) RETURNS d RETURN n":                               "0A000",
		"CREATE FUNCTION f(n int) RETURNS SETOF int RETURN n":                       "0A000",
		"CREATE FUNCTION f(OUT n int) RETURN 1":                                     "0A000",
		"CREATE FUNCTION f(n int) RETURNS int LANGUAGE plpgsql AS 'x'":              "0A000",
		"CREATE FUNCTION f(n int DEFAULT m) RETURNS int RETURN n":                   "42703",
		"CREATE FUNCTION f(n int) RETURNS int RETURN f(n)":                          "42883",
		"CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN half(n)":         "0A000",
		"CREATE FUNCTION nosuch.f(n int) RETURNS int RETURN n":                      "3F000",
		"SELECT twice(random()::int)":                                               "0A000",
		"SELECT * FROM half(3)":                                                     "0A000",
		"SELECT half(VARIADIC ARRAY[1])":                                            "0A000",
		"FROM t SELECT half(a)":                                                     "0A000",
	} {
		_, err := s.Exec(t.Context(), text)
		if err == nil {
			t.Errorf("%s: no error", text)
		} else if got := state(t, err); got != want {
			t.Errorf("%s: %s, want %s: %v", text, got, want, err)
		}
	}
	require.Equal(t, []string{"0", "(null)"}, rows(t, s, "SELECT half(a) FROM t ORDER BY 1"))
	duck := session(t, e)
	exec(t, duck, "SET csm.dialect = 'duckdb'")
	_, err := duck.Exec(t.Context(), "SELECT half(1)")
	require.EqualError(t, err, "function half, which is postgres's, cannot be called from a text that is duckdb's")
}

// A statement computes what its functions are when it runs (FN2): those that a program prepared, of PREPARE, and of
// cursors, in blocks and not, and whatever changed the function.
func TestPreparedStatementsOfFunctions(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres })
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (a int)")
	make := func(body string) {
		t.Helper()
		exec(t, other, "CREATE OR REPLACE FUNCTION f(n int) RETURNS int RETURN "+body)
	}
	make("n + 1")
	exec(t, other, "CREATE FUNCTION outer_f(n int) RETURNS int RETURN f(n)")
	texts := []string{"SELECT f(1)", "SELECT outer_f(1)", "INSERT INTO t VALUES (f(1))", "INSERT INTO t SELECT outer_f(1)", "UPDATE t SET a = f(a)",
		"DELETE FROM t WHERE a = f(100)", "EXPLAIN SELECT f(1)", "DECLARE c CURSOR FOR SELECT f(1)", "CREATE TABLE u AS SELECT f(1) AS a"}
	made := 1
	changes := []func(){
		func() { made++; make("n + " + strconv.Itoa(made)) },
		func() { exec(t, other, "DROP FUNCTION f"); make("n + 1") },
	}
	for _, change := range changes {
		for _, modes := range []string{"", "BEGIN"} {
			for _, text := range texts {
				if modes == "" && strings.HasPrefix(text, "DECLARE") {
					continue
				}
				if modes != "" {
					exec(t, s, modes)
				}
				st, err := s.Prepare(t.Context(), text)
				require.NoError(t, err, text)
				change()
				r, err := st.Query(t.Context())
				require.NoError(t, err, text)
				got, err := linesOf(r)
				require.NoError(t, err, text)
				require.NoError(t, st.Close())
				if strings.HasPrefix(text, "SELECT") {
					require.Equal(t, rows(t, s, text), got, text)
				}
				if modes != "" {
					exec(t, s, "ROLLBACK")
				}
				exec(t, s, "DROP TABLE IF EXISTS u")
			}
		}
		exec(t, s, "PREPARE p AS SELECT f($1)")
		require.Len(t, rows(t, s, "EXECUTE p(1)"), 1)
		change()
		require.NotEmpty(t, rows(t, s, "EXPLAIN EXECUTE p(1)"))
		require.Equal(t, rows(t, s, "SELECT f(1)"), rows(t, s, "EXECUTE p(1)"))
		exec(t, s, "DEALLOCATE p")
	}
	// In a snapshot that is kept the function is, too.
	make("n + 1")
	exec(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT f(1)"))
	st, err := s.Prepare(t.Context(), "SELECT f(1)")
	require.NoError(t, err)
	make("n + 7")
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT f(1)"))
	_, err = st.Exec(t.Context())
	require.NoError(t, err)
	require.NoError(t, st.Close())
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"8"}, rows(t, s, "SELECT outer_f(1)"))
	// What has nothing to do with it stays prepared.
	st, err = s.Prepare(t.Context(), "SELECT f(1)")
	require.NoError(t, err)
	exec(t, other, "CREATE FUNCTION g() RETURNS int RETURN 1; COMMENT ON FUNCTION f IS 'said'")
	_, err = st.Exec(t.Context())
	require.NoError(t, err)
	require.NoError(t, st.Close())
}

// A prepared statement of which nothing else can be made is an error: with its place in the text as it was written, and
// until it can be made again, or without one if it would give something else. It was not run.
func TestStatementsThatCannotFollowFunctions(t *testing.T) {
	e := open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres })
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (a text); CREATE FUNCTION f(n int) RETURNS int RETURN n + 1")
	exec(t, s, "CREATE FUNCTION gone(n int) RETURNS int RETURN n - 1")
	st, err := s.Prepare(t.Context(), "SELECT f(1), gone(1) + f($1)")
	require.NoError(t, err)
	write, err := s.Prepare(t.Context(), "INSERT INTO t VALUES (f(1)::text) RETURNING f(a::int)")
	require.NoError(t, err)
	exec(t, other, "DROP FUNCTION gone")
	for range 2 {
		_, err = st.Query(t.Context(), 1)
		requireRefused(t, "42883", err)
		require.Equal(t, len("SELECT f(1), ")+1, err.(*engine.Error).Position())
	}
	exec(t, other, "CREATE FUNCTION gone(n int) RETURNS int RETURN n; DROP FUNCTION f")
	exec(t, other, "CREATE FUNCTION f(n int) RETURNS text RETURN 'x'")
	exec(t, s, "BEGIN")
	_, err = write.Exec(t.Context())
	requireRefused(t, "0A000", err)
	require.ErrorContains(t, err, "function f has changed")
	fails(t, s, "25P02", "SELECT 1")
	exec(t, s, "ROLLBACK")
	require.Empty(t, rows(t, s, "SELECT a FROM t"))
	exec(t, other, "DROP FUNCTION f; CREATE FUNCTION f(n int) RETURNS int RETURN n * 5")
	r, err := st.Query(t.Context(), 1)
	require.NoError(t, err)
	got, err := linesOf(r)
	require.NoError(t, err)
	require.Equal(t, []string{"5|6"}, got)
	_, err = write.Exec(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"5"}, rows(t, s, "SELECT a FROM t"))
	require.NoError(t, st.Close())
	require.NoError(t, write.Close())
}

// A function is there after a restart, and on other nodes at once, the first one of all, too.
func TestFunctionsOnOtherNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	s, other := c.session(0), c.session(1)
	exec(t, s, "SET csm.dialect = 'postgres'")
	exec(t, other, "SET csm.dialect = 'postgres'")
	_, err := other.Exec(t.Context(), "SELECT half(7)")
	requireRefused(t, "42883", err)
	exec(t, s, "CREATE FUNCTION half(n int, by int DEFAULT 2) RETURNS int STRICT RETURN n / by")
	require.Equal(t, []string{"3"}, rows(t, other, "SELECT half(7)"))
	exec(t, other, "CREATE OR REPLACE FUNCTION half(n int, by int DEFAULT 3) RETURNS int RETURN n / by")
	require.Equal(t, []string{"2"}, rows(t, s, "SELECT half(7)"))
	exec(t, s, "BEGIN; CREATE FUNCTION gone() RETURNS int RETURN half(9)")
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT gone()"))
	_, err = other.Exec(t.Context(), "SELECT gone()")
	requireRefused(t, "42883", err)
	exec(t, s, "ROLLBACK")
	_, err = s.Exec(t.Context(), "SELECT gone()")
	requireRefused(t, "42883", err)
	c.stop(1)
	c.nodes[1] = c.open(1)
	other = c.session(1)
	exec(t, other, "SET csm.dialect = 'postgres'")
	require.Equal(t, []string{"2|4"}, rows(t, other, "SELECT half(7), half(by => 2, n => 9)"))
	_, ok := c.nodes[1].Contents().Function(catalog.FunctionName("public", "half"))
	require.True(t, ok)
	_, err = s.Exec(t.Context(), "CREATE FUNCTION half(n int, by int) RETURNS int RETURN 1")
	requireRefused(t, "42723", err)
	exec(t, other, "DROP FUNCTION half")
	_, err = s.Exec(t.Context(), "SELECT half(1)")
	requireRefused(t, "42883", err)
}

// Macros are of DuckDB's dialect, and of PostgreSQL's: their parameters have no types. A session's own hides one.
func TestMacros(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT range AS a FROM range(4)")
	require.Equal(t, "CREATE MACRO", exec(t, s, "CREATE MACRO plus(x, y := 5) AS x + y").Tag)
	exec(t, s, "CREATE FUNCTION total(x) AS sum(x)")
	require.Equal(t, []string{"6|3.5"}, rows(t, s, "SELECT plus(1), plus(0.5, 3)"))
	require.Equal(t, []string{"6"}, rows(t, s, "SELECT total(a) FROM t"))
	read, err := s.Prepare(t.Context(), "SELECT plus(a), plus(a, y := 1) AS b FROM t")
	require.NoError(t, err)
	require.Equal(t, "plus(a)", read.Schema().Field(0).Name)
	require.NoError(t, read.Close())
	exec(t, s, "CREATE MACRO IF NOT EXISTS plus(x, y) AS 'other'")
	require.Equal(t, []string{"6"}, rows(t, s, "SELECT plus(1)"))
	_, err = s.Exec(t.Context(), "CREATE MACRO plus(x, y) AS 'other'")
	requireRefused(t, "42723", err)
	exec(t, s, "CREATE TEMP MACRO plus(x) AS 'own'")
	require.Equal(t, []string{"own"}, rows(t, s, "SELECT plus(1)"))
	require.Equal(t, "DROP MACRO", exec(t, s, "DROP MACRO plus").Tag)
	require.Equal(t, []string{"6"}, rows(t, s, "SELECT plus(1)"))
	exec(t, s, "CREATE OR REPLACE MACRO plus(x) AS x || '!'")
	require.Equal(t, []string{"1!"}, rows(t, s, "SELECT plus(1)"))
	require.Equal(t, "DROP MACRO", exec(t, s, "DROP MACRO plus").Tag)
	_, err = s.Exec(t.Context(), "SELECT plus(1)")
	requireRefused(t, "42883", err)
	for _, text := range []string{"CREATE MACRO a(x) AS TABLE SELECT x", "CREATE MACRO a(x) AS x, (x, y) AS y", "CREATE MACRO a(x) AS (SELECT x)"} {
		_, err = s.Exec(t.Context(), text)
		requireRefused(t, "0A000", err)
	}
}

// A query is planned as if the body stood where the function is called: its filters prune.
func TestFunctionsPrune(t *testing.T) {
	t.Parallel()
	s := session(t, open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres }))
	exec(t, s, "CREATE TABLE t AS SELECT i::int AS a FROM generate_series(1, 1000) AS i")
	exec(t, s, "CREATE FUNCTION is_five(n int) RETURNS boolean RETURN n = 5")
	exec(t, s, "CREATE FUNCTION five() RETURNS int RETURN 5")
	for _, where := range []string{"a = 5", "a = five()", "is_five(a)"} {
		require.Contains(t, strings.Join(rows(t, s, "EXPLAIN SELECT count(DISTINCT a) FROM t WHERE "+where), "\n"), "pruned by a = 5", where)
	}
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT count(*) FROM t WHERE is_five(a)"))
	exec(t, s, "CREATE FUNCTION between_them(n int) RETURNS boolean RETURN n BETWEEN 2 AND 4")
	require.Contains(t, strings.Join(rows(t, s, "EXPLAIN SELECT count(DISTINCT a) FROM t WHERE between_them(a)"), "\n"), "pruned by a BETWEEN 2 AND 4")
}

// What functions become is bounded, however they call each other.
func TestFunctionsOfFunctions(t *testing.T) {
	t.Parallel()
	s := session(t, open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres }))
	exec(t, s, "CREATE FUNCTION f0(n int) RETURNS int RETURN n + 1")
	last := ""
	for i := range 20 { // each is twice the one before
		name, of := "f"+string(rune('a'+i)), "f"+string(rune('a'+i-1))
		if i == 0 {
			of = "f0"
		}
		_, err := s.Exec(t.Context(), "CREATE FUNCTION "+name+"(n int) RETURNS int RETURN "+of+"(n) + "+of+"(n)")
		if err != nil {
			requireRefused(t, "54001", err)
			break
		}
		last = name
	}
	require.NotEmpty(t, last)
	require.NotEqual(t, "ft", last)
	require.Len(t, rows(t, s, "SELECT "+last+"(1)"), 1)
}

// A view computes what its functions are when it is read, also those that their bodies call, and whatever has changed
// the view's text since (FN1).
func TestViewsOfFunctions(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.Dialect = engine.DialectPostgres })
	s, other := session(t, e), session(t, e)
	for _, text := range []string{
		"CREATE TABLE t (a int, b text)", "INSERT INTO t VALUES (8, 'x'), (NULL, 'y')", "CREATE SCHEMA s",
		"CREATE FUNCTION half(n int) RETURNS int RETURN n / 2", "CREATE FUNCTION s.f(n int, m int DEFAULT 1) RETURNS int RETURN half(n) + m",
		"CREATE VIEW v AS SELECT half(a), b || half(6)::text AS c FROM t",
		"CREATE VIEW w (x) AS SELECT half FROM v WHERE half IS NOT NULL",
		"CREATE VIEW s.n AS SELECT q.f FROM (SELECT s.f(a) FROM t) q",
		"CREATE MATERIALIZED VIEW m AS SELECT half(a) AS h FROM t", "COMMENT ON VIEW v IS 'said'",
	} {
		exec(t, s, text)
	}
	all := func() (list []string) {
		for _, text := range []string{"SELECT * FROM v ORDER BY 2", "SELECT * FROM w", "SELECT * FROM s.n ORDER BY 1", "SELECT * FROM m ORDER BY 1"} {
			list = append(list, rows(t, s, text)...)
		}
		return list
	}
	require.Equal(t, []string{"4|x3", "(null)|y3", "4", "5", "(null)", "4", "(null)"}, all())
	number := rows(t, s, "SELECT 'v'::regclass::oid")
	exec(t, s, "PREPARE p AS SELECT * FROM w")
	exec(t, other, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN n / 4")
	require.Equal(t, []string{"2|x1", "(null)|y1", "2", "3", "(null)", "4", "(null)"}, all())
	require.Equal(t, []string{"2"}, rows(t, s, "EXECUTE p"))
	exec(t, s, "REFRESH MATERIALIZED VIEW m")
	require.Equal(t, []string{"2|x1", "(null)|y1", "2", "3", "(null)", "2", "(null)"}, all())
	require.Equal(t, number, rows(t, s, "SELECT 'v'::regclass::oid"))
	require.Equal(t, []string{"said"}, rows(t, s, "SELECT obj_description('v'::regclass)"))
	require.Equal(t, []string{" SELECT public.half(a) AS \"half\", b || csm_text(public.half(6)) AS c FROM public.t;"},
		rows(t, s, "SELECT pg_get_viewdef('v'::regclass)"))

	// What else changes the texts changes the calls, too.
	exec(t, s, "ALTER TABLE t RENAME TO u")
	exec(t, s, "ALTER TABLE u RENAME COLUMN a TO z")
	exec(t, s, "ALTER TABLE u ADD COLUMN a text")
	exec(t, s, "SET search_path = s")
	exec(t, other, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN n * 2")
	exec(t, s, "SET search_path = public")
	exec(t, s, "REFRESH MATERIALIZED VIEW m")
	require.Equal(t, []string{"16|x12", "(null)|y12", "16", "17", "(null)", "16", "(null)"}, all())

	// In a block, with a savepoint: what is rolled back is as it was.
	exec(t, s, "BEGIN")
	exec(t, s, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN n")
	require.Equal(t, []string{"8"}, rows(t, s, "SELECT * FROM w"))
	require.Equal(t, []string{"16"}, rows(t, other, "SELECT * FROM w"))
	exec(t, s, "SAVEPOINT a")
	exec(t, s, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN n + 1")
	require.Equal(t, []string{"9"}, rows(t, s, "SELECT * FROM w"))
	exec(t, s, "ROLLBACK TO a")
	require.Equal(t, []string{"8"}, rows(t, s, "SELECT * FROM w"))
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"16"}, rows(t, s, "SELECT * FROM w"))

	// A body may call another function by now, and need it.
	exec(t, s, "CREATE FUNCTION late(n int) RETURNS int RETURN n - 1")
	exec(t, s, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN late(n)")
	require.Equal(t, []string{"7"}, rows(t, s, "SELECT * FROM w"))
	exec(t, s, "CREATE OR REPLACE FUNCTION late(n int) RETURNS int RETURN n - 2")
	require.Equal(t, []string{"6"}, rows(t, s, "SELECT * FROM w"))
	_, err := s.Exec(t.Context(), "DROP FUNCTION late")
	requireRefused(t, "2BP01", err)
	exec(t, s, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN n")
	exec(t, s, "DROP FUNCTION late")

	// A macro may have another type by now, which a view does not bear.
	exec(t, s, "SET csm.dialect = 'duckdb'")
	exec(t, s, "CREATE MACRO plus(x, y := 1) AS x + y")
	exec(t, s, "CREATE VIEW d AS SELECT plus(z), plus(z, y := 3) AS l FROM u")
	exec(t, s, "CREATE VIEW dd AS SELECT \"plus(z)\" AS p FROM (SELECT plus(z) FROM u WHERE z > 1)")
	require.Equal(t, []string{"9|11"}, rows(t, s, "SELECT * FROM d WHERE \"plus(z)\" > 0"))
	require.Equal(t, []string{"9"}, rows(t, s, "SELECT p FROM dd"))
	exec(t, s, "CREATE OR REPLACE MACRO plus(x, y := 2) AS x + y")
	require.Equal(t, []string{"10|11"}, rows(t, s, "SELECT * FROM d WHERE \"plus(z)\" > 0"))
	require.Equal(t, []string{"10"}, rows(t, s, "SELECT p FROM dd"))
	_, err = s.Exec(t.Context(), "CREATE OR REPLACE MACRO plus(x, y := 2) AS 'word'")
	requireRefused(t, "2BP01", err)
	require.Equal(t, []string{"10"}, rows(t, s, "SELECT p FROM dd"))
	_, err = s.Exec(t.Context(), "DROP MACRO plus")
	requireRefused(t, "2BP01", err)
	exec(t, s, "DROP MACRO plus CASCADE")
	_, err = s.Exec(t.Context(), "SELECT * FROM d")
	require.Error(t, err)
}

// Of a view that calls a function, and its replacement or its end, at the same time on two nodes, the second to commit
// fails: no view is left with a body of before (FN1, K10).
func TestViewsAndFunctionsAtTheSameTime(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	maker, changer := c.session(0), c.session(1)
	for _, s := range []*engine.Session{maker, changer} {
		exec(t, s, "SET csm.dialect = 'postgres'")
	}
	exec(t, maker, "CREATE FUNCTION g(n int) RETURNS int RETURN n")
	exec(t, maker, "CREATE FUNCTION f(n int) RETURNS int RETURN g(n)")
	for i, view := range []string{"VIEW v AS SELECT f(1)", "MATERIALIZED VIEW v AS SELECT f(1)"} {
		kind := strings.TrimSuffix(view, " v AS SELECT f(1)")
		for j, change := range []string{"CREATE OR REPLACE FUNCTION %(n int) RETURNS int RETURN n + 1", "DROP FUNCTION %"} {
			for _, which := range []string{"f", "g"} {
				change := strings.Replace(change, "%", which, 1)
				for _, first := range []*engine.Session{maker, changer} {
					exec(t, maker, "BEGIN")
					exec(t, changer, "BEGIN")
					require.Empty(t, rows(t, changer, "SELECT 1 FROM pg_class WHERE relname = 'v'"))
					exec(t, maker, "CREATE "+view)
					exec(t, changer, change)
					second := maker
					if first == maker {
						second = changer
					}
					exec(t, first, "COMMIT")
					_, err := second.Exec(t.Context(), "COMMIT")
					require.Error(t, err, "%d %d %s", i, j, change)
					require.Equal(t, "40001", state(t, err), change)
					exec(t, maker, "DROP "+kind+" IF EXISTS v")
					exec(t, maker, "DROP FUNCTION IF EXISTS f")
					exec(t, maker, "DROP FUNCTION IF EXISTS g")
					exec(t, maker, "CREATE FUNCTION g(n int) RETURNS int RETURN n")
					exec(t, maker, "CREATE FUNCTION f(n int) RETURNS int RETURN g(n)")
				}
			}
		}
	}
}
