package enginetest

import (
	"fmt"
	"strings"
)

// anyColumn names a column of the scope's own sources, now and then one of a query around it.
func (g *grammar) anyColumn(s *scope) (string, *column) {
	if s.outer != nil && len(s.outer.own) > 0 && g.maybe(10) {
		return g.outerColumn(s)
	}
	for range 20 {
		src := pick(g.Rand, s.own)
		if len(src.columns) == 0 {
			continue
		}
		c := pick(g.Rand, src.columns)
		return g.reference(s, src, c), c
	}
	return "1", &column{name: "one", kind: kinds[0]}
}

// outerColumn is always qualified: the inner query may have a column of the same name.
func (g *grammar) outerColumn(s *scope) (string, *column) {
	if ref, c, ok := g.columnOf(s.outer, func(*column) bool { return true }); ok {
		return ref, c
	}
	return "1", &column{name: "one", kind: kinds[0]}
}

// reference names a column, qualified unless it is the only one of its name and luck wants it so.
func (g *grammar) reference(s *scope, src source, c *column) string {
	name := c.name
	if g.maybe(10) {
		name = strings.ToUpper(name)
	}
	if g.maybe(5) {
		name = `"` + name + `"`
	}
	count := 0
	for at := s; at != nil; at = at.outer {
		for _, o := range at.own {
			for _, d := range o.columns {
				if d.name == c.name {
					count++
				}
			}
		}
	}
	if count == 1 && g.maybe(25) {
		return name
	}
	return src.alias + "." + name
}

func (g *grammar) columnOf(s *scope, fits func(*column) bool) (string, *column, bool) {
	var refs []string
	var columns []*column
	for _, src := range s.own {
		for _, c := range src.columns {
			if fits(c) {
				refs, columns = append(refs, src.alias+"."+c.name), append(columns, c)
			}
		}
	}
	if len(refs) == 0 {
		return "", nil, false
	}
	i := g.IntN(len(refs))
	return refs[i], columns[i], true
}

func (g *grammar) conditions(s *scope, n int) (out []*piece) {
	for range n {
		out = append(out, g.condition(s))
	}
	return out
}

func (g *grammar) condition(s *scope) *piece {
	switch n := g.IntN(100); {
	case n < 12 && s.deep < 2:
		return g.subquery(s)
	case n < 22:
		left, right := g.condition2(s), g.condition2(s)
		return sequence("(", left, " OR ", right, ")").or(left, right)
	case n < 28:
		inner := g.condition2(s)
		return sequence("NOT (", inner, ")").or(inner)
	case n < 34:
		a, b, c, d := g.comparison(s), g.comparison(s), g.comparison(s), g.comparison(s)
		return sequence("((", a, " AND ", b, ") OR (", c, " AND ", d, "))").or(sequence("(", a, " OR ", c, ")"), a, b, c, d)
	case n < 46 && len(s.own) > 1:
		return g.equality(s, 1+g.IntN(len(s.own)-1))
	case n < 50:
		return g.between2(s)
	}
	return g.comparison(s)
}

func (g *grammar) condition2(s *scope) *piece {
	if g.maybe(15) {
		return g.condition(s)
	}
	return g.comparison(s)
}

// between2 compares columns of one table with each other.
func (g *grammar) between2(s *scope) *piece {
	a, c := g.anyColumn(s)
	b, _, ok := g.columnOf(s, func(d *column) bool { return d.kind.family == c.kind.family })
	if !ok {
		return text("%s IS NOT NULL", a)
	}
	return text("%s %s %s", a, pick(g.Rand, []string{"<", "<=", ">", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}), b)
}

// equality joins source at with one before it, if they have columns that can be compared.
func (g *grammar) equality(s *scope, at int) *piece {
	for range 8 {
		left := pick(g.Rand, s.own[:at])
		right := s.own[at]
		if len(left.columns) == 0 || len(right.columns) == 0 {
			continue
		}
		a, b := left.columns[0], right.columns[0] // keys
		if g.maybe(50) {
			a, b = pick(g.Rand, left.columns), pick(g.Rand, right.columns)
		}
		if a.kind.family != b.kind.family || a.kind.family == "other" {
			continue
		}
		x, y := left.alias+"."+a.name, right.alias+"."+b.name
		if g.maybe(50) {
			x, y = y, x
		}
		return text("%s %s %s", x, pick(g.Rand, []string{"=", "=", "=", "=", "=", "=", "IS NOT DISTINCT FROM", "<="}), y)
	}
	return text("true")
}

// constant is a literal or a parameter that can stand beside a column of kind k.
func (g *grammar) constant(k *kind) *piece {
	if g.parameters && len(k.values) > 0 && g.maybe(60) {
		return parameter(pick(g.Rand, k.values))
	}
	if len(k.beside) > 0 && g.maybe(50) {
		return text("%s", pick(g.Rand, k.beside))
	}
	if len(k.pool) == 0 {
		return text("NULL")
	}
	return text("%s", pick(g.Rand, k.pool))
}

// comparison is a condition on one column.
func (g *grammar) comparison(s *scope) *piece {
	ref, c := g.anyColumn(s)
	k := c.kind
	if k.name == "BOOLEAN" && g.maybe(40) {
		return text("%s", pick(g.Rand, []string{ref, "NOT " + ref, ref + " IS TRUE", ref + " IS NOT FALSE"}))
	}
	switch n := g.IntN(100); {
	case n < 8:
		return text("%s IS NULL", ref)
	case n < 14:
		return text("%s IS NOT NULL", ref)
	case n < 26:
		values := list(ref+pick(g.Rand, []string{" IN (", " IN (", " NOT IN ("}), ", ", ")", 1)
		for range 1 + g.IntN(3) {
			values.pieces = append(values.pieces, g.constant(k))
		}
		return values
	case n < 36:
		return sequence(ref+pick(g.Rand, []string{" BETWEEN ", " BETWEEN ", " NOT BETWEEN "}), g.constant(k), " AND ", g.constant(k))
	case n < 55 && k.family == "text":
		return text("%s %s %s", ref, pick(g.Rand, []string{"LIKE", "LIKE", "NOT LIKE", "ILIKE"}), pick(g.Rand, quoted("A%", "a%", "%a%", "_", "A_R", "", "%", "x\\%", "x_", "it's%", "ä%", "AIR", "x%y", "w1%")))
	case n < 58 && k.family == "text":
		return text("%s", fmt.Sprintf(pick(g.Rand, beginnings), ref))
	case n < 61 && k.family == "text":
		return text("%s", fmt.Sprintf(pick(g.Rand, []string{"length(%s) > 1", "%s LIKE 'x!%%' ESCAPE '!'", "upper(%s) = 'A'", "%s || 'b' = 'ab'", "%s SIMILAR TO 'A.*'", "starts_with(%s, 'a')", "%s ^@ 'A'"}), ref))
	case n < 63 && k.family == "number":
		return text("CAST(%s AS HUGEINT) %% 3 = 1", "CASE WHEN "+ref+" BETWEEN -100 AND 100 THEN "+ref+" END")
	}
	op := pick(g.Rand, []string{"=", "=", "=", "<>", "<", "<=", ">", ">=", "!=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"})
	if g.maybe(15) {
		return sequence(g.constant(k), " "+op+" "+ref)
	}
	return sequence(ref+" "+op+" ", g.constant(k))
}

// beginnings are conditions on the first characters of a column: such as a scan can use, and such as look so.
var beginnings = []string{
	"substring(%s FROM 1 FOR 2) IN ('AI', 'x', 'xé', 'ä')", "left(%s, 1) = 'ä'", "substr(%s, 1, 3) = 'AIR'", "'x' = left(%s, 1)",
	"left(%s, 2) IN ('', 'A')", "left(%s, 2) IN ('A', NULL)", "left(%s, 1) IN ('ab')", "left(%s, -1) = 'x'", "left(%s, 0) = ''",
	"substring(%s, 0, 2) = 'A'", "substring(%s, 2, 1) = 'b'", "substring(%s, -1, 1) = 'b'", "left(%s, 8) = 'a string'", "left(%s, 13) = 'a string that'",
	"left(%s, 2) <> 'AI'", "left(%s, 1) > 'M'", "starts_with(%s, 'a')", "prefix(%s, '')", "%s ^@ 'x'", "starts_with(%s, 'xé')", "substring(%s FROM 1 FOR 1) NOT IN ('A', 'a')",
}

// correlation joins a sub-query's table with one around it.
func (g *grammar) correlation(s *scope) *piece {
	if s.outer == nil || len(s.outer.own) == 0 {
		return text("true")
	}
	both := &scope{own: []source{pick(g.Rand, s.outer.own), s.own[0]}}
	return g.equality(both, 1)
}

// subquery is a condition with a query in it.
func (g *grammar) subquery(s *scope) *piece {
	inner := &scope{outer: s, deep: s.deep + 1}
	from := g.from1(inner)
	if g.maybe(20) {
		from = sequence(from, g.joined(inner, 2))
	}
	where := list(" WHERE ", " AND ", "", 0, g.conditions(inner, g.IntN(3))...)
	if g.maybe(75) {
		where.pieces = append(where.pieces, g.correlation(inner))
	}
	own := &scope{own: inner.own}
	switch n := g.IntN(100); {
	case n < 40:
		return sequence(pick(g.Rand, []string{"EXISTS (SELECT ", "NOT EXISTS (SELECT "}), pick(g.Rand, []string{"*", "1"}), from, where, ")")
	case n < 75:
		ref, c := g.anyColumn(&scope{own: s.own})
		other, _, ok := g.columnOf(own, func(d *column) bool { return d.kind.family == c.kind.family })
		if !ok {
			return sequence("EXISTS (SELECT 1", from, where, ")")
		}
		in := pick(g.Rand, []string{" IN (SELECT ", " IN (SELECT ", " NOT IN (SELECT ", " = ANY (SELECT ", " <> ALL (SELECT "})
		if g.maybe(40) {
			return g.keysOf(ref+in, other, from, where, own)
		}
		return sequence(ref+in+other, from, where, ")")
	}
	ref, c := g.anyColumn(&scope{own: s.own})
	other, _, ok := g.columnOf(own, func(d *column) bool { return d.kind.family == c.kind.family && d.kind.family != "span" })
	if !ok || c.kind.family == "other" {
		return sequence("(SELECT count(*)", from, where, ") > 0")
	}
	return sequence(ref+" "+pick(g.Rand, []string{"=", "<", ">=", "<>"})+" (SELECT "+pick(g.Rand, []string{"min", "max"})+"("+other+")", from, where, ")")
}

// keysOf ends a sub-query that puts out one column in ways that keep its keys apart, or do not.
func (g *grammar) keysOf(head, key string, from, where *piece, own *scope) *piece {
	switch n := g.IntN(100); {
	case n < 10:
		return sequence(head+"DISTINCT "+key, from, where, ")")
	case n < 25:
		return sequence(head+key, from, where, fmt.Sprintf(" ORDER BY %s LIMIT %d)", key, g.IntN(4)))
	case n < 35:
		other, _ := g.anyColumn(&scope{own: own.own})
		return sequence(head+key, from, where, " GROUP BY "+key+", "+other+")")
	}
	total := "count(*)"
	if number, _, ok := g.columnOf(own, func(d *column) bool { return d.kind.family == "number" }); ok && g.maybe(70) {
		total = pick(g.Rand, []string{"sum", "sum", "sum", "max", "count"}) + "(" + number + ")"
	}
	having := fmt.Sprintf(" GROUP BY %s HAVING %s %s %d)", key, total, pick(g.Rand, []string{">", ">=", ">", ">=", "<", "="}), g.IntN(12))
	if g.maybe(50) {
		return sequence(head+key, from, having)
	}
	return sequence(head+key, from, where, having)
}

// scalar is a correlated sub-query for a select list.
func (g *grammar) scalar(s *scope) (*piece, *kind) {
	inner := &scope{outer: s, deep: 2}
	from := g.from1(inner)
	where := list(" WHERE ", " AND ", "", 0, g.correlation(inner))
	where.pieces = append(where.pieces, g.conditions(inner, g.IntN(2))...)
	value, k := g.aggregate(&scope{own: inner.own})
	return sequence("(SELECT ", value, from, where, ")"), k
}
