package distribute

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// setsMax bounds the sets that GROUPING SETS, ROLLUP and CUBE may make, and keysMax their columns.
const (
	setsMax = 64
	keysMax = 32
)

// setKeys makes keys for GROUPING SETS, ROLLUP and CUBE: every column, and the number that says which of them a group
// has lost. Groups of two fragments are one only if they agree in that number, too.
func (g *grouping) setKeys() {
	if g.twiceInSets(g.block) {
		g.fail("grouping sets that have a column twice")
		return
	}
	var columns []*reference
	sets := [][]column{nil}
	for _, n := range g.block.stmt.GroupClause {
		more := g.setsOf(n, &columns)
		var product [][]column
		for _, s := range sets {
			for _, m := range more {
				product = append(product, slices.Concat(s, m))
			}
		}
		if sets = product; len(sets) > setsMax || len(columns) > keysMax {
			g.fail("too many grouping sets")
			return
		}
	}
	if g.why != "" {
		return
	}
	seen := map[uint64]bool{}
	for _, s := range sets {
		bits := uint64(0)
		for _, c := range s {
			bits |= 1 << slices.IndexFunc(columns, func(r *reference) bool { return r.column == c })
		}
		if seen[bits] {
			g.fail("a grouping set that comes twice")
		}
		seen[bits] = true
	}
	if len(columns) == 0 {
		g.fail("GROUP BY nothing")
	}
	for _, r := range columns {
		g.addKey(&pg.Node{Node: &pg.Node_ColumnRef{ColumnRef: r.node}}, func(b *builder) { b.original(r.span) })
	}
	g.keys = append(g.keys, groupKey{class: class{kind: integer}, write: func(b *builder) {
		b.raw("grouping(")
		for i, r := range columns {
			if i > 0 {
				b.raw(", ")
			}
			b.original(r.span)
		}
		b.raw(")")
	}})
	for _, f := range g.block.groupings {
		span, ok := g.text.Grouping(f)
		if !ok {
			g.fail("GROUPING that is not where the tree has it")
			return
		}
		v := g.value(g.text.Of(span), func(b *builder) { b.original(span) })
		g.edit(span, func() string { return "first(" + g.column(v) + ")" })
	}
}

// twiceInSets: DuckDB distinguishes t.a and a as members of grouping sets, and would not in the final text.
func (a *analysis) twiceInSets(b *block) bool {
	if !slices.ContainsFunc(b.stmt.GroupClause, func(n *pg.Node) bool { return n.GetGroupingSet() != nil }) {
		return false
	}
	seen := map[column]string{}
	for _, r := range b.refs {
		if r.clause != inGroup {
			continue
		}
		if text, ok := seen[r.column]; ok && text != a.text.Of(r.span) {
			return true
		}
		seen[r.column] = a.text.Of(r.span)
	}
	return false
}

// setsOf lists the sets that a member of GROUP BY stands for; columns collects what is in them.
func (g *grouping) setsOf(n *pg.Node, columns *[]*reference) [][]column {
	set := n.GetGroupingSet()
	if set == nil {
		return [][]column{g.setColumns(n, columns)}
	}
	var members [][]column
	switch set.Kind {
	case pg.GroupingSetKind_GROUPING_SET_EMPTY:
		return [][]column{nil}
	case pg.GroupingSetKind_GROUPING_SET_SETS:
		for _, m := range set.Content {
			members = append(members, g.setsOf(m, columns)...)
		}
		return members
	}
	for _, m := range set.Content {
		members = append(members, g.setColumns(m, columns))
	}
	if set.Kind == pg.GroupingSetKind_GROUPING_SET_ROLLUP {
		return rollup(members)
	}
	if set.Kind != pg.GroupingSetKind_GROUPING_SET_CUBE || len(members) > 6 {
		g.fail("grouping sets of an unusual kind")
		return nil
	}
	return cube(members)
}

func rollup(members [][]column) (sets [][]column) {
	for n := len(members); n >= 0; n-- {
		sets = append(sets, slices.Concat(members[:n]...))
	}
	return sets
}

func cube(members [][]column) (sets [][]column) {
	for bits := range 1 << len(members) {
		var s []column
		for i, m := range members {
			if bits&(1<<i) != 0 {
				s = append(s, m...)
			}
		}
		sets = append(sets, s)
	}
	return sets
}

// setColumns are the columns of a member that is one, or a row of some.
func (g *grouping) setColumns(n *pg.Node, columns *[]*reference) (list []column) {
	if row := n.GetRowExpr(); row != nil {
		for _, m := range row.Args {
			list = append(list, g.setColumns(m, columns)...)
		}
		return list
	}
	if l := n.GetList(); l != nil {
		for _, m := range l.Items {
			list = append(list, g.setColumns(m, columns)...)
		}
		return list
	}
	r := g.own(g.block, n)
	if r == nil {
		g.fail("grouping sets of something else than columns")
		return nil
	}
	if !slices.ContainsFunc(*columns, func(have *reference) bool { return have.column == r.column }) {
		*columns = append(*columns, r)
	}
	return []column{r.column}
}
