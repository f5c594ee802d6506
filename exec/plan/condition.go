package plan

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// conditions walks a WHERE or ON clause. Conjuncts that surely filter one of the given items become its predicates
// (P1): only
// items that are not filled with NULLs by an outer join further in, only where both dialects read the FROM clause
// alike.
func (a *analyzer) conditions(f *frame, n *pg.Node, applies []*item) {
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_AND_EXPR {
		for _, member := range b.Args {
			a.conditions(f, member, applies)
		}
		return
	}
	if n == nil {
		return
	}
	outer := a.track
	t := &tracker{}
	a.track = t
	a.value(f, n)
	a.track = outer
	if f.opaque {
		return
	}
	filters := func(it *item) bool { return it.occ != nil && !it.nullable && slices.Contains(applies, it) }
	a.equality(f, n, filters)
	a.membership(f, n, filters)
	if t.opaque && !isDisjunction(n) {
		return
	}
	single := t.item != nil && !t.many && !t.opaque && filters(t.item)
	if single {
		t.item.occ.Filters++
	}
	switch {
	case isDisjunction(n):
		if found := a.disjunction(f, n.GetBoolExpr(), applies, filters); single && !found {
			t.item.occ.guesses *= guessCondition
		}
	case single:
		if it, p, ok := a.predicate(f, n); ok && it == t.item {
			it.occ.Predicates = append(it.occ.Predicates, p)
			return
		}
		if c, ok := a.columnsCompared(f, n); ok {
			t.item.occ.Comparisons = append(t.item.occ.Comparisons, c)
		}
		t.item.occ.guesses *= guess(n)
	}
}

func isDisjunction(n *pg.Node) bool {
	return n.GetBoolExpr().GetBoolop() == pg.BoolExprType_OR_EXPR
}

// disjunction finds, for each item, what every branch demands of it: (a.x = 1 AND …) OR (a.x = 2 AND …) demands a.x = 1
// or 2,
// whatever else the branches say.
func (a *analyzer) disjunction(f *frame, b *pg.BoolExpr, applies []*item, filters func(*item) bool) (found bool) {
	type demand struct {
		it *item
		p  Predicate
	}
	branches := make([][]demand, len(b.Args))
	for i, n := range b.Args {
		for _, member := range conjuncts(n, nil) {
			if it, p, ok := a.predicate(f, member); ok && filters(it) {
				branches[i] = append(branches[i], demand{it, p})
			}
		}
	}
	for _, it := range applies {
		anyOf := make([][]Predicate, len(branches))
		complete := true
		for i, branch := range branches {
			for _, d := range branch {
				if d.it == it {
					anyOf[i] = append(anyOf[i], d.p)
				}
			}
			complete = complete && len(anyOf[i]) > 0
		}
		if complete {
			it.occ.AnyOf = append(it.occ.AnyOf, anyOf)
			found = true
		}
	}
	return found
}

func conjuncts(n *pg.Node, list []*pg.Node) []*pg.Node {
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_AND_EXPR {
		for _, member := range b.Args {
			list = conjuncts(member, list)
		}
		return list
	}
	return append(list, n)
}

// guess is the selectivity of a condition on one table that has no Predicate.
func guess(n *pg.Node) float64 {
	e := n.GetAExpr()
	switch {
	case e == nil:
		return guessCondition
	case e.Kind == pg.A_Expr_Kind_AEXPR_LIKE || e.Kind == pg.A_Expr_Kind_AEXPR_ILIKE:
		if operator(e) == "!~~" || operator(e) == "!~~*" {
			return 1 - guessContains
		}
		return guessContains
	case e.Kind == pg.A_Expr_Kind_AEXPR_IN && operator(e) == "<>", e.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		return 1 - guessEqual
	case e.Lexpr.GetColumnRef() != nil && e.Rexpr.GetColumnRef() != nil:
		return guessColumns
	}
	return guessCondition
}

// predicate reads a condition of one of the forms that have a [Predicate].
func (a *analyzer) predicate(f *frame, n *pg.Node) (*item, Predicate, bool) {
	switch e := n.GetNode().(type) {
	case *pg.Node_NullTest:
		op := IsNull
		if e.NullTest.Nulltesttype == pg.NullTestType_IS_NOT_NULL {
			op = IsNotNull
		}
		return a.predicateOn(f, e.NullTest.Arg, op)
	case *pg.Node_ColumnRef: // WHERE flag
		it, p, ok := a.predicateOn(f, n, Equal, BoolValue(true))
		return it, p, ok
	case *pg.Node_AExpr:
		return a.comparison(f, e.AExpr)
	case *pg.Node_FuncCall:
		if name := builtinName(e.FuncCall); (name == "starts_with" || name == "prefix") && isPlainCall(e.FuncCall) && len(e.FuncCall.Args) == 2 {
			return a.startsWith(f, e.FuncCall.Args[0], e.FuncCall.Args[1])
		}
	}
	return nil, Predicate{}, false
}

var comparisons = map[string]struct{ op, mirrored Op }{
	"=": {Equal, Equal}, "<>": {NotEqual, NotEqual},
	"<": {Less, Greater}, "<=": {LessEqual, GreaterEqual},
	">": {Greater, Less}, ">=": {GreaterEqual, LessEqual},
}

func (a *analyzer) comparison(f *frame, e *pg.A_Expr) (*item, Predicate, bool) {
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		if operator(e) == "^@" {
			return a.startsWith(f, e.Lexpr, e.Rexpr)
		}
		c, ok := comparisons[operator(e)]
		if !ok {
			break
		}
		if v, ok := a.constant(e.Rexpr); ok {
			return a.compared(f, e.Lexpr, c.op, v)
		}
		v, ok := a.constant(e.Lexpr)
		if !ok {
			break
		}
		return a.compared(f, e.Rexpr, c.mirrored, v)
	case pg.A_Expr_Kind_AEXPR_IN:
		values, ok := a.constants(e.Rexpr)
		if !ok || operator(e) != "=" {
			break
		}
		return a.compared(f, e.Lexpr, In, values...)
	case pg.A_Expr_Kind_AEXPR_BETWEEN:
		values, ok := a.constants(e.Rexpr)
		return a.predicateIf(ok && len(values) == 2, f, e.Lexpr, Between, values...)
	case pg.A_Expr_Kind_AEXPR_LIKE:
		if pattern, ok := likeAnywhere(e.Rexpr); ok {
			return a.predicateIf(operator(e) == "~~", f, e.Lexpr, Like, pattern)
		}
		prefix, ok := likePrefix(e.Rexpr)
		return a.predicateIf(ok && operator(e) == "~~", f, e.Lexpr, Prefix, prefix)
	}
	return nil, Predicate{}, false
}

// compared is a comparison of a column, or of its first characters, with constants.
func (a *analyzer) compared(f *frame, n *pg.Node, op Op, values ...Value) (*item, Predicate, bool) {
	if column, characters, ok := a.beginning(n); ok {
		values, ok = beginningIs(op, values, characters)
		return a.predicateIf(ok, f, column, Prefix, values...)
	}
	return a.predicateOn(f, n, op, values...)
}

func (a *analyzer) constants(list *pg.Node) ([]Value, bool) {
	items := list.GetList().GetItems()
	values := make([]Value, len(items))
	for i, n := range items {
		v, ok := a.constant(n)
		if !ok {
			return nil, false
		}
		values[i] = v
	}
	return values, len(items) > 0
}

// likePrefix is what stands before the first wildcard. A backslash is an escape to PostgreSQL and to csmsql, and a
// letter to DuckDB by
// itself: no prefix then.
func likePrefix(pattern *pg.Node) (Value, bool) {
	c := pattern.GetAConst()
	if c.GetSval() == nil {
		return Value{}, false
	}
	text := c.GetSval().GetSval()
	end := 0
	for end < len(text) && text[end] != '%' && text[end] != '_' {
		if text[end] == '\\' {
			return Value{}, false
		}
		end++
	}
	return TextValue(text[:end]), end > 0
}

// likeAnywhere is a pattern of texts that must follow one another, the first of them anywhere: '%green%',
// '%special%requests'.
func likeAnywhere(pattern *pg.Node) (Value, bool) {
	text := pattern.GetAConst().GetSval().GetSval()
	if !strings.HasPrefix(text, "%") || strings.ContainsAny(text, `_\`) || strings.Trim(text, "%") == "" {
		return Value{}, false
	}
	return TextValue(text), true
}

func (a *analyzer) predicateIf(ok bool, f *frame, column *pg.Node, op Op, values ...Value) (*item, Predicate, bool) {
	if !ok {
		return nil, Predicate{}, false
	}
	return a.predicateOn(f, column, op, values...)
}

// predicateOn makes the predicate if the column certainly is one of a base table of this very FROM clause and the
// values
// certainly are what DuckDB would compare it with.
func (a *analyzer) predicateOn(f *frame, column *pg.Node, op Op, values ...Value) (*item, Predicate, bool) {
	ref := column.GetColumnRef()
	if ref == nil {
		return nil, Predicate{}, false
	}
	m, ok := a.resolve(f, ref)
	if !ok || m.from == nil || m.frame != f || m.from.occ == nil {
		return nil, Predicate{}, false
	}
	c := &m.from.occ.Relation.Columns[m.output.column]
	for i, v := range values {
		if values[i], ok = inDomain(c.Type, v); !ok {
			return nil, Predicate{}, false
		}
	}
	isNoText := func(v Value) bool { return v.kind != Text }
	if (op == Prefix || op == Like) && slices.ContainsFunc(values, isNoText) || mixesExactAndDouble(values) {
		return nil, Predicate{}, false
	}
	return m.from, Predicate{Column: m.output.column, Name: c.Name, Type: c.Type, Op: op, Values: values}, true
}

// mixesExactAndDouble: in x BETWEEN 0.05 AND 1e0 DuckDB compares everything as DOUBLE, where close decimals become
// equal.
func mixesExactAndDouble(values []Value) bool {
	is := func(kind ValueKind) func(Value) bool { return func(v Value) bool { return v.kind == kind } }
	return slices.ContainsFunc(values, is(Exact)) && slices.ContainsFunc(values, is(Double))
}
