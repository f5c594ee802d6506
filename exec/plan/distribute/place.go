package distribute

import (
	"maps"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// place splits off stages for a query, or for queries in it, whichever is cheaper; or nothing.
func (p *planner) place(q *query) {
	if q.text == nil || p.tired() || p.isStaged(q) || len(q.outer) > 0 {
		return
	}
	if len(q.arms) == 2 {
		p.placeCTEs(q)
		p.place(q.arms[0])
		p.place(q.arms[1])
		return
	}
	if q.block == nil || len(p.reads(q)) == 0 {
		return
	}
	start := p.mark()
	best, bestCost := decisions{}, p.costSince(start, q)
	try := func(handicap float64) {
		cost := p.costSince(start, q)
		d := p.take(start)
		if len(d.stages) == 0 {
			return
		}
		if cost*handicap < bestCost || p.settings.MinGain == 0 && (handicap < 1 || len(best.stages) == 0) {
			best, bestCost = d, cost
		} else if len(best.stages) == 0 {
			p.whyNot = notWorth
		}
	}
	p.placeInner(q)
	try(1)
	p.placeBlock(q)
	try(preferWhole)
	p.put(best)
}

// preferWhole: estimates being what they are, a stage for the whole query is taken rather than ones for parts of
// it, unless that is much better. The same goes for reading in place rather than a shuffle.
const preferWhole = 0.85

const notWorth = "a second node would save less than a stage costs"

// costSince is what running a query costs with what was decided since a mark.
func (p *planner) costSince(m mark, q *query) float64 {
	text := p.coordinated(q)
	_, cost := p.reading(&text, p.settings.Coordinator, "")
	for _, c := range p.costs[m.stages:] {
		cost += c
	}
	return cost
}

func (p *planner) placeCTEs(q *query) {
	for _, c := range q.ctes {
		if slices.Contains(p.named, c) {
			p.place(c.query)
		}
	}
}

// placeInner places the queries in a query's FROM, WITH and expressions.
func (p *planner) placeInner(q *query) {
	p.placeCTEs(q)
	p.inner(q, p.place)
}

// placeBlock makes a stage of a query's block: each fragment works it out over its part of one table, and of those
// that lie like it, or are made to.
func (p *planner) placeBlock(q *query) {
	start := p.mark()
	var best *attempt
	bestCost, gathered := 0.0, false
	try := func(t attempt) {
		why := p.build(q, &t, false)
		cost := p.costSince(start, q)
		made := p.take(start).stages
		if why != "" {
			if p.whyNot == "" {
				p.whyNot = why
			}
			return
		}
		if t.groups || len(t.shuffles) > 0 {
			cost *= p.settings.ShuffleGain
		}
		if best == nil || cost < bestCost {
			best, bestCost, gathered = &t, cost, made[len(made)-1].Form == gatheredRows
		}
	}
	for _, t := range p.attempts(q) {
		try(t)
	}
	if best == nil || gathered {
		for _, t := range p.keyAttempts(q) {
			try(t)
		}
	}
	if best == nil {
		return
	}
	p.prepare(q.block, best)
	if p.build(q, best, true) != "" {
		p.take(start)
		return
	}
	p.placeRest(q, best.parts)
}

// build makes the stages of an attempt, or says why there are none. Unless prepared, it takes for granted that what
// can be worked out once beforehand will be.
func (p *planner) build(q *query, t *attempt, prepared bool) (why string) {
	p.shuffles, p.edits = t.shuffles, nil
	defer func() { p.shuffles, p.edits = nil, nil }()
	s := &spreader{p, t.parts}
	in := s.rows(q.block)
	unsteady, of := p.unsteadyPart(q.block, t.parts)
	switch {
	case unsteady != "" && (prepared || !p.canBeOnce(of)):
		return unsteady
	case p.seenTwice(t.parts):
		return "a CTE that is named twice, whose rows are not certain"
	case in.kind == scattered:
		return in.why
	case in.kind == whole:
		return "no table of the query is split"
	case len(p.fragments(t.parts)) == 0:
		return "the tables to be split lie on the coordinator alone"
	}
	p.addShuffles(q, t.shuffles)
	return p.form(q, s, in, t.groups, prepared)
}

// form makes the stage in the form that suits it.
func (p *planner) form(q *query, s *spreader, in spread, groups, prepared bool) (why string) {
	b := q.block
	partial := b.aggregated() && !s.complete(b, in)
	switch {
	case groups && !partial:
		return "groups that need no shuffle"
	case partial:
		why = p.groupsForm(q, s, in, groups, prepared)
	case !s.windowsComplete(b, in), b.distinctOn():
		why = p.gatherForm(q, s, in)
	default:
		why = p.rowsForm(q, s, in)
	}
	if why != "" && !groups && p.gatherForm(q, s, in) == "" {
		return ""
	}
	return why
}

func (b *block) distinctOn() bool {
	d := b.stmt.DistinctClause
	return len(d) > 0 && d[0].GetNode() != nil
}

// prepare makes stages of queries that every fragment would work out whole, where that is cheaper or must be (D7).
// CTEs come first: every reference to one must see the same rows.
func (p *planner) prepare(b *block, t *attempt) {
	parts := t.parts
	for _, c := range p.ctesOf(b.query, nil) {
		if !p.has(parts, c.query) && p.unsteady(c.query) != "" {
			p.prepareOne(c.query)
		}
	}
	for _, inner := range p.wholes(b, parts, nil) {
		p.prepareOne(inner)
	}
	if t.groups { // what stands behind the groups is worked out by many nodes, too
		for _, s := range b.subqueries {
			if !s.clause.before() && !s.inCall {
				p.prepareOne(s.query)
			}
		}
	}
}

func (p *planner) prepareOne(q *query) {
	if len(q.outer) > 0 || p.isStaged(q) {
		return
	}
	unsteady := p.unsteady(q) != ""
	p.place(q)
	if unsteady {
		p.once(q)
	}
}

// wholes lists the queries in FROM and in expressions that are read whole under a restriction: the outermost ones.
func (p *planner) wholes(b *block, parts restriction, list []*query) []*query {
	visit := func(q *query) {
		switch {
		case p.tired() || slices.Contains(list, q) || q.text == nil:
		case !p.has(parts, q):
			list = append(list, q)
		case q.block != nil:
			list = p.wholes(q.block, parts, list)
		}
		for _, arm := range q.arms {
			if p.has(parts, q) && arm.block != nil {
				list = p.wholes(arm.block, parts, list)
			}
		}
	}
	for _, it := range b.query.Items {
		if q := p.of(it); q != nil {
			visit(q)
		}
	}
	for _, s := range b.subqueries {
		visit(s.query)
	}
	return list
}

// placeRest places the queries that the final text works out: those of HAVING, of the select list.
func (p *planner) placeRest(q *query, parts restriction) {
	for _, s := range q.block.subqueries {
		if !s.clause.before() && !s.inCall && !p.has(parts, s.query) {
			p.place(s.query)
		}
	}
}

// candidates lists the restrictions that may suit a block: each table alone, a table of each arm of a UNION ALL,
// two that lie alike; each with all others that lie like it and can be read in part with it.
func (p *planner) candidates(q *query) (list []restriction) {
	var tables []*occurrence
	for _, o := range p.occurrences {
		if p.reads(q)[o] && o.layout != nil && p.large(restriction{o: true}) {
			tables = append(tables, o)
		}
	}
	var seeds []restriction
	for _, o := range tables {
		seeds = append(seeds, restriction{o: true})
		for _, other := range tables {
			if other.index > o.index && alike(o, other) {
				seeds = append(seeds, restriction{o: true, other: true})
			}
		}
	}
	for _, it := range q.Items {
		if inner := p.of(it); inner != nil {
			seeds = append(seeds, p.arms(inner)...)
		}
	}
	for _, seed := range seeds {
		if s := (&spreader{p, seed}); s.rows(q.block).kind == split {
			list = append(list, p.widen(q, maps.Clone(seed), tables))
		} else if p.whyNot == "" {
			p.whyNot = s.rows(q.block).why
		}
	}
	return list
}

// widen adds the tables that can be read in part beside those of a restriction.
func (p *planner) widen(q *query, seed restriction, tables []*occurrence) restriction {
	for again := true; again; {
		again = false
		for _, o := range tables {
			if seed[o] || !slices.ContainsFunc(tables, func(other *occurrence) bool { return seed[other] && alike(o, other) }) {
				continue
			}
			seed[o] = true
			if s := (&spreader{p, seed}); s.subqueries(q.block, s.rows(q.block), everySubquery) == "" && s.rows(q.block).kind == split {
				again = true
			} else {
				delete(seed, o)
			}
		}
	}
	return seed
}

// alike: two tables are split by hash in the same way.
func alike(o, other *occurrence) bool {
	x, _, ok := o.layout.hashing(o.scan.Relation)
	y, _, also := other.layout.hashing(other.scan.Relation)
	return ok && also && x == y
}

// arms gives a restriction of a UNION ALL: the largest table that splits each arm.
func (p *planner) arms(q *query) []restriction {
	if len(q.arms) != 2 || q.Stmt.Op != pg.SetOperation_SETOP_UNION || !q.Stmt.All {
		return nil
	}
	all := restriction{}
	for _, arm := range q.arms {
		best := p.largest(arm)
		if nested := p.arms(arm); len(nested) > 0 {
			best = nested[0]
		}
		if best == nil {
			return nil
		}
		for o := range best {
			all[o] = true
		}
	}
	return []restriction{all}
}

func (p *planner) largest(q *query) (best restriction) {
	most := int64(-1)
	for _, o := range p.occurrences {
		if !p.reads(q)[o] || o.layout == nil {
			continue
		}
		one := restriction{o: true}
		if rows, _ := o.layout.total(); rows > most && (&spreader{p, one}).query(q).kind == split {
			best, most = one, rows
		}
	}
	return best
}

// large reports whether a restriction is worth a stage.
func (p *planner) large(parts restriction) bool {
	var rows, bytes int64
	for o := range parts {
		r, b := o.layout.total()
		rows, bytes = rows+r, bytes+b
	}
	return rows >= p.settings.MinRows && bytes >= p.settings.MinBytes
}
