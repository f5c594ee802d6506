package duckdb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// A join's keys do not filter what LIMIT counts. When DuckDB does it right by itself, Options.JoinFilters can go.
func TestJoinFiltersStayAboveLimit(t *testing.T) {
	for filters, right := range map[bool]bool{false: true, true: false} {
		c := openWith(t, duckdb.Options{Threads: 2, JoinFilters: filters})
		for _, sql := range []string{"CREATE TEMP TABLE big AS SELECT range AS a FROM range(100000)", "CREATE TEMP TABLE small AS SELECT unnest([99999, 99998, 5]) AS a"} {
			require.NoError(t, c.Exec(sql))
		}
		always := true
		for tries := 0; tries < 20 || tries < 200 && always != right; tries++ { // it is chance when the filter comes
			always = always && ask(t, c, "SELECT count(*) FROM small JOIN (SELECT a FROM big ORDER BY a LIMIT 1000 OFFSET 1) x ON small.a = x.a")[0] == "1"
		}
		require.Equal(t, right, always, "with join filters: %v", filters)
	}
}
