package outline

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
)

// Call is a call of an aggregate function.
type Call struct {
	plan.Span             // from its name to the end, FILTER included
	Arguments []plan.Span // without DISTINCT and without ORDER BY
	Filter    plan.Span   // FILTER with its parentheses
	Condition plan.Span   // what stands after WHERE in it
}

// Call finds the call that a node of the tree stands for. Windows, WITHIN GROUP, and calls in words (substring FROM)
// are not found.
func (t *Text) Call(f *pg.FuncCall) (Call, bool) {
	at := t.at(int(f.Location))
	if at < 0 || f.AggWithinGroup || f.Over != nil || f.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX {
		return Call{}, false
	}
	open := t.nameEnd(at)
	if t.kind(open) != openRound {
		return Call{}, false
	}
	c := Call{Span: t.span(at, t.partner[open]+1)}
	first := open + 1
	if k := t.kind(first); k == pg.Token_DISTINCT || k == pg.Token_ALL {
		first++
	}
	end := t.find(first, t.partner[open], pg.Token_ORDER)
	if !f.AggStar {
		for _, m := range t.commas(first, end) {
			c.Arguments = append(c.Arguments, t.span(m[0], m[1]))
		}
		if len(c.Arguments) != len(f.Args) {
			return Call{}, false
		}
	}
	if f.AggFilter == nil {
		return c, true
	}
	filter := t.partner[open] + 1
	if t.kind(filter) != pg.Token_FILTER || t.kind(filter+1) != openRound || t.kind(filter+2) != pg.Token_WHERE {
		return Call{}, false
	}
	to := t.partner[filter+1]
	c.Filter, c.Condition = t.span(filter, to+1), t.span(filter+3, to)
	c.End = c.Filter.End
	return c, true
}

// Grouping finds GROUPING(…).
func (t *Text) Grouping(g *pg.GroupingFunc) (plan.Span, bool) {
	at := t.at(int(g.Location))
	if at < 0 || t.kind(at) != pg.Token_GROUPING || t.kind(at+1) != openRound {
		return plan.Span{}, false
	}
	return t.span(at, t.partner[at+1]+1), true
}

// nameEnd is the index behind the dotted name at token i.
func (t *Text) nameEnd(i int) int {
	for i++; t.kind(i) == dot; i += 2 {
	}
	return i
}

// Name is the dotted name that starts at an offset.
func (t *Text) Name(offset int) (plan.Span, bool) {
	at := t.at(offset)
	if at < 0 {
		return plan.Span{}, false
	}
	end := t.nameEnd(at)
	if end > len(t.tokens) {
		return plan.Span{}, false
	}
	return t.span(at, end), true
}

// Parameters are the $n in a span, in order.
func (t *Text) Parameters(s plan.Span) (list []plan.Span) {
	for i := t.after(s.Start); i < len(t.tokens) && t.tokens[i].End <= s.End; i++ {
		if t.tokens[i].kind == pg.Token_PARAM {
			list = append(list, t.tokens[i].Span)
		}
	}
	return list
}

// Conjuncts splits a condition at AND, if that gives as many as the tree has: not if some stand in parentheses
// together.
func (t *Text) Conjuncts(s plan.Span, n int) ([]plan.Span, bool) {
	var list []plan.Span
	start, between, cases := t.after(s.Start), 0, 0
	i := start
	for ; i < len(t.tokens) && t.tokens[i].End <= s.End; i = t.next(i) {
		switch t.kind(i) {
		case pg.Token_OR:
			if cases == 0 {
				return nil, false
			}
		case pg.Token_CASE:
			cases++
		case pg.Token_END_P:
			cases--
		case pg.Token_BETWEEN:
			between++
		case pg.Token_AND:
			if between > 0 {
				between--
			} else if cases == 0 {
				list = append(list, t.span(start, i))
				start = i + 1
			}
		}
	}
	list = append(list, t.span(start, i))
	return list, len(list) == n
}

// On is the condition of the ON clause that an offset lies in: the one of a token that stands in no query of its own.
func (t *Text) On(offset int) (plan.Span, bool) {
	i := t.at(offset)
	for ; i >= 0 && !(t.clause(i, pg.Token_ON) && t.kind(i-1) != pg.Token_DISTINCT); i-- {
		switch k := t.kind(i); {
		case k == closeRound || k == closeSquare:
			i = t.partner[i]
		case k == pg.Token_SELECT:
			return plan.Span{}, false
		}
	}
	if i < 0 {
		return plan.Span{}, false
	}
	end := i + 1
	for end < len(t.tokens) && !t.endsCondition(end) {
		end = t.next(end)
	}
	return t.span(i+1, end), true
}

// endsCondition reports whether token i is the first behind a condition of ON.
func (t *Text) endsCondition(i int) bool {
	switch t.kind(i) {
	case comma, semicolon, closeRound, closeSquare:
		return true
	case pg.Token_LEFT, pg.Token_RIGHT:
		return t.kind(i+1) != openRound // else a function
	}
	return t.clause(i, pg.Token_JOIN, pg.Token_INNER_P, pg.Token_CROSS, pg.Token_NATURAL, pg.Token_FULL, pg.Token_ON, pg.Token_USING,
		pg.Token_WHERE, pg.Token_GROUP_P, pg.Token_HAVING, pg.Token_WINDOW, pg.Token_ORDER, pg.Token_LIMIT, pg.Token_OFFSET,
		pg.Token_FETCH, pg.Token_FOR, pg.Token_UNION, pg.Token_EXCEPT, pg.Token_INTERSECT)
}
