package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// Comparison is a condition on two columns of one row: Left Op Right. The columns are of one type, whose values compare
// as the
// integers that chunks store: integers, decimals, dates, timestamps. Op is one of Equal … GreaterEqual.
type Comparison struct {
	Left, Right int // indices into Relation.Columns
	Op          Op
}

// columnsCompared reads a comparison of two columns of a row of a base table.
func (a *analyzer) columnsCompared(q *bind.Query, n *pg.Node,
	filters func(*bind.Item) bool) (c Comparison, o *occurrence, ok bool) {
	e := n.GetAExpr()
	if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP {
		return Comparison{}, nil, false
	}
	operator, ok := comparisons[operator(e)]
	if !ok {
		return Comparison{}, nil, false
	}
	left, ok := a.own(q, e.Lexpr)
	if !ok || !filters(left.Column.Item) {
		return Comparison{}, nil, false
	}
	right, ok := a.own(q, e.Rexpr)
	if !ok || left.Column.Item != right.Column.Item {
		return Comparison{}, nil, false
	}
	of, and := a.trace(left.Column), a.trace(right.Column)
	if len(of) != 1 || len(and) != 1 || of[0].by != nil || and[0].by != nil || of[0].occ != and[0].occ {
		return Comparison{}, nil, false
	}
	t := of[0].definition().Type
	if !arrow.TypeEqual(t, and[0].definition().Type) || !comparesAsStored(t) {
		return Comparison{}, nil, false
	}
	return Comparison{of[0].column, and[0].column, operator.op}, of[0].occ, true
}

func comparesAsStored(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.DATE32, arrow.TIMESTAMP, arrow.DECIMAL64, arrow.DECIMAL128:
		return true
	}
	return arrow.IsInteger(t.ID())
}
