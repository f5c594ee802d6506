package grammar_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/grammar"
)

// GR2.
func TestOptionsOfAStatement(t *testing.T) {
	used, nodes, err := grammar.Of("SELECT a FROM t ORDER BY a FOR UPDATE SKIP LOCKED")
	require.NoError(t, err)
	require.Equal(t, []string{"SelectStmt"}, nodes)
	for _, o := range []grammar.Option{"SelectStmt.locking_clause", "LockingClause", "LockingClause.wait_policy=LockWaitSkip", "RangeVar.relpersistence=p"} {
		require.True(t, used[o], o)
	}
	for sql, want := range map[string]grammar.Option{
		"VACUUM FULL t":                           "VacuumStmt.options: full",
		"CREATE TEMP TABLE t (a int NOT NULL)":    "TEMP Constraint.contype=CONSTR_NOTNULL",
		"CREATE TEMP TABLE t AS SELECT 1 LIMIT 1": "SelectStmt.limit_count",
		"SELECT sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES)": "WindowDef.frame_options=EXCLUDE_TIES",
	} {
		used, _, err := grammar.Of(sql)
		require.NoError(t, err)
		require.True(t, used[want], "%s: %v", sql, used)
	}
	_, _, err = grammar.Of("FROM t")
	require.Error(t, err)
}

// GR1: the walk has what no list names.
func TestWalk(t *testing.T) {
	all := grammar.Walk()
	require.Greater(t, len(all), 1000)
	for _, o := range []grammar.Option{
		"SelectStmt.group_distinct", "JoinExpr.jointype=JOIN_FULL", "TEMP Constraint.deferrable", "FetchStmt.direction=FETCH_RELATIVE", "BooleanTest",
	} {
		require.Contains(t, all, o)
	}
	require.False(t, slices.ContainsFunc(all, func(o grammar.Option) bool { return o.Node() == "Aggref" }), "what analysis makes")
	require.NotContains(t, all, grammar.Option("SelectStmt.location"))
}

func TestLeave(t *testing.T) {
	shorter, err := grammar.Leave("SELECT a FROM x FULL JOIN y USING (a) LIMIT 1", 8)
	require.NoError(t, err)
	found := map[grammar.Option]string{}
	for _, s := range shorter {
		for _, o := range s.Without {
			found[o] = s.SQL
		}
	}
	require.Equal(t, "SELECT a FROM x FULL JOIN y USING (a) ", found["SelectStmt.limit_count"])
	require.Equal(t, "SELECT a FROM x  JOIN y USING (a) LIMIT 1", found["JoinExpr.jointype=JOIN_FULL"], "another value of the field")
	require.NotContains(t, found, grammar.Option("SelectStmt"))
}
