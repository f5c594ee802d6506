package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A table that lies sorted by the key of its groups but for a few rows, which were appended since, is still looked
// through for the groups that matter; those that are above the bound only with rows of both are found, too.
func TestGroupsOfATableThatWasAppendedTo(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE lines AS SELECT i // 4 AS k, 1::bigint AS v FROM range(400000) r(i)")
	exec(t, s, "DELETE FROM lines WHERE k = 20")
	exec(t, s, "INSERT INTO lines SELECT k, 1 FROM unnest([10, 10, 10, 11, 11, 12, 70000, 70000, 70000]) u(k)")
	exec(t, s, "INSERT INTO lines VALUES (20, 7), (3, NULL), (NULL, 99)")
	const query = "SELECT l.k, sum(l.v) FROM lines l WHERE l.k IN (SELECT k FROM lines GROUP BY k HAVING sum(v) > 6) GROUP BY l.k ORDER BY l.k"
	require.Contains(t, strings.Join(rows(t, s, "EXPLAIN "+query), "\n"), "thinned out by")
	want := []string{"10|7", "20|7", "70000|7"}
	require.Equal(t, want, rows(t, s, query))
	exec(t, s, "INSERT INTO lines SELECT i // 4, 1 FROM range(400000) r(i)")
	require.Len(t, rows(t, s, query), 100_000, "as many rows apart as in order: each group has eight at least")
}

// An UPDATE or a DELETE of rows whose keys are listed is found by the kernels, and is about the same rows as without.
func TestListedKeysAreLookedUp(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE listed (k bigint, s smallint, v int)")
	for _, disable := range []string{"", "compute"} {
		exec(t, s, "SET csm.disable = '"+disable+"'")
		exec(t, s, "TRUNCATE listed; INSERT INTO listed SELECT CASE WHEN i % 1000 = 0 THEN NULL ELSE i END, i % 7, 0 FROM range(300000) r(i)")
		exec(t, s, "DELETE FROM listed WHERE k IN (5, 299999, 7, 1000, 5, -3, 123456)")
		exec(t, s, "DELETE FROM listed WHERE (k = 9 OR k = 11) AND s IN (2, 4, 40000)")
		exec(t, s, "DELETE FROM listed WHERE k IN (13, NULL)")
		exec(t, s, "DELETE FROM listed WHERE k NOT IN (14, 15) AND k < 20")
		exec(t, s, "UPDATE listed SET v = 1 WHERE k IN ($1, $2, 100)", int64(102), int64(101))
		exec(t, s, "UPDATE listed SET v = v + 2 WHERE k IN ($1, 103)", nil)
		exec(t, s, "UPDATE listed SET v = 9 WHERE k IN (1e0, 104.0, 105.5)")
		require.Equal(t, []string{"299981|14"}, rows(t, s, "SELECT count(*), sum(v) FROM listed"), disable)
		require.Equal(t, []string{"14|0", "15|0"}, rows(t, s, "SELECT k, v FROM listed WHERE k < 20 ORDER BY k"), disable)
		require.Equal(t, []string{"100|1", "101|1", "102|1", "103|2", "104|9"},
			rows(t, s, "SELECT k, v FROM listed WHERE v > 0 ORDER BY k"), disable)
	}
}
