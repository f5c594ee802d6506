package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// A plan belongs to what its names meant: it stays whatever others do to other tables, and goes when a name means something
// else, or another version.
func TestPlansBelongToTheirTables(t *testing.T) {
	e := open(t)
	other := session(t, e)
	exec(t, other, "CREATE TABLE t AS SELECT i AS a FROM range(1000) r(i)")
	exec(t, other, "CREATE TABLE u (a bigint); CREATE VIEW v AS SELECT 1 AS a; CREATE SCHEMA early")
	exec(t, other, "CREATE TABLE late AS SELECT 1::bigint AS a")
	for _, c := range []struct {
		name, sql, change, after string
		stays                    bool
	}{
		{name: "rows of another table", sql: "FROM t", change: "INSERT INTO u VALUES (1)", stays: true},
		{name: "another table, made and dropped", sql: "FROM t", change: "CREATE TABLE w (a int); DROP TABLE w", stays: true},
		{name: "a view of other names", sql: "FROM t", change: "CREATE VIEW w AS SELECT a FROM t", after: "DROP VIEW w", stays: true},
		{name: "a schema that is not looked into", sql: "FROM t", change: "CREATE SCHEMA unseen", after: "DROP SCHEMA unseen", stays: true},
		{name: "a name with its schema", sql: "FROM public.t", change: "CREATE TABLE early.t (a bigint)", after: "DROP TABLE early.t", stays: true},
		{name: "its own rows", sql: "FROM t", change: "INSERT INTO t VALUES (1)"},
		{name: "rows that go", sql: "FROM t", change: "DELETE FROM t WHERE a = 3"},
		{name: "one of two tables", sql: "FROM t, u WHERE t.a = u.a", change: "INSERT INTO u VALUES (2)"},
		{name: "another table of the name", sql: "FROM late", change: "DROP TABLE late; CREATE TABLE late AS SELECT 1::bigint AS a"},
		{name: "a view of the name", sql: "FROM late", change: "DROP TABLE late; CREATE VIEW late AS SELECT 1::bigint AS a",
			after: "DROP VIEW late; CREATE TABLE late (a bigint)"},
		{name: "another name", sql: "FROM late",
			change: "ALTER TABLE t RENAME TO was; ALTER TABLE late RENAME TO t; ALTER TABLE was RENAME TO late"},
		{name: "a table in an earlier schema", sql: "FROM t", change: "CREATE TABLE early.t (a bigint)", after: "DROP TABLE early.t"},
		{name: "a view in an earlier schema", sql: "FROM t", change: "CREATE VIEW early.t AS SELECT 1::bigint AS a", after: "DROP VIEW early.t"},
		{name: "a schema that was not there", sql: "FROM t", change: "CREATE SCHEMA nowhere; CREATE TABLE nowhere.t (a bigint)",
			after: "DROP SCHEMA nowhere CASCADE"},
		{name: "a name in other letters", sql: `FROM "T"`, change: "INSERT INTO t VALUES (1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := session(t, e)
			exec(t, s, "SET search_path = nowhere, early, public")
			sql := "SELECT count(*), max(u.a) " + c.sql
			if !strings.Contains(c.sql, ", u ") {
				sql = "SELECT count(*), max(a) " + c.sql
			}
			prepared, err := s.Prepare(t.Context(), sql+" ")
			require.NoError(t, err)
			defer prepared.Close()
			inUse := engine.PlanOf(prepared)
			rows(t, s, sql)
			before, err := s.Prepare(t.Context(), sql)
			require.NoError(t, err)
			kept := engine.PlanOf(before)
			require.NoError(t, before.Close())

			exec(t, other, c.change)
			got := rows(t, s, sql)
			require.Equal(t, rows(t, s, sql+" -- replanned"), got)
			after, err := s.Prepare(t.Context(), sql)
			require.NoError(t, err)
			defer after.Close()
			opened, err := prepared.Execute(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, opened.Close())
			require.Equal(t, c.stays, kept == engine.PlanOf(after), "the kept plan")
			require.Equal(t, c.stays, inUse == engine.PlanOf(prepared), "the plan of a statement that stays")
			if c.after != "" {
				exec(t, other, c.after)
			}
		})
	}
}

// A session that runs a plan that stands, or plans a statement for which DuckDB looks up no names, does not wait until
// DuckDB's names follow what others have committed.
func TestPlansThatStandNeedNoNames(t *testing.T) {
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, other, "CREATE TABLE t AS SELECT i AS a FROM range(1000) r(i); CREATE TABLE u (a bigint)")
	const sql = "SELECT count(*), coalesce(max(a), 0) FROM t"
	prepared, err := s.Prepare(t.Context(), sql+" ")
	require.NoError(t, err)
	defer prepared.Close()
	want := rows(t, s, sql)

	exec(t, other, "BEGIN; INSERT INTO u VALUES (1)")
	before := engine.NamesReached(e)
	exec(t, other, "COMMIT")
	require.Equal(t, before, engine.NamesReached(e))
	opened, err := prepared.Execute(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, opened.Close())
	require.Equal(t, want, rows(t, s, sql))
	require.Equal(t, before, engine.NamesReached(e))
	require.Equal(t, want, rows(t, s, sql+" -- replanned"))
	require.Equal(t, before, engine.NamesReached(e), "its tables are spliced in")
	require.Equal(t, want, rows(t, s, sql+", range(1)"))
	require.Greater(t, engine.NamesReached(e), before)
}

// A text that was asked before has the plan that it had, and the answer that it has now.
func TestPlansAreKept(t *testing.T) {
	ctx := context.Background()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, i % 7 AS b FROM range(1000) r(i)")
	exec(t, s, "CREATE TABLE u AS SELECT i AS k, 'w' || i AS w FROM range(7) r(i)")
	plan := func(sql string) any {
		st, err := s.Prepare(ctx, sql)
		require.NoError(t, err, sql)
		defer st.Close()
		return engine.PlanOf(st)
	}
	const sql = "WITH x AS (SELECT a, b FROM t WHERE a < 700) SELECT count(*), max(w) FROM x, u WHERE b = k AND w IN ('w1', 'w2')"
	first := plan(sql)
	require.Same(t, first, plan(sql))
	require.Equal(t, []string{"200|w2"}, rows(t, s, sql))
	require.Same(t, first, plan(sql))
	require.NotSame(t, first, plan(sql+" "), "another text")
	st, err := s.Prepare(ctx, sql)
	require.NoError(t, err)
	require.Same(t, first, engine.PlanOf(st))
	require.NotSame(t, first, plan(sql), "it is another statement's meanwhile")
	require.NoError(t, st.Close())

	exec(t, s, "SET plan_cache_mode = force_custom_plan")
	replanned := plan(sql)
	require.NotSame(t, replanned, plan(sql))
	_, err = s.Exec(ctx, "SET plan_cache_mode = never")
	require.Equal(t, "22023", sqlState(err))
	exec(t, s, "RESET plan_cache_mode")
	first = plan(sql)
	require.Same(t, first, plan(sql))

	exec(t, session(t, e), "INSERT INTO t VALUES (1, 1)") // a plan is that of a version of the catalog
	require.Equal(t, []string{"201|w2"}, rows(t, s, sql))
	exec(t, s, "CREATE TEMP TABLE t AS SELECT 5 AS a, 2 AS b")
	require.Equal(t, []string{"1|w2"}, rows(t, s, sql))
	exec(t, s, "DROP TABLE temp.t; CREATE SCHEMA other; CREATE TABLE other.t AS SELECT 6 AS a, 1 AS b")
	require.Equal(t, []string{"201|w2"}, rows(t, s, sql))
	exec(t, s, "SET search_path = other, public")
	require.Equal(t, []string{"1|w1"}, rows(t, s, sql))
	exec(t, s, "BEGIN; INSERT INTO other.t VALUES (7, 2)")
	require.Equal(t, []string{"2|w2"}, rows(t, s, sql))
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"1|w1"}, rows(t, s, sql))
}

// In a transaction block, too, a plan belongs to what its names mean: the block's own changes of other tables leave it,
// those of its tables do not, nor does their end.
func TestPlansStandBesideOwnChanges(t *testing.T) {
	ctx := context.Background()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a FROM range(10) r(i); CREATE TABLE u (a bigint)")
	exec(t, s, "CREATE TABLE w (a bigint, b timestamptz)")
	queries := map[string]*engine.Statement{}
	plan := func(sql, want string) any {
		st := queries[sql]
		if st == nil {
			var err error
			st, err = s.Prepare(ctx, sql)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, st.Close()) })
			queries[sql] = st
		}
		reader, err := st.Query(ctx)
		require.NoError(t, err, sql)
		lines, err := linesOf(reader)
		require.NoError(t, err)
		require.Equal(t, []string{want}, lines, sql)
		return engine.PlanOf(st)
	}
	kernels, duck := "SELECT a FROM t WHERE a = 3", "SELECT sum(x.a) FROM t x, t y WHERE x.a = y.a"
	for _, sql := range []string{kernels, duck} {
		value := map[string][3]string{kernels: {"3", "3", "3"}, duck: {"45", "145", "145"}}[sql]
		first := plan(sql, value[0])
		exec(t, s, "BEGIN; INSERT INTO u VALUES (1)")
		require.Same(t, first, plan(sql, value[0]))
		exec(t, s, "SAVEPOINT before; INSERT INTO t VALUES (100)")
		own := plan(sql, value[1])
		require.NotSame(t, first, own)
		exec(t, s, "INSERT INTO u VALUES (2)")
		require.Same(t, own, plan(sql, value[1]))
		exec(t, s, "DELETE FROM t WHERE a = 100")
		require.NotSame(t, own, plan(sql, value[0]))
		exec(t, s, "ROLLBACK TO before")
		plan(sql, value[0])
		exec(t, s, "INSERT INTO t VALUES (100)")
		require.NotSame(t, own, plan(sql, value[1]), "another hundred")
		exec(t, s, "ROLLBACK")
		plan(sql, value[0])
	}
	insert, err := s.Prepare(ctx, "INSERT INTO w VALUES (1, now())")
	require.NoError(t, err)
	defer insert.Close()
	run := func() any {
		_, err := insert.Exec(ctx)
		require.NoError(t, err)
		return engine.PlanOf(insert)
	}
	source := run()
	exec(t, s, "BEGIN; INSERT INTO u VALUES (1)")
	require.Same(t, source, run())
	require.Same(t, source, run(), "its own table is not what it reads")
	exec(t, s, "COMMIT")
	times := rows(t, s, "SELECT count(*), count(DISTINCT b) FROM w")
	require.Equal(t, []string{"3|2"}, times, "each transaction has its time")
}

// A plan that stands for what its names mean gives what is now, each time it is run.
func TestPlansThatStandTellTheTime(t *testing.T) {
	ctx := context.Background()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u (a int)")
	for _, value := range []string{"now()", "current_timestamp", "current_time", "transaction_timestamp()", "get_current_timestamp()", "random()", "gen_random_uuid()", "uuid()"} {
		st, err := s.Prepare(ctx, "SELECT "+value+" AS v, sum(a) FROM t")
		if err != nil {
			continue // it has another name in this dialect
		}
		run := func() (string, any) {
			reader, err := st.Query(ctx)
			require.NoError(t, err)
			lines, err := linesOf(reader)
			require.NoError(t, err)
			return lines[0], engine.PlanOf(st)
		}
		before, plan := run()
		exec(t, other, "INSERT INTO u VALUES (1)")
		after, same := run()
		require.Same(t, plan, same, value)
		require.NotEqual(t, before, after, value)
		require.NoError(t, st.Close())
	}
}

// Also one that the Arrow kernels run, of a table or of none; and one of DuckDB's without a table.
func TestSmallPlansAreKept(t *testing.T) {
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a")
	for _, c := range []struct{ sql, before, after string }{
		{"SELECT 5", "5", "5"}, {"SELECT 2 + 3", "5", "5"}, {"SELECT upper('x')", "X", "X"}, {"SELECT a FROM t", "1", "2"},
	} {
		require.Equal(t, []string{c.before}, rows(t, s, c.sql))
		had, _, _ := engine.KeptPlans(s)
		require.Equal(t, []string{c.before}, rows(t, s, c.sql))
		require.Positive(t, had, c.sql)
		kept, _, _ := engine.KeptPlans(s)
		require.Equal(t, had, kept, "it is the same one: %s", c.sql)
		exec(t, other, "UPDATE t SET a = 2")
		require.Equal(t, []string{c.after}, rows(t, s, c.sql))
		exec(t, other, "UPDATE t SET a = 1")
	}
	exec(t, s, "CREATE TEMP TABLE t AS SELECT 7 AS a")
	require.Equal(t, []string{"7"}, rows(t, s, "SELECT a FROM t"))
	exec(t, s, "DROP TABLE temp.t")
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT a FROM t"))
	exec(t, s, "BEGIN; INSERT INTO t VALUES (8)")
	require.Equal(t, []string{"1", "8"}, rows(t, s, "SELECT a FROM t"))
	exec(t, s, "ROLLBACK")
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT a FROM t"))
	exec(t, s, "SET csm.disable = 'compute'")
	require.Equal(t, []string{"5"}, rows(t, s, "SELECT 5"))
}

// DuckDB cannot run an ASOF join of many rows a second time; and would run nothing else any more.
func TestASOFJoinsAreAskedAgain(t *testing.T) {
	ctx := context.Background()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE l AS SELECT i AS k, i % 3 AS g FROM range(1000) x(i)")
	exec(t, s, "CREATE TABLE r AS SELECT i AS k, i % 3 AS g FROM range(1000) x(i)")
	exec(t, s, "CREATE VIEW v AS SELECT l.k FROM l ASOF JOIN r ON l.k >= r.k AND l.g = r.g")
	for _, sql := range []string{"SELECT count(*) FROM l ASOF JOIN r ON l.k >= r.k AND l.g = r.g", "SELECT count(*) FROM v"} {
		for range 3 {
			require.Equal(t, []string{"1000"}, rows(t, s, sql))
		}
		st, err := s.Prepare(ctx, sql)
		require.NoError(t, err)
		for range 3 {
			_, err := st.Exec(ctx)
			require.NoError(t, err)
		}
		require.NoError(t, st.Close())
	}
}

// What is not certain to be planned alike again is not kept: neither plans nor, with them, what they have found out.
func TestPlansThatAreNotKept(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, DATE '2024-01-01' AS d FROM range(10) r(i); CREATE VIEW v AS SELECT a, random() AS r FROM t")
	for _, sql := range []string{
		"SELECT * FROM range(3)", "SELECT a, i FROM t, range(3) r(i)", "SELECT a FROM v", "SELECT t.a FROM t, v WHERE t.a = v.a",
		"SELECT a, now() FROM t", "SELECT a, current_date FROM t", "SELECT a FROM t WHERE d < 'today'", "SELECT a FROM t WHERE random() < 2",
		"SELECT count(*) FROM t, csm.tables", "SELECT relname FROM pg_class, t", "FROM t SELECT a", "SELECT a / (a - a) FROM t WHERE no = 1",
		"SELECT a FROM (FROM t)", "SELECT CAST('x' || a AS INTEGER) FROM t",
	} {
		for range 2 {
			_, _ = tryRows(s, sql)
		}
		kept, _, _ := engine.KeptPlans(s)
		require.Zero(t, kept, sql)
	}
}

// A plan through a view is one of the tables behind it, and is made again when the view means something else.
func TestPlansThroughViewsAreKept(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, i AS b FROM range(10) r(i); CREATE VIEW v AS SELECT a FROM t WHERE b < 5")
	for range 2 {
		require.Equal(t, []string{"3"}, rows(t, s, "SELECT a FROM v WHERE a = 3"))
	}
	kept, _, _ := engine.KeptPlans(s)
	require.Equal(t, 1, kept)
	exec(t, session(t, e), "CREATE OR REPLACE VIEW v AS SELECT a FROM t WHERE b < 2")
	require.Empty(t, rows(t, s, "SELECT a FROM v WHERE a = 3"))
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT a FROM v WHERE a = 1"))
}

// Kept plans have bounds, and are released when their session is closed.
func TestKeptPlansHaveBounds(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, i AS b FROM range(1000) r(i); CREATE TABLE u AS SELECT i AS k, 'w' || i AS w FROM range(1000) r(i)")
	for i := range 70 {
		require.Equal(t, []string{"1"}, rows(t, s, fmt.Sprintf("SELECT count(*) FROM t, u WHERE a = k AND w = 'w%d'", i)))
	}
	kept, all, bytes := engine.KeptPlans(s)
	require.Equal(t, 64, kept)
	require.Equal(t, 64, all)
	require.Positive(t, bytes)
	other := session(t, e)
	rows(t, other, "SELECT count(*) FROM t WHERE a < "+strings.Repeat("1", 3))
	_, all, _ = engine.KeptPlans(s)
	require.Equal(t, 65, all)
	require.NoError(t, other.Close())
	exec(t, s, "SET extra_float_digits = 2")
	kept, all, bytes = engine.KeptPlans(s)
	require.Zero(t, kept)
	require.Zero(t, all)
	require.Zero(t, bytes)
}
