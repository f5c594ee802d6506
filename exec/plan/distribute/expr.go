package distribute

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
)

// expr binds an expression. Whatever it does not know refuses (D1).
func (a *analysis) expr(p place, n *pg.Node) {
	filter := p.filter
	p.filter = false
	switch e := n.GetNode().(type) {
	case nil, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_String_, *pg.Node_Integer:
	case *pg.Node_ColumnRef:
		a.resolve(p, e.ColumnRef)
	case *pg.Node_AExpr:
		a.operation(p, e.AExpr)
	case *pg.Node_BoolExpr:
		a.all(p, e.BoolExpr.Args)
	case *pg.Node_NullTest:
		a.expr(p, e.NullTest.Arg)
	case *pg.Node_BooleanTest:
		a.expr(p, e.BooleanTest.Arg)
	case *pg.Node_TypeCast:
		a.cast(p, e.TypeCast)
	case *pg.Node_CaseExpr:
		a.expr(p, e.CaseExpr.Arg)
		a.all(p, e.CaseExpr.Args)
		a.expr(p, e.CaseExpr.Defresult)
	case *pg.Node_CaseWhen:
		a.expr(p, e.CaseWhen.Expr)
		a.expr(p, e.CaseWhen.Result)
	case *pg.Node_CoalesceExpr:
		a.all(p, e.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		a.all(p, e.MinMaxExpr.Args)
	case *pg.Node_List:
		a.all(p, e.List.Items)
	case *pg.Node_AArrayExpr:
		a.all(p, e.AArrayExpr.Elements)
	case *pg.Node_SubLink:
		p.filter = filter
		a.subLink(p, e.SubLink)
	case *pg.Node_FuncCall:
		a.function(p, e.FuncCall)
	case *pg.Node_GroupingFunc:
		p.block.groupings = append(p.block.groupings, e.GroupingFunc)
		a.all(p, e.GroupingFunc.Args)
	default:
		a.refuse("an expression of a kind that is not known to be reproducible")
	}
}

func (a *analysis) all(p place, list []*pg.Node) {
	for _, n := range list {
		a.expr(p, n)
	}
}

// operator is the operator's name, "" if it is not certain what it means.
func operator(e *pg.A_Expr) string {
	if len(e.Name) != 1 {
		return ""
	}
	return e.Name[0].GetString_().GetSval()
}

func (a *analysis) operation(p place, e *pg.A_Expr) {
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP, pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL, pg.A_Expr_Kind_AEXPR_DISTINCT,
		pg.A_Expr_Kind_AEXPR_NOT_DISTINCT, pg.A_Expr_Kind_AEXPR_NULLIF, pg.A_Expr_Kind_AEXPR_IN, pg.A_Expr_Kind_AEXPR_LIKE,
		pg.A_Expr_Kind_AEXPR_ILIKE, pg.A_Expr_Kind_AEXPR_SIMILAR:
		if !pureOperators[operator(e)] {
			a.refuse("the operator %s", operator(e))
		}
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
	default:
		a.refuse("an unusual operator")
	}
	a.expr(p, e.Lexpr)
	a.expr(p, e.Rexpr)
}

func (a *analysis) cast(p place, c *pg.TypeCast) {
	a.expr(p, c.Arg)
	if s := c.Arg.GetAConst().GetSval(); s != nil && variableText[strings.ToLower(strings.TrimSpace(s.Sval))] {
		a.refuse("%s, which depends on the time", s.Sval)
	}
	for _, n := range c.TypeName.GetTypmods() {
		if n.GetAConst() == nil {
			a.refuse("a cast to a type with an expression in it")
		}
	}
}

// variableText are literals that a cast to a date or time reads as the present.
var variableText = plan.Words("now today tomorrow yesterday")

// function binds a call: a pure function, an aggregate, or a window.
func (a *analysis) function(p place, f *pg.FuncCall) {
	name := functionName(f)
	switch {
	case f.Over != nil:
		a.windowCall(p, name, f)
	case aggregateFunctions[name]:
		a.aggregate(p, name, f)
	case pureFunctions[name] && f.AggFilter == nil && len(f.AggOrder) == 0 && !f.AggDistinct && !f.AggStar:
		a.all(p, f.Args)
	case name == "":
		a.refuse("a function with a schema")
	default:
		a.refuse("the function %s, which is not known to be reproducible", name)
	}
}

// functionName is the name in lower case. PostgreSQL's parser puts pg_catalog before functions that stand for syntax.
func functionName(f *pg.FuncCall) string {
	if len(f.Funcname) == 2 && f.Funcname[0].GetString_().GetSval() == "pg_catalog" || len(f.Funcname) == 1 {
		return strings.ToLower(f.Funcname[len(f.Funcname)-1].GetString_().GetSval())
	}
	return ""
}

func (a *analysis) aggregate(p place, name string, f *pg.FuncCall) {
	if p.inCall || p.clause.before() || p.clause == inGroup || p.clause == inLimit {
		a.refuse("an aggregate where none can be")
		return
	}
	c := &call{node: f, name: name}
	c.text, c.ok = a.text.Call(f)
	b := p.block
	b.calls = append(b.calls, c)
	before := len(b.refs)
	subqueries := len(b.subqueries)
	p.inCall = true
	a.all(p, f.Args)
	a.expr(p, f.AggFilter)
	for _, n := range f.AggOrder {
		a.expr(p, n.GetSortBy().GetNode())
	}
	if len(b.refs) == before && len(b.subqueries) == subqueries && !f.AggStar && a.namesAny(f) {
		a.refuse("an aggregate of a query around it")
	}
}

// namesAny reports whether a call has names of columns in it, whichever they are.
func (a *analysis) namesAny(f *pg.FuncCall) bool {
	found := false
	for _, n := range slices.Concat(f.Args, []*pg.Node{f.AggFilter}) {
		eachNode(n, func(m *pg.Node) { found = found || m.GetColumnRef() != nil })
	}
	return found
}

func (a *analysis) windowCall(p place, name string, f *pg.FuncCall) {
	if !aggregateFunctions[name] && !windowFunctions[name] || p.inCall || p.clause != inTargets && p.clause != inOrder {
		a.refuse("the window function %s", name)
		return
	}
	p.block.windows = append(p.block.windows, f)
	a.all(p, f.Args)
	a.expr(p, f.AggFilter)
	for _, n := range f.AggOrder {
		a.expr(p, n.GetSortBy().GetNode())
	}
	a.window(p, f.Over)
}

func (a *analysis) window(p place, w *pg.WindowDef) {
	a.all(p, w.PartitionClause)
	for _, n := range w.OrderClause {
		a.expr(p, n.GetSortBy().GetNode())
	}
	a.expr(p, w.StartOffset)
	a.expr(p, w.EndOffset)
}

func (a *analysis) subLink(p place, s *pg.SubLink) {
	switch s.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK, pg.SubLinkType_ANY_SUBLINK, pg.SubLinkType_ALL_SUBLINK, pg.SubLinkType_EXPR_SUBLINK:
	default:
		a.refuse("an unusual kind of sub-query")
		return
	}
	if len(s.OperName) > 1 || len(s.OperName) == 1 && !pureOperators[s.OperName[0].GetString_().GetSval()] {
		a.refuse("a sub-query behind an unusual operator")
	}
	a.expr(p, s.Testexpr)
	sub := &subquery{link: s, clause: p.clause, filter: p.filter, inCall: p.inCall}
	p.filter = false
	sub.query = a.nested(a.bound.Query(s.Subselect.GetSelectStmt()), p)
	sub.query.link = s
	p.block.subqueries = append(p.block.subqueries, sub)
}

// eachNode visits n and every expression in it, but not what stands in sub-queries.
func eachNode(n *pg.Node, visit func(*pg.Node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, m := range children(n) {
		eachNode(m, visit)
	}
}

// children are the direct members of an expression, as far as [analysis.expr] lets it pass.
func children(n *pg.Node) []*pg.Node {
	switch e := n.GetNode().(type) {
	case *pg.Node_AExpr:
		return []*pg.Node{e.AExpr.Lexpr, e.AExpr.Rexpr}
	case *pg.Node_BoolExpr:
		return e.BoolExpr.Args
	case *pg.Node_NullTest:
		return []*pg.Node{e.NullTest.Arg}
	case *pg.Node_BooleanTest:
		return []*pg.Node{e.BooleanTest.Arg}
	case *pg.Node_TypeCast:
		return []*pg.Node{e.TypeCast.Arg}
	case *pg.Node_CaseExpr:
		return append(slices.Clone(e.CaseExpr.Args), e.CaseExpr.Arg, e.CaseExpr.Defresult)
	case *pg.Node_CaseWhen:
		return []*pg.Node{e.CaseWhen.Expr, e.CaseWhen.Result}
	case *pg.Node_CoalesceExpr:
		return e.CoalesceExpr.Args
	case *pg.Node_MinMaxExpr:
		return e.MinMaxExpr.Args
	case *pg.Node_List:
		return e.List.Items
	case *pg.Node_AArrayExpr:
		return e.AArrayExpr.Elements
	case *pg.Node_SubLink:
		return []*pg.Node{e.SubLink.Testexpr}
	case *pg.Node_GroupingFunc:
		return e.GroupingFunc.Args
	case *pg.Node_FuncCall:
		return functionChildren(e.FuncCall)
	case *pg.Node_SortBy:
		return []*pg.Node{e.SortBy.Node}
	}
	return nil
}

func functionChildren(f *pg.FuncCall) []*pg.Node {
	list := slices.Concat(f.Args, f.AggOrder, []*pg.Node{f.AggFilter})
	if w := f.Over; w != nil {
		list = slices.Concat(list, w.PartitionClause, w.OrderClause, []*pg.Node{w.StartOffset, w.EndOffset})
	}
	return list
}
