package plan

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
)

// from walks one FROM entry and what stands in it.
func (a *analyzer) from(q *bind.Query, f *bind.From) {
	items := q.Items[f.First:f.Last]
	switch {
	case f.Join != nil:
		a.join(q, f)
	case f.Sample != nil:
		a.sample(q, f)
	case f.Node != nil:
		a.unknown(q, f.Node)
	case len(items) == 1 && items[0].Query != nil && items[0].CTE == nil:
		a.query(items[0].Query)
		a.published(items[0].Query, items[0].Open)
	}
}

// published hands a query's outputs on by name. DuckDB makes up names where the query has none ("min(x)") or one twice
// (x, x_1), and a reference by such a name would escape us: those columns are disqualified. So are all if some are
// unknown.
func (a *analyzer) published(q *bind.Query, open bool) {
	for i, s := range a.queries[q.ID].outputs {
		if s == nil {
			continue
		}
		name := q.Outputs[i].Name
		same := func(o bind.Output) bool { return lex.Same(o.Name, name) }
		twice := slices.ContainsFunc(q.Outputs[i+1:], same) || slices.ContainsFunc(q.Outputs[:i], same)
		if open || q.Open || name == "" || twice {
			s.disqualify()
		}
	}
}

// sample is a table under TABLESAMPLE: which rows are drawn depends on all of them, so nothing may be left out.
func (a *analyzer) sample(q *bind.Query, f *bind.From) {
	a.from(q, f.Left)
	a.markNullable(q.Items[f.First:f.Last])
	for _, n := range f.Sample.Args {
		a.value(q, n)
	}
	a.value(q, f.Sample.Repeatable)
}

func (a *analyzer) join(q *bind.Query, f *bind.From) {
	a.from(q, f.Left)
	a.from(q, f.Right)
	left, right := q.Items[f.Left.First:f.Left.Last], q.Items[f.Right.First:f.Right.Last]
	a.joinUsing(q, f)
	j := f.Join
	a.conditions(q, j.Quals, filtered(j.Jointype, left, right))
	if fillsWithNulls(j.Jointype, pg.JoinType_JOIN_LEFT) {
		a.markNullable(right)
	}
	if fillsWithNulls(j.Jointype, pg.JoinType_JOIN_RIGHT) {
		a.markNullable(left)
	}
	if j.Alias != nil { // (a JOIN b …) AS j hides a and b
		a.disqualifyAll(q.Items[f.First:f.Last])
	}
}

// joinUsing disqualifies what USING and NATURAL compare and merge.
func (a *analyzer) joinUsing(q *bind.Query, f *bind.From) {
	if f.Join.IsNatural || f.Join.JoinUsingAlias != nil {
		a.disqualifyAll(q.Items[f.First:f.Last])
	}
	for _, c := range f.Compared {
		a.note(c)
		a.slotOf(c).disqualify()
	}
}

// filtered gives the items that a join's ON condition surely filters: both sides of an inner join, the filled side of
// an outer one (P1: a row of the preserved side survives a false ON).
func filtered(t pg.JoinType, left, right []*bind.Item) []*bind.Item {
	switch t {
	case pg.JoinType_JOIN_INNER:
		return append(slices.Clone(left), right...)
	case pg.JoinType_JOIN_LEFT:
		return right
	case pg.JoinType_JOIN_RIGHT:
		return left
	}
	return nil
}

// fillsWithNulls: the join fills the far side of the given direction. Kinds that we do not know fill both.
func fillsWithNulls(t, direction pg.JoinType) bool {
	return t != pg.JoinType_JOIN_INNER && (t == direction || t != pg.JoinType_JOIN_LEFT && t != pg.JoinType_JOIN_RIGHT)
}

func (a *analyzer) markNullable(items []*bind.Item) {
	for _, it := range items {
		a.nullable[it.ID] = true
	}
}
