package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// Group says that a scan is grouped by one column and nothing else, and that only groups matter in which the sum of
// another column is above a bound: … IN (SELECT key FROM t GROUP BY key HAVING sum(x) > 300). Rows of other groups,
// and of the group of NULL, may be left out, or any of them, for no part of a group is above the bound that the
// whole is not above (P8).
type Group struct {
	Key   int   // index into Relation.Columns
	Sum   int   // too; -1: the rows of the group are counted
	Op    Op    // Greater or GreaterEqual
	Value Value // an exact number
}

// plainDistinct: no DISTINCT ON.
func plainDistinct(s *pg.SelectStmt) bool {
	return len(s.DistinctClause) == 0 || len(s.DistinctClause) == 1 && s.DistinctClause[0].GetNode() == nil
}

// group finds a sub-select of one column, by which it groups all of one table.
func (a *analyzer) group(q *bind.Query) (*occurrence, *Group) {
	s, key := q.Stmt, q.Outputs[0].Column
	if len(q.Items) != 1 || a.of[key.Item.ID] == nil || s.WhereClause != nil || s.WithClause != nil || a.nullable[key.Item.ID] ||
		len(s.WindowClause) > 0 || len(s.GroupClause) != 1 || judge(q) != passesKeys || !a.isKey(q, key) {
		return nil, nil
	}
	return a.of[key.Item.ID], a.having(q, s.HavingClause, key)
}

// having reads a lower bound of a sum or a count.
func (a *analyzer) having(q *bind.Query, n *pg.Node, key bind.Column) *Group {
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
	g := &Group{Key: key.Index, Sum: -1, Op: op, Value: v}
	switch name := builtinName(call); {
	case name == "count" && call.AggStar && !call.AggDistinct && call.AggFilter == nil && call.Over == nil:
		return g
	case name == "sum" && len(call.Args) == 1 && isPlainCall(call):
		r, ok := a.own(q, call.Args[0])
		if !ok {
			return nil
		}
		g.Sum = r.Column.Index
		if c := &a.of[key.Item.ID].Relation.Columns[g.Sum]; sumsExactly(c.Type) && neverNegative(c) {
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
func (a *analyzer) membership(q *bind.Query, n *pg.Node, filters func(*bind.Item) bool) {
	link := n.GetSubLink()
	if link == nil || link.SubLinkType != pg.SubLinkType_ANY_SUBLINK || len(link.OperName) > 0 && !isEquals(link.OperName) {
		return
	}
	inner := a.bound.Query(link.Subselect.GetSelectStmt())
	if inner == nil || inner.Dialect || inner.Open || len(inner.Outputs) != 1 || inner.Outputs[0].Column.Item == nil {
		return
	}
	if o, g := a.group(inner); g != nil {
		o.Group = g
	}
	r, ok := a.own(q, link.Testexpr)
	if !ok || !filters(r.Column.Item) {
		return
	}
	if keys, ok := a.values(inner.Outputs[0].Column); ok {
		meet(a.trace(r.Column), keys)
	}
	if keys, ok := a.values(r.Column); ok {
		meet(a.through(inner, 0), keys)
	}
}

func isEquals(name []*pg.Node) bool {
	return len(name) == 1 && name[0].GetString_().GetSval() == "="
}
