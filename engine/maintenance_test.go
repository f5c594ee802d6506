package engine_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// DISCARD TEMP and DISCARD ALL leave nothing that the session made for itself, whatever needs what.
func TestDiscardTemporary(t *testing.T) {
	t.Parallel()
	for _, discard := range []string{"DISCARD TEMP", "DISCARD ALL"} {
		s := session(t, open(t))
		exec(t, s, `CREATE TEMP SEQUENCE q; CREATE TEMP TYPE mood AS ENUM ('sad', 'glad'); CREATE TEMP MACRO f(x) AS x + 1; CREATE TEMP MACRO g() AS TABLE SELECT 1 AS a`)
		exec(t, s, `CREATE TEMP TABLE p (k int PRIMARY KEY, n int DEFAULT nextval('q'), m mood); CREATE TEMP TABLE c (k int REFERENCES p (k)); CREATE TEMP VIEW "a view" AS SELECT 1 AS a`)
		require.Equal(t, []string{"2"}, rows(t, s, "SELECT f(1)"))
		exec(t, s, discard)
		for sql, want := range map[string]string{
			"SELECT nextval('q')": "42P01", "SELECT 'sad'::mood": "42704", "SELECT f(1)": "42883", "FROM g()": "42883", "FROM p": "42P01", "FROM c": "42P01",
			`FROM "a view"`: "42P01",
		} {
			requireState(t, want, failing(s, sql))
		}
		exec(t, s, "CREATE TEMP TABLE p AS SELECT 7 AS a; DISCARD SEQUENCES")
		require.Equal(t, []string{"7"}, rows(t, s, "FROM p"), "what is made afterwards is there")
	}
}

// COPY … FREEZE is for tables that the transaction made or emptied, and not since a savepoint.
func TestCopyFreeze(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int)")
	freeze := func() error {
		st, err := s.Prepare(t.Context(), "COPY t FROM STDIN (FREEZE)")
		require.NoError(t, err)
		defer st.Close()
		given := false
		_, err = st.CopyIn(t.Context(), func() ([][]byte, error) {
			if given {
				return nil, io.EOF
			}
			given = true
			return [][]byte{[]byte("1")}, nil
		})
		return err
	}
	requireState(t, "55000", freeze())
	exec(t, s, "BEGIN; TRUNCATE t")
	require.NoError(t, freeze())
	exec(t, s, "SAVEPOINT p")
	requireState(t, "55000", freeze())
	exec(t, s, "ROLLBACK; BEGIN; DROP TABLE t; CREATE TABLE t (a int)")
	require.NoError(t, freeze())
	exec(t, s, "COMMIT; BEGIN")
	requireState(t, "55000", freeze())
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"1"}, rows(t, s, "FROM t"))
}

// SET CONSTRAINTS ALL is refused where a constraint on record would have to be checked at another time than it says.
func TestSetConstraints(t *testing.T) {
	t.Parallel()
	var notices []engine.Notice
	s, err := open(t).Session(engine.SessionOptions{Notice: func(n engine.Notice) { notices = append(notices, n) }})
	require.NoError(t, err)
	defer s.Close()
	exec(t, s, "SET CONSTRAINTS ALL DEFERRED")
	require.Equal(t, "SET CONSTRAINTS can only be used in transaction blocks", notices[0].Message)
	exec(t, s, "CREATE TABLE plain (a int UNIQUE); BEGIN; SET CONSTRAINTS ALL DEFERRED; SET CONSTRAINTS ALL IMMEDIATE; COMMIT; CREATE TABLE t (a int UNIQUE DEFERRABLE)")
	exec(t, s, "BEGIN; SET CONSTRAINTS ALL IMMEDIATE")
	requireState(t, "0A000", failing(s, "SET CONSTRAINTS ALL DEFERRED"))
	exec(t, s, "ROLLBACK")
	requireState(t, "0A000", failing(s, "CREATE TABLE late (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)"))
}

// VACUUM and ANALYZE say what there is to say, if VERBOSE asks.
func TestVacuumVerbose(t *testing.T) {
	t.Parallel()
	var heard []string
	s, err := open(t).Session(engine.SessionOptions{Notice: func(n engine.Notice) { heard = append(heard, n.Severity+" "+n.Message) }})
	require.NoError(t, err)
	defer s.Close()
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u AS SELECT i AS a FROM range(2) r(i)")
	heard = nil
	exec(t, s, "VACUUM t; ANALYZE; VACUUM (VERBOSE off) t")
	require.Empty(t, heard)
	exec(t, s, "VACUUM VERBOSE t; ANALYZE (VERBOSE) u (a)")
	require.Equal(t, []string{
		`INFO vacuuming "public.t": 1 row, none of them dead, statistics are up to date`,
		`INFO analyzing "public.u": 2 rows, none of them dead, statistics are up to date`,
	}, heard)
	heard = nil
	exec(t, s, "VACUUM VERBOSE")
	require.Len(t, heard, 2)
	require.Equal(t, `42703 column "b" of relation "t" does not exist`, errorOf(s, "ANALYZE t (b)"))
}
