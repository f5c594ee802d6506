package typing

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
)

// merges reports whether a join merges columns, by USING or NATURAL.
func merges(j *pg.JoinExpr) bool { return len(j.UsingClause) > 0 || j.IsNatural }

// shown is a column that a star stands for: of one item, or merged of several.
type shown struct {
	text string
	of   []bind.Column
}

// mergedFirst writes the * of a select list as the columns that it stands for in PostgreSQL, where those that USING and
// NATURAL merge come first. In DuckDB they stay in their places of the left side.
func (w *translation) mergedFirst(q *bind.Query, star *pg.ColumnRef) {
	if len(star.Fields) != 1 || star.Fields[0].GetAStar() == nil || q.Open {
		return
	}
	var first, inPlace []shown
	for _, f := range q.From {
		a, b, ok := columnsOf(f)
		if !ok {
			return
		}
		first, inPlace = append(first, a...), append(inPlace, b...)
	}
	if slices.EqualFunc(first, inPlace, func(a, b shown) bool { return a.text == b.text }) {
		return
	}
	list := make([]string, len(first))
	for i, c := range first {
		list[i] = c.text
	}
	at := int(star.Location)
	w.edits = append(w.edits, change{at, at + 1, strings.Join(list, ", "), len(w.edits)})
}

// columnsOf are the columns of an entry of a FROM clause in PostgreSQL's order, and in DuckDB's; not ok: some are
// unknown, or have no name.
func columnsOf(f *bind.From) (first, inPlace []shown, ok bool) {
	switch {
	case f == nil || f.Sample != nil:
		return nil, nil, false
	case f.Item != nil:
		it := f.Item
		if it.Open || it.Alias == "" || !it.HasNames() {
			return nil, nil, false
		}
		for i, name := range it.Columns {
			c := shown{lex.Quote(it.Alias) + "." + lex.Quote(name), []bind.Column{{Item: it, Index: i}}}
			first = append(first, c)
		}
		return first, slices.Clone(first), true
	case f.Join == nil || f.Join.Alias != nil || f.Join.JoinUsingAlias != nil:
		return nil, nil, false
	}
	left, leftInPlace, ok := columnsOf(f.Left)
	if !ok {
		return nil, nil, false
	}
	right, rightInPlace, ok := columnsOf(f.Right)
	if !ok {
		return nil, nil, false
	}
	holds := func(pair [2]bind.Column) func(c shown) bool {
		return func(c shown) bool { return slices.Contains(c.of, pair[0]) || slices.Contains(c.of, pair[1]) }
	}
	for _, pair := range f.Using {
		name := lex.Quote(pair[0].Item.Columns[pair[0].Index])
		merged := shown{text: name}
		for _, side := range []*[]shown{&left, &right, &rightInPlace} {
			i := slices.IndexFunc(*side, holds(pair))
			if i < 0 {
				return nil, nil, false
			}
			merged.of = append(merged.of, (*side)[i].of...)
			*side = slices.Delete(*side, i, i+1)
		}
		i := slices.IndexFunc(leftInPlace, holds(pair))
		if i < 0 {
			return nil, nil, false
		}
		leftInPlace[i] = merged
		first = append(first, merged)
	}
	if merges(f.Join) && !f.Join.IsNatural && len(f.Using) != len(f.Join.UsingClause) {
		return nil, nil, false
	}
	return slices.Concat(first, left, right), slices.Concat(leftInPlace, rightInPlace), true
}
