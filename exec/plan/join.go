package plan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// Join is an equality between a column of the scan and a column of another scan of the statement, such that a row
// of the scan can only matter if some row of the other one that matters itself has the same value (P7). So the keys
// that are left of the other table, once it was filtered, filter this one: predicate transfer. NULLs join nothing.
//
// An inner join gives one in each direction; an outer one only towards the side that it fills; a correlated
// sub-query one from the query around it. Two in a row, through one column of the scan between, make a third: s.k =
// l.k and l.k = p.k say as much of s and p, if equality is one and the same in all three. The columns of a Join may
// be of different types: a caller that compares values otherwise than in SQL must check that.
type Join struct {
	Column int // of this scan's relation
	Other  int // index into what Scans returned
	Match  int // column of the other scan's relation
}

// pendingJoin is a Join whose other end has no number yet.
type pendingJoin struct {
	column, match int
	other         *occurrence
}

// equality notes column = column as a join of the items that it surely filters.
func (a *analyzer) equality(q *bind.Query, n *pg.Node, filters func(*bind.Item) bool) {
	e := n.GetAExpr()
	if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || operator(e) != "=" {
		return
	}
	left, ok := a.inFrom(e.Lexpr)
	if !ok {
		return
	}
	right, ok := a.inFrom(e.Rexpr)
	if !ok || left.Column.Item == right.Column.Item {
		return
	}
	a.link(q, left, right, filters)
	a.link(q, right, left, filters)
}

// link: rows of to that meet no row of by do not matter, if the condition filters to and to stands in this very FROM
// clause.
func (a *analyzer) link(q *bind.Query, to, by bind.Ref, filters func(*bind.Item) bool) {
	if to.Query != q || !filters(to.Column.Item) {
		return
	}
	if t, ok := a.values(by.Column); ok {
		meet(a.trace(to.Column), t)
	}
}

// meet notes that rows which meet none of another occurrence do not matter.
func meet(rows []target, by target) {
	for _, t := range rows {
		if t.by == nil && t.occ != by.occ {
			t.occ.joins = append(t.occ.joins, pendingJoin{t.column, by.column, by.occ})
		}
	}
}

// inFrom resolves a reference that certainly means a column of a FROM clause, of this query or of one around it.
func (a *analyzer) inFrom(n *pg.Node) (bind.Ref, bool) {
	ref := n.GetColumnRef()
	if ref == nil {
		return bind.Ref{}, false
	}
	r := a.bound.Ref(ref)
	return r, r.Certain && r.Column.Item != nil
}

// numberJoins turns the pending joins of all occurrences into Joins. scans and occurrences correspond.
func numberJoins(scans []Scan, occurrences []*occurrence) {
	at := make(map[*occurrence]int, len(occurrences))
	for i, o := range occurrences {
		at[o] = i
	}
	for i, o := range occurrences {
		for _, j := range o.joins {
			scans[i].Joins = append(scans[i].Joins, Join{Column: j.column, Other: at[j.other], Match: j.match})
		}
	}
	for again := true; again; {
		again = false
		for i := range scans {
			for _, j := range scans[i].Joins {
				for _, next := range scans[j.Other].Joins {
					third := Join{Column: j.Column, Other: next.Other, Match: next.Match}
					if next.Column != j.Match || next.Other == i || !transitive(scans, i, j, next) ||
						slices.Contains(scans[i].Joins, third) || len(scans[i].Joins) >= joinsMax {
						continue
					}
					scans[i].Joins, again = append(scans[i].Joins, third), true
				}
			}
		}
	}
}

// transitive reports whether what equals the column between equals what that equals. DuckDB compares values of two
// types in a third: a BIGINT equals a DOUBLE that is the next one to it, and so do its neighbours.
func transitive(scans []Scan, i int, first, second Join) bool {
	between := &scans[first.Other].Relation.Columns[first.Match]
	return alike(&scans[i].Relation.Columns[first.Column], between) && alike(between, &scans[second.Other].Relation.Columns[second.Match])
}

// alike reports whether values of two columns are equal to SQL just when they are the same value. Of one type they
// are, for that is what its equality says; integers are compared in a type that holds both.
func alike(a, b *Column) bool {
	if a.Mark != b.Mark {
		return false
	}
	return arrow.TypeEqual(a.Type, b.Type) || arrow.IsInteger(a.Type.ID()) && arrow.IsInteger(b.Type.ID())
}

// joinsMax bounds those of one scan.
const joinsMax = 32
