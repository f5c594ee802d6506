package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// source is something in a FROM clause with columns of known kinds.
type source struct {
	alias   string
	columns []*column
}

// scope is what an expression may name: the sources of its own query and of those around it.
type scope struct {
	own   []source
	outer *scope
	deep  int // how far queries are nested
}

// grammar makes queries over a world.
type grammar struct {
	*rand.Rand
	world      *world
	parameters bool // constants may become parameters
	ctes       []source
	columns    []*column // of the last statement
	aliases    int
	budget     int // product of FROM items: bounds cross joins
}

func (g *grammar) maybe(percent int) bool { return chance(g.Rand, percent) }

// statement is a whole query; ordered: its rows come in a certain order.
func (g *grammar) statement() (q *piece, ordered bool) {
	g.ctes, g.aliases, g.budget = nil, 0, 20_000
	with := list("WITH ", ", ", " ", 0)
	if g.maybe(20) {
		for i := range 1 + g.IntN(2) {
			name := fmt.Sprintf("c%d", i)
			body, columns := g.query(nil, 1, nil)
			materialized := ""
			if g.maybe(30) {
				materialized = "MATERIALIZED "
			}
			with.pieces = append(with.pieces, sequence(name+" AS "+materialized+"(", body, ")"))
			g.ctes = append(g.ctes, source{name, columns})
		}
	}
	if g.maybe(3) {
		g.columns = []*column{{name: "n", kind: kinds[0]}, {name: "c", kind: kinds[1]}, {name: "m", kind: kinds[1]}}
		return g.recursive(), false
	}
	body, columns := g.query(nil, 0, nil)
	g.columns = columns
	order := list("", "", "", 0)
	if g.maybe(35) && len(columns) > 0 {
		keys := make([]string, len(columns))
		for i := range columns {
			keys[i] = fmt.Sprint(i+1) + pick(g.Rand, []string{"", " DESC", " NULLS FIRST", " DESC NULLS LAST"})
		}
		order.pieces = append(order.pieces, text(" ORDER BY %s", strings.Join(keys, ", ")))
		ordered = true
		if g.maybe(50) {
			order.pieces = append(order.pieces, list("", "", "", 0, text(" LIMIT %d", g.IntN(6))))
			if g.maybe(30) {
				order.pieces = append(order.pieces, list("", "", "", 0, text(" OFFSET %d", g.IntN(4))))
			}
		}
		order.least = 1 // order or nothing: a LIMIT needs it
		order = list("", "", "", 1, order)
		if ordered {
			return sequence(with, body, order), true
		}
	}
	return sequence(with, body, order), ordered
}

// recursive walks from key to key.
func (g *grammar) recursive() *piece {
	t := pick(g.Rand, g.world.tables)
	key := t.columns[0].name
	s := &scope{own: []source{{"x", t.columns}}}
	base := list(" WHERE ", " AND ", "", 0, g.conditions(s, 2)...)
	step := list(" AND ", " AND ", "", 0, g.conditions(s, 1)...)
	return sequence("WITH RECURSIVE r(k, n) AS (SELECT x."+key+", 0 FROM "+t.name+" x", base,
		" UNION ALL SELECT x."+key+", r.n + 1 FROM r JOIN "+t.name+" x ON x."+key+" > r.k AND r.n < 2", step, ") SELECT r.n AS n, count(*) AS c, min(k) AS m FROM r GROUP BY r.n")
}

// query is a select or a set operation; like: the columns must have these kinds.
func (g *grammar) query(outer *scope, deep int, like []*column) (*piece, []*column) {
	left, columns := g.selection(outer, deep, like)
	if deep > 1 || len(columns) == 0 || !g.maybe(12) {
		return left, columns
	}
	right, _ := g.selection(outer, deep, columns)
	op := pick(g.Rand, []string{"UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"})
	return sequence(left, " "+op+" ", right).or(left, right), columns
}

func (g *grammar) selection(outer *scope, deep int, like []*column) (*piece, []*column) {
	s := &scope{outer: outer, deep: deep}
	var from, where *piece
	if g.maybe(8) {
		from, where = g.star(s)
	} else {
		from = g.from(s, deep)
		where = list(" WHERE ", " AND ", "", 0, g.conditions(s, g.IntN(4))...)
	}
	if like != nil {
		list, columns := g.columnsLike(s, like)
		return sequence("SELECT ", list, from, where), columns
	}
	switch {
	case g.maybe(25):
		return g.aggregation(s, from, where)
	case g.maybe(8):
		return g.windows(s, from, where)
	}
	distinct := ""
	if g.maybe(12) {
		distinct = "DISTINCT "
	}
	outputs, columns := g.outputs(s)
	return sequence("SELECT "+distinct, outputs, from, where), columns
}

// columnsLike gives outputs of the same names and kinds.
func (g *grammar) columnsLike(s *scope, like []*column) (*piece, []*column) {
	out := list("", ", ", "", len(like))
	for _, want := range like {
		value := "NULL"
		if ref, _, ok := g.columnOf(s, func(c *column) bool { return c.kind == want.kind }); ok && g.maybe(80) {
			value = ref
		}
		out.pieces = append(out.pieces, text("CAST(%s AS %s) AS %s", value, want.kind.name, want.name).or(text("%s AS %s", value, want.name)))
	}
	return out, like
}

func (g *grammar) outputs(s *scope) (*piece, []*column) {
	if len(s.own) == 1 && g.maybe(15) {
		return text("*"), s.own[0].columns
	}
	out := list("", ", ", "", 1)
	var columns []*column
	for i := range 1 + g.IntN(4) {
		ref, c := g.anyColumn(s)
		name := fmt.Sprintf("o%d", i)
		switch {
		case g.maybe(8) && s.deep < 2:
			sub, k := g.scalar(s)
			out.pieces = append(out.pieces, sequence(sub, " AS "+name))
			columns = append(columns, &column{name: name, kind: k})
			continue
		case g.maybe(12) && c.kind.family == "text":
			ref = pick(g.Rand, []string{"upper(%s)", "%s || 'x'", "coalesce(%s, 'none')", "CASE %s WHEN 'A' THEN 'first' WHEN 'b' THEN 'second' END", "CASE WHEN %s > 'B' THEN 'x' ELSE 'AIR' END", "nullif(%s, 'A')", "substr(%s, 1, 1)", "greatest(%s, 'B')", "CAST(%s AS VARCHAR)"})
			ref = fmt.Sprintf(ref, mustRef(g, s, c))
			out.pieces = append(out.pieces, text("%s AS %s", ref, name))
			columns = append(columns, &column{name: name, kind: kinds[15]})
			continue
		case g.maybe(5):
			out.pieces = append(out.pieces, text("%s IS NULL AS %s", ref, name))
			columns = append(columns, &column{name: name, kind: kinds[17]})
			continue
		}
		out.pieces = append(out.pieces, text("%s AS %s", ref, name))
		columns = append(columns, &column{name: name, kind: c.kind})
	}
	return out, columns
}

func mustRef(g *grammar, s *scope, c *column) string {
	ref, _, _ := g.columnOf(s, func(d *column) bool { return d == c })
	return ref
}

func (g *grammar) aggregation(s *scope, from, where *piece) (*piece, []*column) {
	keys := list("", ", ", "", 0)
	var names []string
	var columns []*column
	for i := range g.IntN(3) {
		ref, c := g.anyColumn(s)
		name := fmt.Sprintf("g%d", i)
		keys.pieces = append(keys.pieces, text("%s AS %s", ref, name))
		names = append(names, ref)
		columns = append(columns, &column{name: name, kind: c.kind})
	}
	grouped := len(names)
	for i := range 1 + g.IntN(3) {
		name := fmt.Sprintf("n%d", i)
		value, k := g.aggregate(s)
		keys.pieces = append(keys.pieces, sequence(value, " AS "+name))
		columns = append(columns, &column{name: name, kind: k})
	}
	keys.least = len(keys.pieces)
	by := ""
	if grouped > 0 {
		by = " GROUP BY " + strings.Join(names, ", ")
		switch {
		case grouped > 1 && g.maybe(15):
			by = " GROUP BY GROUPING SETS ((" + strings.Join(names, ", ") + "), (" + names[0] + "), ())"
		case g.maybe(10):
			by = " GROUP BY ROLLUP (" + strings.Join(names, ", ") + ")"
		}
	}
	having := list(" HAVING ", " AND ", "", 0)
	if g.maybe(25) {
		value, _ := g.aggregate(s)
		having.pieces = append(having.pieces, sequence("(", value, ") IS NOT NULL"), text("count(*) >= %d", g.IntN(3)))
	}
	return sequence("SELECT ", keys, from, where, list("", "", "", 0, text("%s", by)), having), columns
}

// aggregate gives an aggregate whose value does not depend on the order of rows.
func (g *grammar) aggregate(s *scope) (*piece, *kind) {
	ref, c := g.anyColumn(s)
	filter := list(" FILTER (WHERE ", " AND ", ")", 0)
	if g.maybe(15) {
		filter.pieces = append(filter.pieces, g.comparison(s))
	}
	bigint := kinds[1]
	switch {
	case g.maybe(25):
		return text("count(*)"), bigint
	case g.maybe(25):
		return sequence("count("+pick(g.Rand, []string{"", "DISTINCT "})+ref+")", filter), bigint
	case c.kind.family == "number" && g.maybe(50):
		if c.kind.name == "FLOAT" || c.kind.name == "DOUBLE" {
			return sequence("sum("+ref+")", filter), kinds[9]
		}
		return sequence(pick(g.Rand, []string{"sum", "avg"})+"(CAST("+ref+" AS DECIMAL(30,3)))", filter).or(sequence("sum("+ref+")", filter)), &kind{name: "DECIMAL(38,3)", family: "other"}
	}
	if c.kind.family == "span" {
		return text("count(*)"), bigint
	}
	return sequence(pick(g.Rand, []string{"min", "max"})+"("+ref+")", filter), c.kind
}

func (g *grammar) windows(s *scope, from, where *piece) (*piece, []*column) {
	ref, c := g.anyColumn(s)
	by, _ := g.anyColumn(s)
	order, _ := g.anyColumn(s)
	call := pick(g.Rand, []string{
		"rank() OVER (PARTITION BY %[1]s ORDER BY %[2]s)", "count(*) OVER (PARTITION BY %[1]s)", "dense_rank() OVER (ORDER BY %[2]s)",
		"count(%[2]s) OVER (ORDER BY %[1]s)", "count(*) OVER w",
	})
	window := ""
	if strings.HasSuffix(call, "OVER w") {
		window = " WINDOW w AS (PARTITION BY " + by + " ORDER BY " + order + ")"
	}
	value := strings.NewReplacer("%[1]s", by, "%[2]s", order).Replace(call)
	return sequence("SELECT "+ref+" AS o0, "+value+" AS w0", from, where, window), []*column{{name: "o0", kind: c.kind}, {name: "w0", kind: kinds[1]}}
}

// from makes a FROM clause and puts its sources into s.
func (g *grammar) from(s *scope, deep int) *piece {
	n := 1
	if g.maybe(55) {
		n += 1 + g.IntN(2)
	}
	out := sequence(" FROM ")
	out.pieces = append(out.pieces, g.item(s, deep))
	for len(s.own) < n {
		out.pieces = append(out.pieces, g.joined(s, deep))
	}
	out.least = len(out.pieces)
	return out
}

// star joins a table twice, by columns of its own each time, with a third one that a condition thins out: the keys of that
// one go to two scans of one table.
func (g *grammar) star(s *scope) (from, where *piece) {
	few := slices.DeleteFunc(slices.Clone(g.world.tables), (*table).many)
	if len(few) == 0 {
		return g.from(s, 2), list("", "", "", 0)
	}
	t, center := pick(g.Rand, few), pick(g.Rand, few)
	x, y, z := source{g.alias(), t.columns}, source{g.alias(), t.columns}, source{g.alias(), center.columns}
	s.own = []source{x, y, z}
	where = list(" WHERE ", " AND ", "", 0)
	for _, arm := range []source{x, y} {
		c := pick(g.Rand, t.columns)
		key := center.columns[0]
		for range 8 {
			if c.kind.family == key.kind.family {
				break
			}
			c = pick(g.Rand, t.columns)
		}
		if c.kind.family == key.kind.family {
			where.pieces = append(where.pieces, text("%s.%s = %s.%s", arm.alias, c.name, z.alias, key.name))
		}
	}
	where.pieces = append(where.pieces, g.conditions(&scope{own: []source{z}, deep: 2}, 1+g.IntN(2))...)
	return text(" FROM %s AS %s, %s AS %s, %s AS %s", t.name, x.alias, t.name, y.alias, center.name, z.alias), where
}

// joined is a further entry of a FROM clause with the way it is joined.
func (g *grammar) joined(s *scope, deep int) *piece {
	how := pick(g.Rand, []string{", ", " JOIN ", " JOIN ", " LEFT JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " CROSS JOIN ", " SEMI JOIN ", " ANTI JOIN ", " JOIN USING ", " NATURAL JOIN ", " LATERAL "})
	before := len(s.own)
	switch how {
	case " LATERAL ":
		return g.lateral(s, deep)
	case " JOIN USING ":
		item := g.item(s, deep)
		if n, ok := sharedName(s.own[before], s.own[:before]); ok {
			s.own[before].columns = without(s.own[before].columns, n)
			return sequence(pick(g.Rand, []string{" JOIN ", " LEFT JOIN "}), item, " USING ("+n+")")
		}
		return sequence(" CROSS JOIN ", item)
	case " NATURAL JOIN ":
		item := g.item(s, deep)
		if before == 1 && natural(s.own[0], s.own[1]) {
			return sequence(how, item)
		}
		return sequence(", ", item)
	}
	item := g.item(s, deep)
	if how == ", " || how == " CROSS JOIN " {
		return sequence(how, item)
	}
	on := list(" ON ", " AND ", "", 1, g.equality(s, before))
	on.pieces = append(on.pieces, g.conditions(&scope{own: s.own, outer: s.outer, deep: 2}, g.IntN(3))...)
	if how == " SEMI JOIN " || how == " ANTI JOIN " {
		s.own = s.own[:before]
	}
	return sequence(how, item, on)
}

func sharedName(s source, others []source) (string, bool) {
	for _, c := range s.columns {
		count, same := 0, false // whichever of them USING means: it must not need a cast that may fail
		for _, o := range others {
			for _, d := range o.columns {
				if d.name == c.name {
					count++
					same = d.kind.family == c.kind.family
				}
			}
		}
		if count == 1 && same {
			return c.name, true
		}
	}
	return "", false
}

// natural: NATURAL JOIN compares what can be compared without a cast that may fail.
func natural(a, b source) bool {
	met := false
	for _, c := range a.columns {
		for _, d := range b.columns {
			if c.name == d.name {
				if c.kind.family != d.kind.family {
					return false
				}
				met = true
			}
		}
	}
	return met
}

func without(columns []*column, name string) (out []*column) {
	for _, c := range columns {
		if c.name != name {
			out = append(out, c)
		}
	}
	return out
}

func (g *grammar) alias() string {
	g.aliases++
	return fmt.Sprintf("x%d", g.aliases)
}

// item is a table, a view, a CTE or a derived table.
func (g *grammar) item(s *scope, deep int) *piece {
	alias := g.alias()
	switch {
	case len(g.ctes) > 0 && g.maybe(40):
		c := pick(g.Rand, g.ctes)
		s.own = append(s.own, source{alias, c.columns})
		return text("%s AS %s", c.alias, alias)
	case len(g.world.views) > 0 && g.maybe(10):
		v := pick(g.Rand, g.world.views)
		s.own = append(s.own, source{alias, v.columns})
		return text("%s %s", v.name, alias)
	case deep < 2 && g.maybe(15):
		body, columns := g.query(nil, deep+1, nil)
		s.own = append(s.own, source{alias, columns})
		return sequence("(", body, ") AS "+alias)
	}
	t := pick(g.Rand, g.world.tables)
	columns := t.columns
	name := t.name
	switch {
	case g.maybe(10) && !strings.HasPrefix(name, `"`):
		name = "public." + name
	case g.maybe(5):
		name = strings.ToUpper(name)
	}
	if g.maybe(6) {
		columns = append([]*column{}, columns...)
		columns[0] = &column{name: "first", kind: columns[0].kind}
		s.own = append(s.own, source{alias, columns})
		return text("%s AS %s(first)", name, alias)
	}
	for _, o := range s.own {
		if strings.EqualFold(o.alias, strings.Trim(t.name, `"`)) {
			s.own = append(s.own, source{alias, columns})
			return text("%s AS %s", name, alias)
		}
	}
	if g.maybe(30) && s.outer == nil {
		s.own = append(s.own, source{t.name, columns})
		return text("%s", name)
	}
	s.own = append(s.own, source{alias, columns})
	return text("%s%s%s", name, pick(g.Rand, []string{" AS ", " "}), alias)
}

func (g *grammar) lateral(s *scope, deep int) *piece {
	alias := g.alias()
	inner := &scope{outer: &scope{own: s.own, outer: s.outer}, deep: 2}
	from := g.from1(inner)
	where := list(" WHERE ", " AND ", "", 0, g.correlation(inner))
	where.pieces = append(where.pieces, g.conditions(inner, g.IntN(2))...)
	if g.maybe(50) {
		value, k := g.aggregate(inner)
		s.own = append(s.own, source{alias, []*column{{name: "v", kind: k}}})
		return sequence(pick(g.Rand, []string{", LATERAL (", " CROSS JOIN LATERAL (", ", ("})+"SELECT ", value, " AS v", from, where, ") AS "+alias)
	}
	ref, c := g.anyColumn(&scope{own: inner.own})
	s.own = append(s.own, source{alias, []*column{{name: "v", kind: c.kind}}})
	if g.maybe(40) {
		return sequence(" LEFT JOIN LATERAL (SELECT "+ref+" AS v", from, where, ") AS "+alias+" ON true")
	}
	return sequence(", LATERAL (SELECT "+ref+" AS v", from, where, ") AS "+alias)
}

// from1 is a FROM clause of one table.
func (g *grammar) from1(s *scope) *piece {
	t, alias := pick(g.Rand, g.world.tables), g.alias()
	s.own = append(s.own, source{alias, t.columns})
	return text(" FROM %s AS %s", t.name, alias)
}
