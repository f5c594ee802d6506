package plan

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// conditions walks a WHERE or ON clause. Conjuncts that surely filter one of the given items become predicates of it,
// or of what is behind it (P1, P9): only of items that are not filled with NULLs by an outer join further in, only
// where both dialects read the FROM clause alike.
func (a *analyzer) conditions(q *bind.Query, n *pg.Node, applies []*bind.Item) {
	n = condition(n)
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_AND_EXPR {
		for _, member := range b.Args {
			a.conditions(q, member, applies)
		}
		return
	}
	if n == nil {
		return
	}
	outer := a.track
	t := &tracker{}
	a.track = t
	a.value(q, n)
	a.track = outer
	if q.Dialect {
		return
	}
	filters := func(it *bind.Item) bool { return !a.nullable[it.ID] && slices.Contains(applies, it) }
	a.equality(q, n, filters)
	a.membership(q, n, filters)
	if t.opaque && !isDisjunction(n) {
		return
	}
	var own *occurrence // of the one item, if it is a base table
	if t.item != nil && !t.many && !t.opaque && filters(t.item) {
		own = a.of[t.item.ID]
	}
	if own != nil {
		own.Filters++
	}
	if isDisjunction(n) {
		if found := a.disjunction(q, n.GetBoolExpr(), filters); own != nil && !found {
			own.guesses *= guessCondition
		}
		return
	}
	if demands := a.predicate(q, n); len(demands) > 0 && filters(demands[0].item) {
		for _, d := range demands {
			a.demand(d, own == nil)
		}
		return
	}
	if c, o, ok := a.columnsCompared(q, n, filters); ok {
		o.Comparisons = append(o.Comparisons, c)
	}
	if own != nil {
		own.guesses *= guess(n)
	}
}

// demand is a condition on rows of an occurrence, because a query has one on a column of an item.
type demand struct {
	item *bind.Item
	target
	p Predicate
}

// demand adds a condition; behind means that the item is no base table, so nothing has counted it yet.
func (a *analyzer) demand(d demand, behind bool) {
	if d.by != nil {
		if a.shared == nil {
			a.shared = map[sharedKey][]Predicate{}
		}
		key := sharedKey{d.by, d.occ}
		a.shared[key] = append(a.shared[key], d.p)
		return
	}
	if behind {
		d.occ.Filters++
	}
	d.occ.Predicates = append(d.occ.Predicates, d.p)
}

func isDisjunction(n *pg.Node) bool {
	return n.GetBoolExpr().GetBoolop() == pg.BoolExprType_OR_EXPR
}

// disjunction finds, for each item, what every branch demands of it: (a.x = 1 AND …) OR (a.x = 2 AND …) demands a.x = 1
// or 2, whatever else the branches say.
func (a *analyzer) disjunction(q *bind.Query, b *pg.BoolExpr, filters func(*bind.Item) bool) (found bool) {
	branches := make([][]demand, len(b.Args))
	for i, n := range b.Args {
		for _, member := range conjuncts(n, nil) {
			if list := a.predicate(q, member); len(list) > 0 && filters(list[0].item) {
				branches[i] = append(branches[i], list...)
			}
		}
	}
	type row struct {
		item *bind.Item
		occ  *occurrence
	}
	var seen []row
	for _, d := range branches[0] {
		of := row{d.item, d.occ}
		if d.by != nil || slices.Contains(seen, of) {
			continue
		}
		seen = append(seen, of)
		anyOf := make([][]Predicate, len(branches))
		complete := true
		for i, branch := range branches {
			for _, d := range branch {
				if of == (row{d.item, d.occ}) {
					anyOf[i] = append(anyOf[i], d.p)
				}
			}
			complete = complete && len(anyOf[i]) > 0
		}
		if complete {
			d.occ.AnyOf = append(d.occ.AnyOf, anyOf)
			found = true
		}
	}
	return found
}

// condition is a condition without casts of it to boolean, which it is: as results of functions are (package inline).
func condition(n *pg.Node) *pg.Node {
	for {
		cast := n.GetTypeCast()
		if cast == nil || typeName(cast.TypeName) != "bool" || cast.Arg.GetAExpr() == nil && cast.Arg.GetBoolExpr() == nil &&
			cast.Arg.GetNullTest() == nil && cast.Arg.GetTypeCast() == nil {
			return n
		}
		n = cast.Arg
	}
}

func conjuncts(n *pg.Node, list []*pg.Node) []*pg.Node {
	n = condition(n)
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
func (a *analyzer) predicate(q *bind.Query, n *pg.Node) []demand {
	switch e := n.GetNode().(type) {
	case *pg.Node_NullTest:
		op := IsNull
		if e.NullTest.Nulltesttype == pg.NullTestType_IS_NOT_NULL {
			op = IsNotNull
		}
		return a.predicateOn(q, e.NullTest.Arg, op)
	case *pg.Node_ColumnRef: // WHERE flag
		return a.predicateOn(q, n, Equal, BoolValue(true))
	case *pg.Node_AExpr:
		return a.comparison(q, e.AExpr)
	case *pg.Node_FuncCall:
		if name := builtinName(e.FuncCall); (name == "starts_with" || name == "prefix") && isPlainCall(e.FuncCall) && len(e.FuncCall.Args) == 2 {
			return a.startsWith(q, e.FuncCall.Args[0], e.FuncCall.Args[1])
		}
	}
	return nil
}

var comparisons = map[string]struct{ op, mirrored Op }{
	"=": {Equal, Equal}, "<>": {NotEqual, NotEqual},
	"<": {Less, Greater}, "<=": {LessEqual, GreaterEqual},
	">": {Greater, Less}, ">=": {GreaterEqual, LessEqual},
}

func (a *analyzer) comparison(q *bind.Query, e *pg.A_Expr) []demand {
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		if operator(e) == "^@" {
			return a.startsWith(q, e.Lexpr, e.Rexpr)
		}
		c, ok := comparisons[operator(e)]
		if !ok {
			break
		}
		if v, ok := a.constant(e.Rexpr); ok {
			return a.compared(q, e.Lexpr, c.op, v)
		}
		v, ok := a.constant(e.Lexpr)
		if !ok {
			break
		}
		return a.compared(q, e.Rexpr, c.mirrored, v)
	case pg.A_Expr_Kind_AEXPR_IN:
		values, ok := a.constants(e.Rexpr)
		if !ok || operator(e) != "=" {
			break
		}
		return a.compared(q, e.Lexpr, In, values...)
	case pg.A_Expr_Kind_AEXPR_BETWEEN:
		values, ok := a.constants(e.Rexpr)
		return a.predicateIf(ok && len(values) == 2, q, e.Lexpr, Between, values...)
	case pg.A_Expr_Kind_AEXPR_LIKE:
		if pattern, ok := likeAnywhere(e.Rexpr); ok {
			return a.predicateIf(operator(e) == "~~", q, e.Lexpr, Like, pattern)
		}
		prefix, ok := likePrefix(e.Rexpr)
		return a.predicateIf(ok && operator(e) == "~~", q, e.Lexpr, Prefix, prefix)
	}
	return nil
}

// compared is a comparison of a column, or of its first characters, with constants.
func (a *analyzer) compared(q *bind.Query, n *pg.Node, op Op, values ...Value) []demand {
	if column, characters, ok := a.beginning(n); ok {
		values, ok = beginningIs(op, values, characters)
		return a.predicateIf(ok, q, column, Prefix, values...)
	}
	return a.predicateOn(q, n, op, values...)
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
// letter to DuckDB by itself: no prefix then.
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

func (a *analyzer) predicateIf(ok bool, q *bind.Query, column *pg.Node, op Op, values ...Value) []demand {
	if !ok {
		return nil
	}
	return a.predicateOn(q, column, op, values...)
}

// predicateOn makes the predicate if the column certainly is one of this very FROM clause, of base tables behind it,
// and the values certainly are what DuckDB would compare it with.
func (a *analyzer) predicateOn(q *bind.Query, column *pg.Node, op Op, values ...Value) []demand {
	r, ok := a.own(q, column)
	if !ok {
		return nil
	}
	targets := a.trace(r.Column)
	if len(targets) == 0 {
		return nil
	}
	t := targets[0].definition().Type
	if t.ID() == arrow.FIXED_SIZE_BINARY && targets[0].definition().Mark != "arrow.uuid" {
		return nil
	}
	for i, v := range values {
		if values[i], ok = inDomain(t, v); !ok {
			return nil
		}
	}
	isNoText := func(v Value) bool { return v.kind != Text }
	if (op == Prefix || op == Like) && slices.ContainsFunc(values, isNoText) || mixesExactAndDouble(values) {
		return nil
	}
	demands := make([]demand, len(targets))
	for i, target := range targets {
		c := target.definition()
		p := Predicate{Column: target.column, Name: c.Name, Type: c.Type, Op: op, Values: values}
		demands[i] = demand{r.Column.Item, target, p}
	}
	return demands
}

// own resolves a reference that certainly means a column of this very FROM clause, also one that is cast to the type
// that it has: so are arguments of functions (package inline).
func (a *analyzer) own(q *bind.Query, n *pg.Node) (bind.Ref, bool) {
	ref, cast := n.GetColumnRef(), n.GetTypeCast()
	if cast != nil {
		ref = cast.Arg.GetColumnRef()
	}
	if ref == nil {
		return bind.Ref{}, false
	}
	r := a.bound.Ref(ref)
	return r, r.Certain && r.Query == q && r.Column.Item != nil && (cast == nil || a.keepsType(r, cast.TypeName))
}

// keepsType reports whether a cast to a type changes nothing of a column.
func (a *analyzer) keepsType(r bind.Ref, to *pg.TypeName) bool {
	kept, ok := castsThatKeep[typeName(to)]
	targets := a.trace(r.Column)
	return ok && len(targets) > 0 && len(to.GetTypmods()) == 0 && len(to.GetArrayBounds()) == 0 &&
		!slices.ContainsFunc(targets, func(t target) bool { return t.definition().Type.ID() != kept })
}

// castsThatKeep are the types of columns that a cast to a type keeps as they are.
var castsThatKeep = map[string]arrow.Type{
	"int2": arrow.INT16, "int4": arrow.INT32, "int8": arrow.INT64, "date": arrow.DATE32, "bool": arrow.BOOL,
}

// mixesExactAndDouble: in x BETWEEN 0.05 AND 1e0 DuckDB compares everything as DOUBLE, where close decimals become
// equal.
func mixesExactAndDouble(values []Value) bool {
	is := func(kind ValueKind) func(Value) bool { return func(v Value) bool { return v.kind == kind } }
	return slices.ContainsFunc(values, is(Exact)) && slices.ContainsFunc(values, is(Double))
}
