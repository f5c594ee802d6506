package distribute

import (
	"regexp"
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/lex"
)

// groupsForm: fragments make groups of their own rows; the coordinator makes one of those that have the same key.
//
//	fragment   SELECT g, sum(x), count(x) FROM t WHERE … GROUP BY 1
//	final      SELECT c0 AS g, sum(c1) / sum(c2) AS average FROM csm_stage_1 GROUP BY c0 HAVING … ORDER BY … LIMIT …
//
// What DISTINCT aggregates look at becomes a part of the fragments' keys: their groups are finer then.
//
// If shuffled, the groups are written in partitions by their keys, and each node finishes those of one:
//
//	stage 1    SELECT g, sum(x), count(x) FROM t WHERE … GROUP BY 1           → partitions by hash of c0
//	stage 2    SELECT c0 AS g, sum(c1) / sum(c2) AS average FROM csm_stage_1 GROUP BY c0 HAVING … ORDER BY … LIMIT …
//	final      SELECT c0 AS g, c1 AS average FROM csm_stage_2 ORDER BY … LIMIT …
func (p *planner) groupsForm(q *query, s *spreader, in spread, shuffled, prepared bool) (why string) {
	g := &grouping{planner: p, query: q, block: q.block, finer: 1}
	if why := s.subqueries(g.block, in, func(q *subquery) bool { return q.inCall || q.clause == inGroup }); why != "" {
		return why
	}
	if why := q.lost(); why != "" {
		return why
	}
	g.check()
	g.groupKeys()
	for _, c := range g.block.calls {
		g.call(c)
	}
	g.rewriteAll()
	if len(g.keys)+len(g.values) == 0 {
		g.value("count(*)", func(b *builder) { b.raw("count(*)") })
	}
	if g.sets && len(g.extra) > 0 {
		g.fail("DISTINCT aggregates over grouping sets")
	}
	if g.why != "" {
		return g.why
	}
	fragments := p.fragments(s.parts)
	stage := stageOf{
		query: q, form: "partial groups", parts: s.parts, edits: p.edits, fragments: fragments, columns: len(g.keys) + len(g.values),
		texts: g.keyTexts(), rows: min(p.joined(g.block), p.groups(g.block)*g.finer*float64(len(fragments))), body: g.writeBody, final: g.writeFinal,
	}
	if shuffled {
		return g.shuffled(stage, prepared)
	}
	p.add(stage)
	return ""
}

// grouping is a block on its way into partial groups. Columns of the stage are the keys, then the values.
type grouping struct {
	*planner
	query  *query
	block  *block
	keys   []groupKey
	values []func(*builder) // partial aggregates, and expressions over keys
	known  map[string]int   // values by their text
	sets   bool             // GROUPING SETS, ROLLUP, CUBE
	final  []edit           // of the text behind the fragments

	distinctKeys map[string]int // keys that were added for DISTINCT aggregates, by their text
	extra        []int          // those keys: the final text does not group by them
	finer        float64        // by how much those make the fragments' groups more
	meansOf      []meanOf       // for variances

	number int // of the stage, known when the final text is written
	why    string
}

// groupKey is a key of the fragments' groups.
type groupKey struct {
	node   *pg.Node
	column column // if it is nothing but one
	class  class
	write  func(*builder)
}

// keyTexts counts the keys that are strings outside of dictionaries.
func (g *grouping) keyTexts() (n int) {
	for _, k := range g.keys {
		n += g.texts(k.column)
	}
	return n
}

func (g *grouping) fail(why string) {
	if g.why == "" {
		g.why = why
	}
}

var stageColumnName = regexp.MustCompile(`^(?i:c[0-9]+)$`)

// check refuses what would mean something else in the fragments or behind them.
func (g *grouping) check() {
	b := g.block
	for _, use := range b.aliasUses {
		name := b.stmt.TargetList[use.target].GetResTarget().GetName()
		switch {
		case use.clause.before() || use.inCall || use.clause == inGroup && !use.whole:
			g.fail("the name " + name + " of the select list where fragments cannot know it")
		case stageColumnName.MatchString(name):
			g.fail("the name " + name + ", which columns of stages have")
		}
	}
	if b.distinctOn() {
		g.fail("DISTINCT ON over groups")
	}
}

// groupKeys makes keys of the members of GROUP BY.
func (g *grouping) groupKeys() {
	for _, n := range g.block.stmt.GroupClause {
		g.sets = g.sets || n.GetGroupingSet() != nil
	}
	if g.sets {
		g.setKeys()
		return
	}
	for i, n := range g.block.stmt.GroupClause {
		span := g.block.text.Group[i]
		if t := g.keyTarget(g.block, n); t >= 0 {
			n, span = g.block.targets[t].node, g.block.targets[t].text.Expr
			if g.block.targets[t].isStar {
				g.fail("GROUP BY the position of a star")
				return
			}
		} else if n.GetAConst() != nil {
			g.fail("GROUP BY a constant")
			return
		}
		if g.usesAlias(g.block, n) || g.hasSubquery(n) {
			g.fail("GROUP BY an expression with sub-queries or names of the select list")
		}
		g.addKey(n, func(b *builder) { b.original(span) })
	}
}

func (g *grouping) addKey(n *pg.Node, write func(*builder)) int {
	k := groupKey{node: n, class: g.outputClass(n), write: write}
	if r := g.own(g.block, n); r != nil {
		k.column = r.column
	}
	if !k.class.known() || k.class.kind == null {
		g.fail("GROUP BY an expression whose type is not certain")
	}
	g.keys = append(g.keys, k)
	return len(g.keys) - 1
}

func (g *grouping) hasSubquery(n *pg.Node) bool {
	found := false
	eachNode(n, func(m *pg.Node) { found = found || m.GetSubLink() != nil })
	return found
}

// value is the column for a partial aggregate or an expression; same says what it is, so that none comes twice.
func (g *grouping) value(same string, write func(*builder)) int {
	if g.known == nil {
		g.known = map[string]int{}
	}
	i, ok := g.known[same]
	if !ok {
		i = len(g.values)
		g.known[same] = i
		g.values = append(g.values, write)
	}
	return i
}

// key and column name a column of the stage in the final text.
func (g *grouping) key(i int) string {
	return transported(stageColumn(g.number, i), g.keys[i].class)
}

func (g *grouping) column(value int) string { return stageColumn(g.number, len(g.keys)+value) }

// edit has a span of the statement's text replaced in the final text.
func (g *grouping) edit(s plan.Span, text func() string) {
	g.final = append(g.final, edit{s, func(b *builder) { b.raw(text()) }})
}

// rewriteAll makes the select list, HAVING, windows and ORDER BY speak of the stage's columns.
func (g *grouping) rewriteAll() {
	for _, t := range g.block.targets {
		if t.isStar {
			for range t.star {
				g.fail("a star over groups")
			}
			continue
		}
		g.rewrite(t.node, t.text.Expr, false)
	}
	if h := g.block.stmt.HavingClause; h != nil {
		g.rewrite(h, g.block.text.Having, true)
	}
	for i, n := range g.block.stmt.SortClause {
		e := n.GetSortBy().GetNode()
		if g.keyTarget(g.block, e) < 0 {
			g.rewrite(e, g.query.text.Order[i].Expr, false)
		}
	}
	for _, n := range g.block.stmt.WindowClause {
		w := n.GetWindowDef()
		for _, m := range slices.Concat(w.PartitionClause, w.OrderClause) {
			g.rewriteMembers(m)
		}
	}
}

// rewrite has an expression over groups read the stage's columns. members: it cannot be worked out by the fragments.
func (g *grouping) rewrite(n *pg.Node, s plan.Span, members bool) {
	if k := g.keyLike(n); k >= 0 {
		g.edit(s, func() string { return g.key(k) })
		return
	}
	plain := !members
	named := false
	eachNode(n, func(m *pg.Node) {
		switch {
		case m.GetFuncCall() != nil && (aggregateFunctions[functionName(m.GetFuncCall())] || m.GetFuncCall().Over != nil),
			m.GetGroupingFunc() != nil, m.GetSubLink() != nil, g.entry(g.block, m) >= 0:
			plain = false
		case m.GetColumnRef() != nil:
			named = true
		}
	})
	switch {
	case !plain:
		g.rewriteMembers(n)
	case named:
		g.carry(n, s)
	}
}

// keyLike is the key that an expression is, or -1.
func (g *grouping) keyLike(n *pg.Node) int {
	if n.GetColumnRef() != nil {
		r := g.own(g.block, n)
		return slices.IndexFunc(g.keys, func(k groupKey) bool { return r != nil && k.column == r.column })
	}
	return slices.IndexFunc(g.keys, func(k groupKey) bool { return k.node != nil && g.likeness(k.node, n) })
}

// likeness: two expressions are the same, except for where they stand.
func (g *grouping) likeness(n, m *pg.Node) bool {
	if n == m {
		return true
	}
	if n.GetAConst() != nil || g.hasSubquery(n) || g.hasSubquery(m) {
		return false
	}
	x, y := proto.Clone(n).(*pg.Node), proto.Clone(m).(*pg.Node)
	forgetPlaces(x.ProtoReflect())
	forgetPlaces(y.ProtoReflect())
	return proto.Equal(x, y)
}

// carry lets the fragments work out an expression over keys: it is the same in all of them.
func (g *grouping) carry(n *pg.Node, s plan.Span) {
	c := g.outputClass(n)
	if !c.known() {
		g.fail("an expression over keys whose type is not certain")
	}
	v := g.value("carry "+g.text.Of(s), func(b *builder) { b.original(s) })
	g.edit(s, func() string { return transported("first("+g.column(v)+")", c) })
}

// rewriteMembers rewrites the columns and calls in an expression, its sub-queries included.
func (g *grouping) rewriteMembers(n *pg.Node) {
	eachNode(n, func(m *pg.Node) {
		if link := m.GetSubLink(); link != nil {
			g.rewriteSubquery(link)
		} else {
			if r := g.own(g.block, m); r != nil && !r.inCall {
				g.rewriteReference(r)
			}
		}
	})
}

// rewriteSubquery: a sub-query behind the groups names their keys.
func (g *grouping) rewriteSubquery(s *pg.SubLink) {
	for _, r := range g.subquery(s).outer {
		if r.block == g.block && !r.inCall {
			g.rewriteReference(r)
		}
	}
}

func (g *grouping) rewriteReference(r *reference) {
	k := slices.IndexFunc(g.keys, func(k groupKey) bool { return k.column == r.column })
	if k < 0 {
		g.fail("the column " + r.column.Item.Columns[r.column.Index] + " in an expression over groups, whose key is another expression")
		return
	}
	g.edit(r.span, func() string { return g.key(k) })
}

// writeBody writes what fragments run.
func (g *grouping) writeBody(b *builder) {
	b.raw("SELECT ")
	for i, k := range g.keys {
		if i > 0 {
			b.raw(", ")
		}
		k.write(b)
	}
	for i, write := range g.values {
		if i+len(g.keys) > 0 {
			b.raw(", ")
		}
		write(b)
	}
	b.raw(" FROM ")
	b.original(g.block.text.From)
	if g.block.text.Where.End > 0 {
		b.raw(" WHERE ")
		b.original(g.block.text.Where)
	}
	g.writeGroups(b)
}

func (g *grouping) writeGroups(b *builder) {
	if g.sets {
		b.raw(" ")
		b.original(g.block.text.GroupAll)
		return
	}
	for i := range g.keys {
		if i == 0 {
			b.raw(" GROUP BY ")
		} else {
			b.raw(", ")
		}
		b.raw(strconv.Itoa(i + 1))
	}
}

// writeFinal writes what the coordinator runs over the stage's result.
func (g *grouping) writeFinal(b *builder, number int) {
	g.number = number
	inner := b.child()
	inner.edits = g.final
	g.writeTargets(inner)
	g.writeSource(inner, false)
	g.writeRest(inner)
	if g.query.text.Tail.End > 0 {
		inner.raw(" ")
		inner.original(g.query.text.Tail)
	}
	b.append(inner)
}

func (g *grouping) writeTargets(inner *builder) {
	inner.raw("SELECT ")
	if len(g.block.stmt.DistinctClause) > 0 {
		inner.raw("DISTINCT ")
	}
	for i, t := range g.block.targets {
		if i > 0 {
			inner.raw(", ")
		}
		inner.original(t.text.Expr)
		if name := inner.outputName(g.query, i); g.query.Outputs[i].Name != "" {
			inner.raw(" AS ", lex.Quote(name))
		}
	}
}

// writeSource names the stage's result, with the groups' means beside it if variances ask for them; part: a partition
// of it.
func (g *grouping) writeSource(b *builder, part bool) {
	b.raw(" FROM ")
	if len(g.meansOf) == 0 {
		b.stage(g.number, part)
		return
	}
	b.raw("(SELECT *")
	g.writeMeans(b)
	b.raw(" FROM ")
	b.stage(g.number, part)
	b.raw(") AS ", StageName(g.number))
}

// finalKey reports whether the final text groups by a key.
func (g *grouping) finalKey(i int) bool { return !slices.Contains(g.extra, i) }

func (g *grouping) writeRest(b *builder) {
	grouped := 0
	for i := range g.keys {
		if g.finalKey(i) {
			if grouped == 0 {
				b.raw(" GROUP BY ")
			} else {
				b.raw(", ")
			}
			b.raw(g.key(i))
			grouped++
		}
	}
	text := g.block.text
	if text.Having.End > 0 {
		b.raw(" HAVING ")
		b.original(text.Having)
	}
	if text.Window.End > 0 {
		b.raw(" ")
		b.original(text.Window)
	}
}
