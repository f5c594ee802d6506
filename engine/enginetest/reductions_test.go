package enginetest

import (
	"fmt"
	"strings"
)

// reduction is a query over groups that stresses how aggregates are split: every aggregate that can be, in expressions, with
// FILTER, DISTINCT, HAVING, sets, over one table or two.
func (g *grammar) reduction() string {
	t := pick(g.Rand, g.world.tables)
	s := &scope{own: []source{{"a", t.columns}}, deep: 2}
	from := t.name + " AS a"
	if g.maybe(40) {
		u := pick(g.Rand, g.world.tables)
		if !(t.many() && u.many()) {
			s.own = append(s.own, source{"b", u.columns})
			on, _ := g.equality(s, 1).sql()
			from += pick(g.Rand, []string{" JOIN ", " LEFT JOIN "}) + u.name + " AS b ON " + on
		}
	}
	var list, keys []string
	for range g.IntN(3) {
		ref, c := g.anyColumn(s)
		if c.kind.family == "text" && g.maybe(30) {
			ref = "upper(" + ref + ")"
		}
		keys = append(keys, ref)
		list = append(list, ref+pick(g.Rand, []string{"", fmt.Sprintf(" AS g%d", len(keys))}))
	}
	for range 1 + g.IntN(4) {
		list = append(list, g.reduced(s)+pick(g.Rand, []string{"", fmt.Sprintf(" AS r%d", len(list))}))
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM " + from
	if g.maybe(40) {
		where, _ := g.comparison(s).sql()
		sql += " WHERE " + where
	}
	if len(keys) > 0 {
		by := strings.Join(keys, ", ")
		if g.maybe(25) {
			by = pick(g.Rand, []string{"ROLLUP (%s)", "CUBE (%s)", "GROUPING SETS ((%[1]s), ())"})
			by = strings.ReplaceAll(strings.ReplaceAll(by, "%[1]s", "%s"), "%s", strings.Join(keys, ", "))
		}
		sql += " GROUP BY " + by
	}
	if g.maybe(20) {
		sql += " HAVING " + g.reduced(s) + " IS NOT NULL"
	}
	return sql
}

// reduced is an expression over aggregates.
func (g *grammar) reduced(s *scope) string {
	ref, c := g.anyColumn(s)
	filter := ""
	if g.maybe(20) {
		condition, _ := g.comparison(s).sql()
		filter = " FILTER (WHERE " + condition + ")"
	}
	number := "CASE WHEN " + ref + " IS NULL THEN 0 ELSE 1 END"
	if c.kind.family == "number" {
		number = ref
		if g.maybe(60) { // sums that neither overflow nor lose digits
			number = fmt.Sprintf("CAST(CASE WHEN %[1]s BETWEEN -100 AND 100 THEN %[1]s END AS %s)", ref, pick(g.Rand, []string{"DECIMAL(9,2)", "INTEGER", "DOUBLE", "BIGINT", "DECIMAL(30,3)"}))
		}
	}
	small := fmt.Sprintf("CAST(CASE WHEN %[1]s BETWEEN -100 AND 100 THEN %[1]s END AS DOUBLE)", number)
	return strings.NewReplacer("REF", ref, "NUMBER", number, "SMALL", small, "FILTER", filter).Replace(pick(g.Rand, []string{
		"count(*)FILTER", "count(REF)FILTER", "count(DISTINCT REF)FILTER", "min(REF)FILTER", "max(REF)FILTER", "sum(NUMBER)FILTER", "avg(SMALL)FILTER",
		"avg(CAST(SMALL AS DECIMAL(9,2)))FILTER", "avg(CAST(SMALL AS INTEGER))FILTER", "sum(DISTINCT SMALL)", "avg(DISTINCT CAST(SMALL AS INTEGER))",
		"stddev(SMALL)FILTER", "var_pop(SMALL)", "variance(SMALL)", "stddev_pop(SMALL)FILTER", "bool_and(REF IS NULL)FILTER", "bool_or(REF IS NULL)",
		"100.00 * sum(CAST(SMALL AS DECIMAL(9,2))) / count(*)", "sum(CAST(SMALL AS INTEGER)) // 3", "sum(CAST(SMALL AS INTEGER)) % 4", "sum(CAST(SMALL AS INTEGER)) * 1.5",
		"coalesce(sum(SMALL), 0) + count(REF)", "list_sort(list(REF)FILTER)", "list_sort(list(DISTINCT CAST(SMALL AS INTEGER)))", "length(string_agg(CAST(REF AS VARCHAR), '-'))",
		"bit_or(CAST(SMALL AS INTEGER))", "approx_count_distinct(REF)FILTER", "median(SMALL)", "CASE WHEN count(*) > 2 THEN max(REF) ELSE min(REF) END",
		"max(REF) IS NOT DISTINCT FROM min(REF)", "count(*) FILTER (WHERE REF IS NULL) * 2 - count(REF)", "typeof(sum(CAST(SMALL AS INTEGER)))", "quantile_disc(SMALL, 0.5)",
	}))
}

// meeting is a query over two tables by the key that all tables have, by which many layouts split them: joins, sub-queries, groups
// and windows that each node can work out by itself, and some that only look so.
func (g *grammar) meeting() string {
	t, u := pick(g.Rand, g.world.tables), pick(g.Rand, g.world.tables)
	for t.many() && u.many() {
		u = pick(g.Rand, g.world.tables)
		if len(g.world.tables) == 1 || chance(g.Rand, 10) {
			u = &table{name: "(SELECT 1 AS k)", columns: t.columns[:1]}
		}
	}
	a, b := &scope{own: []source{{"a", t.columns}}, deep: 2}, &scope{own: []source{{"b", u.columns}}, deep: 2}
	condition := func(s *scope) string {
		c, _ := g.comparison(s).sql()
		return c
	}
	value := func(alias string, from *table) string { return alias + "." + pick(g.Rand, from.columns).name }
	equal := "b.k = a.k"
	if g.maybe(15) {
		equal = "b.k IS NOT DISTINCT FROM a.k"
	} else if g.maybe(10) {
		equal = "b.k + 0 = a.k"
	}
	sql := pick(g.Rand, []string{
		"SELECT a.k, VA, count(*) AS n FROM T AS a JOIN U AS b ON EQ WHERE CA GROUP BY a.k, VA",
		"SELECT b.k, count(*) AS n, max(VA) FROM T AS a JOIN U AS b ON EQ GROUP BY b.k HAVING count(*) > 1",
		"SELECT a.k, VB FROM T AS a LEFT JOIN U AS b ON EQ AND CB WHERE CA",
		"SELECT a.k, VB, VA FROM T AS a RIGHT JOIN U AS b ON EQ AND CA",
		"SELECT a.k, b.k AS l, VA FROM T AS a FULL JOIN U AS b ON EQ",
		"SELECT a.k, VA, b.k AS l FROM T AS a LEFT JOIN U AS b ON EQ WHERE VB IS NULL",
		"SELECT a.k, VA, VB FROM U AS b RIGHT JOIN T AS a ON EQ AND CB WHERE CB OR VB IS NULL",
		"SELECT a.k, VA FROM T AS a WHERE EXISTS (SELECT * FROM U AS b WHERE EQ AND CB) AND CA",
		"SELECT a.k, VA FROM T AS a WHERE NOT EXISTS (SELECT VB FROM U AS b WHERE EQ AND CB)",
		"SELECT a.k, VA FROM T AS a WHERE a.k IN (SELECT b.k FROM U AS b GROUP BY b.k HAVING count(*) > 1)",
		"SELECT a.k, VA FROM T AS a WHERE a.k NOT IN (SELECT b.k FROM U AS b WHERE CB)",
		"SELECT DISTINCT a.k, VA FROM T AS a, U AS b WHERE EQ AND CB",
		"SELECT q.k, sum(q.n) AS s FROM (SELECT a.k, count(*) AS n FROM T AS a GROUP BY a.k UNION ALL SELECT b.k, 1 FROM U AS b WHERE CB) AS q GROUP BY q.k",
		"SELECT a.k, (SELECT max(VB) FROM U AS b WHERE EQ) AS m, VA FROM T AS a WHERE CA",
		"SELECT a.k, (SELECT count(*) FROM U AS b WHERE EQ AND CB) AS n FROM T AS a",
		"SELECT a.k, rank() OVER (PARTITION BY a.k ORDER BY VA) AS r, count(*) OVER (PARTITION BY a.k, VA) AS n FROM T AS a WHERE CA",
		"SELECT VA, dense_rank() OVER (ORDER BY a.k) AS r FROM T AS a WHERE CA",
		"WITH q AS (SELECT a.k, count(*) AS n, max(VA) AS m FROM T AS a GROUP BY a.k) SELECT q.k, q.n, VB FROM q JOIN U AS b ON q.k = b.k",
		"WITH q AS (SELECT a.k, min(VA) AS m FROM T AS a GROUP BY a.k) SELECT x.k, y.m FROM q AS x JOIN q AS y ON x.k = y.k WHERE x.m IS NOT NULL",
		"SELECT q.n, count(*) AS c FROM (SELECT a.k, count(b.k) AS n FROM T AS a LEFT JOIN U AS b ON EQ AND CB GROUP BY a.k) AS q GROUP BY q.n",
		"SELECT a.k, q.n FROM T AS a, LATERAL (SELECT count(*) AS n FROM U AS b WHERE EQ AND CB) AS q WHERE CA",
		"SELECT q.k, q.r FROM (SELECT a.k, row_number() OVER (PARTITION BY a.k ORDER BY a.k) AS r FROM T AS a) AS q JOIN U AS b ON b.k = q.k WHERE q.r = 1",
		"SELECT a.k FROM T AS a INTERSECT SELECT b.k FROM U AS b WHERE CB",
		"SELECT count(*) AS n FROM (SELECT DISTINCT a.k FROM T AS a WHERE CA) AS q JOIN U AS b ON b.k = q.k",
		"SELECT x.k, count(*) AS n FROM T AS a JOIN U AS b ON EQ JOIN T AS x ON x.k = b.k LEFT JOIN U AS y ON y.k = x.k AND CA GROUP BY x.k",
		"SELECT a.k, sum(x.n) AS s FROM T AS a JOIN (SELECT b.k, count(*) AS n FROM U AS b WHERE CB GROUP BY b.k) AS x ON x.k = a.k WHERE a.k > (SELECT min(b.k) FROM U AS b) GROUP BY a.k",
		"SELECT a.k, VA FROM T AS a WHERE a.k IN (SELECT b.k FROM U AS b WHERE CB) OR EXISTS (SELECT 1 FROM U AS b WHERE EQ)",
		"SELECT count(DISTINCT q.x) <= 2 AS ok FROM T AS a, (SELECT VB AS x FROM U AS b LIMIT 2) AS q", // any two, the same for all rows
		"SELECT count(DISTINCT q.x) <= 1 AS ok FROM T AS a, (SELECT first(VB) AS x FROM U AS b) AS q WHERE CA",
		"WITH q AS (SELECT VB AS x, row_number() OVER () AS r FROM U AS b) SELECT count(DISTINCT q.x) <= 1 AS ok FROM T AS a JOIN q ON q.r = 1 OR q.r < 1",
		"SELECT max(n) AS m FROM (SELECT count(*) AS n FROM T AS a JOIN U AS b ON EQ GROUP BY a.k HAVING max(VB) IS NOT NULL) AS q",
	})
	for from, to := range map[string]string{" T ": " " + t.name + " ", " U ": " " + u.name + " "} {
		sql = strings.ReplaceAll(sql, from, to)
	}
	for strings.Contains(sql, "EQ") {
		sql = strings.ReplaceAll(sql, "EQ", equal)
	}
	sql = strings.NewReplacer("VA", value("a", t), "VB", value("b", u)).Replace(sql)
	sql = strings.ReplaceAll(sql, "CA", condition(a))
	return strings.ReplaceAll(sql, "CB", condition(b))
}

// top asks for the first of some rows in a certain order.
func (g *grammar) top() string {
	t := pick(g.Rand, g.world.tables)
	s := &scope{own: []source{{"a", t.columns}}, deep: 2}
	var list, keys []string
	for i := range 1 + g.IntN(3) {
		ref, _ := g.anyColumn(s)
		list = append(list, ref)
		keys = append(keys, pick(g.Rand, []string{fmt.Sprint(i + 1), ref})+pick(g.Rand, []string{"", " DESC", " NULLS FIRST", " DESC NULLS LAST"}))
	}
	where, _ := g.comparison(s).sql()
	sql := fmt.Sprintf("SELECT %s%s FROM %s AS a", pick(g.Rand, []string{"", "", "DISTINCT "}), strings.Join(list, ", "), t.name)
	if g.maybe(30) {
		sql += " WHERE " + where
	}
	return fmt.Sprintf("%s ORDER BY %s LIMIT %d OFFSET %d", sql, strings.Join(keys, ", "), g.IntN(7), g.IntN(7))
}
