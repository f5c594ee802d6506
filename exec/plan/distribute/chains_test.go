package distribute_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// D9: following the names of queries that name the one before twice, thirty deep, would never end.
func TestChainsOfQueriesArePlanned(t *testing.T) {
	const links = 30
	reasons := map[string]int{}
	for _, link := range []string{
		"SELECT a.i FROM %[1]s a JOIN %[1]s b ON a.i = b.i",
		"SELECT a.i FROM %[1]s a LEFT JOIN %[1]s b ON a.i = b.i",
		"SELECT i FROM %[1]s a FULL JOIN %[1]s b USING (i)",
		"SELECT a.i + b.i - 1 AS i FROM %[1]s a, %[1]s b",
		"SELECT coalesce(a.i, b.i) AS i FROM %[1]s a, %[1]s b",
		"SELECT i FROM %[1]s UNION SELECT i FROM %[1]s",
		"SELECT i FROM %[1]s UNION ALL SELECT i FROM %[1]s",
		"SELECT i FROM %[1]s WHERE i IN (SELECT i FROM %[1]s)",
		"SELECT i FROM %[1]s x WHERE EXISTS (SELECT 1 FROM %[1]s y WHERE y.i = x.i)",
		"SELECT (SELECT max(i) FROM %[1]s) AS i FROM %[1]s",
		"SELECT (SELECT max(y.i) FROM %[1]s y WHERE y.i = x.i) AS i FROM %[1]s x",
		"SELECT a.i FROM %[1]s a, %[1]s b GROUP BY a.i",
		"SELECT max(a.i) AS i FROM %[1]s a, %[1]s b GROUP BY b.i",
		"SELECT max(a.i) OVER (PARTITION BY b.i) AS i FROM %[1]s a, %[1]s b",
		"SELECT x.i FROM (SELECT * FROM %[1]s) x, (SELECT * FROM %[1]s) y WHERE x.i = y.i",
		"SELECT DISTINCT a.i FROM %[1]s a, %[1]s b",
		"WITH d AS MATERIALIZED (SELECT * FROM %[1]s) SELECT d.i FROM d, %[1]s e WHERE d.i = e.i",
	} {
		for _, kind := range []string{"", "MATERIALIZED "} {
			with := []string{"c0 AS (SELECT l_orderkey AS i FROM lineitem)"}
			for i := range links {
				with = append(with, fmt.Sprintf("c%d AS %s(%s)", i+1, kind, fmt.Sprintf(link, fmt.Sprintf("c%d", i))))
			}
			c := newCluster(3)
			c.settings.MinGain, c.settings.MinRows, c.settings.MinBytes, c.settings.ShuffleBytes = 0, 0, 0, 1
			c.place("lineitem", "hash(l_orderkey)")
			for _, last := range []string{
				"SELECT i FROM c30", "SELECT i, count(*) FROM lineitem JOIN c30 ON l_orderkey = i GROUP BY 1",
				"SELECT count(*) FROM lineitem WHERE l_orderkey IN (SELECT i FROM c30)",
			} {
				d, s := c.plan(t, "WITH "+strings.Join(with, ", ")+" "+last)
				if s != nil {
					reasons[s.Reason]++
				} else {
					require.NotEmpty(t, d.Stages)
					reasons["split"]++
				}
			}
		}
	}
	require.Positive(t, reasons["split"])
	require.Positive(t, reasons["it has too many queries within queries"])
}

// Nor would trying sub-queries again for each attempt at those around them.
func TestNestedQueriesArePlanned(t *testing.T) {
	for level, split := range map[string]bool{
		"SELECT l_orderkey FROM (%s) x WHERE l_orderkey > 1":                                        true,
		"SELECT l_orderkey, count(*) FROM (%s) x GROUP BY 1":                                        true,
		"SELECT l_orderkey FROM orders JOIN (%s) x ON o_orderkey = l_orderkey":                      false,
		"SELECT l_orderkey FROM lineitem WHERE l_orderkey IN (%s)":                                  false,
		"SELECT l_orderkey FROM lineitem l WHERE l_quantity > (SELECT min(l_orderkey) FROM (%s) x)": false,
		"SELECT l_orderkey FROM (%s) x UNION ALL SELECT l_orderkey FROM lineitem":                   false,
	} {
		sql := "SELECT l_orderkey FROM lineitem"
		for range 30 {
			sql = fmt.Sprintf(level, strings.ReplaceAll(sql, "SELECT l_orderkey, count(*)", "SELECT l_orderkey"))
		}
		c := newCluster(3)
		c.settings.MinGain, c.settings.MinRows, c.settings.MinBytes, c.settings.ShuffleBytes = 0, 0, 0, 1
		d, s := c.plan(t, sql)
		require.Equal(t, split, d != nil, level)
		if !split {
			require.Equal(t, "it has too many queries within queries", s.Reason, level)
		}
	}
}
