package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// distributedTraps are questions at which a plan for several nodes could stumble: names that its own texts use, names that mean
// several things, the two dialects, types that change on the way, nothing at all.
var distributedTraps = []struct {
	sql     string
	ordered bool
}{
	{"SELECT k AS c0, g AS c1, count(*) AS c2 FROM b GROUP BY c0, c1 ORDER BY c2, c0, c1", true},
	{"SELECT sum(k) AS c1, g AS c0 FROM b GROUP BY g HAVING c1 > 3", false},
	{"SELECT k AS csm_part, w AS \"csm_mean_0\", count(*) FROM b GROUP BY csm_part, w", false},
	{"SELECT k -- the key, FROM nowhere\n, count(*) /* GROUP BY */ AS n FROM b -- and so on\nGROUP BY k", false},
	{"SELECT sum(k) FILTER (WHERE w LIKE 'w!_%' ESCAPE '!' OR w LIKE 'w1') AS s FROM b", false},
	{`SELECT count(*) AS n FROM a WHERE v LIKE 'view 1\%' OR v LIKE 'view 2%'`, false},
	{`SELECT w, count(*) AS n FROM a WHERE w <> E'\x61' OR w = 'a'', ''b' GROUP BY w`, false},
	{"SELECT b.k, b.k, b.g AS k FROM b", false},
	{"SELECT q.* FROM (SELECT k, g AS l FROM b) AS q WHERE q.l = 1", false},
	{"SELECT upper(w) AS w, count(*) AS n FROM b GROUP BY w", false},
	{"SELECT g + 1 AS g, count(*) AS n FROM b GROUP BY g", false},
	{"SELECT k % 3 AS g, sum(g) AS s FROM b GROUP BY k % 3", false},
	{"SELECT count(*) AS n FROM b HAVING n > 3", false},
	{"SELECT count(*) AS n, sum(k) AS s, max(w) AS m FROM nothing", false},
	{"SELECT k, count(*) AS n FROM nothing GROUP BY k", false},
	{"SELECT count(DISTINCT k) AS n, count(*) AS m, sum(k) AS s, avg(k) AS v FROM nothing", false},
	{"SELECT w, count(w) AS n, sum(k) AS s, avg(k) AS v, stddev(k) AS d FROM nulls GROUP BY w", false},
	{"SELECT g, avg(k) AS v FROM b GROUP BY 1 ORDER BY 2 DESC, 1", true},
	{"SELECT DISTINCT g FROM b ORDER BY g NULLS FIRST LIMIT 2 OFFSET 1", true},
	{"SELECT k FROM b ORDER BY k DESC NULLS LAST LIMIT 3", true},
	{"SELECT k FROM b ORDER BY k LIMIT 3", true},
	{"SELECT g AS k FROM b ORDER BY b.k LIMIT 3", true},
	{"SELECT sum(x) AS s, count(*) AS n FROM (SELECT k AS x FROM b UNION ALL SELECT l FROM a) AS q", false},
	{"SELECT (SELECT count(*) FROM a WHERE a.k = b.k) AS n, k FROM b WHERE k < 5 ORDER BY 2", true},
	{"SELECT typeof(sum(k)) AS a, typeof(avg(d)) AS b, typeof(count(*)) AS c, typeof(sum(d)) AS d, typeof(max(w)) AS e FROM a", false},
	{"SELECT sum(k) // 7 AS a, sum(k) % 7 AS b, sum(k) * 1.5 AS c, sum(k) / 7 AS d, -sum(k) AS e, sum(k)::VARCHAR AS f FROM a", false},
	{"SELECT q.s // 7 AS a, typeof(q.s) AS t FROM (SELECT k, sum(l) AS s FROM a GROUP BY k) AS q", false},
	{"SELECT max(d) AS a, min(d) AS b, sum(d) AS c, count(DISTINCT d) AS e FROM a", false},
	{"SELECT k, count(*) AS n FROM a GROUP BY k HAVING count(*) >= (SELECT avg(n) FROM (SELECT count(*) AS n FROM a GROUP BY k) AS q)", false},
	{"SELECT d + INTERVAL '1' DAY AS e, count(*) AS n FROM c GROUP BY e", false},
	{"SELECT extract(day FROM d) AS e, date_trunc('month', d) AS m, substring(w FROM 1 FOR 1) AS s, count(*) AS n FROM c GROUP BY 1, 2, 3", false},
	{"SELECT string_agg(DISTINCT w, ',' ORDER BY w) AS s, list_sort(list(DISTINCT g)) AS l FROM b", false},
	{"SELECT g, rank() OVER (ORDER BY count(*) DESC, g) AS r, sum(count(*)) OVER () AS s FROM b GROUP BY g", false},
	{"WITH q AS (SELECT * FROM b) SELECT q.* FROM q WHERE q.k IN (SELECT k FROM q WHERE g = 1)", false},
	{"WITH q AS (SELECT g, count(*) AS n FROM b GROUP BY g), r AS (SELECT max(n) AS m FROM q) SELECT q.g FROM q, r WHERE q.n = r.m", false},
	{"WITH b AS (SELECT k, l AS g FROM a) SELECT g, count(*) AS n FROM b GROUP BY g", false},
	{"SELECT public.b.g, count(*) AS n FROM public.b GROUP BY public.b.g", false},
	{"SELECT x.k FROM b AS x(k, h) WHERE x.h = 1", false},
	{"SELECT CASE WHEN g = 1 THEN 'one' ELSE 'more' END AS c, count(*) AS n FROM b GROUP BY CASE WHEN g = 1 THEN 'one' ELSE 'more' END ORDER BY c", true},
	{"SELECT k AS \"select\", g AS \"Group\" FROM b WHERE \"select\" < 3", false},
	{"SELECT count(*) FILTER (WHERE g = 1) AS a, count(g) AS b, sum(CASE WHEN w = 'w1' THEN 1 ELSE 0 END) AS c FROM b", false},
	{"SELECT a.k, count(DISTINCT b.w) AS n, sum(DISTINCT a.l) AS s FROM a JOIN b ON a.k = b.k GROUP BY a.k HAVING count(*) > 1", false},
	{"SELECT g, median(k) AS m, mode(w) IS NULL AS o FROM b GROUP BY g", false},
	{"SELECT k, median(g) AS m, list(w ORDER BY w, g) AS l FROM b GROUP BY k", false},
	{"SELECT w, median(k) AS m, arg_max(k, k) AS a FROM b WHERE k > 2 GROUP BY w HAVING count(*) > 1 ORDER BY 2, 1", true},
	{"SELECT k, g, row_number() OVER (PARTITION BY k ORDER BY g, w) AS r, sum(g) OVER (PARTITION BY k) AS s FROM b", false},
	{"SELECT w, k, rank() OVER v AS r FROM b WINDOW v AS (PARTITION BY w ORDER BY k)", false},
	{"SELECT k, g, rank() OVER (PARTITION BY k ORDER BY g) AS r, count(*) OVER (PARTITION BY g) AS c FROM b", false},
	{"SELECT k, count(*) OVER (PARTITION BY k + 0) AS c FROM b", false},
	{"SELECT a.k, median(b.g) AS m FROM b LEFT JOIN a ON a.k = b.k GROUP BY a.k", false},
	{"SELECT b.k, median(a.l) AS m FROM b LEFT JOIN a ON a.k = b.k GROUP BY b.k", false},
	{"SELECT q.k, median(q.x) AS m FROM (SELECT k, g AS x FROM b UNION ALL SELECT k, l FROM a) AS q GROUP BY q.k", false},
	{"SELECT k, median(g) AS m FROM b GROUP BY k HAVING count(*) >= (SELECT min(l) FROM a WHERE l > 0) ORDER BY m DESC, k LIMIT 2", true},
	{"SELECT k, l FROM a WHERE (k, l) IN (SELECT b.k, b.g FROM b)", false},
	{"SELECT k, g FROM b WHERE k = ANY (SELECT k FROM c) AND g < ALL (SELECT k FROM c WHERE k > 3)", false},
	{"SELECT b.k FROM b WHERE b.k NOT IN (SELECT a.k FROM a)", false},
	{"SELECT b.k, c.w FROM b LEFT JOIN c USING (k) WHERE b.g = 1", false},
	{"SELECT k, w FROM b EXCEPT SELECT k, w FROM c ORDER BY 1, 2", true},
	{"SELECT g, w, grouping(g, w) AS x, count(*) AS n FROM b GROUP BY CUBE (g, w) HAVING grouping(g) = 0", false},
	{"SELECT g, count_if(k > 3) FILTER (WHERE k > 100) AS a, count_if(k > 100) AS b, typeof(count_if(w = 'w1')) AS c FROM b GROUP BY g", false},
	{"SELECT count_if(k > 3) AS a, countif(w = 'x') AS b FROM nothing", false},
	{"SELECT g, bit_and(k + g::UBIGINT) AS a, max(k + g::UBIGINT) AS b, bit_xor(-(k::UBIGINT)) AS c FROM b GROUP BY g", false},
	{"SELECT g, bit_or(coalesce(k, g::UBIGINT)) AS a, typeof(max(CASE WHEN g = 1 THEN k::UBIGINT ELSE k END)) AS b FROM b GROUP BY g", false},
	{"SELECT g, bit_or(k::UBIGINT + g::UBIGINT) AS a, sum(k::UBIGINT) AS b FROM b GROUP BY g", false},
	{"SELECT g, count(*) AS n FROM b WHERE ARRAY[k] BETWEEN ARRAY[3] AND ARRAY[9] GROUP BY g", false},
	{"SELECT a.k, count(*) AS n FROM a JOIN b ON a.k = b.k WHERE (b.k, b.g) BETWEEN (3, 1) AND (15, 2) GROUP BY a.k", false},
	{"SELECT k, list(g) AS l FROM b GROUP BY k HAVING list(g) BETWEEN ARRAY[0] AND ARRAY[1]", false},
	{"SELECT var_samp(k) AS a, stddev_pop(l) AS b, variance(d) FILTER (WHERE d < 10) AS c FROM a WHERE d < 100", false},
}

// TestDistributedTraps: those, and the traps of hints, with tables laid out in several ways, shuffled and not.
func TestDistributedTraps(t *testing.T) { springDistributed(t, openNative(t, 1), nil) }

// springDistributed asks all of them, with something else instead of estimates.
func springDistributed(t *testing.T, twin *native, guess func(int64) int64) {
	for _, sql := range trapTables {
		require.Empty(t, twin.exec(sql).message, sql)
	}
	p := newParted(twin)
	p.restless, p.guess = true, guess
	tables := []string{"a", "b", "c", "nothing", "nulls"}
	for _, table := range tables {
		require.NoError(t, p.describe(table))
	}
	split := 0
	for _, layout := range []string{"hash", "rows", "coordinator's"} {
		nodes := nodeNames(3)
		for i, table := range tables {
			switch {
			case layout == "hash":
				require.NoError(t, p.split(table, nodes, "", "k"))
			case layout == "rows" || i%2 == 0:
				require.NoError(t, p.split(table, nodes, "hash(rowid) % 3"))
			default:
				require.NoError(t, p.split(table, nodes[:1], "0"))
			}
		}
		for _, shuffle := range []int64{0, 1} {
			settings := anyPlan(nodes)
			settings.ShuffleBytes, settings.RemoteFactor, settings.ShuffleGain = shuffle, float64(1+20*shuffle), 1e-6
			ask := func(sql string, args []any, ordered bool) {
				want := p.single(sql, args)
				plan, _ := p.planOf(t, sql, settings)
				if plan == nil || want.state != "" {
					return
				}
				split++
				require.Empty(t, sameAnswer(p.run(plan, args), want, ordered), "%s\n%s", sql, plan)
			}
			for _, trap := range distributedTraps {
				ask(trap.sql, nil, trap.ordered)
			}
			for _, trap := range traps {
				ask(trap.sql, trap.args, false)
			}
		}
	}
	t.Logf("%d plans", split)
	require.Greater(t, split, 6*len(distributedTraps)/2)
}
