package plan

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
)

// Compute plans a statement for the compute backend, or says why it cannot. The plan's answer and its types are
// DuckDB's (X1); whatever is not known to be so is unsupported.
func (st *Statement) Compute() (*Query, *Unsupported) {
	if st.Tree == nil || st.resolver == nil || len(st.Tree.Stmts) != 1 {
		return nil, &Unsupported{Reason: "not exactly one statement", Position: -1}
	}
	s := st.Tree.Stmts[0].GetStmt().GetSelectStmt()
	if s == nil {
		return nil, &Unsupported{Reason: "not a SELECT", Position: -1}
	}
	if reason := unsupportedClause(s); reason != "" {
		return nil, &Unsupported{Reason: reason, Position: -1}
	}
	b := &binder{folder: folder{st.Text}}
	q := &Query{}
	b.from(q, s, st)
	b.where(q, s.WhereClause)
	b.selectList(q, s)
	b.limits(q, s)
	if b.unsupported != nil {
		return nil, b.unsupported
	}
	q.Parameters, q.Types = len(b.parameters), b.parameters
	if q.Table != nil {
		q.Table.Project = b.projected
	}
	return q, nil
}

func unsupportedClause(s *pg.SelectStmt) string {
	switch {
	case s.WithClause != nil:
		return "WITH"
	case s.Op != pg.SetOperation_SETOP_NONE && s.Op != pg.SetOperation_SET_OPERATION_UNDEFINED:
		return "UNION, INTERSECT or EXCEPT"
	case len(s.ValuesLists) > 0:
		return "VALUES"
	case len(s.DistinctClause) > 0:
		return "DISTINCT"
	case len(s.SortClause) > 0:
		return "ORDER BY"
	case len(s.GroupClause) > 0:
		return "GROUP BY"
	case s.HavingClause != nil:
		return "HAVING"
	case len(s.WindowClause) > 0:
		return "WINDOW"
	case len(s.LockingClause) > 0:
		return "FOR UPDATE"
	case s.IntoClause != nil:
		return "SELECT INTO"
	case len(s.FromClause) > 1:
		return "more than one table"
	case s.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES:
		return "WITH TIES"
	}
	return ""
}

// from finds the table among the statement's scans.
func (b *binder) from(q *Query, s *pg.SelectStmt, st *Statement) {
	if len(s.FromClause) == 0 {
		return
	}
	v := s.FromClause[0].GetRangeVar()
	if v == nil || len(v.GetAlias().GetColnames()) > 0 || bind.IsDialectJoin(v.GetAlias().GetAliasname()) {
		b.fail(-1, "a FROM clause that is not one table")
		return
	}
	scans, err := st.Scans()
	if err != nil {
		b.fail(v.Location, err.Error())
		return
	}
	b.names = st.Names()
	for i := range scans {
		if scans[i].Start <= int(v.Location) && int(v.Location) < scans[i].End {
			q.Table = &TableScan{Scan: scans[i]}
			b.relation, b.alias = scans[i].Relation, scans[i].Alias
			return
		}
	}
	b.fail(v.Location, v.Relname+" is no base table")
}

func (b *binder) where(q *Query, n *pg.Node) {
	if n == nil || b.unsupported != nil {
		return
	}
	e := b.expr(n)
	if e.Type.Kind != KindBoolean && e.Type.Kind != KindNull {
		b.fail(-1, "a WHERE that is not BOOLEAN")
		return
	}
	q.Filter = e.Expr
}

// selectList binds the outputs.
func (b *binder) selectList(q *Query, s *pg.SelectStmt) {
	for _, n := range s.TargetList {
		q.Aggregated = q.Aggregated || isAggregate(n.GetResTarget().GetVal())
	}
	for _, n := range s.TargetList {
		if b.unsupported == nil {
			b.target(q, n.GetResTarget())
		}
	}
	if len(q.Outputs) == 0 {
		b.fail(-1, "an empty select list")
	}
}

// isAggregate reports whether n is an aggregate, a cast of one, or coalesce of either and something else.
func isAggregate(n *pg.Node) bool {
	switch e := n.GetNode().(type) {
	case *pg.Node_FuncCall:
		_, ok := aggregateOps[functionName(e.FuncCall)]
		return ok
	case *pg.Node_TypeCast:
		return isAggregate(e.TypeCast.Arg)
	case *pg.Node_CoalesceExpr:
		return isAggregate(e.CoalesceExpr.Args[0])
	}
	return false
}

func (b *binder) target(q *Query, t *pg.ResTarget) {
	if ref := t.GetVal().GetColumnRef(); ref != nil && len(ref.Fields) > 0 && ref.Fields[len(ref.Fields)-1].GetAStar() != nil {
		b.star(q, ref)
		return
	}
	out, text := Output{Aggregate: -1}, ""
	if isAggregate(t.GetVal()) {
		out, text = b.aggregated(q, t.GetVal())
	} else {
		e := b.expr(t.GetVal())
		out.Type, text = e.Type, e.text
		if e.Op == OpColumn {
			text = e.Name // a bare column goes by the table's spelling
		}
		out.Expr = e.Expr
		if q.Aggregated {
			b.fail(t.Location, "an output beside aggregates that is none")
		}
	}
	out.Name = t.GetName()
	if out.Name == "" {
		out.Name = text
	}
	if out.Name == "" || len(out.Name) >= bind.MaxTreeName && t.GetName() != "" {
		b.fail(t.Location, "an expression without alias whose column name is DuckDB's to choose")
	}
	if t.GetName() != "" {
		out.Name = b.aliasText(t)
	}
	q.Outputs = append(q.Outputs, out)
}

func (b *binder) star(q *Query, ref *pg.ColumnRef) {
	alias := bind.StarAlias(ref)
	if b.relation == nil || q.Aggregated || len(ref.Fields) > 2 || alias != "" && !lex.Same(alias, b.alias) {
		b.fail(ref.Location, "* here")
		return
	}
	for i := range b.relation.Columns {
		c := &b.relation.Columns[i]
		if why := c.unread(); why != "" {
			b.fail(ref.Location, why)
			return
		}
		e := &Expr{Op: OpColumn, Type: TypeOf(c.Type), Column: b.project(i), Name: c.Name}
		q.Outputs = append(q.Outputs, Output{Name: c.Name, Type: e.Type, Expr: e, Aggregate: -1})
	}
}

func (b *binder) limits(q *Query, s *pg.SelectStmt) {
	q.Limit, q.Offset = b.rowCount(s.LimitCount), b.rowCount(s.LimitOffset)
	if q.Limit == nil && q.Offset == nil {
		return
	}
	for _, o := range q.Outputs {
		if o.Expr != nil && o.Expr.CanFail() {
			b.fail(-1, "arithmetic that can overflow under LIMIT: how many rows DuckDB computes is not fixed")
		}
	}
}

// rowCount binds LIMIT and OFFSET: a plain integer, a parameter, or nothing (also for ALL and NULL).
func (b *binder) rowCount(n *pg.Node) *Expr {
	if n == nil || n.GetAConst().GetIsnull() {
		return nil
	}
	if p := n.GetParamRef(); p != nil {
		return b.parameter(p, Type{Kind: KindBigInt}).Expr
	}
	v, ok := b.constant(n)
	count, fits := v.int64()
	if !ok || n.GetAConst() == nil || v.kind != Exact || v.scale != 0 || !fits || count < 0 {
		b.fail(-1, "a LIMIT or OFFSET that is not a plain number or parameter")
		return nil
	}
	return &Expr{Op: OpConstant, Type: Type{Kind: KindBigInt}, Value: v}
}
