package engine_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// columnDefaults and constraintsOf show what clients see of expressions.
const (
	columnDefaults = "SELECT column_name, column_default, generation_expression FROM information_schema.columns " +
		"WHERE table_name = 't' ORDER BY ordinal_position"
	constraintsOf = "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint " +
		"WHERE conrelid = 't'::regclass ORDER BY 1"
)

func inPostgres(c *engine.Config) { c.Dialect = engine.DialectPostgres }

// Defaults, checks and generated columns compute what their functions are when rows are written, also those that bodies
// call, and whatever has changed the table since (FN1).
func TestExpressionsOfFunctions(t *testing.T) {
	e := open(t, inPostgres)
	s, other := session(t, e), session(t, e)
	for _, text := range []string{
		"CREATE FUNCTION half(n int) RETURNS int RETURN n / 2",
		"CREATE FUNCTION f(n int, m int DEFAULT 1) RETURNS int IMMUTABLE RETURN half(n) + m",
		"CREATE TABLE t (a int DEFAULT f(8), b int CHECK (half(b) > 0), c int GENERATED ALWAYS AS (f(b)) STORED)",
		"PREPARE p AS INSERT INTO t (b) VALUES ($1)", "EXECUTE p(7)",
	} {
		exec(t, s, text)
	}
	all := func() []string { return rows(t, s, "SELECT * FROM t ORDER BY a, b") }
	refused := func(s *engine.Session, text, state, says string) {
		t.Helper()
		_, err := s.Exec(t.Context(), text)
		requireRefused(t, state, err)
		require.ErrorContains(t, err, says)
	}
	require.Equal(t, []string{"5|7|4"}, all())
	refused(other, "INSERT INTO t (b) VALUES (1)", "23514", `violates check constraint "t_b_check"`)
	exec(t, other, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN n / 4")
	require.Equal(t, []string{"5|7|4"}, all())
	exec(t, s, "EXECUTE p(8)")
	exec(t, s, "INSERT INTO t (b) SELECT 9")
	copying, err := s.Prepare(t.Context(), "COPY t (b) FROM STDIN")
	require.NoError(t, err)
	copied := [][]byte{[]byte("10")}
	_, err = copying.CopyIn(t.Context(), func() (row [][]byte, err error) {
		if row, copied = copied, nil; row == nil {
			err = io.EOF
		}
		return row, err
	})
	require.NoError(t, err)
	require.NoError(t, copying.Close())
	require.Equal(t, []string{"3|8|3", "3|9|3", "3|10|3", "5|7|4"}, all())
	refused(s, "EXECUTE p(3)", "23514", "t_b_check")
	refused(s, "UPDATE t SET b = 3 WHERE b = 8", "23514", "t_b_check")
	exec(t, s, "UPDATE t SET a = DEFAULT, b = 12 WHERE b = 7")
	require.Equal(t, []string{"3|8|3", "3|9|3", "3|10|3", "3|12|4"}, all())

	// Clients see the calls.
	require.Equal(t, []string{"a|f(8)|(null)", "b|(null)|(null)", "c|(null)|f(b)"},
		rows(t, s, columnDefaults))
	require.Equal(t, []string{"t_b_check|CHECK ((half(b) > 0))"}, rows(t, s, constraintsOf))

	// What else changes the expressions changes the calls, too.
	exec(t, s, "ALTER TABLE t RENAME COLUMN b TO z")
	exec(t, s, "ALTER TABLE t ALTER COLUMN a TYPE bigint")
	exec(t, s, "ALTER TABLE t ADD CONSTRAINT wide CHECK (half(t.z) < 100 AND f(n => t.z) <> 77), "+
		"ADD COLUMN d int DEFAULT half(half(64))")
	exec(t, s, "ALTER TABLE t RENAME TO u")
	exec(t, s, "CREATE TABLE t (LIKE u INCLUDING ALL)")
	require.Equal(t, []string{"a|f(8)|(null)", "z|(null)|(null)", "c|(null)|f(z)", "d|half(half(64))|(null)"},
		rows(t, s, columnDefaults))
	require.Equal(t, []string{"t_b_check|CHECK ((half(z) > 0))",
		"wide|CHECK ((half(z) < 100 AND f(n => z) <> 77))"}, rows(t, s, constraintsOf))
	exec(t, s, "INSERT INTO t (z) VALUES (16)")
	require.Equal(t, []string{"3|16|5|4"}, rows(t, s, "SELECT * FROM t"))
	exec(t, other, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN n * 2")
	exec(t, s, "CREATE TABLE k CLONE t")
	for _, table := range []string{"t", "u", "k"} {
		exec(t, s, "INSERT INTO "+table+" (z) VALUES (5) ON CONFLICT DO NOTHING")
		require.Equal(t, []string{"17|5|11|256"}, rows(t, s, "SELECT * FROM "+table+" WHERE z = 5"), table)
		refused(s, "INSERT INTO "+table+" (z) VALUES (50)", "23514", `"wide"`)
	}
	exec(t, s, "ALTER TABLE k ALTER COLUMN a SET DEFAULT 1, DROP CONSTRAINT wide")
	exec(t, s, "ALTER TABLE u DROP COLUMN c, DROP COLUMN z")
	require.Empty(t, rows(t, s, "SELECT 1 FROM pg_constraint WHERE conrelid = 'u'::regclass"))

	// In a block, with a savepoint: what is rolled back is as it was.
	exec(t, s, "BEGIN")
	exec(t, s, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN n + 40")
	exec(t, s, "INSERT INTO t (z) VALUES (6)")
	exec(t, s, "SAVEPOINT a")
	exec(t, s, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN n + 50")
	exec(t, s, "ROLLBACK TO a")
	exec(t, s, "CREATE FUNCTION gone() RETURNS int RETURN 3")
	exec(t, s, "CREATE TABLE lost (a int DEFAULT gone())")
	require.Equal(t, []string{"49|6|47|144"}, rows(t, s, "SELECT * FROM t WHERE z = 6"))
	exec(t, s, "ROLLBACK")
	exec(t, s, "INSERT INTO t (z) VALUES (6)")
	require.Equal(t, []string{"17|6|13|256"}, rows(t, s, "SELECT * FROM t WHERE z = 6"))
	refused(s, "CREATE TABLE lost (a int DEFAULT gone())", "42611", "gone")

	// What a function becomes must bear what calls it.
	refused(s, "CREATE OR REPLACE FUNCTION half(n int) RETURNS int RETURN n + (random() * 9)::int", "2BP01",
		"function half cannot be replaced so: column c of table public.")
	refused(s, "CREATE TABLE w (a int, b int GENERATED ALWAYS AS ((random() * 9)::int + half(a)) STORED)", "42P17",
		"not immutable")
	exec(t, s, "CREATE TABLE w (a int CHECK (/*csm_calls csm_function__1 {}*/ a > 1))") // a comment is no record
}

// Expressions also name sequences and labels of types, which their calls follow.
func TestExpressionsOfFunctionsOfOthers(t *testing.T) {
	s := session(t, open(t, inPostgres))
	for _, text := range []string{
		"CREATE SEQUENCE q", "CREATE FUNCTION f(n bigint) RETURNS bigint RETURN n + 10",
		"CREATE TYPE mood AS ENUM ('sad', 'ok')", "CREATE FUNCTION echo(m mood, n text) RETURNS mood RETURN m",
		"CREATE TABLE t (a bigint DEFAULT f(nextval('q')), m mood CHECK (echo(m, '*/ x') <> 'sad'::mood))",
		"INSERT INTO t (m) VALUES ('ok')",
		"ALTER SEQUENCE q RENAME TO r", "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'", "ALTER TYPE mood RENAME TO feeling",
		"CREATE OR REPLACE FUNCTION f(n bigint) RETURNS bigint RETURN n + 20",
		"CREATE OR REPLACE FUNCTION echo(m feeling, n text) RETURNS feeling " +
			"RETURN CASE WHEN n = '*/ x' THEN m END",
		"INSERT INTO t (m) VALUES ('ok')",
	} {
		exec(t, s, text)
	}
	require.Equal(t, []string{"11|ok", "22|ok"}, rows(t, s, "SELECT * FROM t"))
	_, err := s.Exec(t.Context(), "INSERT INTO t (m) VALUES ('blue')")
	requireRefused(t, "23514", err)
	require.Equal(t, []string{"a|f(nextval('r'::regclass))|(null)", "m|(null)|(null)"}, rows(t, s, columnDefaults))
	require.Equal(t, []string{"t_m_check|CHECK ((echo(m, '*/ x') <> 'blue'::feeling))"}, rows(t, s, constraintsOf))
}

// Macros of DuckDB's dialect are as functions, whichever dialect the session has that writes.
func TestExpressionsOfFunctionsInDuckDB(t *testing.T) {
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, other, "SET csm.dialect = 'postgres'")
	for _, text := range []string{
		"BEGIN", "CREATE MACRO plus(x, y := 1) AS x + y",
		"CREATE TABLE t (a int DEFAULT plus(1), b int CHECK (plus(b, y := 5) > 7), c int)",
		"CREATE OR REPLACE MACRO plus(x, y := 2) AS x + y", "COMMIT",
		"ALTER TABLE t ALTER COLUMN c TYPE varchar USING plus(c)::varchar",
	} {
		exec(t, s, text)
	}
	exec(t, other, "INSERT INTO t (b) VALUES (3)")
	require.Equal(t, []string{"3|3|(null)"}, rows(t, s, "SELECT * FROM t"))
	_, err := other.Exec(t.Context(), "INSERT INTO t (b) VALUES (2)")
	requireRefused(t, "23514", err)
	_, err = s.Exec(t.Context(), "DROP MACRO plus")
	requireRefused(t, "2BP01", err)
}

// DROP of a function names what calls it; CASCADE takes defaults and checks.
func TestDropOfFunctionsInExpressions(t *testing.T) {
	s := session(t, open(t, inPostgres))
	for _, text := range []string{
		"CREATE SCHEMA s", "CREATE FUNCTION s.half(n int) RETURNS int RETURN n / 2",
		"CREATE FUNCTION f(n int) RETURNS int RETURN s.half(n)",
		"CREATE TABLE t (a int DEFAULT f(8), b int CHECK (s.half(b) > 0), d int DEFAULT 5)",
		"CREATE TABLE u (a int, c int GENERATED ALWAYS AS (f(a)) STORED)",
		"CREATE DOMAIN d AS int CHECK (s.half(VALUE) > 1)",
	} {
		exec(t, s, text)
	}
	detail := func(text string) string {
		t.Helper()
		_, err := s.Exec(t.Context(), text)
		requireRefused(t, "2BP01", err)
		return detailOf(err)
	}
	require.Equal(t, "default value for column a of table t depends on function f(integer)\n"+
		"column c of table u depends on function f(integer)", detail("DROP FUNCTION f"))
	require.Equal(t, "default value for column a of table t depends on function s.half(integer)\n"+
		"constraint t_b_check on table t depends on function s.half(integer)\n"+
		"column c of table u depends on function s.half(integer)\n"+
		"constraint d_check of type d depends on function s.half(integer)", detail("DROP FUNCTION s.half"))
	require.Contains(t, detail("DROP SCHEMA s CASCADE"), "column c of table u")
	exec(t, s, "ALTER TABLE u DROP COLUMN c")
	require.Contains(t, detail("DROP SCHEMA s CASCADE"), "constraint d_check of type d")
	exec(t, s, "ALTER DOMAIN d DROP CONSTRAINT d_check")
	exec(t, s, "DROP FUNCTION f, s.half CASCADE")
	exec(t, s, "INSERT INTO t (b) VALUES (0)")
	require.Equal(t, []string{"(null)|0|5"}, rows(t, s, "SELECT * FROM t"))
	require.Empty(t, rows(t, s, constraintsOf))
	exec(t, s, "CREATE FUNCTION f() RETURNS int RETURN 1")
	exec(t, s, "ALTER TABLE t ALTER COLUMN d SET DEFAULT f()")
	exec(t, s, "DROP TABLE t")
	exec(t, s, "DROP FUNCTION f")
}

// The checks of domains compute what their functions are, for columns and casts.
func TestDomainsOfFunctions(t *testing.T) {
	s := session(t, open(t, inPostgres))
	exec(t, s, "CREATE FUNCTION good(n int) RETURNS boolean RETURN n > 1")
	exec(t, s, "CREATE DOMAIN d AS int CHECK (good(VALUE))")
	exec(t, s, "CREATE TABLE t (a d)")
	exec(t, s, "INSERT INTO t VALUES (2)")
	refused := func(text string) {
		t.Helper()
		_, err := s.Exec(t.Context(), text)
		requireRefused(t, "23514", err)
	}
	refused("INSERT INTO t VALUES (1)")
	refused("SELECT 1::d")
	exec(t, s, "CREATE OR REPLACE FUNCTION good(n int) RETURNS boolean RETURN n > 5")
	refused("INSERT INTO t VALUES (5)")
	refused("SELECT 5::d")
	require.Equal(t, []string{"6"}, rows(t, s, "SELECT 6::d"))
	require.Equal(t, []string{"CHECK ((good(VALUE)))"},
		rows(t, s, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'd_check'"))
	exec(t, s, "ALTER DOMAIN d ADD CONSTRAINT odd CHECK (good(VALUE + 10))")
	_, err := s.Exec(t.Context(), "ALTER DOMAIN d SET DEFAULT good(1)::int")
	requireRefused(t, "0A000", err)
	_, err = s.Exec(t.Context(), "CREATE DOMAIN e AS boolean DEFAULT good(1)")
	requireRefused(t, "0A000", err)
}

// A version of before a function was replaced brings no body of then back.
func TestFormerExpressionsOfFunctions(t *testing.T) {
	s := session(t, open(t, inPostgres))
	exec(t, s, "CREATE FUNCTION f(n int) RETURNS int RETURN n")
	exec(t, s, "CREATE TABLE t (a int DEFAULT f(1), b int, CHECK (f(b) < 10)) WITH (retained_versions = 50)")
	exec(t, s, "INSERT INTO t (b) VALUES (1), (9)")
	was := rows(t, s, "SELECT max(version) FROM csm.versions WHERE name = 't'")[0]
	exec(t, s, "DELETE FROM t WHERE b = 1")
	exec(t, s, "CREATE OR REPLACE FUNCTION f(n int) RETURNS int RETURN n + 2")
	_, err := s.Exec(t.Context(), "ALTER TABLE t RESTORE TO (VERSION => "+was+")")
	require.Error(t, err) // a row of then breaks the check of now
	exec(t, s, "CREATE OR REPLACE FUNCTION f(n int) RETURNS int RETURN n + 1 - 1")
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => "+was+")")
	exec(t, s, "CREATE OR REPLACE FUNCTION f(n int) RETURNS int RETURN n - 2")
	exec(t, s, "INSERT INTO t (b) VALUES (11)")
	require.Equal(t, []string{"-1|11", "1|1", "1|9"}, rows(t, s, "SELECT * FROM t ORDER BY 1, 2"))
	exec(t, s, "ALTER TABLE t DROP COLUMN b")
	for _, text := range []string{
		"ALTER TABLE t RESTORE TO (VERSION => " + was + ")", "CREATE TABLE k CLONE t AT (VERSION => " + was + ")",
	} {
		_, err = s.Exec(t.Context(), text)
		requireRefused(t, "0A000", err)
		require.ErrorContains(t, err, "others by now", text)
	}
	exec(t, s, "CREATE OR REPLACE FUNCTION f(n int) RETURNS int RETURN n")
	exec(t, s, "ALTER TABLE t RESTORE TO (VERSION => "+was+")")
	require.Equal(t, []string{"1|1", "1|9"}, rows(t, s, "SELECT * FROM t ORDER BY 1, 2"))
}

// Of a table that calls a function, and its replacement or its end, at the same time on two nodes, the second to commit
// fails: no table is left with a body of before (FN1, K10). A node that restarts has both.
func TestExpressionsAndFunctionsAtTheSameTime(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	maker, changer := c.session(0), c.session(1)
	for _, s := range []*engine.Session{maker, changer} {
		exec(t, s, "SET csm.dialect = 'postgres'")
	}
	exec(t, maker, "CREATE FUNCTION g(n int) RETURNS int RETURN n")
	exec(t, maker, "CREATE FUNCTION f(n int) RETURNS int RETURN g(n)")
	exec(t, maker, "CREATE TABLE known (a int)")
	exec(t, changer, "CREATE TABLE heard (a int DEFAULT f(1))") // which another node has made just now
	exec(t, maker, "DROP TABLE heard")
	changes := []string{"CREATE OR REPLACE FUNCTION %(n int) RETURNS int RETURN n + 1", "DROP FUNCTION %"}
	for _, text := range []string{
		"CREATE TABLE v (a int DEFAULT f(1))", "ALTER TABLE known ALTER COLUMN a SET DEFAULT f(1)",
		"CREATE DOMAIN d AS int CHECK (f(VALUE) > 0)",
	} {
		for _, change := range changes {
			for _, which := range []string{"f", "g"} {
				for _, first := range []*engine.Session{maker, changer} {
					exec(t, maker, "BEGIN")
					exec(t, changer, "BEGIN")
					require.Empty(t, rows(t, changer, "SELECT 1 FROM pg_class WHERE relname = 'v'"))
					exec(t, maker, text)
					exec(t, changer, strings.Replace(change, "%", which, 1))
					second := maker
					if first == maker {
						second = changer
					}
					exec(t, first, "COMMIT")
					_, err := second.Exec(t.Context(), "COMMIT")
					require.Error(t, err, "%s beside %s of %s", text, change, which)
					requireRefused(t, "40001", err)
					_, _ = second.Exec(t.Context(), "ROLLBACK")
					exec(t, changer, "DROP TABLE IF EXISTS v")
					exec(t, changer, "ALTER TABLE known ALTER COLUMN a DROP DEFAULT")
					exec(t, changer, "DROP DOMAIN IF EXISTS d")
					exec(t, changer, "CREATE OR REPLACE FUNCTION g(n int) RETURNS int RETURN n")
					exec(t, changer, "CREATE OR REPLACE FUNCTION f(n int) RETURNS int RETURN g(n)")
				}
			}
		}
	}
	exec(t, maker, "CREATE TABLE t (a int, b int DEFAULT f(3) CHECK (g(b) > 0))")
	exec(t, changer, "CREATE OR REPLACE FUNCTION g(n int) RETURNS int RETURN n - 1")
	c.stop(1)
	c.nodes[1] = c.open(1)
	changer = c.session(1)
	exec(t, changer, "INSERT INTO t (a) VALUES (1)")
	_, err := changer.Exec(t.Context(), "INSERT INTO t VALUES (1, 1)")
	requireRefused(t, "23514", err)
	require.Equal(t, []string{"1|2"}, rows(t, maker, "SELECT * FROM t"))
}
