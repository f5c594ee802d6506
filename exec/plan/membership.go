package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"
)

// Group says that a scan is grouped by one column and nothing else, and that only groups matter in which the sum of
// another
// column is above a bound: … IN (SELECT key FROM t GROUP BY key HAVING sum(x) > 300). Rows of other groups, and of the
// group
// of NULL, may be left out, or any of them, for no part of a group is above the bound that the whole is not above (P8).
type Group struct {
	Key   int   // index into Relation.Columns
	Sum   int   // too; -1: the rows of the group are counted
	Op    Op    // Greater or GreaterEqual
	Value Value // an exact number
}

// selected is what a sub-select puts out when that is a column of a base table.
type selected struct {
	item   *item
	column int
	apart  bool   // what is put out with one value does not depend on rows with another
	group  *Group // if apart
}

// noteSelected remembers a sub-select of one column, so that a condition with IN can be understood.
func (a *analyzer) noteSelected(f *frame, s *pg.SelectStmt, columns []output, open bool) {
	if f.parent == nil || f.opaque || open || len(columns) != 1 || columns[0].item == nil || columns[0].item.occ == nil {
		return
	}
	k := selected{item: columns[0].item, column: columns[0].column}
	k.apart = !k.item.nullable && s.WithClause == nil && s.LimitCount == nil && s.LimitOffset == nil && len(s.WindowClause) == 0 && plainDistinct(s) &&
		(len(s.GroupClause) == 0 && s.HavingClause == nil || a.groupedBy(f, s, k))
	if k.apart && len(f.items) == 1 && s.WhereClause == nil {
		k.group = a.having(f, s.HavingClause, k)
	}
	if a.selects == nil {
		a.selects = map[*pg.SelectStmt]selected{}
	}
	a.selects[s] = k
}

// plainDistinct: no DISTINCT ON.
func plainDistinct(s *pg.SelectStmt) bool {
	return len(s.DistinctClause) == 0 || len(s.DistinctClause) == 1 && s.DistinctClause[0].GetNode() == nil
}

// groupedBy: by the column that is put out, and nothing else.
func (a *analyzer) groupedBy(f *frame, s *pg.SelectStmt, k selected) bool {
	if len(s.GroupClause) != 1 || s.GroupDistinct {
		return false
	}
	m, ok := a.baseColumn(f, s.GroupClause[0])
	return ok && m.frame == f && m.from == k.item && m.column == k.column
}

// having reads a lower bound of a sum or a count.
func (a *analyzer) having(f *frame, n *pg.Node, k selected) *Group {
	e := n.GetAExpr()
	if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP {
		return nil
	}
	c := comparisons[operator(e)]
	op, call, constant := c.op, e.Lexpr.GetFuncCall(), e.Rexpr
	if call == nil {
		op, call, constant = c.mirrored, e.Rexpr.GetFuncCall(), e.Lexpr
	}
	if call == nil || op != Greater && op != GreaterEqual {
		return nil
	}
	v, ok := a.constant(constant)
	if !ok || v.kind != Exact {
		return nil
	}
	g := &Group{Key: k.column, Sum: -1, Op: op, Value: v}
	switch name := builtinName(call); {
	case name == "count" && call.AggStar && !call.AggDistinct && call.AggFilter == nil && call.Over == nil:
		return g
	case name == "sum" && len(call.Args) == 1 && isPlainCall(call):
		m, ok := a.baseColumn(f, call.Args[0])
		if !ok || m.frame != f || m.from != k.item {
			return nil
		}
		g.Sum = m.column
		if c := &k.item.occ.Relation.Columns[g.Sum]; sumsExactly(c.Type) && neverNegative(c) {
			if _, ok := inDomain(c.Type, v); ok {
				return g
			}
		}
	}
	return nil
}

func sumsExactly(t arrow.DataType) bool {
	return arrow.IsInteger(t.ID()) || t.ID() == arrow.DECIMAL64 || t.ID() == arrow.DECIMAL128
}

// neverNegative: a part of a group then has no greater sum than the whole.
func neverNegative(c *Column) bool {
	order, ok := c.Stats.Min.Compare(IntValue(0))
	return ok && order >= 0
}

// membership notes column IN (SELECT key …): a row that meets no row with its key does not matter (P7), nor does, where
// keys are
// apart, a row of the sub-select that no row here can meet. And a group that the sub-select drops does not matter (P8).
func (a *analyzer) membership(f *frame, n *pg.Node, filters func(*item) bool) {
	link := n.GetSubLink()
	if link == nil || link.SubLinkType != pg.SubLinkType_ANY_SUBLINK || len(link.OperName) > 0 && !isEquals(link.OperName) {
		return
	}
	k, ok := a.selects[link.Subselect.GetSelectStmt()]
	if !ok {
		return
	}
	inner := k.item.occ
	if k.group != nil {
		inner.Group = k.group
	}
	m, ok := a.baseColumn(f, link.Testexpr)
	if !ok || m.frame != f || !filters(m.from) {
		return
	}
	outer := m.from.occ
	outer.joins = append(outer.joins, pendingJoin{m.column, k.column, inner})
	if k.apart {
		inner.joins = append(inner.joins, pendingJoin{k.column, m.column, outer})
	}
}

func isEquals(name []*pg.Node) bool {
	return len(name) == 1 && name[0].GetString_().GetSval() == "="
}
