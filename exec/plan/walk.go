package plan

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// statement walks the query of a statement. Only the output of a query that goes to the client may be an ENUM: a table
// that stores it would store the type.
func (a *analyzer) statement(q *bind.Query) {
	outputs := a.query(q)
	if q.Stored {
		disqualifyOutputs(outputs)
	}
}

func disqualifyOutputs(list []*slot) {
	for _, s := range list {
		s.disqualify()
	}
}

// query walks a SELECT, VALUES or set operation and returns the slots whose ENUM its outputs would be.
func (a *analyzer) query(q *bind.Query) []*slot {
	if q == nil {
		return nil
	}
	s := q.Stmt
	for _, c := range q.With {
		a.query(c.Query)
		if c.Query != nil {
			a.published(c.Query, false)
		}
	}
	switch {
	case q.Left != nil: // the arms' types are unified, so no ENUM passes through (P2)
		disqualifyOutputs(a.query(q.Left))
		disqualifyOutputs(a.query(q.Right))
	case len(s.ValuesLists) > 0:
		for _, row := range s.ValuesLists {
			a.all(q, row.GetList().GetItems())
		}
	default:
		a.selection(q)
	}
	for _, n := range s.SortClause {
		a.key(q, n.GetSortBy().GetNode())
	}
	a.value(q, s.LimitCount)
	a.value(q, s.LimitOffset)
	return a.queries[q.ID].outputs
}

func (a *analyzer) selection(q *bind.Query) {
	s := q.Stmt
	for _, f := range q.From {
		a.from(q, f)
	}
	a.targets(q)
	a.conditions(q, s.WhereClause, q.Items)
	for _, n := range s.GroupClause {
		a.key(q, n)
	}
	for _, n := range s.DistinctClause {
		a.key(q, n)
	}
	a.value(q, s.HavingClause)
	for _, n := range s.WindowClause {
		a.window(q, n.GetWindowDef())
	}
}

// targets walks the select list. Its plain columns pass an ENUM on; the top level turns that into text (P2).
func (a *analyzer) targets(q *bind.Query) {
	state := &a.queries[q.ID]
	state.outputs = make([]*slot, 0, len(q.Outputs))
	state.targets = make([]*slot, 0, len(q.Stmt.TargetList))
	at := 0
	for i, n := range q.Stmt.TargetList {
		val := n.GetResTarget().GetVal()
		star := bind.IsStar(val.GetColumnRef())
		var s *slot
		if star {
			a.star(q, val.GetColumnRef())
		} else {
			s = a.expr(q, val)
		}
		state.targets = append(state.targets, s)
		for ; at < len(q.Outputs) && q.Outputs[at].Target == i; at++ {
			if star {
				s = a.slotOf(q.Outputs[at].Column).use()
			}
			state.outputs = append(state.outputs, s)
		}
	}
}

// star reads the columns under * or t.*.
func (a *analyzer) star(q *bind.Query, ref *pg.ColumnRef) {
	alias := bind.StarAlias(ref)
	for _, it := range q.Items {
		if alias == "" || lex.Same(it.Alias, alias) {
			a.readAll(it)
		}
	}
}

// value walks an expression whose value is used in a way that might show an ENUM's type.
func (a *analyzer) value(q *bind.Query, n *pg.Node) {
	a.expr(q, n).disqualify()
}

// key walks an expression that is only compared with other values of itself: GROUP BY, ORDER BY, DISTINCT ON,
// PARTITION BY. An ENUM does that as its text would, for its values are in bytewise order (P3).
func (a *analyzer) key(q *bind.Query, n *pg.Node) {
	if set := n.GetGroupingSet(); set != nil {
		for _, member := range set.Content {
			a.key(q, member)
		}
		return
	}
	if row := n.GetRowExpr(); row != nil {
		for _, member := range row.Args {
			a.value(q, member)
		}
		return
	}
	a.expr(q, n)
}

func (a *analyzer) window(q *bind.Query, w *pg.WindowDef) {
	if w == nil {
		return
	}
	for _, n := range w.PartitionClause {
		a.key(q, n)
	}
	for _, n := range w.OrderClause {
		a.key(q, n.GetSortBy().GetNode())
	}
	a.value(q, w.StartOffset)
	a.value(q, w.EndOffset)
}

// unknown walks a message that has no rule of its own: every expression in it counts as a use that might show the
// type, every table in it is found.
func (a *analyzer) unknown(q *bind.Query, m proto.Message) {
	a.reflect(q, m.ProtoReflect())
}

func (a *analyzer) reflect(q *bind.Query, m protoreflect.Message) {
	for child := range tree.Children(m) {
		a.message(q, child)
	}
}

func (a *analyzer) message(q *bind.Query, m protoreflect.Message) {
	switch e := m.Interface().(type) {
	case *pg.Node:
		a.value(q, e)
	case *pg.SelectStmt:
		a.nested(e)
	case *pg.RangeVar: // which is a query of its own
	default:
		a.reflect(q, m)
	}
}

// nested walks a sub-query whose output may go anywhere.
func (a *analyzer) nested(s *pg.SelectStmt) { disqualifyOutputs(a.query(a.bound.Query(s))) }
