package outline

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
)

// Query is a SELECT or a set operation. Spans of clauses that are not there are zero.
type Query struct {
	plan.Span     // all of it, without parentheses around it
	With          []CTE
	Select        *Select // nil for a set operation
	Left, Right   *Query  // the arms of a set operation; nil for VALUES
	Operator      plan.Span
	Order         []Key
	Limit, Offset plan.Span
	Tail          plan.Span // ORDER BY, LIMIT and OFFSET with their keywords
}

// CTE is one entry of a WITH clause.
type CTE struct {
	plan.Span        // name AS (…)
	Body      *Query // nil for VALUES
}

// Key is an entry of ORDER BY.
type Key struct {
	Expr   plan.Span
	Suffix plan.Span // ASC, DESC, NULLS FIRST, NULLS LAST as far as they are there
}

// Select is a SELECT without WITH, ORDER BY and LIMIT.
type Select struct {
	Core     plan.Span // from SELECT to the end of its last clause
	Head     plan.Span // SELECT, with DISTINCT
	Targets  []Target
	From     plan.Span
	Where    plan.Span
	Group    []plan.Span
	GroupAll plan.Span // GROUP BY and all of its members
	Having   plan.Span
	Window   plan.Span // WINDOW and all of its members
	Rest     plan.Span // GROUP BY, HAVING and WINDOW with their keywords
}

// Target is an entry of the select list.
type Target struct {
	Expr  plan.Span
	Alias plan.Span // the name, without AS
}

// Statement outlines the whole text, which is one query.
func (t *Text) Statement(s *pg.SelectStmt) (*Query, error) {
	to := len(t.tokens)
	for to > 0 && t.kind(to-1) == semicolon {
		to--
	}
	return t.query(0, to, s)
}

// Nested outlines a query that stands in parentheses somewhere in the text.
func (t *Text) Nested(s *pg.SelectStmt) (*Query, error) {
	leaf := s
	for leaf.Larg != nil {
		leaf = leaf.Larg
	}
	at, err := t.selectToken(leaf)
	if err != nil {
		return nil, err
	}
	open := t.enclosing(at)
	for open >= 0 && s.Larg != nil && t.operator(open+1, t.partner[open]) < 0 {
		open = t.enclosing(open) // the query's first arm has parentheses of its own
	}
	if open < 0 {
		return nil, mismatch("the query at byte %d stands in no parentheses", t.tokens[at].Start)
	}
	return t.query(open+1, t.partner[open], s)
}

// selectToken finds SELECT before the first member of the select list.
func (t *Text) selectToken(s *pg.SelectStmt) (int, error) {
	if len(s.TargetList) == 0 {
		return 0, mismatch("a query without a select list")
	}
	i := t.at(int(s.TargetList[0].GetResTarget().GetLocation())) - 1
	for i >= 0 {
		switch t.kind(i) {
		case pg.Token_SELECT:
			return i, nil
		case pg.Token_DISTINCT, pg.Token_ALL, pg.Token_ON:
			i--
		case closeRound:
			i = t.partner[i] - 1
		default:
			i = -1
		}
	}
	return 0, mismatch("no SELECT before the select list")
}

// enclosing is the index of the innermost ( around token i, or -1.
func (t *Text) enclosing(i int) int {
	for i--; i >= 0; i-- {
		switch t.kind(i) {
		case closeRound, closeSquare:
			i = t.partner[i]
		case openRound:
			return i
		}
	}
	return -1
}

func (t *Text) query(from, to int, s *pg.SelectStmt) (*Query, error) {
	for t.kind(from) == openRound && t.partner[from] == to-1 {
		from, to = from+1, to-1
	}
	if len(s.ValuesLists) > 0 || from >= to {
		return nil, mismatch("VALUES has no outline")
	}
	if s.IntoClause != nil || len(s.LockingClause) > 0 {
		return nil, mismatch("SELECT INTO and FOR UPDATE have no outline")
	}
	q := &Query{Span: t.span(from, to)}
	at, err := t.with(q, from, to, s.WithClause)
	if err != nil {
		return nil, err
	}
	end := t.find(at, to, pg.Token_ORDER, pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_FETCH, pg.Token_FOR)
	if err := t.tail(q, end, to, s); err != nil {
		return nil, err
	}
	if s.Larg != nil {
		return q, t.arms(q, at, end, s)
	}
	q.Select, err = t.selection(at, end, s)
	return q, err
}

// with outlines the WITH clause and gives the index behind it.
func (t *Text) with(q *Query, at, to int, w *pg.WithClause) (int, error) {
	if w == nil {
		return at, nil
	}
	if t.kind(at) != pg.Token_WITH && t.kind(at) != pg.Token_WITH_LA {
		return 0, mismatch("no WITH where the tree has one")
	}
	at++
	if t.kind(at) == pg.Token_RECURSIVE {
		at++
	}
	for i, n := range w.Ctes {
		if i > 0 {
			if t.kind(at) != comma {
				return 0, mismatch("no comma between two entries of WITH")
			}
			at++
		}
		open := t.find(at, to, pg.Token_AS)
		for open++; open < to && t.kind(open) != openRound; open++ { // [NOT] MATERIALIZED
		}
		if open >= to {
			return 0, mismatch("an entry of WITH without a query")
		}
		e := n.GetCommonTableExpr()
		if e.GetSearchClause() != nil || e.GetCycleClause() != nil {
			return 0, mismatch("SEARCH and CYCLE have no outline")
		}
		c := CTE{Span: t.span(at, t.partner[open]+1)}
		if body := e.GetCtequery().GetSelectStmt(); len(body.GetValuesLists()) == 0 {
			var err error
			if c.Body, err = t.query(open+1, t.partner[open], body); err != nil {
				return 0, err
			}
		}
		q.With = append(q.With, c)
		at = t.partner[open] + 1
	}
	return at, nil
}

// arms splits a set operation at the operator that binds least, the last one of its kind.
func (t *Text) arms(q *Query, from, to int, s *pg.SelectStmt) (err error) {
	at := t.operator(from, to)
	if at < 0 {
		return mismatch("no set operator where the tree has one")
	}
	right := at + 1
	if k := t.kind(right); k == pg.Token_ALL || k == pg.Token_DISTINCT {
		right++
	}
	if s.All != (t.kind(at+1) == pg.Token_ALL) {
		return mismatch("ALL is not where the tree has it")
	}
	q.Operator = t.span(at, right)
	if q.Left, err = t.arm(from, at, s.Larg); err != nil {
		return err
	}
	q.Right, err = t.arm(right, to, s.Rarg)
	return err
}

func (t *Text) arm(from, to int, s *pg.SelectStmt) (*Query, error) {
	if len(s.ValuesLists) > 0 {
		return nil, nil
	}
	return t.query(from, to, s)
}

func (t *Text) operator(from, to int) int {
	last, lastIntersect := -1, -1
	for i := from; i < to; i = t.next(i) {
		switch {
		case t.clause(i, pg.Token_UNION, pg.Token_EXCEPT):
			last = i
		case t.clause(i, pg.Token_INTERSECT):
			lastIntersect = i
		}
	}
	if last >= 0 {
		return last
	}
	return lastIntersect
}
