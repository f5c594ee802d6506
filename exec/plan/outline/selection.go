package outline

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
)

// selection outlines a plain SELECT in [from, to).
func (t *Text) selection(from, to int, s *pg.SelectStmt) (*Select, error) {
	if t.kind(from) != pg.Token_SELECT {
		return nil, mismatch("no SELECT where the tree has one")
	}
	out := &Select{Core: t.span(from, to)}
	at := t.head(from+1, s)
	out.Head = t.span(from, at)
	clauses := []struct {
		keyword pg.Token
		there   bool
		start   int
	}{
		{pg.Token_FROM, len(s.FromClause) > 0, 0}, {pg.Token_WHERE, s.WhereClause != nil, 0}, {pg.Token_GROUP_P, len(s.GroupClause) > 0, 0},
		{pg.Token_HAVING, s.HavingClause != nil, 0}, {pg.Token_WINDOW, len(s.WindowClause) > 0, 0},
	}
	ends := make([]int, len(clauses))
	end := to
	for i := len(clauses) - 1; i >= 0; i-- {
		c := &clauses[i]
		c.start = t.find(at, end, c.keyword)
		if (c.start < end) != c.there {
			return nil, mismatch("%s is not where the tree has it", c.keyword)
		}
		ends[i] = end
		end = c.start
	}
	if err := t.targets(out, at, end, s); err != nil {
		return nil, err
	}
	out.From = t.span(clauses[0].start+1, ends[0])
	out.Where = t.span(clauses[1].start+1, ends[1])
	out.Having = t.span(clauses[3].start+1, ends[3])
	out.Window = t.span(clauses[4].start, ends[4])
	out.Rest = t.span(clauses[2].start, to)
	return out, t.group(out, clauses[2].start, ends[2], s)
}

// head is the index behind SELECT [ALL | DISTINCT [ON (…)]].
func (t *Text) head(at int, s *pg.SelectStmt) int {
	switch t.kind(at) {
	case pg.Token_ALL:
		return at + 1
	case pg.Token_DISTINCT:
		if t.kind(at+1) == pg.Token_ON && len(s.DistinctClause) > 0 && s.DistinctClause[0].GetNode() != nil {
			return t.next(at + 2)
		}
		return at + 1
	}
	return at
}

func (t *Text) targets(out *Select, from, to int, s *pg.SelectStmt) error {
	list := t.commas(from, to)
	if len(list) != len(s.TargetList) {
		return mismatch("%d entries of the select list in the text, %d in the tree", len(list), len(s.TargetList))
	}
	for i, m := range list {
		r := s.TargetList[i].GetResTarget()
		start, end := m[0], m[1]
		if start >= end || t.tokens[start].Start != int(r.GetLocation()) {
			return mismatch("an entry of the select list is not where the tree has it")
		}
		var target Target
		if r.Name != "" {
			end--
			if !sameWord(t.word(end), r.Name) {
				return mismatch("the alias %q is not where the tree has it", r.Name)
			}
			target.Alias = t.span(end, end+1)
			if t.kind(end-1) == pg.Token_AS {
				end--
			}
		}
		if target.Expr = t.span(start, end); target.Expr == (plan.Span{}) {
			return mismatch("an entry of the select list without an expression")
		}
		out.Targets = append(out.Targets, target)
	}
	return nil
}

// sameWord: the tree has folded letters.
func sameWord(text, tree string) bool { return strings.EqualFold(text, tree) }

func (t *Text) group(out *Select, from, to int, s *pg.SelectStmt) error {
	if len(s.GroupClause) == 0 {
		return nil
	}
	if t.kind(from+1) != pg.Token_BY || s.GroupDistinct || t.kind(from+2) == pg.Token_ALL {
		return mismatch("GROUP BY with ALL or DISTINCT has no outline")
	}
	for _, m := range t.commas(from+2, to) {
		out.Group = append(out.Group, t.span(m[0], m[1]))
	}
	if len(out.Group) != len(s.GroupClause) {
		return mismatch("%d members of GROUP BY in the text, %d in the tree", len(out.Group), len(s.GroupClause))
	}
	out.GroupAll = t.span(from, to)
	return nil
}

// tail outlines ORDER BY, LIMIT and OFFSET in [from, to).
func (t *Text) tail(q *Query, from, to int, s *pg.SelectStmt) error {
	q.Tail = t.span(from, to)
	if s.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES || t.find(from, to, pg.Token_FETCH, pg.Token_FOR) < to {
		return mismatch("FETCH FIRST and FOR UPDATE have no outline")
	}
	limit, offset := t.find(from, to, pg.Token_LIMIT), t.find(from, to, pg.Token_OFFSET)
	if (limit < to) != (s.LimitCount != nil) || (offset < to) != (s.LimitOffset != nil) {
		return mismatch("LIMIT is not where the tree has it")
	}
	limitEnd, offsetEnd := to, to
	if limit < offset {
		limitEnd = offset
	} else {
		offsetEnd = limit
	}
	q.Limit, q.Offset = t.span(limit+1, limitEnd), t.span(offset+1, offsetEnd)
	if k := t.kind(offsetEnd - 1); offset < to && (k == pg.Token_ROWS || k == pg.Token_ROW) {
		return mismatch("OFFSET n ROWS has no outline")
	}
	return t.order(q, from, min(limit, offset), s)
}

func (t *Text) order(q *Query, from, to int, s *pg.SelectStmt) error {
	if len(s.SortClause) == 0 {
		if from != to {
			return mismatch("ORDER BY is not where the tree has it")
		}
		return nil
	}
	if t.kind(from) != pg.Token_ORDER || t.kind(from+1) != pg.Token_BY {
		return mismatch("ORDER BY is not where the tree has it")
	}
	for _, m := range t.commas(from+2, to) {
		end := m[1]
		for end > m[0]+1 && isSuffix(t.kind(end-1)) {
			end--
		}
		q.Order = append(q.Order, Key{Expr: t.span(m[0], end), Suffix: t.span(end, m[1])})
	}
	if len(q.Order) != len(s.SortClause) {
		return mismatch("%d members of ORDER BY in the text, %d in the tree", len(q.Order), len(s.SortClause))
	}
	for _, n := range s.SortClause {
		if n.GetSortBy().GetSortbyDir() == pg.SortByDir_SORTBY_USING {
			return mismatch("ORDER BY with USING has no outline")
		}
	}
	return nil
}

func isSuffix(k pg.Token) bool {
	switch k {
	case pg.Token_ASC, pg.Token_DESC, pg.Token_NULLS_P, pg.Token_NULLS_LA, pg.Token_FIRST_P, pg.Token_LAST_P:
		return true
	}
	return false
}
