package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// X1: casts between exact numbers have in the kernels the names, types, values and errors that they have in DuckDB, at
// the ends of all types, too.
func TestKernelCastsAgainstDuckDB(t *testing.T) {
	t.Parallel()
	e := open(t)
	kernels, duck := session(t, e), session(t, e)
	exec(t, kernels, "SET csm.backend = 'compute'")
	exec(t, duck, "SET csm.backend = 'duckdb'")
	types := map[string][]string{
		"SMALLINT": {"-32768", "32767", "7"}, "INTEGER": {"-2147483648", "2147483647", "32768"},
		"BIGINT":    {"-9223372036854775808", "9223372036854775807", "2147483648", "100000000000000000"},
		"USMALLINT": {"65535", "0"}, "UINTEGER": {"4294967295"}, "TINYINT": {"-128", "127"},
		"NUMERIC(4,2)": {"99.99", "-99.99", "0.05"}, "NUMERIC(18,0)": {"999999999999999999", "-5"},
		"NUMERIC(18,6)": {"999999999999.999999", "-0.000001"}, "NUMERIC(9,1)": {"99999999.9", "12.5"},
	}
	casts := 0
	for from, values := range types {
		for _, value := range append(values, "") { // "" is NULL
			exec(t, duck, "DROP TABLE IF EXISTS n; CREATE TABLE n AS SELECT "+
				fmt.Sprintf("CAST(nullif('%s', '') AS %s) AS v, CAST('1' AS %[2]s) AS one", value, from))
			for to := range types {
				for _, sql := range []string{"CAST(v AS %s)", "v::%s", "(v - one)::%s", "CAST(CAST(one AS %s) AS BIGINT)"} {
					sql = "SELECT " + fmt.Sprintf(sql, to) + " FROM n"
					got, err := kernels.Query(t.Context(), sql)
					if sqlState(err) == "0A000" {
						continue // it is not for the kernels
					}
					require.NoError(t, err, sql)
					schema := got.Schema()
					lines, err := linesOf(got)
					want, failed := duck.Query(t.Context(), sql)
					var expected []string
					if failed == nil {
						require.Equal(t, want.Schema().String(), schema.String(), sql)
						expected, failed = linesOf(want)
					}
					require.Equal(t, sqlState(failed), sqlState(err), "%s of %s: %v, %v", sql, value, failed, err)
					require.Equal(t, expected, lines, "%s of %s", sql, value)
					casts++
				}
			}
		}
	}
	require.Greater(t, casts, 400)
	t.Log(casts, "casts")
}
