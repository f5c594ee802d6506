package distribute

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

// unsteady says why a query may give other rows when it is worked out again, "" if it gives the same. What several
// fragments work out each for itself must be steady (D7).
func (p *planner) unsteady(q *query) string { return p.unsteadyBut(q, map[*query]bool{}) }

// unsteadyBut leaves out the CTEs that were seen.
func (p *planner) unsteadyBut(q *query, seen map[*query]bool) (why string) {
	note := func(s string) {
		if why == "" {
			why = s
		}
	}
	p.each(q, p.isStaged, func(q *query) {
		if q.Stmt.LimitCount != nil || q.Stmt.LimitOffset != nil {
			note("LIMIT of a query that several nodes would work out")
		}
		if q.block != nil {
			note(p.unsteadyBlock(q.block))
		}
	})
	for _, c := range p.ctesOf(q, nil) {
		if why == "" && !seen[c.query] && !p.isStaged(c.query) {
			seen[c.query] = true
			why = p.unsteadyBut(c.query, seen)
		}
	}
	return why
}

func (p *planner) unsteadyBlock(b *block) string {
	if d := b.stmt.DistinctClause; len(d) > 0 && d[0].GetNode() != nil {
		return "DISTINCT ON of a query that several nodes would work out"
	}
	for _, c := range b.calls {
		if !p.steadyAggregate(c.name, c.node) {
			return "the aggregate " + c.name + ", which several nodes would work out and might disagree on"
		}
	}
	for _, f := range b.windows {
		if name := functionName(f); !b.steadyFrame(f.Over) || !reproducibleWindows[name] && !(aggregateFunctions[name] && p.steadyAggregate(name, f)) {
			return "the window function " + name + ", which several nodes would work out and might disagree on"
		}
	}
	return ""
}

// steadyAggregate: the value does not depend on the order in which rows come. Sums of floating point numbers do.
func (a *analysis) steadyAggregate(name string, f *pg.FuncCall) bool {
	switch name {
	case "count", "count_star", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor", "approx_count_distinct", "count_if", "countif":
		return len(f.Args) <= 1
	case "sum", "avg":
		return len(f.Args) == 1 && a.class(f.Args[0]).exact()
	}
	return false
}

// Bits of WindowDef.FrameOptions, as PostgreSQL's parser has them.
const (
	frameRows   = 0x4
	frameGroups = 0x8
)

// steadyFrame: peers come in no order, so a frame must take all of them or none.
func (b *block) steadyFrame(w *pg.WindowDef) bool {
	if w.Name != "" || w.Refname != "" {
		if w = b.namedWindow(w); w == nil {
			return false
		}
	}
	return w.FrameOptions&(frameRows|frameGroups) == 0
}

// unsteadyPart says why the text of a block cannot be run by several fragments: a part of it that each reads whole is
// unsteady. Queries that were replaced by a stage's result are worked out once.
func (p *planner) unsteadyPart(b *block, parts restriction) (why string, of *query) {
	check := func(q *query) {
		if why != "" || p.isStaged(q) {
			return
		}
		if p.tired() {
			why, of = "too many queries within queries", q
			return
		}
		if !p.has(parts, q) {
			if why = p.unsteady(q); why != "" {
				of = q
			}
			return
		}
		p.inner(q, func(inner *query) {
			if why == "" && inner.block != nil {
				why, of = p.unsteadyPart(inner.block, parts)
			}
		})
	}
	for _, it := range b.query.Items {
		if q := p.of(it); q != nil {
			check(q)
		}
	}
	for _, s := range b.subqueries {
		check(s.query)
	}
	return why, of
}

// seenTwice: a CTE that is split may be worked out by the fragments and again behind them, and must not differ then.
func (p *planner) seenTwice(parts restriction) bool {
	for _, c := range p.named {
		if len(c.Refs) > 1 && p.has(parts, c.query) && p.unsteady(c.query) != "" {
			return true
		}
	}
	return false
}
