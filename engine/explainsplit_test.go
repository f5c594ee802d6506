package engine_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What EXPLAIN foresees and EXPLAIN ANALYZE measures: which chunks, how many bytes of the columns, on this node and on others. csm.queries
// counts the same bytes.
func TestExplainOfSplitQueries(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "CREATE TABLE t (k BIGINT, v INTEGER, w VARCHAR)")
	for i := range 3 { // 8 and 4 bytes and some more each, without NULL
		exec(t, c.session(i), "INSERT INTO t SELECT i, i % 100, 'word ' || i FROM range("+strconv.Itoa(i*1000)+", "+strconv.Itoa(i*1000+1000)+") r(i)")
	}
	exec(t, s, "CREATE TABLE u WITH (placement = 'node(n2)') AS SELECT i AS k, i AS x FROM range(500) r(i)")
	exec(t, s, "SET csm.distribute = 'always'")
	plan := func(sql string) []string { return rows(t, s, sql) }
	line := func(lines []string, begin string) string {
		for _, l := range lines {
			if strings.HasPrefix(strings.TrimSpace(l), begin) {
				return strings.TrimSpace(l)
			}
		}
		return "no " + begin + " in " + strings.Join(lines, "\n")
	}
	foreseen := plan("EXPLAIN SELECT sum(v) FROM t WHERE k < 1500")
	require.Equal(t, "on n0: 1 of 1 chunk of t; 1000 rows, 12000 bytes local; 0 rows, 0 bytes remote", line(foreseen, "on n0"))
	require.Equal(t, "on n2: 0 of 1 chunk of t; 0 rows, 0 bytes local; 0 rows, 0 bytes remote", line(foreseen, "on n2"))
	measured := plan("EXPLAIN ANALYZE SELECT sum(v) FROM t WHERE k < 1500")
	require.Regexp(t, `^on n0: 1 of 1 chunk of t; 1 row in \d+\.\d ms; 12000 bytes local, 0 bytes remote$`, line(measured, "on n0"))
	require.Regexp(t, `^on n2: 0 of 1 chunk of t; 1 row in \d+\.\d ms; 0 bytes local, 0 bytes remote$`, line(measured, "on n2"))
	require.Regexp(t, `^final: on n0: 1 row, \d+\.\d ms since the beginning; 0 bytes local, 0 bytes remote; of results [1-9]\d* bytes local, [1-9]\d* bytes remote$`, line(measured, "final"))

	join := "SELECT sum(x) FROM t JOIN u ON t.k = u.k"
	measured = plan("EXPLAIN ANALYZE " + join)
	require.Regexp(t, `^on n1: 1 of 1 chunk of t, 1 of 1 chunk of u; 1 row in \d+\.\d ms; 8000 bytes local, 8000 bytes remote`, line(measured, "on n1"))
	plan(join)
	require.Equal(t, []string{"3|32000|16000"}, plan("SELECT fragments, bytes_local, bytes_remote FROM csm.queries WHERE query = '"+join+"'"))
	exec(t, s, "SET csm.distribute = 'off'")
	plan(join)
	require.Equal(t, []string{"0|8000|24000"}, plan("SELECT fragments, bytes_local, bytes_remote FROM csm.queries WHERE query = '"+join+"' ORDER BY started DESC LIMIT 1"))
	plan("SELECT count(*) FROM t")
	require.Equal(t, []string{"0|0"}, plan("SELECT bytes_local, bytes_remote FROM csm.queries WHERE query = 'SELECT count(*) FROM t'"), "no column is read")

	// Of what a fragment reads whole it reads what belongs to its part of the other table.
	exec(t, s, "CREATE TABLE big AS SELECT i % 6000 AS k, i AS x FROM range(12000) r(i)")
	exec(t, s, "SET csm.distribute = 'always'")
	left := "SELECT count(*), sum(x) FROM t LEFT JOIN big ON t.k = big.k"
	measured = plan("EXPLAIN ANALYZE " + left)
	for _, node := range []string{"n0", "n1", "n2"} {
		require.Regexp(t, "^on "+node+": 1 of 1 chunk of t, 1 of 1 chunk of big thinned out by k in 1000 keys; 1 row in ", line(measured, "on "+node))
	}
	require.Equal(t, []string{"6000|26997000"}, plan(left))

	// A node that does not answer: another one runs its part.
	exec(t, s, "SET csm.distribute = 'always'")
	c.stops[1]()
	measured = plan("EXPLAIN ANALYZE SELECT sum(v) FROM t")
	require.Regexp(t, `^on n1: 2 attempts, run on n0; 1 of 1 chunk of t; 1 row in \d+\.\d ms; 0 bytes local, 4000 bytes remote$`, line(measured, "on n1"))
}
