package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// What a prepared statement's text was written for are the types that its columns had. When they have others, it gives
// what it would give if it were prepared then, or says that its columns are others.
func TestPreparedStatementsFollowTypes(t *testing.T) {
	t.Parallel()
	e := open(t)
	for _, c := range []struct{ name, from, values, to, change string }{
		{"altered", "TABLE %s (k int, x int)", "(1, 7), (2, 3)", "", "ALTER TABLE %s ALTER x TYPE numeric(6, 2)"},
		{"made again", "TABLE %s (k int, x text)", "(1, '7'), (2, '3')", "TABLE %s (k int, x numeric(6, 2))", ""},
		{"of other columns", "TABLE %s (k int, x numeric(6, 2))", "(1, 7.5), (2, 3)", "TABLE %s (x int, k int)", ""},
		{"temporary", "TEMP TABLE %s (k int, x int)", "(1, 7), (2, 3)", "TEMP TABLE %s (k int, x numeric(6, 2))", ""},
		{"shadowed", "TABLE %s (k int, x int)", "(1, 7), (2, 3)", "TEMP TABLE %s (k int, x numeric(6, 2))", "keep"},
		{"a view", "VIEW %s AS SELECT * FROM (VALUES (1, 7), (2, 3)) v(k, x)", "",
			"VIEW %s AS SELECT * FROM (VALUES (1, 7.5), (2, 3)) v(k, x)", "DROP VIEW %s"},
		{"a temporary view", "TEMP VIEW %s AS SELECT * FROM (VALUES (1, 7), (2, 3)) v(k, x)", "",
			"TEMP VIEW %s AS SELECT * FROM (VALUES (1, 7.5), (2, 3)) v(k, x)", "DROP VIEW %s"},
	} {
		for n, text := range []string{
			"SELECT k FROM %s WHERE x / 2 = 1 ORDER BY k", "SELECT k FROM %s WHERE x::int / 2 = 3 ORDER BY k",
			"SELECT count(*) FROM %s WHERE x::text || '' = '7'", "SELECT max(x) / 2 > 3 FROM %s",
			"SELECT x / 2 FROM %s ORDER BY 1", "SELECT sum(x)::text FROM %s",
			"SELECT k FROM %s WHERE x / 2 = $1 ORDER BY k",
			"SELECT k FROM %s WHERE x / 2 > 3 ORDER BY k FOR UPDATE",
			"UPDATE %[1]s SET k = k + 10 WHERE x / 2 = 1 RETURNING k", "UPDATE %[1]s SET k = x / 2 RETURNING k",
			"DELETE FROM %s WHERE x / 2 = 3 RETURNING k", "INSERT INTO kept SELECT x::int / 2 FROM %s RETURNING i",
			"WITH d AS (DELETE FROM %s WHERE x / 2 = 3 RETURNING k) SELECT count(*) FROM d",
			"INSERT INTO %[1]s (k) SELECT x / 2 FROM %[1]s RETURNING k",
		} {
			if strings.Contains(c.from, "VIEW") && (n > 6 && n != 11) {
				continue // no rows of its own
			}
			if strings.Contains(c.from+c.to, "TEMP") && (n == 7 || n == 12) {
				continue // not supported for temporary tables
			}
			t.Run(fmt.Sprint(c.name, "/", n), func(t *testing.T) {
				s := session(t, e)
				name := "t" + strings.NewReplacer("/", "_", " ", "_").Replace(fmt.Sprint(c.name, n))
				text := fmt.Sprintf(text, name)
				in := func(pattern string) {
					if pattern != "" && pattern != "keep" {
						exec(t, s, fmt.Sprintf(pattern, name))
					}
				}
				exec(t, s, "SET csm.dialect = postgres; CREATE TABLE IF NOT EXISTS kept (i int)")
				fill := func(columns, values string) {
					if values != "" {
						exec(t, s, "INSERT INTO "+name+" "+columns+" VALUES "+values)
					}
				}
				in("CREATE " + c.from)
				fill("(k, x)", c.values)
				kept, err := s.Prepare(t.Context(), text)
				if c.name == "made again" && (strings.Contains(text, "(x)") || strings.Contains(text, "x / 2")) {
					require.Equal(t, "42883", sqlState(err), "a text has no such operator")
					return
				}
				require.NoError(t, err)
				defer kept.Close()
				answerOf(t, s, kept)
				switch {
				case c.change != "":
					in(c.change)
				case c.to != "":
					in("DROP TABLE %s")
				}
				if c.to != "" {
					in("CREATE " + c.to)
				}
				if c.values != "" {
					exec(t, s, "DELETE FROM "+name)
					values := "(1, 7.5), (2, 3)"
					fill("(k, x)", values)
				}
				fresh, err := s.Prepare(t.Context(), text)
				require.NoError(t, err)
				defer fresh.Close()
				exec(t, s, "BEGIN")
				want, said := answerOf(t, s, fresh)
				exec(t, s, "ROLLBACK; BEGIN")
				got, err := answerOf(t, s, kept)
				exec(t, s, "ROLLBACK")
				same := fresh.Schema().Equal(kept.Schema()) && slices.Equal(fresh.Parameters(), kept.Parameters())
				if err != nil && said == nil && !same {
					require.ErrorContains(t, err, "cached plan must not change result type")
					return
				}
				require.Equal(t, sqlState(said), sqlState(err), "%v, and prepared again %v", err, said)
				require.Equal(t, want, got)
				again, err := answerOf(t, s, kept)
				require.Equal(t, sqlState(said), sqlState(err))
				require.Equal(t, want, again)
			})
		}
	}
}

// answerOf runs a statement that may have one parameter.
func answerOf(t *testing.T, s *engine.Session, st *engine.Statement) ([]string, error) {
	t.Helper()
	var args []any
	if len(st.Parameters()) > 0 {
		args = []any{int64(3)}
	}
	r, err := st.Query(context.Background(), args...)
	if err != nil {
		return nil, err
	}
	return linesOf(r)
}

// A statement of SQL's PREPARE is prepared again for what its names and functions are by now.
func TestNamedStatementsFollowTypes(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "SET csm.dialect = postgres; CREATE TABLE t (k int, x int); INSERT INTO t VALUES (1, 7), (2, 3)")
	exec(t, other, "SET csm.dialect = postgres; CREATE FUNCTION twice(int) RETURNS int RETURN $1 * 2")
	exec(t, s, "PREPARE p(int) AS SELECT k FROM t WHERE x / 2 = $1; PREPARE f AS SELECT twice(k) FROM t ORDER BY k")
	exec(t, s, "PREPARE u AS UPDATE t SET x = x / 2")
	require.Equal(t, []string{"1"}, rows(t, s, "EXECUTE p(3)"))
	require.Equal(t, []string{"2", "4"}, rows(t, s, "EXECUTE f"))
	exec(t, other, "ALTER TABLE t ALTER x TYPE numeric(6, 2)")
	exec(t, other, "CREATE OR REPLACE FUNCTION twice(int) RETURNS int RETURN $1 * 3")
	require.Empty(t, rows(t, s, "EXECUTE p(3)"))
	require.Equal(t, []string{"3", "6"}, rows(t, s, "EXECUTE f"))
	require.Equal(t, "UPDATE 2", exec(t, s, "EXECUTE u").Tag)
	require.Equal(t, []string{"1.5", "3.5"}, rows(t, s, "SELECT x FROM t ORDER BY x"))
	exec(t, other, "DROP TABLE t")
	for range 2 {
		fails(t, s, "42P01", "EXECUTE p(3)")
	}
	exec(t, other, "CREATE TABLE t (k int, x bigint); INSERT INTO t VALUES (5, 7)")
	require.Equal(t, []string{"5"}, rows(t, s, "EXECUTE p(3)"))
	exec(t, s, "DEALLOCATE p; DEALLOCATE f; DEALLOCATE u")
	fails(t, s, "26000", "EXECUTE p(3)")
}

// A text that EXECUTE gives may be a label, as one in the statement would be.
func TestArgumentsMayBeLabels(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "SET csm.dialect = postgres; CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (m mood, s text)")
	exec(t, s, "INSERT INTO t VALUES ('ok', 'x'), ('sad', 'y')")
	exec(t, s, "PREPARE one AS SELECT s FROM t WHERE m = $1; PREPARE several AS SELECT count(*) FROM t WHERE m IN ($1, 'sad')")
	exec(t, s, "PREPARE change AS UPDATE t SET m = $1 WHERE s = $2 RETURNING m; PREPARE texts AS SELECT pg_typeof($1), $1 || s FROM t ORDER BY s")
	require.Equal(t, []string{"x"}, rows(t, s, "EXECUTE one ('ok')"))
	require.Equal(t, []string{"2"}, rows(t, s, "EXECUTE several ('ok')"))
	require.Equal(t, []string{"sad"}, rows(t, s, "EXECUTE change ('sad', 'x')"))
	require.Equal(t, []string{"text|1x", "text|1y"}, rows(t, s, "EXECUTE texts ('1')"))
	fails(t, s, "22P02", "EXECUTE one ('none')")
}

// The columns of temporary tables and views have types for PostgreSQL's meaning of a text, too.
func TestTypesOfTemporaryTables(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "SET csm.dialect = postgres; CREATE TEMP TABLE w (x text, i int)")
	exec(t, s, "INSERT INTO w VALUES ('2.5', 7); CREATE TEMP VIEW v AS SELECT x, i FROM w")
	for _, from := range []string{"w", "v", "temp.w", "(SELECT * FROM w)"} {
		fails(t, s, "22P02", "SELECT x::int FROM "+from+" q")
		require.Equal(t, []string{"3"}, rows(t, s, "SELECT i / 2 FROM "+from+" q"), from)
	}
	fails(t, s, "22P02", "UPDATE w SET i = x::int")
	fails(t, s, "22P02", "INSERT INTO w (i) SELECT x::int FROM w")
	exec(t, s, "UPDATE w SET i = i / 2")
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT i FROM w"))
}

// A statement that the client named itself is not prepared again by EXECUTE: the error says what to do. A DECLARE is.
func TestOtherStatementsFollowTypes(t *testing.T) {
	t.Parallel()
	e := open(t)
	own := &ownStatements{}
	s, err := e.Session(engine.SessionOptions{Statements: own})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	exec(t, s, "SET csm.dialect = postgres; CREATE TABLE t (k int, x int); INSERT INTO t VALUES (1, 7), (2, 3)")
	st, err := s.Prepare(t.Context(), "SELECT k FROM t WHERE x / 2 = 3")
	require.NoError(t, err)
	own.one = st.Named()
	require.NoError(t, st.Close())
	require.Equal(t, []string{"1"}, rows(t, s, "EXECUTE own"))
	exec(t, s, "BEGIN")
	declare, err := s.Prepare(t.Context(), "DECLARE c CURSOR FOR SELECT k FROM t WHERE x / 2 = 3")
	require.NoError(t, err)
	exec(t, s, "ALTER TABLE t ALTER x TYPE numeric(6, 2)")
	_, err = declare.Exec(t.Context())
	require.NoError(t, err)
	require.Empty(t, rows(t, s, "FETCH ALL FROM c"))
	require.NoError(t, declare.Close())
	exec(t, s, "COMMIT")
	fails(t, s, "0A000", "EXECUTE own")
}

// ownStatements has one, called own.
type ownStatements struct{ one *engine.NamedStatement }

func (o *ownStatements) Find(name string) (*engine.NamedStatement, bool) { return o.one, name == "own" }
func (o *ownStatements) Forget(string) bool                              { return false }
func (o *ownStatements) List() []*engine.NamedStatement                  { return nil }
