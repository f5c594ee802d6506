package distribute

import (
	"fmt"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/outline"
	"github.com/csmsql/csmsql/sql/bind"
)

// analysis is what is known of one statement beside what its names mean. At the first thing that is not certain (D1)
// reason is set, and nothing that was found afterwards counts.
type analysis struct {
	text        *outline.Text
	bound       *bind.Statement
	occurrences []*occurrence
	tables      []*occurrence // by bind.Item.ID; nil: no base table
	queries     []*query      // by bind.Query.ID; nil: not looked at yet
	refs        map[*pg.ColumnRef]*reference
	ctes        []*cte
	reason      string
}

// refuse notes why the statement is not split.
func (a *analysis) refuse(format string, args ...any) {
	if a.reason == "" {
		a.reason = fmt.Sprintf(format, args...)
	}
}

// analyze looks through a statement that is one query, with these scans.
func analyze(text *outline.Text, st *plan.Statement, scans []plan.Scan, placement Placement) (*analysis, *query) {
	bound := st.Names()
	a := &analysis{text: text, bound: bound, refs: map[*pg.ColumnRef]*reference{},
		tables: make([]*occurrence, len(bound.Items)), queries: make([]*query, len(bound.Queries))}
	for i := range scans {
		o := &occurrence{scan: &scans[i], layout: placement.Layout(scans[i].Relation), index: i, item: st.Item(i)}
		a.occurrences = append(a.occurrences, o)
		a.tables[o.item.ID] = o
	}
	top := bound.Top[0]
	outlined, err := text.Statement(top.Stmt)
	if err != nil {
		a.refuse("%v", err)
		return a, nil
	}
	return a, a.query(top, outlined, place{})
}

// of is the query that an item stands for; nil: it is a table.
func (a *analysis) of(it *bind.Item) *query {
	if it.Query == nil {
		return nil
	}
	return a.queries[it.Query.ID]
}

// subquery is the query in an expression.
func (a *analysis) subquery(s *pg.SubLink) *query {
	if q := a.bound.Query(s.Subselect.GetSelectStmt()); q != nil {
		return a.queries[q.ID]
	}
	return nil
}

// ref is the reference to a column that an expression is; nil: it is something else.
func (a *analysis) ref(n *pg.Node) *reference { return a.refs[n.GetColumnRef()] }

// own is the reference to a column of the block's FROM clause that an expression is; nil: it is something else.
func (a *analysis) own(b *block, n *pg.Node) *reference {
	if r := a.ref(n); r != nil && r.block == b {
		return r
	}
	return nil
}

// entry is the entry of the block's select list that an expression is the name of, or -1.
func (a *analysis) entry(b *block, n *pg.Node) int {
	if r := a.bound.Ref(n.GetColumnRef()); r.Certain && r.Column.Item == nil && r.Query == b.query.Query {
		return r.Target
	}
	return -1
}

// query looks through a query that stands at a place of the block around it; text is its outline, nil for VALUES.
func (a *analysis) query(bound *bind.Query, text *outline.Query, at place) *query {
	q := &query{Query: bound, text: text, at: at}
	a.queries[bound.ID] = q
	a.with(q)
	switch {
	case a.reason != "":
	case len(q.Stmt.ValuesLists) > 0:
		a.values(q)
	case text == nil:
		a.refuse("a query without an outline")
	case q.Stmt.Larg != nil:
		a.setOperation(q)
	default:
		a.selection(q)
	}
	return q
}

func (a *analysis) with(q *query) {
	w := q.Stmt.WithClause
	if w == nil {
		return
	}
	if w.Recursive || q.text == nil {
		a.refuse("WITH RECURSIVE")
		return
	}
	for i, bound := range q.With {
		if bound.Query == nil {
			a.refuse("a statement in WITH that is no query")
			return
		}
		c := &cte{CTE: bound, text: q.text.With[i]}
		c.query = a.query(bound.Query, c.text.Body, q.at)
		c.query.in, c.query.cte = q, c
		if len(c.query.outer) > 0 {
			a.refuse("the CTE %s depends on the query around it", c.Name)
		}
		if c.Hides() != nil {
			a.refuse("two CTEs of the name %s", c.Name)
		}
		q.ctes = append(q.ctes, c)
		a.ctes = append(a.ctes, c)
	}
}

// nested looks through a query in parentheses.
func (a *analysis) nested(bound *bind.Query, at place) *query {
	if bound == nil {
		a.refuse("a query that is no SELECT")
		return &query{Query: &bind.Query{}}
	}
	var text *outline.Query
	if len(bound.Stmt.ValuesLists) == 0 {
		var err error
		if text, err = a.text.Nested(bound.Stmt); err != nil {
			a.refuse("%v", err)
		}
	}
	q := a.query(bound, text, at)
	if text != nil {
		q.in = at.block.query
	}
	return q
}

func (a *analysis) setOperation(q *query) {
	left, right := a.query(q.Left, q.text.Left, q.at), a.query(q.Right, q.text.Right, q.at)
	q.arms = []*query{left, right}
	if len(left.classes) != len(right.classes) {
		a.refuse("a set operation on %d and %d columns", len(left.classes), len(right.classes))
		return
	}
	for i := range left.classes {
		q.classes = append(q.classes, unify(left.classes[i], right.classes[i]))
	}
	for _, arm := range q.arms {
		arm.in = q
		q.outer = append(q.outer, arm.outer...)
	}
	for _, n := range q.Stmt.SortClause {
		a.setKey(q, n.GetSortBy().GetNode())
	}
	a.constantLimit(q)
}

// setKey: ORDER BY of a set operation names outputs, by name or number.
func (a *analysis) setKey(q *query, n *pg.Node) {
	if n.GetAConst().GetIval() != nil {
		return
	}
	if ref := n.GetColumnRef(); ref == nil {
		a.refuse("ORDER BY of a set operation by an expression")
	} else if r := a.bound.Ref(ref); !r.Certain || r.Query != q.Query {
		a.refuse("ORDER BY %s of a set operation", nameOf(ref))
	}
}

// constantLimit: LIMIT and OFFSET are numbers or parameters.
func (a *analysis) constantLimit(q *query) {
	for _, n := range []*pg.Node{q.Stmt.LimitCount, q.Stmt.LimitOffset} {
		if n != nil && n.GetAConst() == nil && n.GetParamRef() == nil {
			a.refuse("LIMIT by an expression")
		}
	}
}

func (a *analysis) values(q *query) {
	b := &block{query: q, stmt: q.Stmt, outer: q.at.block, equal: equalities{}}
	if q.Open {
		a.refuse("a VALUES list of uneven rows")
		return
	}
	q.classes = make([]class, len(q.Outputs))
	for r, row := range q.Stmt.ValuesLists {
		for i, n := range row.GetList().GetItems() {
			a.expr(place{block: b, clause: inTargets}, n)
			c := a.class(n)
			if r > 0 {
				c = unify(q.classes[i], c)
			}
			q.classes[i] = c
		}
	}
	if len(b.subqueries)+len(b.calls)+len(q.outer)+len(q.Stmt.SortClause) > 0 || q.Stmt.LimitCount != nil {
		a.refuse("VALUES with more than constants")
	}
}

// selection looks through a SELECT.
func (a *analysis) selection(q *query) {
	s := q.Stmt
	if len(s.TargetList) == 0 || q.text.Select == nil {
		a.refuse("a query without a select list")
		return
	}
	b := &block{query: q, stmt: s, text: q.text.Select, outer: q.at.block, equal: equalities{}}
	q.block = b
	for _, f := range q.From {
		a.from(b, f)
	}
	if q.Dialect {
		a.refuse("an alias that the two parsers read differently")
	}
	if a.reason != "" {
		return
	}
	a.targets(b)
	for _, n := range conjuncts(s.WhereClause, nil) {
		a.expr(place{block: b, clause: inWhere, filter: n.GetSubLink() != nil}, n)
	}
	a.equalities(b)
	for _, n := range s.GroupClause {
		a.groupKey(b, n)
	}
	a.expr(place{block: b, clause: inHaving}, s.HavingClause)
	for _, n := range s.WindowClause {
		a.window(place{block: b, clause: inWindow}, n.GetWindowDef())
	}
	for _, n := range s.DistinctClause {
		if n.GetNode() != nil {
			a.expr(place{block: b, clause: inOrder}, n)
		}
	}
	for _, n := range s.SortClause {
		a.key(b, inOrder, n.GetSortBy().GetNode())
	}
	a.constantLimit(q)
	a.outputs(b)
}

// from looks through an entry of a FROM clause.
func (a *analysis) from(b *block, f *bind.From) {
	it := f.Item
	switch {
	case f.Join != nil:
		a.join(b, f)
		return
	case f.Sample != nil || f.Node != nil || it == nil:
		a.refuse("a FROM clause with something else than tables, queries and joins")
		return
	case it.Table != nil:
		a.tables[it.ID].block = b
		if it.Keyword >= 0 {
			a.refuse("TABLE and ONLY")
		}
	case it.CTE != nil:
	case it.Query == nil:
		a.refuse("%s is not one of the tables that are known to lie somewhere", it.Alias)
	case it.Alias == "":
		a.refuse("a query in FROM without a name")
	default:
		a.nested(it.Query, place{block: b, clause: inFrom})
	}
	if it.Open || len(it.Alias) >= bind.MaxTreeName {
		a.refuse("%s, whose columns or name are not certain", it.Alias)
	}
}

// join looks through a join. Of columns that USING merges the left one must show.
func (a *analysis) join(b *block, f *bind.From) {
	j := f.Join
	if j.IsNatural || j.Alias != nil || j.JoinUsingAlias != nil {
		a.refuse("NATURAL JOIN, or a join with a name")
		return
	}
	fills := false
	switch j.Jointype {
	case pg.JoinType_JOIN_INNER, pg.JoinType_JOIN_LEFT:
	case pg.JoinType_JOIN_RIGHT, pg.JoinType_JOIN_FULL:
		fills = true
	default:
		a.refuse("an unusual kind of join")
		return
	}
	a.from(b, f.Left)
	a.from(b, f.Right)
	if n := len(j.UsingClause); n > 0 && (fills || len(f.Using) < n) {
		a.refuse("USING (%s)", j.UsingClause[0].GetString_().GetSval())
	}
	b.using = append(b.using, f.Using...)
	for _, n := range conjuncts(j.Quals, nil) {
		a.expr(place{block: b, clause: inOn, among: b.query.Items[f.First:f.Last]}, n)
	}
}

// aggregated reports whether the block makes groups, or one row of all of them.
func (b *block) aggregated() bool {
	return len(b.stmt.GroupClause) > 0 || b.stmt.HavingClause != nil || len(b.calls) > 0
}

func (a *analysis) targets(b *block) {
	at, outputs := 0, b.query.Outputs
	for i, n := range b.stmt.TargetList {
		t := target{node: n.GetResTarget().GetVal(), text: b.text.Targets[i]}
		if ref := t.node.GetColumnRef(); bind.IsStar(ref) {
			t.isStar = true
			for ; at < len(outputs) && outputs[at].Target == i; at++ {
				t.star = append(t.star, outputs[at].Column)
			}
			if len(ref.Fields) > 2 || len(b.using) > 0 || len(t.star) == 0 {
				a.refuse("a star over schema-qualified names or USING, or over nothing")
			}
		} else {
			at++
			a.expr(place{block: b, clause: inTargets}, t.node)
		}
		b.targets = append(b.targets, t)
	}
}

// outputs classifies what the block gives.
func (a *analysis) outputs(b *block) {
	if b.query.Open {
		a.refuse("a select list that gives columns which are not certain")
	}
	for _, o := range b.query.Outputs {
		var c class
		if t := b.targets[o.Target]; t.isStar {
			c = a.columnClass(o.Column)
		} else {
			c = a.outputClass(t.node)
		}
		b.query.classes = append(b.query.classes, c)
	}
}

func conjuncts(n *pg.Node, list []*pg.Node) []*pg.Node {
	if n == nil {
		return list
	}
	if e := n.GetBoolExpr(); e != nil && e.Boolop == pg.BoolExprType_AND_EXPR {
		for _, member := range e.Args {
			list = conjuncts(member, list)
		}
		return list
	}
	return append(list, n)
}

// groupKey looks through a member of GROUP BY.
func (a *analysis) groupKey(b *block, n *pg.Node) {
	members := n.GetGroupingSet().GetContent()
	if row := n.GetRowExpr(); row != nil {
		members = row.Args
	}
	for _, member := range members {
		a.groupKey(b, member)
	}
	if n.GetGroupingSet() == nil && n.GetRowExpr() == nil {
		a.key(b, inGroup, n)
	}
}

// key looks through a member of GROUP BY or ORDER BY: an entry of the select list by name or position, or an
// expression.
func (a *analysis) key(b *block, in clause, n *pg.Node) {
	if n.GetAConst().GetIval() != nil {
		return
	}
	if i := a.entry(b, n); i >= 0 {
		b.aliasUses = append(b.aliasUses, aliasUse{clause: in, target: i, whole: true})
		return
	}
	a.expr(place{block: b, clause: in}, n)
}

// resolve notes what a reference means, or refuses.
func (a *analysis) resolve(p place, ref *pg.ColumnRef) {
	r := a.bound.Ref(ref)
	b := p.block
	for b != nil && b.query.Query != r.Query {
		b = b.outer
	}
	switch {
	case !r.Certain && len(r.May) == 0:
		a.refuse("the name %s is not known", nameOf(ref))
	case !r.Certain || b == nil:
		a.refuse("the name %s, whose meaning is not certain", nameOf(ref))
	case r.Column.Item != nil:
		a.refer(p, b, ref, r.Column)
	case b != p.block:
		a.refuse("the name %s of a select list around it", nameOf(ref))
	default:
		b.aliasUses = append(b.aliasUses, aliasUse{clause: p.clause, target: r.Target, inCall: p.inCall})
	}
}

// nameOf is the last part of a reference, as the tree has it.
func nameOf(ref *pg.ColumnRef) string {
	return ref.Fields[len(ref.Fields)-1].GetString_().GetSval()
}

// refer notes that a reference means a column of block b.
func (a *analysis) refer(p place, b *block, ref *pg.ColumnRef, c column) {
	if b == p.block && p.among != nil && !slices.Contains(p.among, c.Item) {
		a.refuse("a condition of a join on something else")
	}
	span, ok := a.text.Name(int(ref.Location))
	if !ok {
		a.refuse("a name that is not where the tree has it")
		return
	}
	r := &reference{node: ref, span: span, column: c, block: b, clause: p.clause, inCall: p.inCall}
	a.refs[ref] = r
	b.refs = append(b.refs, r)
	for q := p.block; q != b; q = q.outer { // every query in between depends on b
		q.query.outer = append(q.query.outer, r)
		r.clause, r.inCall = q.query.at.clause, q.query.at.inCall
	}
}
