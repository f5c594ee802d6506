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

// DROP takes nothing that something else reads, but with CASCADE, and says what in PostgreSQL's words.
func TestDropOfWhatOthersRead(t *testing.T) {
	t.Parallel()
	var notices []string
	e := open(t)
	s, err := e.Session(engine.SessionOptions{Notice: func(n engine.Notice) {
		notices = append(notices, strings.TrimSuffix(n.Severity+" "+n.Message+"\n"+n.Detail, "\n"))
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	const setUp = `CREATE SCHEMA aside; CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u AS SELECT 2 AS b; CREATE TABLE aside.t AS SELECT 3 AS c; CREATE VIEW "of t" AS SELECT t.a FROM t;
		CREATE VIEW w AS SELECT * FROM "of t" JOIN U ON b > a; CREATE VIEW aside.x AS WITH t AS (SELECT 1 AS a) SELECT * FROM t; CREATE VIEW y AS SELECT 't' AS t, c FROM aside.t`
	for _, c := range []struct{ sql, message, detail, notice string }{
		{"DROP TABLE t", "cannot drop table t because other objects depend on it", "view \"of t\" depends on table t\nview w depends on view \"of t\"", ""},
		{"DROP TABLE IF EXISTS public.t RESTRICT", "cannot drop table t because other objects depend on it", "view \"of t\" depends on table t\nview w depends on view \"of t\"", ""},
		{"DROP TABLE t, u", "cannot drop desired object(s) because other objects depend on them", "view \"of t\" depends on table t\nview w depends on table u", ""},
		{`DROP VIEW "of t"`, `cannot drop view "of t" because other objects depend on it`, "view w depends on view \"of t\"", ""},
		{"DROP TABLE aside.t", "cannot drop table aside.t because other objects depend on it", "view y depends on table aside.t", ""},
		{"DROP SCHEMA aside", "cannot drop schema aside because other objects depend on it", "table aside.t depends on schema aside\nview aside.x depends on schema aside\nview y depends on table aside.t", ""},
		{"DROP TABLE t CASCADE", "", "", "NOTICE drop cascades to 2 other objects\ndrop cascades to view \"of t\"\ndrop cascades to view w"},
		{"DROP TABLE u CASCADE", "", "", "NOTICE drop cascades to view w"},
		{"DROP SCHEMA aside CASCADE", "", "", "NOTICE drop cascades to 3 other objects\ndrop cascades to table aside.t\ndrop cascades to view aside.x\ndrop cascades to view y"},
		{`DROP VIEW w, "of t"`, "", "", ""},
		{"DROP VIEW aside.x; DROP VIEW y; DROP TABLE aside.t; DROP SCHEMA aside", "", "", ""},
		{"CREATE OR REPLACE TABLE t AS SELECT 7 AS a", "", "", ""},
	} {
		for _, committed := range []bool{true, false} { // before the DROP
			notices = nil
			begin := "BEGIN; " + setUp
			if committed {
				begin = setUp + "; BEGIN"
			}
			for _, sql := range append(strings.Split(begin, ";"), strings.Split(c.sql, ";")...) {
				_, err = s.Exec(context.Background(), sql)
				if sql != c.sql {
					require.NoError(t, err, sql)
				}
			}
			if c.message != "" {
				var e *engine.Error
				require.ErrorAs(t, err, &e, c.sql)
				require.Equal(t, []string{"2BP01", c.message, c.detail, "Use DROP ... CASCADE to drop the dependent objects too."}, []string{e.State, e.Message, e.Detail(), e.Hint()}, c.sql)
			} else {
				require.NoError(t, err, c.sql)
				require.Equal(t, c.notice, strings.Join(notices, "|"), c.sql)
				for _, v := range []string{`"of t"`, "w", "aside.x", "y"} {
					_, err := s.ProbeIn(context.Background(), "SELECT * FROM "+v, "")
					gone := strings.Contains(c.notice, "view "+v) || strings.Contains(c.sql, "VIEW") && strings.Contains(c.sql, v)
					require.Equal(t, gone, err != nil, "%s: %s: %v", c.sql, v, err)
				}
			}
			exec(t, s, "ROLLBACK")
			if committed {
				exec(t, s, `DROP SCHEMA aside CASCADE; DROP TABLE t, u CASCADE`)
			}
		}
	}
}

// A detail has a bound.
func TestDropOfWhatManyRead(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a; BEGIN")
	for i := range 102 {
		exec(t, s, fmt.Sprintf("CREATE VIEW v%03d AS SELECT * FROM t", i))
	}
	exec(t, s, "COMMIT")
	var e *engine.Error
	require.ErrorAs(t, failing(s, "DROP TABLE t"), &e)
	lines := strings.Split(e.Detail(), "\n")
	require.Len(t, lines, 101)
	require.Equal(t, []string{"view v099 depends on table t", "and 2 other objects"}, lines[99:])
	exec(t, s, "DROP TABLE t CASCADE")
	require.Empty(t, rows(t, s, "SHOW TABLES"))
}

// K10, from SQL: of a view and a DROP of what it reads, in transactions at the same time, on one node or two, the second to commit fails, and
// can be repeated.
func TestDropBesideCreateView(t *testing.T) {
	t.Parallel()
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		dropBesideCreateView(t, session(t, e), session(t, e))
	})
	t.Run("two nodes", func(t *testing.T) {
		c := newCluster(t, 2)
		dropBesideCreateView(t, c.session(0), c.session(1))
	})
}

func dropBesideCreateView(t *testing.T, first, second *engine.Session) {
	const create, drop = "CREATE VIEW v AS SELECT * FROM t", "DROP TABLE t"
	for _, order := range [][]string{
		{create, drop}, {drop, create}, {create, "ALTER TABLE t RENAME TO s"}, {create, "ALTER TABLE t ADD COLUMN b int"}, {"ALTER TABLE t RENAME COLUMN a TO b", create}, {create, "DROP SCHEMA public CASCADE"},
	} {
		exec(t, first, "CREATE TABLE t AS SELECT 1 AS a; BEGIN; "+order[0])
		exec(t, second, "BEGIN; "+order[1])
		exec(t, first, "COMMIT")
		requireState(t, "40001", failing(second, "COMMIT"))
		exec(t, second, "DROP VIEW IF EXISTS v; DROP TABLE IF EXISTS t")
	}
	// What has nothing to do with it goes through.
	exec(t, first, "CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u AS SELECT 1 AS a; BEGIN; CREATE VIEW v AS SELECT * FROM t")
	exec(t, second, "BEGIN; DROP TABLE u")
	exec(t, first, "COMMIT")
	exec(t, second, "COMMIT")
	exec(t, first, "BEGIN; CREATE VIEW w AS SELECT * FROM t")
	exec(t, second, "INSERT INTO t VALUES (2); CREATE VIEW x AS SELECT * FROM t")
	exec(t, first, "COMMIT")
	names := rows(t, first, "SHOW TABLES")
	slices.Sort(names)
	require.Equal(t, []string{"t", "v", "w", "x"}, names)
}

// A session's own temporary views depend on what they read; CASCADE drops them in the same transaction.
func TestDropOfWhatTemporaryViewsRead(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, `CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT a FROM t; CREATE TABLE u AS SELECT 2 AS a;
		CREATE TEMP VIEW "W 1" AS SELECT a, a::text ~ '1' FROM v; CREATE TEMP VIEW x AS SELECT * FROM "W 1"; CREATE TEMP VIEW y AS SELECT a FROM public.u; CREATE TEMP TABLE z AS SELECT a FROM t`)
	for _, block := range []string{"", "BEGIN; CREATE TABLE s AS SELECT 1 AS a;"} {
		exec(t, s, block)
		var refused *engine.Error
		require.ErrorAs(t, failing(s, "DROP VIEW v"), &refused)
		require.Equal(t, "2BP01 cannot drop view v because other objects depend on it", refused.State+" "+refused.Message)
		require.Equal(t, "view \"W 1\" depends on view v\nview x depends on view \"W 1\"", refused.Detail())
		if block != "" {
			exec(t, s, "ROLLBACK")
		}
	}
	requireState(t, "2BP01", failing(s, "DROP TABLE u"))
	exec(t, s, "BEGIN; DROP TABLE t CASCADE")
	requireState(t, "42P01", failing(s, "TABLE x"))
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"1|true"}, rows(t, s, "TABLE x"))
	exec(t, s, "DROP TABLE t CASCADE")
	requireState(t, "42P01", failing(s, "TABLE x"))
	require.Equal(t, []string{"2"}, rows(t, s, "TABLE y"))
	exec(t, other, "DROP TABLE u") // objects of another session do not count
	require.Error(t, failing(s, "TABLE y"))
	exec(t, s, "CREATE TABLE u AS SELECT 3 AS a")
	require.Equal(t, []string{"3"}, rows(t, s, "TABLE y"))
	exec(t, s, "DROP VIEW y; DROP TABLE u")
}
