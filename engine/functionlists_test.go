package engine_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/plan"
)

// What the planner assumes of DuckDB's functions and keywords is what DuckDB says of them.
func TestFunctionListsAreDuckDBs(t *testing.T) {
	s := session(t, open(t))
	names := func(condition string) map[string]bool {
		set := map[string]bool{}
		for _, name := range rows(t, s, "SELECT DISTINCT function_name FROM duckdb_functions() WHERE "+condition) {
			set[name] = true
		}
		return set
	}
	pure := names("function_type IN ('scalar', 'macro')")
	changing := names("function_type = 'scalar' AND stability <> 'CONSISTENT'")
	var missing, wrong []string
	for name := range plan.PureFunctions {
		if changing[name] {
			wrong = append(wrong, name)
		}
		if !pure[name] && !spelled[name] && !strings.HasPrefix(name, "csm_") { // ours are not shown
			missing = append(missing, name)
		}
	}
	require.Empty(t, wrong, "they give other results for the same arguments")
	require.Empty(t, missing, "they are no functions")
	aggregates := names("function_type = 'aggregate'")
	maps.DeleteFunc(aggregates, func(name string, _ bool) bool { return onlyOver[name] })
	maps.Copy(aggregates, plan.Words(`percentile_cont percentile_disc`)) // WITHIN GROUP, of the grammar
	require.Equal(t, slices.Sorted(maps.Keys(aggregates)), slices.Sorted(maps.Keys(plan.AggregateFunctions)))
	for _, word := range rows(t, s, "SELECT keyword_name FROM duckdb_keywords()") {
		require.True(t, plan.IsKeyword(word), word)
	}
	for _, word := range []string{"t", "square", "median"} {
		require.False(t, plan.IsKeyword(word), word)
	}
}

// spelled are what PostgreSQL's parser makes of TRIM, EXTRACT, OVERLAY and SIMILAR TO.
var spelled = plan.Words(`btrim extract overlay similar_to_escape`)

// onlyOver are those that DuckDB counts among the aggregates and that need OVER.
var onlyOver = plan.Words(`cume_dist dense_rank fill lag lead ntile percent_rank rank rank_dense row_number`)
