package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/sql/optimization"
)

// disabledIn returns what SHOW says.
func disabledIn(t *testing.T, s *engine.Session) string {
	return rows(t, s, "SHOW csm.disable")[0]
}

func TestDisableIsASetting(t *testing.T) {
	e := open(t, func(c *engine.Config) { c.Disable = "Keys,enum" })
	s := session(t, e)
	require.Equal(t, "keys, enum", disabledIn(t, s), "the node's")
	require.Contains(t, strings.Join(rows(t, s, "EXPLAIN SELECT 1"), "\n"), "Not used: keys, enum", "and is done")
	exec(t, s, "SET csm.disable = 'joinorder, pruning'")
	require.Equal(t, "pruning, joinorder", disabledIn(t, s))
	require.Equal(t, "keys, enum", disabledIn(t, session(t, e)))
	exec(t, s, "BEGIN; SET LOCAL csm.disable = ''")
	require.Empty(t, disabledIn(t, s))
	exec(t, s, "COMMIT")
	require.Equal(t, "pruning, joinorder", disabledIn(t, s))
	exec(t, s, "SET csm.disable = all")
	require.Equal(t, optimization.All.String(), disabledIn(t, s))
	exec(t, s, "RESET csm.disable")
	require.Equal(t, "keys, enum", disabledIn(t, s))
	shown := rows(t, s, "SELECT setting, short_desc FROM pg_settings WHERE name = 'csm.disable'")
	require.Equal(t, []string{"keys, enum|" + optimization.Description()}, shown)

	_, err := s.Exec(context.Background(), "SET csm.disable = 'enum, enmu'")
	require.Equal(t, "22023", sqlState(err))
	require.ErrorContains(t, err, `invalid value for parameter "csm.disable": "enmu"`)
	var failed interface{ Hint() string }
	require.ErrorAs(t, err, &failed)
	require.Contains(t, failed.Hint(), optimization.Names())
	require.Equal(t, "keys, enum", disabledIn(t, s))
	_, err = engine.Open(context.Background(), engine.Config{Disable: "nothing"})
	require.Equal(t, "22023", sqlState(err))
}

// O2, on one node: what EXPLAIN shows of each optimization, with it and without.
func TestDisabledOptimizationsAreNotUsed(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a BIGINT, b BIGINT, w VARCHAR)")
	for _, first := range []string{"0", "2000", "4000"} {
		exec(t, s, "INSERT INTO t SELECT i + "+first+", i % 100, 'w' || (i % 5) FROM range(2000) r(i)")
	}
	exec(t, s, "CREATE TABLE u AS SELECT i AS k, i % 10 AS g FROM range(100) r(i)")
	for _, c := range []struct {
		name, sql, with, without string
	}{
		{"pruning", "SELECT sum(b + 0) FROM t WHERE a < 100", `Scan public\.t: 1 of 3 chunks`, `Scan public\.t: 3 of 3 chunks`},
		{"filters", "SELECT sum(b + 0) FROM t WHERE a < 100", `CSM_SCAN(?s:[^└]*)│ +101 rows`, `CSM_SCAN(?s:[^└]*)│ +2,000 rows`},
		{"keys", "SELECT sum(a) FROM t, u WHERE b = k AND g = 3", `Scan public\.t.*thinned out by b in 10 keys`, `Scan public\.t: 3 of 3 chunks\n`},
		{"groups", "SELECT count(*) FROM u WHERE k IN (SELECT a FROM t GROUP BY a HAVING sum(b) > 97)", `Scan public\.t: 3 of 3 chunks, thinned out by a in 120 keys`, `Scan public\.t: 3 of 3 chunks\n`},
		{"enum", "SELECT w, count(*) FROM t GROUP BY w", `as ENUM: w`, `Scan public\.t: 3 of 3 chunks\n`},
		{"joinorder", "SELECT sum(b + 0) FROM t WHERE a < 100", `~500 rows`, `~6,000 rows`},
		{"sharedscans", "SELECT count(*) FROM t x, t y WHERE x.a = y.a", `^Backend: DuckDB\nScan[^\n]*\n[^S]`, `Scan[^\n]*\nScan`},
		{"compute", "SELECT a FROM t LIMIT 3", `^Backend: Arrow kernels`, `^Backend: DuckDB`},
	} {
		t.Run(c.name, func(t *testing.T) {
			verb := "EXPLAIN "
			if c.name == "filters" {
				verb = "EXPLAIN ANALYZE "
			}
			shown := func() string { return strings.Join(rows(t, s, verb+c.sql), "\n") }
			exec(t, s, "RESET csm.disable")
			with := shown()
			require.Regexp(t, c.with, with)
			require.NotContains(t, with, "Not used")
			answer := sorted(rows(t, s, c.sql))
			exec(t, s, "SET csm.disable = '"+c.name+"'")
			without := shown()
			require.Regexp(t, c.without, without)
			require.NotRegexp(t, c.with, without)
			require.Contains(t, without, "\nNot used: "+c.name+" (csm.disable)\n")
			require.Equal(t, answer, sorted(rows(t, s, c.sql)))
		})
	}
}

// The setting belongs to what a plan is kept for, and to what a statement was prepared for.
func TestDisableIsPartOfAPlan(t *testing.T) {
	ctx := context.Background()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, i % 7 AS b FROM range(1000) r(i)")
	const sql = "SELECT count(*) FROM t WHERE a < 700"
	prepare := func() *engine.Statement {
		st, err := s.Prepare(ctx, sql)
		require.NoError(t, err)
		return st
	}
	plan := func() any {
		st := prepare()
		defer st.Close()
		return engine.PlanOf(st)
	}
	first := plan()
	require.Same(t, first, plan())
	exec(t, s, "SET csm.disable = 'keptplans'")
	replanned := plan()
	require.NotSame(t, replanned, plan())
	exec(t, s, "RESET csm.disable")

	st := prepare()
	defer st.Close()
	before := engine.PlanOf(st)
	exec(t, s, "SET csm.disable = 'pruning'")
	_, err := st.Exec(ctx)
	require.NoError(t, err)
	require.NotSame(t, before, engine.PlanOf(st))
	after := engine.PlanOf(st)
	_, err = st.Exec(ctx)
	require.NoError(t, err)
	require.Same(t, after, engine.PlanOf(st))
}

// In a session that disables kept plans, no plan of a split statement is used for the next statement or the next run:
// not by the nodes that run its parts, and not the plan over their results.
func TestSplitQueriesAreReplanned(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newCluster(t, 2)
	s := c.session(0)
	shuffling(t, s)
	exec(t, s, "CREATE TABLE t WITH (placement = 'hash(a)') AS SELECT i AS a FROM range(6000) r(i)")
	kept := func(text string) (final bool, fragments int) {
		before := c.nodes[0].FragmentPlans() + c.nodes[1].FragmentPlans()
		st, err := s.Prepare(ctx, text)
		require.NoError(t, err)
		defer st.Close()
		for range 2 {
			_, err = st.Exec(ctx)
			require.NoError(t, err)
		}
		return engine.FinalOf(st) != nil, c.nodes[0].FragmentPlans() + c.nodes[1].FragmentPlans() - before
	}
	final, fragments := kept("SELECT sum(a) FROM t")
	require.True(t, final)
	require.Equal(t, 2, fragments)
	for i, set := range []string{"csm.disable = 'keptplans'", "plan_cache_mode = force_custom_plan"} {
		exec(t, s, "SET "+set)
		final, fragments = kept(fmt.Sprintf("SELECT sum(a) FROM t WHERE a > %d", i))
		require.False(t, final, set)
		require.Zero(t, fragments, set)
		exec(t, s, "RESET csm.disable; RESET plan_cache_mode")
	}
}

// What CREATE TABLE AS asks without showing text as ENUM is asked that one time: what the session asks next has it again.
func TestTextIsShownAsENUMAfterCreateTableAs(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT 'w' || (i % 5) AS w FROM range(2000) r(i)")
	const sql = "SELECT w, count(*) FROM t GROUP BY w"
	shown := func() string { return strings.Join(rows(t, s, "EXPLAIN "+sql), "\n") }
	require.Contains(t, shown(), "as ENUM: w")
	exec(t, s, "CREATE TABLE kept AS "+sql)
	require.Contains(t, shown(), "as ENUM: w")
	_, err := s.Exec(t.Context(), "CREATE TABLE refused AS SELECT max(w), 'a'::ENUM ('b', 'a') AS c FROM t GROUP BY w")
	require.Equal(t, "0A000", sqlState(err))
	require.Contains(t, shown(), "as ENUM: w")
	exec(t, s, "CREATE TABLE bits AS SELECT max(w), '101'::BIT AS c FROM t GROUP BY w")
	require.Contains(t, shown(), "as ENUM: w")
}

// O2, on three nodes, and that fragments on other nodes do without, too.
func TestDisabledOptimizationsOfSplitQueries(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	shuffling(t, s)
	exec(t, s, "CREATE TABLE a WITH (placement = 'hash(k)') AS SELECT i AS k, i AS n FROM range(6000) r(i)")
	exec(t, s, "CREATE TABLE b WITH (placement = 'hash(k)') AS SELECT i AS k, i % 10 AS m FROM range(3000) r(i)")
	exec(t, s, "CREATE TABLE x WITH (placement = 'rows') AS SELECT i AS k, i % 3 AS m FROM range(6000) r(i)")
	exec(t, s, "CREATE TABLE y WITH (placement = 'rows') AS SELECT i AS k, i % 3000 AS m FROM range(3000) r(i)")
	for _, c := range []struct {
		name, sql, with, without string
	}{
		{"distribution", "SELECT sum(n) FROM a", `distributed: 1 stage`, `Single node: csm.disable has distribution`},
		{"colocation", "SELECT sum(n) FROM a JOIN b ON a.k = b.k WHERE b.m < 9", `reads a [^\n]*part\n  reads b [^\n]*part`, `written in 3 partitions`},
		{"shuffle", "SELECT k, median(m) FROM x GROUP BY k", `written in 3 partitions`, `distributed: 1 stage`},
		{"keys", "SELECT sum(x.m) FROM x JOIN y ON x.k = y.k WHERE y.m < 30", `"k" IN \(SELECT`, `written in 3 partitions`},
		{"pruning", "SELECT sum(m) FROM x WHERE k < 10", `0 of 1 chunk of x`, `distributed: 1 stage`},
	} {
		t.Run(c.name, func(t *testing.T) {
			exec(t, s, "RESET csm.disable")
			require.Regexp(t, c.with, explain(t, s, c.sql))
			answer := alone(t, s, c.sql)
			require.Equal(t, answer, sorted(rows(t, s, c.sql)))
			exec(t, s, "SET csm.disable = '"+c.name+"'")
			without := explain(t, s, c.sql)
			require.Regexp(t, c.without, without)
			require.NotRegexp(t, c.with, without)
			require.Contains(t, without, "Not used: "+c.name)
			require.Equal(t, answer, sorted(rows(t, s, c.sql)))
			ran := strings.Join(rows(t, s, "EXPLAIN ANALYZE "+c.sql), "\n")
			require.NotRegexp(t, c.with, ran)
			if c.name == "pruning" {
				require.Len(t, regexp.MustCompile(`1 of 1 chunk of x`).FindAllString(ran, -1), 3, ran)
			}
		})
	}
}
