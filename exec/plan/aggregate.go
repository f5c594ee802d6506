package plan

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

var aggregateOps = map[string]AggregateOp{"count": Count, "sum": Sum, "min": Min, "max": Max, "avg": Avg}

// aggregated binds an output that isAggregate.
func (b *binder) aggregated(q *Query, n *pg.Node) (Output, string) {
	switch e := n.GetNode().(type) {
	case *pg.Node_TypeCast:
		out, text := b.aggregated(q, e.TypeCast.Arg)
		if name := typeName(e.TypeCast.TypeName); name != "int8" || out.Type.Kind != KindHugeInt || out.Default != nil {
			b.fail(e.TypeCast.Location, "a cast of an aggregate but that of a sum to BIGINT")
		}
		out.Type = Type{Kind: KindBigInt}
		return out, wrap("CAST(", text, " AS BIGINT)")
	case *pg.Node_CoalesceExpr:
		return b.coalesced(q, e.CoalesceExpr)
	}
	return b.aggregate(q, n.GetFuncCall())
}

// coalesced binds coalesce of an aggregate and a whole number, whose type is the aggregate's.
func (b *binder) coalesced(q *Query, c *pg.CoalesceExpr) (Output, string) {
	out, text := b.aggregated(q, c.Args[0])
	if b.unsupported != nil {
		return out, ""
	}
	if len(c.Args) != 2 || c.Args[1].GetAConst() == nil {
		b.fail(c.Location, "coalesce of an aggregate and something that is no literal")
		return out, ""
	}
	other := b.literalOf(c.Args[1], c.Args[1].GetAConst())
	if b.unsupported != nil {
		return out, ""
	}
	switch out.Type.Kind {
	case KindHugeInt, KindBigInt, KindDouble, KindInteger:
	default:
		b.fail(c.Location, "coalesce of an aggregate of type "+out.Type.String())
	}
	if out.Default != nil || other.Type.Kind != KindInteger {
		b.fail(c.Location, "coalesce of an aggregate and something but an INTEGER")
	}
	out.Default = &other.Value
	return out, wrap("COALESCE(", text+", "+other.text, ")")
}

// aggregate binds an aggregate call; equal ones are computed once.
func (b *binder) aggregate(q *Query, c *pg.FuncCall) (Output, string) {
	out := Output{Aggregate: -1}
	op := aggregateOps[functionName(c)]
	if len(c.Funcname) > 1 || c.AggDistinct || c.AggFilter != nil || len(c.AggOrder) > 0 || c.Over != nil || c.AggWithinGroup || c.FuncVariadic {
		b.fail(c.Location, "an aggregate with DISTINCT, FILTER, ORDER BY, OVER or a schema")
		return out, ""
	}
	a, text := Aggregate{Op: op, Type: Type{Kind: KindBigInt}}, "count_star()"
	switch {
	case c.AggStar && op == Count:
		a.Op = CountStar
	case len(c.Args) == 1:
		arg := b.expr(c.Args[0])
		if b.unsupported != nil {
			return out, ""
		}
		a.Argument, text = arg.Expr, wrap(op.String()+"(", arg.text, ")")
		if op == Sum && arg.CanFail() && sumIsRewritten(arg.Expr) {
			b.fail(c.Location, "the sum of a column and a constant: DuckDB may take the constant out, and then nothing overflows")
		}
		var ok bool
		if a.Type, ok = aggregateType(op, arg.Type); !ok {
			b.fail(c.Location, op.String()+" of "+arg.Type.String())
		}
	default:
		b.fail(c.Location, "an aggregate of not exactly one argument")
	}
	out.Type, out.Aggregate = a.Type, q.addAggregate(a)
	return out, text
}

// sumIsRewritten: DuckDB computes sum(x + c) as sum(x) + c * count(x).
func sumIsRewritten(e *Expr) bool {
	return (e.Op == OpAdd || e.Op == OpSubtract) && (e.Args[0].Op == OpConstant || e.Args[1].Op == OpConstant) && e.Type.signed() > 0
}

func (q *Query) addAggregate(a Aggregate) int {
	for i, have := range q.Aggregates {
		if have.Op == a.Op && have.String() == a.String() {
			return i
		}
	}
	q.Aggregates = append(q.Aggregates, a)
	return len(q.Aggregates) - 1
}

// aggregateType is the result type of an aggregate in DuckDB; ok=false where we do not do it.
func aggregateType(op AggregateOp, arg Type) (Type, bool) {
	switch op {
	case Count:
		return Type{Kind: KindBigInt}, true
	case Min, Max:
		return arg, arg.Kind != KindOther && arg.Kind != KindNull
	case Sum:
		switch {
		case arg.signed() > 0:
			return Type{Kind: KindHugeInt}, true
		case arg.Kind == KindDecimal && arg.Exact64():
			return decimalType(maxDecimalDigits, arg.Scale), true
		}
		return arg, arg.Kind == KindDouble
	case Avg:
		return Type{Kind: KindDouble}, arg.signed() > 0 || arg.Kind == KindDouble || arg.Kind == KindDecimal && arg.Exact64()
	}
	return Type{}, false
}

// aliasText is an output's alias in the user's spelling: the tree has folded it to lower case, DuckDB keeps it. The
// tree does not
// say where it stands, so every whole word behind the expression that could be it must be spelled alike.
func (b *binder) aliasText(t *pg.ResTarget) string {
	name, at := t.GetName(), int(t.Location)
	if at < 0 || at > len(b.sql) || strings.ToLower(name) != name {
		return name // capitals survived, so it was quoted and is exact
	}
	spelling := name
	seen := false
	for i := at; i+len(name) <= len(b.sql); i++ {
		part := b.sql[i : i+len(name)]
		if !lex.Same(part, name) || !b.wholeWord(i, i+len(name)) {
			continue
		}
		if seen && part != spelling {
			b.fail(t.Location, "an alias that the statement spells in more than one way")
		}
		spelling, seen = part, true
	}
	return spelling
}

func (b *binder) wholeWord(start, end int) bool {
	return (start == 0 || !lex.IsNamePart(b.sql[start-1])) && (end == len(b.sql) || !lex.IsNamePart(b.sql[end]))
}
