package plan

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// scope is what a SELECT sees from outside.
type scope struct {
	parent  *frame
	lateral bool
	ctes    *cte
}

// statement finds the query in a statement. Only the output of a query that goes to the client may be an ENUM: whoever
// stores
// it would store the type.
func (a *analyzer) statement(n *pg.Node) {
	switch s := n.GetNode().(type) {
	case *pg.Node_SelectStmt:
		if s.SelectStmt.IntoClause != nil {
			a.stored(n)
			return
		}
		a.query(s.SelectStmt, scope{})
	case *pg.Node_ExplainStmt:
		a.statement(s.ExplainStmt.Query)
	case *pg.Node_DeclareCursorStmt:
		a.statement(s.DeclareCursorStmt.Query)
	case *pg.Node_CreateTableAsStmt:
		a.stored(s.CreateTableAsStmt.Query)
	case *pg.Node_InsertStmt:
		a.stored(s.InsertStmt.SelectStmt)
	case *pg.Node_CopyStmt:
		a.stored(s.CopyStmt.Query)
	case *pg.Node_ViewStmt:
		a.stored(s.ViewStmt.Query)
	}
}

func (a *analyzer) stored(n *pg.Node) {
	columns, _ := a.query(n.GetSelectStmt(), scope{})
	spoilOutputs(columns)
}

func spoilOutputs(columns []output) {
	for _, c := range columns {
		c.slot.spoil()
	}
}

// query walks a SELECT, VALUES or set operation and returns its output columns; open says that there are more, or that
// their order is not known.
func (a *analyzer) query(s *pg.SelectStmt, sc scope) (columns []output, open bool) {
	if s == nil {
		return nil, true
	}
	f := &frame{parent: sc.parent, lateral: sc.lateral, ctes: sc.ctes}
	a.with(f, s.WithClause)
	switch {
	case s.Op != pg.SetOperation_SETOP_NONE && s.Op != pg.SetOperation_SET_OPERATION_UNDEFINED:
		columns, open = a.setOperation(f, s)
	case len(s.ValuesLists) > 0:
		a.values(f, s.ValuesLists)
		columns, open = nil, true
	default:
		columns, open = a.selection(f, s)
	}
	for _, n := range s.SortClause {
		a.key(f, n.GetSortBy().GetNode())
	}
	a.value(f, s.LimitCount)
	a.value(f, s.LimitOffset)
	return columns, open
}

// with puts the CTEs in scope, each for the later ones; under RECURSIVE each for itself and the others too.
func (a *analyzer) with(f *frame, w *pg.WithClause) {
	if w == nil {
		return
	}
	if w.Recursive {
		for _, n := range w.Ctes { // placeholders: whatever they turn out to be, they are no base tables
			f.ctes = &cte{name: n.GetCommonTableExpr().GetCtename(), open: true, next: f.ctes}
		}
	}
	for _, n := range w.Ctes {
		e := n.GetCommonTableExpr()
		columns, open := a.query(e.GetCtequery().GetSelectStmt(), scope{parent: f.parent, lateral: f.lateral, ctes: f.ctes})
		it := renamed(published(columns, open), e.GetAliascolnames())
		if e.GetSearchClause() != nil || e.GetCycleClause() != nil {
			it.spoil()
			it.open = true
		}
		f.ctes = &cte{name: e.GetCtename(), columns: it.columns, open: it.open, next: f.ctes}
	}
}

// setOperation: the arms' types are unified, so no ENUM passes through (P2).
func (a *analyzer) setOperation(f *frame, s *pg.SelectStmt) (columns []output, open bool) {
	inner := scope{parent: f.parent, lateral: f.lateral, ctes: f.ctes}
	left, open := a.query(s.Larg, inner)
	right, _ := a.query(s.Rarg, inner)
	spoilOutputs(left)
	spoilOutputs(right)
	columns = make([]output, len(left))
	for i := range left {
		columns[i].name = left[i].name
	}
	f.aliases = columns
	return columns, open
}

func (a *analyzer) values(f *frame, rows []*pg.Node) {
	for _, row := range rows {
		for _, n := range row.GetList().GetItems() {
			a.value(f, n)
		}
	}
}

func (a *analyzer) selection(f *frame, s *pg.SelectStmt) (columns []output, open bool) {
	for _, n := range s.FromClause {
		a.from(f, n)
	}
	columns, open = a.targets(f, s.TargetList)
	a.conditions(f, s.WhereClause, f.items)
	for _, n := range s.GroupClause {
		a.key(f, n)
	}
	for _, n := range s.DistinctClause {
		a.key(f, n)
	}
	a.value(f, s.HavingClause)
	for _, n := range s.WindowClause {
		a.window(f, n.GetWindowDef())
	}
	a.noteSelected(f, s, columns, open)
	return columns, open
}

// targets walks the select list. Its plain columns pass an ENUM on; the top level turns that into text (P2).
func (a *analyzer) targets(f *frame, list []*pg.Node) (columns []output, open bool) {
	for _, n := range list {
		t := n.GetResTarget()
		if ref := t.GetVal().GetColumnRef(); ref != nil && len(ref.Fields) > 0 && ref.Fields[len(ref.Fields)-1].GetAStar() != nil {
			more, unknown := a.expandStar(f, ref)
			columns, open = append(columns, more...), open || unknown
			continue
		}
		out := output{name: t.GetName(), slot: a.expr(f, t.GetVal())}
		if ref := t.GetVal().GetColumnRef(); ref != nil {
			a.nameOutput(f, ref, &out)
		}
		columns = append(columns, out)
		if t.GetName() != "" {
			f.aliases = append(f.aliases, out)
		}
	}
	return columns, open
}

// nameOutput: an output that is a column goes by the column's name, and an alias for it is known to be that column.
func (a *analyzer) nameOutput(f *frame, ref *pg.ColumnRef, out *output) {
	if out.name == "" {
		out.name = ref.Fields[len(ref.Fields)-1].GetString_().GetSval()
	}
	if m, ok := a.resolve(f, ref); ok && m.from != nil && m.frame == f {
		out.item, out.column = m.from, m.output.column
	}
}

// expandStar lists the columns under * or t.*.
func (a *analyzer) expandStar(f *frame, ref *pg.ColumnRef) (columns []output, open bool) {
	alias := starAlias(ref)
	open = f.merged // USING columns come once, we list them twice
	for _, it := range f.items {
		if alias != "" && !lex.Same(it.alias, alias) {
			continue
		}
		it.readAll()
		open = open || it.open
		for _, c := range it.columns {
			if c.slot != nil {
				c.slot.used = true
			}
			columns = append(columns, output{name: c.name, slot: c.slot})
		}
	}
	return columns, open
}

// value walks an expression whose value is used in a way that might show an ENUM's type.
func (a *analyzer) value(f *frame, n *pg.Node) {
	a.expr(f, n).spoil()
}

// key walks an expression that is only compared with other values of itself: GROUP BY, ORDER BY, DISTINCT ON, PARTITION
// BY. An
// ENUM does that as its text would, for its values are in bytewise order (P3).
func (a *analyzer) key(f *frame, n *pg.Node) {
	if set := n.GetGroupingSet(); set != nil {
		for _, member := range set.Content {
			a.key(f, member)
		}
		return
	}
	if row := n.GetRowExpr(); row != nil {
		for _, member := range row.Args {
			a.value(f, member)
		}
		return
	}
	a.expr(f, n)
}

func (a *analyzer) window(f *frame, w *pg.WindowDef) {
	if w == nil {
		return
	}
	for _, n := range w.PartitionClause {
		a.key(f, n)
	}
	for _, n := range w.OrderClause {
		a.key(f, n.GetSortBy().GetNode())
	}
	a.value(f, w.StartOffset)
	a.value(f, w.EndOffset)
}

// unknown walks a message that has no rule of its own: every expression in it counts as a use that might show the type,
// every
// table in it is found.
func (a *analyzer) unknown(f *frame, m proto.Message) {
	a.reflect(f, m.ProtoReflect())
}

func (a *analyzer) reflect(f *frame, m protoreflect.Message) {
	for child := range tree.Children(m) {
		a.message(f, child)
	}
}

func (a *analyzer) message(f *frame, m protoreflect.Message) {
	switch e := m.Interface().(type) {
	case *pg.Node:
		a.value(f, e)
	case *pg.SelectStmt:
		a.nested(f, e)
	case *pg.RangeVar:
		a.table(&frame{parent: f, ctes: f.ctes}, e)
	default:
		a.reflect(f, m)
	}
}

// nested walks a sub-query whose output may go anywhere.
func (a *analyzer) nested(f *frame, s *pg.SelectStmt) {
	columns, _ := a.query(s, scope{parent: f, ctes: f.ctes})
	spoilOutputs(columns)
}
