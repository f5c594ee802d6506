package plan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"
)

// Join is an equality between a column of the scan and a column of another scan of the statement, such that a row of
// the
// scan can only matter if some row of the other one that matters itself has the same value (P7). So the keys that are
// left
// of the other table, once it was filtered, filter this one: predicate transfer. NULLs join nothing.
//
// An inner join gives one in each direction; an outer one only towards the side that it fills; a correlated sub-query
// one
// from the query around it. Two in a row, through one column of the scan between, make a third: s.k = l.k and l.k = p.k
// say as much of s
// and p, if equality is one and the same in all three. The columns of a Join may be of different types: whoever
// compares values otherwise
// than in SQL must look.
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
func (a *analyzer) equality(f *frame, n *pg.Node, filters func(*item) bool) {
	e := n.GetAExpr()
	if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || operator(e) != "=" {
		return
	}
	left, ok := a.baseColumn(f, e.Lexpr)
	if !ok {
		return
	}
	right, ok := a.baseColumn(f, e.Rexpr)
	if !ok || left.from == right.from {
		return
	}
	link(f, left, right, filters)
	link(f, right, left, filters)
}

// link: rows of to that meet no row of by do not matter, if the condition filters to and to stands in this very FROM
// clause.
func link(f *frame, to, by match, filters func(*item) bool) {
	if to.frame == f && filters(to.from) {
		o := to.from.occ
		o.joins = append(o.joins, pendingJoin{to.output.column, by.output.column, by.from.occ})
	}
}

// baseColumn resolves a reference that certainly means a column of a base table, here or in a query around this one.
func (a *analyzer) baseColumn(f *frame, n *pg.Node) (match, bool) {
	ref := n.GetColumnRef()
	if ref == nil {
		return match{}, false
	}
	m, ok := a.resolve(f, ref)
	return m, ok && m.from != nil && m.from.occ != nil
}

// number turns the pending joins of all occurrences into Joins. scans and occurrences correspond.
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
					if next.Column != j.Match || next.Other == i || !transitive(scans, i, j, next) || slices.Contains(scans[i].Joins, third) || len(scans[i].Joins) >= joinsMax {
						continue
					}
					scans[i].Joins, again = append(scans[i].Joins, third), true
				}
			}
		}
	}
}

// transitive tells whether what equals the column between equals what that equals. DuckDB compares values of two types
// in a third: a BIGINT
// equals a DOUBLE that is the next one to it, and so do its neighbours.
func transitive(scans []Scan, i int, first, second Join) bool {
	between := &scans[first.Other].Relation.Columns[first.Match]
	return alike(&scans[i].Relation.Columns[first.Column], between) && alike(between, &scans[second.Other].Relation.Columns[second.Match])
}

// alike tells whether values of two columns are equal to SQL just when they are the same value. Of one type they are,
// for that is what its
// equality says; integers are compared in a type that holds both.
func alike(a, b *Column) bool {
	if a.Mark != b.Mark {
		return false
	}
	return arrow.TypeEqual(a.Type, b.Type) || arrow.IsInteger(a.Type.ID()) && arrow.IsInteger(b.Type.ID())
}

// joinsMax bounds those of one scan.
const joinsMax = 32
