package duckdb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// DuckDB must take a scan's number of rows for an estimate and never for a promise, whatever the flag of its C API is
// called: from a promised maximum it concludes that a sum cannot overflow. DuckDB 1.5.5 reads the flag the wrong way
// round (duckdb#22077). When this turns red after an upgrade, the new DuckDB reads it the right way: turn
// cardinalityIsEstimate round.
func TestAnEstimateIsNoPromise(t *testing.T) {
	_, c := open(t)
	require.True(t, checkless(t, c, "SELECT sum(1::BIGINT) FROM range(2000)"), "DuckDB concludes nothing from a maximum")
	schema, batch := numbers(t, 2000)
	for _, estimate := range []int64{-1, 0, 1, 10, 2000, 1_000_000_000} {
		scan := scanOf(schema, batch)
		scan.Estimate = estimate
		number := c.Register(scan)
		from := fmt.Sprintf(" FROM csm_scan(%d)", number)
		require.False(t, checkless(t, c, "SELECT sum(1::BIGINT)"+from), "with an estimate of %d", estimate)
		sum := ask(t, c, "SELECT sum(5000000000000000::BIGINT)"+from)
		require.Equal(t, []string{"10000000000000000000"}, sum, "with an estimate of %d", estimate)
		c.Forget(number)
	}
}

// checkless reports whether DuckDB plans a query with a sum that does not look for overflows.
func checkless(t *testing.T, c *duckdb.Connection, sql string) bool {
	return strings.Contains(strings.Join(ask(t, c, "EXPLAIN "+sql), "\n"), "sum_no_overflow")
}
