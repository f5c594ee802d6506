package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTransfer: keys of rows that fit a pattern thin out what is joined with them by way of another table, and a table that came first is
// thinned out by a larger one of which little is left.
func TestTransfer(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE part AS SELECT i AS k, 'a ' || CASE WHEN i % 20 = 0 THEN 'green' ELSE 'red' END || ' part ' || i AS name FROM range(2000) r(i)")
	exec(t, s, "CREATE TABLE supply AS SELECT i % 2000 AS k, i AS cost FROM range(8000) r(i)")
	exec(t, s, "CREATE TABLE line AS SELECT i // 4 AS o, i * 7 % 2000 AS k FROM range(60000) r(i)")
	exec(t, s, "CREATE TABLE orders AS SELECT i AS o FROM range(15000) r(i)")
	const sql = "SELECT count(*), sum(cost) FROM part, supply, line, orders WHERE supply.k = line.k AND line.k = part.k AND line.o = orders.o AND name LIKE '%gre%n%'"
	count, sum := 0, 0
	for i := range 60000 {
		if k := i * 7 % 2000; k%20 == 0 {
			for cost := k; cost < 8000; cost += 2000 {
				count, sum = count+1, sum+cost
			}
		}
	}
	for range 2 { // planned, and as it was planned
		require.Equal(t, []string{fmt.Sprintf("%d|%d", count, sum)}, rows(t, s, sql))
	}
	require.Subset(t, rows(t, s, "EXPLAIN "+sql), []string{
		"Scan public.part: 1 of 1 chunk, pruned by name LIKE '%gre%n%'",
		"Scan public.supply: 1 of 1 chunk, thinned out by k in 100 keys",
		"Scan public.line: 1 of 1 chunk, thinned out by k in 100 keys",
		"Scan public.orders: 1 of 1 chunk, thinned out by o in 3000 keys",
	})
}

// TestTransferOfPatterns: what a pattern was found to fit is found by its keys the next time: no row without a key is lost, none with the key
// of another one comes in.
func TestTransferOfPatterns(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE line AS SELECT i AS l, i % 3000 AS k FROM range(30000) r(i)")
	for name, key := range map[string]string{"keys": "i", "some without": "CASE WHEN i % 40 <> 0 THEN i END", "twice": "i // 2"} {
		exec(t, s, "CREATE OR REPLACE TABLE part AS SELECT "+key+" AS k, 'a ' || CASE WHEN i % 20 = 0 THEN 'green' ELSE 'red' END || ' part ' || i AS name FROM range(2000) r(i)")
		for _, sql := range []string{
			"SELECT count(*), count(l), sum(l), min(name) FROM part LEFT JOIN line ON line.k = part.k WHERE name LIKE '%gre%n%'",
			"SELECT count(*), sum(l), min(name), max(name) FROM part, line WHERE line.k = part.k AND name LIKE '%gre%n%' AND name NOT LIKE '%00'",
			"SELECT count(*) FROM line WHERE k IN (SELECT k FROM part WHERE name LIKE '%gre%n%')",
		} {
			exec(t, s, "CREATE OR REPLACE TEMP TABLE own AS FROM part; CREATE OR REPLACE TEMP TABLE mine AS FROM line")
			want := rows(t, s, strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(sql, "part", "own"), "line", "mine"), "own LIKE", "part LIKE"))
			for range 3 {
				require.Equal(t, want, rows(t, s, sql), "%s: %s", name, sql)
			}
		}
	}
}
