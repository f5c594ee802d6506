package plan

import (
	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"
)

// Comparison is a condition on two columns of one row: Left Op Right. The columns are of one type, whose values compare
// as the
// integers that chunks store: integers, decimals, dates, timestamps. Op is one of Equal … GreaterEqual.
type Comparison struct {
	Left, Right int // indices into Relation.Columns
	Op          Op
}

// columnsCompared reads a comparison of two columns of a base table of this very FROM clause. The caller has seen to it
// that
// the condition refers to a single table.
func (a *analyzer) columnsCompared(f *frame, n *pg.Node) (Comparison, bool) {
	e := n.GetAExpr()
	if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP {
		return Comparison{}, false
	}
	c, ok := comparisons[operator(e)]
	if !ok {
		return Comparison{}, false
	}
	left, ok := a.baseColumn(f, e.Lexpr)
	if !ok {
		return Comparison{}, false
	}
	right, ok := a.baseColumn(f, e.Rexpr)
	if !ok || left.frame != f || left.from != right.from {
		return Comparison{}, false
	}
	columns := left.from.occ.Relation.Columns
	if t := columns[left.column].Type; !arrow.TypeEqual(t, columns[right.column].Type) || !comparesAsStored(t) {
		return Comparison{}, false
	}
	return Comparison{left.column, right.column, c.op}, true
}

func comparesAsStored(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.DATE32, arrow.TIMESTAMP, arrow.DECIMAL64, arrow.DECIMAL128:
		return true
	}
	return arrow.IsInteger(t.ID())
}
