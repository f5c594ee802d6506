package plan

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// A condition on a column of a derived table or a CTE is one on rows of a base table, if nothing stands between that
// makes other rows matter (P9):
//
//	SELECT * FROM (SELECT a AS k, b + 1 FROM t WHERE b > 0) x WHERE k = 5    rows of t with another a do not matter
//
// A row of t then gives rows of x with its own a, or none, and no other row of x depends on it. So a query passes a
// condition on one of its outputs if that is a column of its FROM clause, unchanged, and
//
//	passes              the query has
//	the column's rows   neither LIMIT nor OFFSET, DISTINCT ON, windows, samples, functions that may be volatile
//	if it is a key      GROUP BY, HAVING: rows of one group agree in it
//	in both arms        UNION ALL, where the arms' columns have one type
//	nothing             any other set operation, WITH RECURSIVE, a side that an outer join fills, another dialect's join

// target is a column of an occurrence whose rows a condition on another column is about.
type target struct {
	occ    *occurrence
	column int
	// by is the one mention of a CTE, of several, that the condition is on: what the others want of the rows counts
	// too.
	by *bind.Item
}

func (t target) definition() *Column { return &t.occ.Relation.Columns[t.column] }

// sharedKey is what one mention of a CTE, of several, wants of an occurrence in it.
type sharedKey struct {
	by  *bind.Item
	occ *occurrence
}

// trace finds the columns of base tables whose rows a condition on a column is about. All of them are of one type.
func (a *analyzer) trace(c bind.Column) []target { return a.traceBut(c, map[output][]target{}) }

// output is a column that a query puts out.
type output struct {
	query *bind.Query
	at    int
}

// traceBut is trace, for which some outputs were followed already: a CTE may be named twice by the next, thirty deep.
func (a *analyzer) traceBut(c bind.Column, known map[output][]target) []target {
	it := c.Item
	if it == nil {
		return nil
	}
	if o := a.of[it.ID]; o != nil {
		return []target{{occ: o, column: c.Index}}
	}
	if it.Query == nil || it.Open {
		return nil
	}
	list := slices.Clone(a.throughBut(it.Query, c.Index, known))
	if it.CTE == nil || len(list) == 0 {
		return list
	}
	if it.CTE.Recursive {
		return nil
	}
	if len(it.CTE.Refs) == 1 {
		return list
	}
	for i := range list {
		if list[i].by != nil { // of two CTEs, both of them mentioned several times
			return nil
		}
		list[i].by = it
	}
	return list
}

// through is trace for an output of a query.
func (a *analyzer) through(q *bind.Query, at int) []target {
	return a.throughBut(q, at, map[output][]target{})
}

func (a *analyzer) throughBut(q *bind.Query, at int, known map[output][]target) []target {
	if q.Open || at >= len(q.Outputs) {
		return nil
	}
	list, ok := known[output{q, at}]
	if !ok {
		list = a.followed(q, at, known)
		known[output{q, at}] = list
	}
	return list
}

func (a *analyzer) followed(q *bind.Query, at int, known map[output][]target) []target {
	state := &a.queries[q.ID]
	if state.passes == unjudged {
		state.passes = judge(q)
	}
	switch c := q.Outputs[at].Column; {
	case state.passes == passesArms:
		left, right := a.throughBut(q.Left, at, known), a.throughBut(q.Right, at, known)
		if len(left) == 0 || len(right) == 0 || !sameType(left[0].definition(), right[0].definition()) {
			return nil
		}
		return slices.Concat(left, right)
	case c.Item == nil || a.nullable[c.Item.ID] || state.passes == passesNothing:
		return nil
	case state.passes == passesKeys && !a.isKey(q, c):
		return nil
	default:
		return a.traceBut(c, known)
	}
}

func sameType(a, b *Column) bool { return a.Mark == b.Mark && arrow.TypeEqual(a.Type, b.Type) }

// passing is which conditions on outputs of a query are ones on the rows of its FROM clause.
type passing uint8

const (
	unjudged passing = iota
	passesNothing
	passesColumns
	passesKeys
	passesArms
)

func judge(q *bind.Query) passing {
	s := q.Stmt
	if q.Dialect || s.LimitCount != nil || s.LimitOffset != nil || s.IntoClause != nil || !plainDistinct(s) {
		return passesNothing
	}
	if q.Left != nil {
		if s.Op != pg.SetOperation_SETOP_UNION || !s.All || len(q.Left.Outputs) != len(q.Right.Outputs) {
			return passesNothing
		}
		return passesArms
	}
	j := judging{grouped: len(s.GroupClause) > 0 || s.HavingClause != nil}
	switch j.look(s.ProtoReflect(), true); {
	case j.nothing:
		return passesNothing
	case j.grouped:
		return passesKeys
	}
	return passesColumns
}

// judging looks for what keeps conditions from passing, or lets only those on keys pass.
type judging struct{ nothing, grouped bool }

// look looks at what is in a message; own means that it is of the query itself, not of another one in it.
func (j *judging) look(m protoreflect.Message, own bool) {
	for child := range tree.Children(m) {
		inside := own
		switch n := child.Interface().(type) {
		case *pg.FuncCall:
			name := lex.Fold(functionName(n))
			known := PureFunctions[name] || AggregateFunctions[name] || n.Over != nil
			j.nothing = j.nothing || !known || own && n.Over != nil
			j.grouped = j.grouped || own && AggregateFunctions[name]
		case *pg.WindowDef, *pg.GroupingSet:
			j.nothing = j.nothing || own
		case *pg.SelectStmt:
			inside = false
		}
		j.look(child, inside)
	}
}

// isKey reports whether a column is one of those that a query groups by.
func (a *analyzer) isKey(q *bind.Query, c bind.Column) bool {
	if q.Stmt.GroupDistinct {
		return false
	}
	for _, n := range q.Stmt.GroupClause {
		if place := n.GetAConst().GetIval(); place != nil { // GROUP BY 1
			for _, o := range q.Outputs {
				if o.Target == int(place.Ival)-1 && o.Column == c && a.onlyOutput(q, o.Target) {
					return true
				}
			}
		}
		if ref := n.GetColumnRef(); ref != nil {
			if r := a.bound.Ref(ref); r.Certain && r.Query == q && r.Column == c {
				return true
			}
		}
	}
	return false
}

// onlyOutput reports whether a place in the select list is that in the output, too: no star is before it.
func (a *analyzer) onlyOutput(q *bind.Query, target int) bool {
	for _, n := range q.Stmt.TargetList[:target+1] {
		if bind.IsStar(n.GetResTarget().GetVal().GetColumnRef()) {
			return false
		}
	}
	return true
}

// values follows a column to the base table whose values it has, or some of them, or NULL besides. Any query may stand
// between that shows the column unchanged.
func (a *analyzer) values(c bind.Column) (t target, ok bool) {
	for c.Item != nil && a.of[c.Item.ID] == nil {
		if c.Item.In.Dialect {
			return target{}, false
		}
		c, _ = c.Source()
	}
	if c.Item == nil || c.Item.In.Dialect {
		return target{}, false
	}
	return target{occ: a.of[c.Item.ID], column: c.Index}, true
}

// finish judges what can be said when everything was walked.
func (a *analyzer) finish() {
	for _, q := range a.bound.Queries {
		if q.Stmt == nil { // a table's name where no FROM clause is
			a.disqualifyAll(q.Items)
		}
	}
	if len(a.shared) > 0 {
		a.share()
	}
}

// share adds what the mentions of a CTE want of the rows of an occurrence in it: if each wants something, a row that
// none of them wants does not matter.
func (a *analyzer) share() {
	for _, q := range a.bound.Queries {
		for _, c := range q.With {
			for _, o := range a.occurrences {
				if anyOf, all := a.wanted(c, o); all {
					o.AnyOf = append(o.AnyOf, anyOf)
				}
			}
		}
	}
}

func (a *analyzer) wanted(c *bind.CTE, o *occurrence) (anyOf [][]Predicate, all bool) {
	for _, it := range c.Refs {
		p := a.shared[sharedKey{it, o}]
		if len(p) == 0 {
			return nil, false
		}
		anyOf = append(anyOf, p)
	}
	return anyOf, len(anyOf) > 0
}
