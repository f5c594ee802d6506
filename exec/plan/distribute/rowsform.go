package distribute

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/bind"
)

// sortKey is a member of ORDER BY as a column of a stage.
type sortKey struct {
	column int
	class  class
	suffix plan.Span
	extra  plan.Span // its expression, if the stage must carry it beside the outputs
}

// rowsForm: fragments give rows of the result; the coordinator puts them one after another, and sorts, cuts and removes
// duplicates if it is asked for. Each fragment has already done so with its own.
//
//	fragment   SELECT DISTINCT x, y FROM t ORDER BY z LIMIT 3+4           (z is a column, too)
//	final      SELECT DISTINCT c0 AS x, c1 AS y FROM csm_stage_1 ORDER BY c2 LIMIT 3 OFFSET 4
func (p *planner) rowsForm(q *query, s *spreader, in spread) (why string) {
	b := q.block
	if why := s.subqueries(b, in, behindRows); why != "" {
		return why
	}
	if why := q.lost(); why != "" {
		return why
	}
	keys, why := p.sortKeys(q)
	if why != "" {
		return why
	}
	distinct := len(b.stmt.DistinctClause) > 0
	columns := len(q.Outputs)
	for i := range keys {
		if keys[i].extra.End > 0 {
			if distinct {
				return "DISTINCT sorted by something else than its columns"
			}
			keys[i].column = columns
			columns++
		}
		if !keys[i].class.known() {
			return "ORDER BY something whose type is not certain"
		}
	}
	rows := p.rowsOf(q)
	limit := p.partLimit(q)
	fragments := p.fragments(s.parts)
	if n, ok := literalLimit(q.Stmt.LimitCount); ok {
		rows = min(p.joined(b), float64(n)*float64(len(fragments)))
	}
	p.add(stageOf{
		query: q, form: "rows", parts: s.parts, edits: p.edits, fragments: fragments, columns: columns, texts: p.outputTexts(q), rows: rows,
		body:  func(b *builder) { b.rowsBody(q, keys, limit) },
		final: func(b *builder, number int) { b.rowsFinal(q, keys, number, distinct) },
	})
	return ""
}

// sortKeys finds out what ORDER BY sorts by: outputs, or expressions that must be carried along.
func (p *planner) sortKeys(q *query) (list []sortKey, why string) {
	b := q.block
	for i, n := range b.stmt.SortClause {
		e := n.GetSortBy().GetNode()
		k := sortKey{suffix: q.text.Order[i].Suffix}
		output := p.sortedOutput(q, e)
		if output >= len(q.Outputs) {
			return nil, "ORDER BY a position that is not there"
		}
		if output >= 0 {
			k.column, k.class = output, q.classes[output]
		} else {
			k.extra, k.class = q.text.Order[i].Expr, p.class(e)
			if p.usesAlias(b, e) {
				return nil, "ORDER BY an expression over names of the select list"
			}
		}
		list = append(list, k)
	}
	return list, ""
}

// sortedOutput is the output that a member of ORDER BY is, or -1.
func (p *planner) sortedOutput(q *query, n *pg.Node) int {
	b := q.block
	if i := n.GetAConst().GetIval(); i != nil {
		return max(int(i.Ival)-1, 0)
	}
	if t := p.entry(b, n); t >= 0 {
		return slices.IndexFunc(q.Outputs, func(o bind.Output) bool { return o.Target == t })
	}
	if r := p.own(b, n); r != nil {
		return slices.IndexFunc(q.Outputs, func(o bind.Output) bool { return o.Column == r.column })
	}
	return -1
}

// usesAlias reports whether an expression names an entry of the block's select list.
func (a *analysis) usesAlias(b *block, n *pg.Node) bool {
	found := false
	eachNode(n, func(m *pg.Node) { found = found || a.entry(b, m) >= 0 })
	return found
}

// literalLimit is the number that LIMIT or OFFSET gives, if it is one.
func literalLimit(n *pg.Node) (int64, bool) {
	c := n.GetAConst()
	if c == nil || c.Isnull || c.GetIval() == nil {
		return 0, false
	}
	return int64(c.GetIval().Ival), true
}

// partLimit writes how many rows a fragment need give at most; nil if it must give all.
func (p *planner) partLimit(q *query) func(*builder) {
	limit, limited := literalLimit(q.Stmt.LimitCount)
	offset, _ := literalLimit(q.Stmt.LimitOffset)
	_, moved := literalLimit(q.Stmt.LimitOffset)
	switch {
	case q.Stmt.LimitCount == nil:
		return nil
	case limited && (moved || q.Stmt.LimitOffset == nil):
		return func(b *builder) { b.raw(strconv.FormatInt(limit+offset, 10)) }
	case q.Stmt.LimitOffset == nil:
		return func(b *builder) { b.original(q.text.Limit) }
	}
	return nil
}

func (b *builder) rowsBody(q *query, keys []sortKey, limit func(*builder)) {
	var extra []edit
	last := q.block.text.Targets[len(q.block.text.Targets)-1]
	end := max(last.Expr.End, last.Alias.End)
	for _, k := range keys {
		if k.extra.End > 0 {
			extra = append(extra, edit{plan.Span{Start: end, End: end}, func(b *builder) {
				b.raw(", ")
				b.original(k.extra)
			}})
		}
	}
	inner := b.child()
	inner.edits = slices.Concat(inner.edits, extra)
	inner.original(q.block.text.Core)
	b.append(inner)
	b.limited(q, limit)
}

// limited sorts and cuts what a fragment gives, if so few rows of it can matter.
func (b *builder) limited(q *query, limit func(*builder)) {
	if limit == nil {
		return
	}
	if n := len(q.text.Order); n > 0 {
		b.raw(" ORDER BY ")
		end := max(q.text.Order[n-1].Expr.End, q.text.Order[n-1].Suffix.End)
		b.original(plan.Span{Start: q.text.Order[0].Expr.Start, End: end})
	}
	b.raw(" LIMIT ")
	limit(b)
}

func (b *builder) rowsFinal(q *query, keys []sortKey, number int, distinct bool) {
	b.raw("SELECT ")
	if distinct {
		b.raw("DISTINCT ")
	}
	b.writeOutputs(q, number)
	b.raw(" FROM ")
	b.stage(number, false)
	for i, k := range keys {
		if i == 0 {
			b.raw(" ORDER BY ")
		} else {
			b.raw(", ")
		}
		b.raw(transported(stageColumn(number, k.column), k.class))
		if k.suffix.End > 0 {
			b.raw(" ")
			b.original(k.suffix)
		}
	}
	b.limits(q)
}

// limits writes LIMIT and OFFSET as the query has them.
func (b *builder) limits(q *query) {
	if q.text.Limit.End > 0 {
		b.raw(" LIMIT ")
		b.original(q.text.Limit)
	}
	if q.text.Offset.End > 0 {
		b.raw(" OFFSET ")
		b.original(q.text.Offset)
	}
}
