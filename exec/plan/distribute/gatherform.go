package distribute

import (
	"slices"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/lex"
)

// gatherForm: fragments join and filter, and give the columns that the rest needs; the coordinator does the rest.
// It is for what cannot be made of parts: windows over everything, medians, DISTINCT ON.
//
//	fragment   SELECT g, x FROM t WHERE …
//	final      SELECT c0 AS g, median(c1) FROM csm_stage_1 GROUP BY c0 ORDER BY …
func (p *planner) gatherForm(q *query, s *spreader, in spread) (why string) {
	g := &gathering{planner: p, query: q, block: q.block}
	rows := p.joined(q.block)
	if p.settings.MinGain > 0 && rows > float64(p.settings.GatherRows) {
		return "too many rows would have to be collected"
	}
	for _, use := range g.block.aliasUses {
		name := g.block.stmt.TargetList[use.target].GetResTarget().GetName()
		if use.clause.before() || stageColumnName.MatchString(name) {
			return "the name " + name + " of the select list where it cannot be used"
		}
	}
	if p.twiceInSets(q.block) {
		return "grouping sets that have a column twice"
	}
	if why := g.collect(); why != "" {
		return why
	}
	texts := 0
	for _, c := range g.columns {
		texts += p.texts(c.column)
	}
	p.add(stageOf{
		query: q, form: gatheredRows, texts: texts, parts: s.parts, edits: p.edits, fragments: p.fragments(s.parts), columns: max(len(g.columns), 1), rows: rows,
		body: g.writeBody, final: g.writeFinal,
	})
	return ""
}

const gatheredRows = "rows to be worked on"

// gathering is a block of which fragments work out FROM and WHERE.
type gathering struct {
	*planner
	query   *query
	block   *block
	columns []gathered
}

// gathered is a column of the stage.
type gathered struct {
	column column
	write  func(*builder)
}

// collect lists the columns that are named behind WHERE.
func (g *gathering) collect() (why string) {
	for _, t := range g.block.targets {
		for _, c := range t.star {
			if !c.Item.HasNames() {
				return "a star over columns without names of their own"
			}
			g.add(c, func(b *builder) { b.raw(lex.Quote(c.Item.Alias), ".", lex.Quote(c.Item.Columns[c.Index])) })
		}
	}
	for _, r := range g.block.refs {
		if !r.clause.before() {
			g.add(r.column, func(b *builder) { b.original(r.span) })
		}
	}
	for _, c := range g.columns {
		if !g.columnClass(c.column).known() {
			return "a column whose type is not certain"
		}
	}
	return ""
}

func (g *gathering) add(c column, write func(*builder)) {
	if g.index(c) < 0 {
		g.columns = append(g.columns, gathered{c, write})
	}
}

func (g *gathering) index(c column) int {
	return slices.IndexFunc(g.columns, func(have gathered) bool { return have.column == c })
}

func (g *gathering) writeBody(b *builder) {
	b.raw("SELECT ")
	for i, c := range g.columns {
		if i > 0 {
			b.raw(", ")
		}
		c.write(b)
	}
	if len(g.columns) == 0 {
		b.raw("1")
	}
	b.raw(" FROM ")
	b.original(g.block.text.From)
	if g.block.text.Where.End > 0 {
		b.raw(" WHERE ")
		b.original(g.block.text.Where)
	}
}

func (g *gathering) writeFinal(b *builder, number int) {
	inner := b.child()
	inner.edits = nil
	name := func(c column) string { return transported(stageColumn(number, g.index(c)), g.columnClass(c)) }
	for _, r := range g.block.refs {
		if !r.clause.before() {
			inner.edits = append(inner.edits, edit{r.span, func(b *builder) { b.raw(name(r.column)) }})
		}
	}
	inner.original(g.block.text.Head)
	output := 0
	for i, t := range g.block.targets {
		if i > 0 {
			inner.raw(",")
		}
		inner.raw(" ")
		if t.isStar {
			for j, c := range t.star {
				if j > 0 {
					inner.raw(", ")
				}
				inner.raw(name(c), " AS ", lex.Quote(c.Item.Columns[c.Index]))
			}
			output += len(t.star)
			continue
		}
		inner.original(t.text.Expr)
		g.writeAlias(inner, t, output)
		output++
	}
	inner.raw(" FROM ")
	inner.stage(number, false)
	for _, s := range []plan.Span{g.block.text.Rest, g.query.text.Tail} {
		if s.End > 0 {
			inner.raw(" ")
			inner.original(s)
		}
	}
	b.append(inner)
}

func (g *gathering) writeAlias(b *builder, t target, output int) {
	if t.text.Alias.End > 0 {
		b.raw(" AS ")
		b.original(t.text.Alias)
	} else if name := g.query.Outputs[output].Name; name != "" {
		b.raw(" AS ", lex.Quote(name))
	}
}
