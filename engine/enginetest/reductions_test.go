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
