package plan

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// operation binds the operators.
func (b *binder) operation(e *pg.A_Expr) bound {
	op := operator(e)
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		if c, ok := comparisons[op]; ok && e.Lexpr != nil {
			left, right := b.operands(e.Lexpr, e.Rexpr)
			return b.compare(e.Location, c.op, left, right)
		}
		if kind, ok := arithmeticOps[op]; ok && e.Lexpr != nil {
			return b.arithmetic(e, kind)
		}
		if op == "-" && e.Lexpr == nil {
			return b.negation(e)
		}
	case pg.A_Expr_Kind_AEXPR_IN:
		return b.in(e, op == "<>")
	case pg.A_Expr_Kind_AEXPR_BETWEEN:
		return b.between(e, false)
	case pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		return b.between(e, true)
	case pg.A_Expr_Kind_AEXPR_LIKE:
		return b.like(e, op)
	}
	return b.fail(e.Location, "the operator "+op)
}

var arithmeticOps = map[string]ExprOp{"+": OpAdd, "-": OpSubtract, "*": OpMultiply, "/": OpDivide}

// operands binds two sides of a comparison; a parameter takes the other side's type.
func (b *binder) operands(l, r *pg.Node) (left, right bound) {
	lp, rp := l.GetParamRef(), r.GetParamRef()
	switch {
	case lp != nil && rp != nil:
		return b.fail(lp.Location, "two parameters compared with each other"), bound{}
	case lp != nil:
		right = b.expr(r)
		return b.typedParameter(lp, right), right
	case rp != nil:
		left = b.expr(l)
		return left, b.typedParameter(rp, left)
	}
	return b.expr(l), b.expr(r)
}

func (b *binder) typedParameter(p *pg.ParamRef, other bound) bound {
	if other.literal || other.Type.Kind == KindNull {
		return b.fail(p.Location, "a parameter compared with a literal")
	}
	return b.parameter(p, other.Type)
}

// compare makes a comparison after checking that the two types are compared exactly as DuckDB does.
func (b *binder) compare(location int32, op Op, left, right bound) bound {
	if b.unsupported != nil {
		return left
	}
	if left.CanFail() || right.CanFail() {
		return b.fail(location, "arithmetic that can overflow inside a condition: DuckDB may rearrange it so that it does not")
	}
	left, right = b.adapt(left, right), b.adapt(right, left)
	if reason := comparisonReason(left.Type, right.Type); reason != "" {
		return b.fail(location, reason)
	}
	text := ""
	if left.text != "" && right.text != "" {
		text = "(" + left.text + " " + strings.Replace(op.String(), "<>", "!=", 1) + " " + right.text + ")"
	}
	return bound{text: text,
		Expr: &Expr{Op: OpCompare, Type: Type{Kind: KindBoolean}, Compare: op, Args: []*Expr{left.Expr, right.Expr}}}
}

// adapt gives a string literal beside a DATE or TIMESTAMP that type.
func (b *binder) adapt(e, other bound) bound {
	if !e.literal || e.Type.Kind != KindVarchar || other.literal {
		return e
	}
	var v Value
	ok := false
	switch other.Type.Kind {
	case KindDate:
		v, ok = dateFromText(e.Value.text)
	case KindTimestamp:
		v, ok = timestampFromText(e.Value.text)
	default:
		return e
	}
	if !ok {
		return b.fail(-1, "a string that is no plain date or timestamp beside one")
	}
	return bound{Expr: &Expr{Op: OpConstant, Type: other.Type, Value: v}, text: e.text}
}

// comparisonReason is empty if both types have one domain in which DuckDB and we compare alike.
func comparisonReason(l, r Type) string {
	instant := func(t Type) bool { return t.Kind == KindDate || t.Kind == KindTimestamp }
	switch {
	case l.Kind == KindNull || r.Kind == KindNull:
		return ""
	case l.Exact64() && r.Exact64(), instant(l) && instant(r):
		return ""
	case l.Kind == r.Kind && (l.Kind == KindVarchar || l.Kind == KindBoolean):
		return ""
	case l.Kind == KindDouble && r.doubleExactly(), r.Kind == KindDouble && l.doubleExactly():
		return ""
	}
	return "a comparison of " + l.String() + " and " + r.String()
}

func (b *binder) between(e *pg.A_Expr, negated bool) bound {
	bounds := e.Rexpr.GetList().GetItems()
	if len(bounds) != 2 {
		return b.fail(e.Location, "BETWEEN without two bounds")
	}
	left, low := b.operands(e.Lexpr, bounds[0])
	_, high := b.operands(e.Lexpr, bounds[1])
	if b.unsupported != nil {
		return left
	}
	if !b.oneDomain(e.Location, left, low, high) {
		return left
	}
	from := b.compare(e.Location, GreaterEqual, left, low)
	to := b.compare(e.Location, LessEqual, left, high)
	text := ""
	if left.text != "" && low.text != "" && high.text != "" {
		text = "(" + left.text + " BETWEEN " + low.text + " AND " + high.text + ")"
	}
	return b.maybeNot(negated, bound{text: text,
		Expr: &Expr{Op: OpAnd, Type: Type{Kind: KindBoolean}, Args: []*Expr{from.Expr, to.Expr}}})
}

func (b *binder) maybeNot(negated bool, e bound) bound {
	if !negated {
		return e
	}
	return bound{text: wrap("(NOT ", e.text, ")"), Expr: &Expr{Op: OpNot, Type: Type{Kind: KindBoolean}, Args: []*Expr{e.Expr}}}
}

// oneDomain: where three or more expressions meet, DuckDB brings all to one type first. That is the same as
// comparing them in pairs unless some are DOUBLE and some exact, or some VARCHAR literals stand beside typed ones.
func (b *binder) oneDomain(location int32, left bound, others ...bound) bool {
	if left.literal {
		b.fail(location, "IN or BETWEEN of a literal")
		return false
	}
	doubles, timestamps := left.Type.Kind == KindDouble, left.Type.Kind == KindTimestamp
	for _, o := range others {
		if o.Type.Kind == KindDouble && !doubles || o.Type.Kind == KindTimestamp && !timestamps {
			b.fail(location, "IN or BETWEEN with values of a wider type than the column's")
			return false
		}
	}
	return true
}

// in is a chain of equalities joined by OR, which has the same three-valued answer.
func (b *binder) in(e *pg.A_Expr, negated bool) bound {
	items := e.Rexpr.GetList().GetItems()
	if len(items) == 0 {
		return b.fail(e.Location, "IN without a list")
	}
	var left bound
	members, texts := make([]bound, len(items)), make([]string, len(items))
	for i, n := range items {
		if n.GetAConst() == nil && n.GetParamRef() == nil && n.GetTypeCast() == nil {
			return b.fail(e.Location, "IN with members that are no constants")
		}
		left, members[i] = b.operands(e.Lexpr, n)
		if b.unsupported != nil {
			return left
		}
		texts[i] = members[i].text
	}
	if !b.oneDomain(e.Location, left, members...) {
		return left
	}
	args := make([]*Expr, len(items))
	for i, m := range members {
		args[i] = b.compare(e.Location, Equal, left, m).Expr
	}
	any := bound{Expr: args[0]}
	if len(args) > 1 {
		any = bound{Expr: &Expr{Op: OpOr, Type: Type{Kind: KindBoolean}, Args: args}}
	}
	infix := " IN "
	if negated {
		infix = " NOT IN "
		any = b.maybeNot(true, any)
	}
	if list := joinTexts(texts, ", "); left.text != "" && list != "" {
		any.text = "(" + left.text + infix + list + ")"
	}
	return any
}

// like binds LIKE with a pattern whose only wildcard is %.
func (b *binder) like(e *pg.A_Expr, op string) bound {
	left := b.expr(e.Lexpr)
	pattern := e.Rexpr.GetAConst()
	if pattern.GetSval() == nil || left.Type.Kind != KindVarchar {
		return b.fail(e.Location, "LIKE with anything but a VARCHAR and a literal pattern")
	}
	text := pattern.GetSval().GetSval()
	if strings.ContainsAny(text, `_\`) {
		return b.fail(e.Location, `LIKE with _ or \ in the pattern`)
	}
	match := bound{Expr: &Expr{Op: OpLike, Type: Type{Kind: KindBoolean}, Args: []*Expr{left.Expr}, Value: TextValue(text)}}
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if op == "!~~" {
		match = b.maybeNot(true, match)
		match.text = wrap("(", left.text, " !~~ "+quoted+")")
		return match
	}
	match.text = wrap("(", left.text, " ~~ "+quoted+")")
	return match
}

func (b *binder) arithmetic(e *pg.A_Expr, op ExprOp) bound {
	left, right := b.expr(e.Lexpr), b.expr(e.Rexpr)
	if b.unsupported != nil {
		return left
	}
	l, r := literalTypeBeside(left, right), literalTypeBeside(right, left)
	var t Type
	if op == OpDivide {
		t = Type{Kind: KindDouble}
		if !l.doubleExactly() || !r.doubleExactly() {
			return b.fail(e.Location, "a division of "+l.String()+" by "+r.String())
		}
	} else {
		var reason string
		if t, reason = arithmetic(op, l, r); reason != "" {
			return b.fail(e.Location, reason)
		}
	}
	text := ""
	if left.text != "" && right.text != "" {
		text = "(" + left.text + " " + operator(e) + " " + right.text + ")"
	}
	return bound{Expr: &Expr{Op: op, Type: t, Args: []*Expr{left.Expr, right.Expr}}, text: text}
}

// literalTypeBeside: an integer literal takes the type of the integer it meets if its value fits there.
func literalTypeBeside(e, other bound) Type {
	rank := other.Type.signed()
	if !e.literal || other.literal || rank == 0 || e.Type.signed() == 0 {
		return e.Type
	}
	i, _ := e.Value.int64()
	if limit := int64(1) << (8<<(rank-1) - 1); rank == 4 || -limit <= i && i < limit {
		return other.Type
	}
	return e.Type
}

func (b *binder) negation(e *pg.A_Expr) bound {
	arg := b.expr(e.Rexpr)
	if arg.literal || arg.Type.signed() == 0 && arg.Type.Kind != KindDouble && !(arg.Type.Kind == KindDecimal && arg.Type.Exact64()) {
		return b.fail(e.Location, "the negation of "+arg.Type.String())
	}
	return bound{Expr: &Expr{Op: OpNegate, Type: arg.Type, Args: []*Expr{arg.Expr}}, text: wrap("-(", arg.text, ")")}
}
