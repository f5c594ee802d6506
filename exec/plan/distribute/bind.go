package distribute

import (
	"fmt"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/outline"
	"github.com/csmsql/csmsql/sql/lex"
)

// analysis reads one statement. It stops trusting itself at the first thing that is not certain (D1): reason is
// then set, and nothing that was found afterwards counts.
type analysis struct {
	text        *outline.Text
	occurrences []*occurrence
	byStart     map[int]*occurrence
	queries     map[*pg.SelectStmt]*query // of expressions
	refs        map[*pg.ColumnRef]*reference
	aliases     map[*pg.ColumnRef]bool // names inside of expressions that mean an entry of the select list
	ctes        map[int]*cte           // by where they are named
	allCTEs     []*cte
	reason      string
}

// refuse notes why the statement is not split.
func (a *analysis) refuse(format string, args ...any) {
	if a.reason == "" {
		a.reason = fmt.Sprintf(format, args...)
	}
}

// analyze binds the names of the statement.
func analyze(text *outline.Text, s *pg.SelectStmt, scans []plan.Scan, placement Placement) (*analysis, *query) {
	a := &analysis{text: text, byStart: map[int]*occurrence{}, queries: map[*pg.SelectStmt]*query{}, refs: map[*pg.ColumnRef]*reference{},
		aliases: map[*pg.ColumnRef]bool{}, ctes: map[int]*cte{}}
	for i := range scans {
		o := &occurrence{scan: &scans[i], layout: placement.Layout(scans[i].Relation), index: i}
		a.occurrences = append(a.occurrences, o)
		a.byStart[scans[i].Start] = o
	}
	outlined, err := text.Statement(s)
	if err != nil {
		a.refuse("%v", err)
		return a, nil
	}
	return a, a.query(s, outlined, place{}, nil)
}

// query binds a query that stands at a place of the block around it; text is its outline, nil for VALUES.
func (a *analysis) query(s *pg.SelectStmt, text *outline.Query, at place, visible *scope) *query {
	q := &query{stmt: s, text: text, at: at, visible: visible}
	if s == nil {
		a.refuse("a query that is no SELECT")
		return q
	}
	a.with(q)
	switch {
	case len(s.ValuesLists) > 0:
		a.values(q)
	case text == nil:
		a.refuse("a query without an outline")
	case s.Larg != nil:
		a.setOperation(q)
	default:
		a.selection(q)
	}
	return q
}

func (a *analysis) with(q *query) {
	w := q.stmt.WithClause
	if w == nil {
		return
	}
	if w.Recursive || q.text == nil {
		a.refuse("WITH RECURSIVE")
		return
	}
	for i, n := range w.Ctes {
		e := n.GetCommonTableExpr()
		body := e.GetCtequery().GetSelectStmt()
		if body == nil {
			a.refuse("a statement in WITH that is no query")
			return
		}
		c := &cte{name: e.Ctename, text: q.text.With[i], names: names(e.Aliascolnames)}
		c.query = a.query(body, c.text.Body, q.at, q.visible)
		c.query.in = q
		if len(c.query.outer) > 0 {
			a.refuse("the CTE %s depends on the query around it", c.name)
		}
		for s := q.visible; s != nil; s = s.outer {
			if lex.Same(s.cte.name, c.name) {
				a.refuse("two CTEs of the name %s", c.name)
			}
		}
		q.ctes = append(q.ctes, c)
		a.allCTEs = append(a.allCTEs, c)
		q.visible = &scope{c, q.visible}
	}
}

func names(list []*pg.Node) (out []string) {
	for _, n := range list {
		out = append(out, n.GetString_().GetSval())
	}
	return out
}

func (a *analysis) setOperation(q *query) {
	q.arms = []*query{
		a.query(q.stmt.Larg, q.text.Left, q.at, q.visible),
		a.query(q.stmt.Rarg, q.text.Right, q.at, q.visible),
	}
	left, right := q.arms[0], q.arms[1]
	if len(left.outputs) != len(right.outputs) {
		a.refuse("a set operation on %d and %d columns", len(left.outputs), len(right.outputs))
		return
	}
	for i := range left.outputs {
		q.outputs = append(q.outputs, field{name: left.outputs[i].name, doubled: left.outputs[i].doubled, class: unify(left.outputs[i].class, right.outputs[i].class)})
	}
	for _, arm := range q.arms {
		arm.in = q
		q.outer = append(q.outer, arm.outer...)
	}
	for _, n := range q.stmt.SortClause {
		a.setKey(q, n.GetSortBy().GetNode())
	}
	a.constantLimit(q)
}

// setKey: ORDER BY of a set operation names outputs, by name or number.
func (a *analysis) setKey(q *query, n *pg.Node) {
	if n.GetAConst().GetIval() != nil {
		return
	}
	ref := n.GetColumnRef()
	if ref == nil || len(ref.Fields) != 1 {
		a.refuse("ORDER BY of a set operation by an expression")
		return
	}
	name := ref.Fields[0].GetString_().GetSval()
	if !slices.ContainsFunc(q.outputs, func(f field) bool { return lex.Same(f.name, name) && !f.doubled }) {
		a.refuse("ORDER BY %s of a set operation", name)
	}
}

// constantLimit: LIMIT and OFFSET are numbers or parameters.
func (a *analysis) constantLimit(q *query) {
	for _, n := range []*pg.Node{q.stmt.LimitCount, q.stmt.LimitOffset} {
		if n != nil && n.GetAConst() == nil && n.GetParamRef() == nil {
			a.refuse("LIMIT by an expression")
		}
	}
}

func (a *analysis) values(q *query) {
	b := &block{query: q, stmt: q.stmt, outer: q.at.block, equal: equalities{}}
	width := len(q.stmt.ValuesLists[0].GetList().GetItems())
	q.outputs = make([]field, width)
	for r, row := range q.stmt.ValuesLists {
		items := row.GetList().GetItems()
		if len(items) != width {
			a.refuse("a VALUES list of uneven rows")
			return
		}
		for i, n := range items {
			a.expr(place{block: b, clause: inTargets}, n)
			c := a.class(n)
			if r > 0 {
				c = unify(q.outputs[i].class, c)
			}
			q.outputs[i] = field{name: fmt.Sprintf("col%d", i), class: c}
		}
	}
	if len(b.subqueries)+len(b.calls)+len(q.outer)+len(q.stmt.SortClause) > 0 || q.stmt.LimitCount != nil {
		a.refuse("VALUES with more than constants")
	}
}

// selection binds a SELECT.
func (a *analysis) selection(q *query) {
	s := q.stmt
	if len(s.TargetList) == 0 || q.text.Select == nil {
		a.refuse("a query without a select list")
		return
	}
	b := &block{query: q, stmt: s, text: q.text.Select, outer: q.at.block, equal: equalities{}}
	q.block = b
	for _, n := range s.FromClause {
		if t := a.from(b, n); t != nil {
			b.from = append(b.from, t)
		}
	}
	if a.reason != "" {
		return
	}
	a.targets(b)
	a.conditions(b)
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
		a.orderKey(b, n.GetSortBy().GetNode())
	}
	a.constantLimit(q)
	a.outputs(b)
}

// aggregated says that the block makes groups, or one row of all of them.
func (b *block) aggregated() bool {
	return len(b.stmt.GroupClause) > 0 || b.stmt.HavingClause != nil || len(b.calls) > 0
}

func (a *analysis) targets(b *block) {
	for i, n := range b.stmt.TargetList {
		t := target{node: n.GetResTarget().GetVal(), text: b.text.Targets[i]}
		if ref := t.node.GetColumnRef(); ref != nil && ref.Fields[len(ref.Fields)-1].GetAStar() != nil {
			t.isStar = true
			t.star = a.star(b, ref)
		} else {
			a.expr(place{block: b, clause: inTargets}, t.node)
		}
		b.targets = append(b.targets, t)
	}
}

// star lists the columns under * or t.*.
func (a *analysis) star(b *block, ref *pg.ColumnRef) (list []column) {
	alias := ""
	if len(ref.Fields) == 2 {
		alias = ref.Fields[0].GetString_().GetSval()
	}
	if len(ref.Fields) > 2 || b.merged {
		a.refuse("a star over schema-qualified names or USING")
	}
	for _, it := range b.items {
		if alias != "" && !lex.Same(it.alias, alias) {
			continue
		}
		for i := range it.columns {
			list = append(list, column{it, i})
		}
	}
	if len(list) == 0 {
		a.refuse("a star over nothing")
	}
	return list
}

// outputs names what the block gives.
func (a *analysis) outputs(b *block) {
	q := b.query
	for i, t := range b.targets {
		if t.isStar {
			for _, c := range t.star {
				f := c.item.columns[c.index]
				q.outputs = append(q.outputs, field{name: f.name, class: f.class, column: c})
			}
			continue
		}
		f := field{name: b.stmt.TargetList[i].GetResTarget().GetName(), class: a.outputClass(t.node)}
		if r := a.refs[t.node.GetColumnRef()]; r != nil && r.block == b {
			f.column = r.column
			if f.name == "" {
				f.name = r.last
			}
		}
		q.outputs = append(q.outputs, f)
	}
	markDoubled(q.outputs)
}

func markDoubled(fields []field) {
	for i := range fields {
		for j := range fields {
			if i != j && fields[i].name != "" && lex.Same(fields[i].name, fields[j].name) {
				fields[i].doubled = true
			}
		}
	}
}

// conditions binds WHERE and ON, and finds what they make equal.
func (a *analysis) conditions(b *block) {
	for _, n := range conjuncts(b.stmt.WhereClause, nil) {
		a.conjunct(place{block: b, clause: inWhere}, n)
	}
	a.equalities(b)
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

// conjunct binds one condition of WHERE that a row must fulfil.
func (a *analysis) conjunct(p place, n *pg.Node) {
	p.filter = n.GetSubLink() != nil
	a.expr(p, n)
}

// groupKey binds a member of GROUP BY: a column first, then a name of the select list, or a position in it.
func (a *analysis) groupKey(b *block, n *pg.Node) {
	p := place{block: b, clause: inGroup}
	if set := n.GetGroupingSet(); set != nil {
		for _, member := range set.Content {
			a.groupKey(b, member)
		}
		return
	}
	if row := n.GetRowExpr(); row != nil {
		for _, member := range row.Args {
			a.groupKey(b, member)
		}
		return
	}
	if n.GetAConst().GetIval() != nil {
		return
	}
	if name, ok := bareName(n); ok && len(b.find("", name)) == 0 {
		if i := b.alias(name); i != noAlias {
			a.useAlias(b, aliasUse{clause: inGroup, target: i, whole: true}, name)
			return
		}
	}
	a.expr(p, n)
}

// orderKey binds a member of ORDER BY: a name of the select list first, or a position in it.
func (a *analysis) orderKey(b *block, n *pg.Node) {
	if n.GetAConst().GetIval() != nil {
		return
	}
	if name, ok := bareName(n); ok {
		if i := b.alias(name); i != noAlias {
			a.useAlias(b, aliasUse{clause: inOrder, target: i, whole: true}, name)
			return
		}
	}
	a.expr(place{block: b, clause: inOrder}, n)
}

func bareName(n *pg.Node) (string, bool) {
	ref := n.GetColumnRef()
	if ref == nil || len(ref.Fields) != 1 || ref.Fields[0].GetString_() == nil {
		return "", false
	}
	return ref.Fields[0].GetString_().GetSval(), true
}

// useAlias notes that a name means an entry of the select list. In ORDER BY that meaning comes before all others.
func (a *analysis) useAlias(b *block, use aliasUse, name string) {
	if use.target == twoAliases || !(use.clause == inOrder && use.whole) && a.known(b.outer, name) {
		a.refuse("the name %s can mean two things", name)
		return
	}
	b.aliasUses = append(b.aliasUses, use)
}

const (
	noAlias    = -1
	twoAliases = -2
)

// alias is the entry of the select list that is given a name, noAlias, or twoAliases.
func (b *block) alias(name string) int {
	found := noAlias
	for i, n := range b.stmt.TargetList {
		if alias := n.GetResTarget().GetName(); alias != "" && lex.Same(alias, name) {
			if found != noAlias {
				return twoAliases
			}
			found = i
		}
	}
	return found
}
