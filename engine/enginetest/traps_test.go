package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// trapTables have keys that meet in part, words that need quoting, and enough rows for keys to be handed on.
var trapTables = []string{
	"CREATE TABLE a (k INTEGER, l INTEGER, w VARCHAR, d DOUBLE, v VARCHAR)",
	"INSERT INTO a SELECT i % 20, (i * 7) % 20, CASE i % 4 WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'a'', ''b' END, i / 4.0, 'view ' || i FROM range(300) AS g(i)",
	"INSERT INTO a VALUES (NULL, 3, 'x''|v = ''y', 'nan'::DOUBLE, 'y'), (3, NULL, NULL, NULL, NULL), (3, 3, '', 'inf'::DOUBLE, 'x'), (4, 4, 'c', '-inf'::DOUBLE, 'x')",
	"CREATE TABLE b (k BIGINT, g INTEGER, w VARCHAR)",
	"INSERT INTO b SELECT i, i % 3, 'w' || (i % 5) FROM range(20) AS g(i)",
	"INSERT INTO b VALUES (NULL, 1, NULL), (3, NULL, 'w1'), (100, 1, 'w9')",
	"CREATE TABLE c (k SMALLINT, d DATE, w VARCHAR)",
	"INSERT INTO c SELECT i, DATE '2020-01-01' + CAST(i AS INTEGER), 'a' FROM range(5) AS g(i)",
	// So many words that they lie as views, with NULLs, empty ones, accents in one and in two characters.
	"CREATE TABLE p (k INTEGER, s VARCHAR, t INTEGER)",
	"INSERT INTO p SELECT i, CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'é' || i WHEN 3 THEN 'e' || chr(769) || i WHEN 4 THEN CAST(i AS VARCHAR) WHEN 5 THEN 'a word as long as ' || i ELSE 'é' END, CASE WHEN i % 5 > 0 THEN i * 7 % 1000 END FROM range(3000) AS g(i)",
	// Sorted by key, so that groups are found before the statement runs; in chunks that cut through groups; with NULLs on both sides.
	"CREATE TABLE s (k INTEGER, x INTEGER, y INTEGER, z DECIMAL(10, 2))",
	"INSERT INTO s SELECT i // 7, i % 10, CASE WHEN i % 7 = 0 THEN 100 ELSE -10 END, (i % 13) / 4 FROM range(500) AS g(i)",
	"INSERT INTO s SELECT i // 7, CASE WHEN i % 3 > 0 THEN i % 10 END, 1, (i % 13) / 4 FROM range(500, 1000) AS g(i)",
	"INSERT INTO s SELECT CASE WHEN i % 2 = 0 THEN i // 7 END, 5, 2, 1000.25 FROM range(1000, 1030) AS g(i)",
	"CREATE TABLE nothing (k INTEGER, w VARCHAR)",
	"CREATE TABLE nulls (k INTEGER, w VARCHAR)",
	"INSERT INTO nulls VALUES (NULL, NULL), (NULL, NULL)",
}

// traps are questions that a hint once answered wrongly, or nearly did.
var traps = []struct {
	name string
	sql  string
	args []any
}{
	{"FLOAT is REAL, also to the kernels", "SELECT CAST(0.5 AS FLOAT) AS x, 0.1::float AS y, 0.1::DOUBLE PRECISION AS z, 0.1::float8 AS v FROM b", nil},
	{"a parameter of type FLOAT is rounded, also by the kernels", "SELECT count(*) AS n FROM a WHERE d = CAST($1 AS FLOAT) OR d = $2::float", []any{0.1, 0.25}},
	{"the names of a join of which a side is not known", "SELECT count(*) AS n, max(m) AS m FROM (query_table('c') CROSS JOIN b) AS j(x, d, y, m, g, w) WHERE x = 4 AND m < 9", nil},
	{"the names of a known side alone", "SELECT count(*) AS n, max(g) AS m FROM (query_table('c') CROSS JOIN b) AS j WHERE g = 1", nil},
	{"same keys on other columns are another scan", "SELECT x.k, x.l, y.k, y.l FROM a x, a y, b WHERE x.k = b.k AND y.l = b.k AND b.g = 1 AND b.k < 9", nil},
	{"a list is not a word with quotes in it", "SELECT (SELECT count(*) FROM a WHERE w IN ('a', 'b')) AS two, (SELECT count(*) FROM a WHERE w IN ('a'', ''b')) AS one", nil},
	{"two conditions are not a word that looks so", "SELECT (SELECT count(*) FROM a WHERE w = 'x' AND v = 'y') AS two, (SELECT count(*) FROM a WHERE w = 'x''|v = ''y') AS one", nil},
	{"disjunctions too", "SELECT (SELECT count(*) FROM a WHERE w = 'a' OR w = 'b') AS two, (SELECT count(*) FROM a WHERE w = 'a'') OR (w = ''b' OR w = '') AS one", nil},
	{"text beside a DOUBLE", "SELECT count(*) AS n FROM a WHERE d < '12.5'", nil},
	{"text beside a DOUBLE, given later", "SELECT count(*) AS n FROM a WHERE d < $1", []any{"12.5"}},
	{"NaN above all", "SELECT d FROM a WHERE d > 70 OR d >= 'nan'::DOUBLE", nil},
	{"an estimate bounds no sum", "SELECT count(*) AS n, sum(1800000000000000000::BIGINT) AS s FROM a WHERE k = 3 AND l = 1", nil},
	{"an ENUM without words", "SELECT w, count(*) AS n FROM nulls WHERE w IS NULL OR w = 'a' GROUP BY w", nil},
	{"an empty table's words", "SELECT w, count(*) AS n FROM nothing WHERE w <> 'a' GROUP BY ROLLUP (w)", nil},
	{"keys from a table that has none left", "SELECT a.k FROM a JOIN b ON a.k = b.k WHERE b.g = 17", nil},
	{"outer joins keep their side", "SELECT b.k, a.k FROM b LEFT JOIN a ON a.k = b.k AND a.w = 'a' WHERE b.g = 1", nil},
	{"and the other", "SELECT b.k, a.k FROM a RIGHT JOIN b ON a.k = b.k AND b.g = 1", nil},
	{"and both", "SELECT b.k, c.k FROM b FULL JOIN c ON c.k = b.k AND b.g = 1 AND c.d > '2020-01-02'", nil},
	{"chains through a filled side", "SELECT b.k, c.k, a.l FROM b LEFT JOIN c ON c.k = b.k AND c.d > '2020-01-02' LEFT JOIN a ON a.k = c.k AND a.w = 'b' WHERE b.g < 2", nil},
	{"a filled side in WHERE", "SELECT b.k, c.k FROM b LEFT JOIN c ON c.k = b.k WHERE c.k IS NULL AND b.g = 1", nil},
	{"NOT IN with NULLs", "SELECT b.k FROM b WHERE b.k NOT IN (SELECT a.k FROM a WHERE a.l = 3)", nil},
	{"NOT IN of nothing", "SELECT b.k FROM b WHERE b.g = 1 AND b.k NOT IN (SELECT k FROM nothing WHERE k = 1)", nil},
	{"groups with a great sum", "SELECT p.k FROM p WHERE p.k IN (SELECT s.k FROM s GROUP BY s.k HAVING sum(s.x) > 34)", nil},
	{"groups at the bound", "SELECT p.k FROM p WHERE p.k IN (SELECT k FROM s GROUP BY k HAVING sum(x) >= 35)", nil},
	{"groups above a fraction", "SELECT p.k, s.x FROM p, s WHERE p.k IN (SELECT k FROM s GROUP BY k HAVING sum(x) > 34.5) AND s.k = p.k", nil},
	{"groups from a fraction on", "SELECT p.k FROM p WHERE p.k IN (SELECT k FROM s GROUP BY k HAVING 34.5 <= sum(x))", nil},
	{"groups of decimals", "SELECT p.k FROM p WHERE p.k IN (SELECT k FROM s GROUP BY k HAVING sum(z) > 12.25)", nil},
	{"groups of decimals, from a finer bound on", "SELECT p.k FROM p WHERE p.k IN (SELECT k FROM s GROUP BY k HAVING sum(z) >= 12.245)", nil},
	{"large groups", "SELECT p.k FROM p WHERE p.k IN (SELECT k FROM s GROUP BY k HAVING count(*) > 3) AND p.k > 130", nil},
	{"a part of a group with what is negative", "SELECT p.k FROM p WHERE p.k IN (SELECT k FROM s GROUP BY k HAVING sum(y) > 50)", nil},
	{"groups below a bound", "SELECT p.k FROM p WHERE p.k IN (SELECT k FROM s GROUP BY k HAVING sum(x) < 20 AND count(*) > 3)", nil},
	{"groups of some rows", "SELECT p.k FROM p WHERE p.k IN (SELECT k FROM s WHERE x <> 3 GROUP BY k HAVING sum(x) > 30)", nil},
	{"groups that none is of", "SELECT p.k FROM p WHERE p.k NOT IN (SELECT k FROM s WHERE k IS NOT NULL GROUP BY k HAVING sum(x) > 30) AND p.k < 200", nil},
	{"the group of NULL is not there for IN, and is for NOT IN", "SELECT p.k FROM p WHERE p.k NOT IN (SELECT k FROM s GROUP BY k HAVING sum(x) > 30) AND p.k < 200", nil},
	{"IN as a value tells NULL from false", "SELECT p.k, p.k IN (SELECT k FROM s GROUP BY k HAVING sum(x) > 30) AS i FROM p WHERE p.k < 200", nil},
	{"groups used twice", "SELECT p.k FROM p WHERE p.k IN (SELECT k FROM s GROUP BY k HAVING sum(x) > 34) AND p.t IN (SELECT k FROM s GROUP BY k HAVING sum(x) > 30)", nil},
	{"IN filters both", "SELECT b.k FROM b WHERE b.g = 1 AND b.k IN (SELECT a.k FROM a WHERE a.w = 'a')", nil},
	{"IN with LIMIT looks at all rows", "SELECT b.k FROM b WHERE b.g = 1 AND b.k IN (SELECT a.k FROM a WHERE a.k IS NOT NULL ORDER BY a.k LIMIT 20)", nil},
	{"IN of groups of two", "SELECT b.k FROM b WHERE b.g = 1 AND b.k IN (SELECT a.k FROM a GROUP BY a.k, a.l HAVING count(*) > 14)", nil},
	{"IN of one group of all", "SELECT b.k FROM b WHERE b.g = 1 AND b.k IN (SELECT max(a.k) FROM a)", nil},
	{"IN of a side that is filled", "SELECT b.k, c.k AS c FROM b LEFT JOIN c ON c.k = b.k WHERE b.g = 1 AND (c.k IN (SELECT a.k FROM a WHERE a.l = 3) OR c.k IS NULL)", nil},
	{"IN under OR", "SELECT b.k FROM b WHERE b.k IN (SELECT a.k FROM a WHERE a.l = 3) OR b.g = 1", nil},
	{"NOT EXISTS", "SELECT b.k FROM b WHERE b.g = 1 AND NOT EXISTS (SELECT 1 FROM a WHERE a.k = b.k AND a.w = 'b')", nil},
	{"counts of a correlated sub-query", "SELECT b.k, (SELECT count(*) FROM a WHERE a.k = b.k AND a.w = 'a') AS n FROM b WHERE b.g = 1", nil},
	{"semi join", "FROM b SEMI JOIN c ON b.k = c.k AND c.d > '2020-01-02' SELECT b.k", nil},
	{"semi join that PostgreSQL reads as an alias", "SELECT b.k FROM b SEMI JOIN c ON b.k = c.k AND c.d > '2020-01-02'", nil},
	{"anti join that PostgreSQL reads as an alias", "SELECT b.k FROM b ANTI JOIN c ON b.k = c.k AND c.d > '2020-01-02' AND b.g = 1", nil},
	{"as-of join that PostgreSQL reads as an alias", "SELECT b.k, c.k AS c FROM b ASOF JOIN c ON b.k >= c.k AND b.g = c.k", nil},
	{"USING", "SELECT k, g, d FROM b JOIN c USING (k) WHERE c.d > '2020-01-02' AND g = 1", nil},
	{"USING of an outer join", "SELECT k, g, d FROM b LEFT JOIN c USING (k) WHERE g = 1 AND (d IS NULL OR d > '2020-01-02')", nil},
	{"NATURAL", "SELECT g, d FROM b NATURAL JOIN c", nil},
	{"lateral", "SELECT b.k, l.n FROM b, LATERAL (SELECT count(*) AS n FROM a WHERE a.k = b.k AND a.w = 'a') AS l WHERE b.g = 1", nil},
	{"lateral without the word", "SELECT b.k, l.l FROM b, (SELECT a.l FROM a WHERE a.k = b.k AND a.w = 'a') AS l WHERE b.g = 1", nil},
	{"lateral, outer", "SELECT b.k, l.l FROM b LEFT JOIN LATERAL (SELECT a.l FROM a WHERE a.k = b.k AND a.l = 3) AS l ON true WHERE b.g = 1", nil},
	{"an arm of a union is alone", "SELECT k FROM b WHERE g = 1 UNION ALL SELECT k FROM b WHERE g = 2", nil},
	{"a CTE used twice", "WITH q AS (SELECT * FROM b WHERE g = 1) SELECT x.k, y.k FROM q x, q y, a WHERE x.k = a.k AND y.k = a.l AND a.w = 'b'", nil},
	{"a CTE that hides a table", "WITH b AS (SELECT k, l AS g FROM a) SELECT count(*) AS n FROM b WHERE g = 1", nil},
	{"recursion", "WITH RECURSIVE r(k) AS (SELECT 1 UNION ALL SELECT a.l FROM r JOIN a ON a.k = r.k AND a.l > a.k JOIN b ON b.k = a.l AND b.g = 1) SELECT k, count(*) AS n FROM r GROUP BY k", nil},
	{"equal dates", "SELECT x.k, y.k FROM c x JOIN c y ON x.d = y.d WHERE x.k = 2", nil},
	{"dates and timestamps", "SELECT k FROM c WHERE d > TIMESTAMP '2020-01-02 12:00:00' AND d < '2020-01-05'", nil},
	{"LIKE with a backslash", `SELECT v FROM a WHERE v LIKE 'view 1\%'`, nil},
	{"a beginning of a character", "SELECT k FROM p WHERE left(s, 1) = 'é' OR k = 3", nil},
	{"beginnings are counted in characters", "SELECT k FROM p WHERE substring(s FROM 1 FOR 2) IN ('é1', '12', '123')", nil},
	{"the middle is not the beginning", "SELECT k FROM p WHERE substring(s, 2, 1) = '2'", nil},
	{"substring counts from one, and zero is before it", "SELECT k FROM p WHERE substring(s, 0, 3) = '12'", nil},
	{"an accent is a character of its own", "SELECT k FROM p WHERE left(s, 1) = 'e' AND left(s, 2) = 'e' || chr(769)", nil},
	{"a letter is not the accented one", "SELECT k FROM p WHERE left(s, 2) IN ('é', 'e1')", nil},
	{"the beginning of nothing", "SELECT k FROM p WHERE left(s, 2) IN ('', '17')", nil},
	{"a beginning of a long word", "SELECT k FROM p WHERE left(s, 20) = 'a word as long as 10' AND s ^@ 'a word as long as 1'", nil},
	{"a beginning that is too long", "SELECT k FROM p WHERE left(s, 1) IN ('12', '13', '9')", nil},
	{"words of views", "SELECT k FROM p WHERE s IN ('é', 'a word as long as 12', '', '4', 'nowhere') AND k > 2", nil},
	{"a word of a view", "SELECT k FROM p WHERE s = 'a word as long as 2001'", nil},
	{"words of branches", "SELECT k FROM p WHERE s = 'é' AND t < 30 OR starts_with(s, '12') AND t < 500 OR s IN ('', '18') AND t = 7", nil},
	{"words of branches, and NULL", "SELECT k FROM p WHERE s = 'é' AND t < 30 OR s IS NULL AND t < 70", nil},
	{"bounds of branches", "SELECT k FROM p WHERE (t > 10 AND t < 20) OR (t > 500 AND t <= 510) OR t = 700", nil},
	{"two columns of a row", "SELECT k FROM p WHERE k < t AND left(s, 1) = 'a'", nil},
	{"two columns of a row, each way", "SELECT (SELECT count(*) FROM p WHERE k < t) AS a, (SELECT count(*) FROM p WHERE k > t) AS b, (SELECT count(*) FROM p WHERE k <= t) AS c, (SELECT count(*) FROM p WHERE t <= k) AS d, (SELECT count(*) FROM p WHERE k >= t) AS e, (SELECT count(*) FROM p WHERE k = t) AS f, (SELECT count(*) FROM p WHERE k <> t) AS g", nil},
	{"not of a filled side", "SELECT b.k, p.t FROM b LEFT JOIN p ON p.k = b.k AND p.k < p.t WHERE b.g = 1 AND (p.t IS NULL OR p.t > p.k)", nil},
	{"LIKE is no prefix of a prefix", "SELECT v FROM a WHERE v LIKE 'view 1_'", nil},
	{"constants that PostgreSQL reads otherwise", `SELECT count(*) AS n FROM a WHERE w <> E'\x61'`, nil},
	{"parameters of an ENUM", "SELECT w, count(*) AS n FROM a WHERE w = $1 OR w > $2 GROUP BY w", []any{"nowhere", "b"}},
	{"NULL for a parameter", "SELECT count(*) AS n FROM a WHERE w = $1 AND k = $2", []any{nil, int64(3)}},
	{"a parameter that is rounded", "SELECT count(*) AS n FROM a WHERE k = $1", []any{2.6}},
	{"a date as text for a parameter", "SELECT k FROM c WHERE d >= $1 AND d <> $2", []any{"2020-01-03", duckdb.Date(18265)}},
	{"windows look at what WHERE leaves", "SELECT k, count(*) OVER (PARTITION BY g) AS n FROM b WHERE k < 10", nil},
	{"windows in a sub-select look at everything", "SELECT * FROM (SELECT k, g, count(*) OVER (PARTITION BY g) AS n FROM b) AS q WHERE k < 10", nil},
	{"LIMIT in a sub-select", "SELECT * FROM (SELECT k FROM b ORDER BY k LIMIT 5) AS q WHERE k = 4", nil},
	{"grouping sets", "SELECT w, g, count(*) AS n FROM b WHERE g = 1 GROUP BY GROUPING SETS ((w), (g), ())", nil},
	{"HAVING is not WHERE", "SELECT g, count(*) AS n FROM b GROUP BY g HAVING g = 1", nil},
	{"an alias that hides a column", "SELECT g AS k, k AS g FROM b WHERE k = 4", nil},
	{"a table named twice in two schemas", "SELECT public.b.k FROM public.b, c WHERE public.b.k = c.k AND c.k > 2", nil},
	{"FILTER is not WHERE", "SELECT count(*) FILTER (WHERE g = 1) AS n, count(*) AS m FROM b", nil},
	{"CASE guards nothing of the scan", "SELECT k FROM b WHERE CASE WHEN g = 1 THEN k = 4 ELSE k = 5 END", nil},
	{"words as groups and extremes", "SELECT min(w) AS low, max(w) AS high, count(DISTINCT w) AS n FROM a", nil},
	{"words in order", "SELECT DISTINCT w FROM a ORDER BY w DESC NULLS LAST", nil},
	{"words in a union", "SELECT w FROM a WHERE w < 'b' UNION SELECT w FROM b", nil},
	{"words beside words", "SELECT count(*) AS n FROM a JOIN b ON a.w = b.w OR a.w = substr(b.w, 1, 1)", nil},
	{"words in functions", "SELECT DISTINCT upper(w) AS u, w || '!' AS c, coalesce(w, 'none') AS d FROM a WHERE w BETWEEN 'a' AND 'b'", nil},
	{"TABLE", "TABLE c", nil},
	{"a sample sees everything", "SELECT count(*) <= 24 AS ok FROM b TABLESAMPLE RESERVOIR(10) WHERE g = 1", nil},
	{"IS NOT DISTINCT FROM joins NULLs", "SELECT x.k, y.k FROM a x JOIN b y ON x.k IS NOT DISTINCT FROM y.k WHERE y.g = 1", nil},
	{"lists between lists", "SELECT k FROM b WHERE ARRAY[k] BETWEEN ARRAY[3] AND ARRAY[5]", nil},
	{"lists between lists, in words that PostgreSQL does not know", "SELECT k FROM b WHERE [k] BETWEEN [3] AND [5]", nil},
	{"rows between rows", "SELECT k, g FROM b WHERE (k, g) BETWEEN (3, 1) AND (5, 1)", nil},
	{"maps above a map and below another", "SELECT k FROM b WHERE MAP {'k': k} > MAP {'k': 3} AND MAP {'k': k} <= MAP {'k': 5}", nil},
	{"lists between lists, beside a join", "SELECT b.k FROM b JOIN c ON b.k = c.k WHERE ARRAY[b.k] BETWEEN ARRAY[$1::BIGINT] AND ARRAY[3]", []any{int64(2)}},
	{"an inner condition of an outer frame", "SELECT b.k, (SELECT count(*) FROM c WHERE b.g = 1 AND c.k = b.k) AS n FROM b", nil},
}

func trapRig(t testing.TB, change ...func(*engine.Config)) *rig {
	r := newRig(t, change...)
	for _, sql := range trapTables {
		require.Empty(t, r.both(sql), sql)
	}
	return r
}

// P1, P2, P7.
func TestTraps(t *testing.T) { trapRig(t).spring(t) }

// spring asks all of them.
func (r *rig) spring(t *testing.T) {
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			require.Empty(t, r.twin.query(trap.sql, trap.args).message, "the question itself is wrong")
			require.Empty(t, r.compare(trap.sql, trap.args, false), trap.sql)
			require.Empty(t, r.duckdb.query(trap.sql, trap.args).differs(r.twin.query(trap.sql, trap.args), false), trap.sql)
		})
	}
}
