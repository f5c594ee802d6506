package distribute

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
)

// class is what is certain of an expression's type.
func (a *analysis) class(n *pg.Node) class {
	switch e := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		if r := a.refs[e.ColumnRef]; r != nil {
			return a.columnClass(r.column)
		}
	case *pg.Node_AConst:
		return literalClass(e.AConst)
	case *pg.Node_AExpr:
		return a.operationClass(e.AExpr)
	case *pg.Node_BoolExpr, *pg.Node_NullTest, *pg.Node_BooleanTest:
		return class{kind: boolean}
	case *pg.Node_TypeCast:
		return castClass(e.TypeCast.TypeName)
	case *pg.Node_CaseExpr:
		return a.unified(caseResults(e.CaseExpr))
	case *pg.Node_CoalesceExpr:
		return a.unified(e.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		return a.unified(e.MinMaxExpr.Args)
	case *pg.Node_SubLink:
		return a.subLinkClass(e.SubLink)
	case *pg.Node_GroupingFunc:
		return class{kind: integer}
	case *pg.Node_FuncCall:
		return a.callClass(e.FuncCall)
	}
	return class{}
}

// columnClass is the class of a column of a table or a query in FROM.
func (a *analysis) columnClass(c column) class {
	if o := a.tables[c.Item.ID]; o != nil {
		if o.types == nil {
			o.types = make([]class, len(o.scan.Relation.Columns))
		}
		if t := &o.types[c.Index]; !t.known() {
			*t = classOf(&o.scan.Relation.Columns[c.Index])
		}
		return o.types[c.Index]
	}
	if q := a.of(c.Item); q != nil && c.Index < len(q.classes) {
		return q.classes[c.Index]
	}
	return class{}
}

// outputClass is the class of an entry of a select list, where a string is text.
func (a *analysis) outputClass(n *pg.Node) class {
	if n.GetAConst().GetSval() != nil {
		return class{kind: other}
	}
	return a.class(n)
}

// literalClass: a string by itself is text, but beside something else it becomes what that is.
func literalClass(c *pg.A_Const) class {
	switch {
	case c.Isnull:
		return class{kind: null}
	case c.GetIval() != nil:
		return class{kind: integer}
	case c.GetBoolval() != nil:
		return class{kind: boolean}
	case c.GetFval() != nil:
		return numberClass(c.GetFval().Fval)
	}
	return class{}
}

// numberClass: DuckDB reads 1e3 as DOUBLE, 1.50 as DECIMAL(3,2), and long integers as BIGINT or HUGEINT.
func numberClass(s string) class {
	whole, fraction, point := strings.Cut(s, ".")
	switch {
	case strings.ContainsAny(s, "eExXoObB_") || len(s) > 18:
		return class{}
	case point:
		return class{kind: decimal, precision: len(whole) + len(fraction), scale: len(fraction)}
	}
	return class{kind: integer}
}

func castClass(t *pg.TypeName) class {
	if t == nil || len(t.ArrayBounds) > 0 || t.Setof || t.PctType || len(t.Names) == 0 {
		return class{}
	}
	name := strings.ToLower(t.Names[len(t.Names)-1].GetString_().GetSval())
	if name == "numeric" || name == "decimal" {
		return decimalCast(t.Typmods)
	}
	return class{kind: castClasses[name], ubigint: name == "ubigint"}
}

func decimalCast(modifiers []*pg.Node) class {
	c := class{kind: decimal, precision: 18, scale: 3}
	for i, n := range modifiers {
		v := int(n.GetAConst().GetIval().GetIval())
		switch i {
		case 0:
			c.precision, c.scale = v, 0
		case 1:
			c.scale = v
		}
	}
	return c
}

func caseResults(c *pg.CaseExpr) (list []*pg.Node) {
	for _, n := range c.Args {
		list = append(list, n.GetCaseWhen().GetResult())
	}
	if c.Defresult != nil {
		list = append(list, c.Defresult)
	}
	return list
}

// unified is the class of a choice between expressions. Strings among them are text if all are.
func (a *analysis) unified(list []*pg.Node) class {
	out, strings, others := class{kind: null}, 0, 0
	for _, n := range list {
		if n.GetAConst().GetSval() != nil {
			strings++
			continue
		}
		c := a.class(n)
		if c.kind != null {
			others++
		}
		out = unify(out, c)
	}
	switch {
	case strings == 0:
		return out
	case others == 0:
		return class{kind: other}
	case out.kind == other && (out.name == "" || out.name == "utf8"):
		return class{kind: other}
	}
	return class{}
}

func (a *analysis) operationClass(e *pg.A_Expr) class {
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		return a.class(e.Lexpr)
	default:
		return class{kind: boolean}
	}
	op := operator(e)
	switch op {
	case "+", "-", "*", "/", "//", "%", "||":
		if e.Lexpr == nil {
			if c := a.class(e.Rexpr); c.numeric() && !c.ubigint {
				c.name = ""
				return c
			}
			return class{}
		}
		return arithmetic(op, a.textClass(op, e.Lexpr), a.textClass(op, e.Rexpr))
	case "=", "<>", "<", ">", "<=", ">=", "!=", "==", "~~", "!~~", "~~*", "!~~*", "~", "!~", "~*", "!~*", "^@":
		return class{kind: boolean}
	}
	return class{}
}

// textClass: beside || a string is text.
func (a *analysis) textClass(op string, n *pg.Node) class {
	if op == "||" && n.GetAConst().GetSval() != nil {
		return class{kind: other}
	}
	return a.class(n)
}

func (a *analysis) subLinkClass(s *pg.SubLink) class {
	if s.SubLinkType != pg.SubLinkType_EXPR_SUBLINK {
		return class{kind: boolean}
	}
	if q := a.subquery(s); q != nil && len(q.classes) == 1 {
		return q.classes[0]
	}
	return class{}
}

// extractPrefix begins the names of what EXTRACT is written as in PostgreSQL's dialect.
const extractPrefix = "csm_extract__"

func (a *analysis) callClass(f *pg.FuncCall) class {
	name := functionName(f)
	first := class{}
	if len(f.Args) > 0 {
		first = a.class(f.Args[0])
	}
	switch {
	case integerFunctions[name]:
		return class{kind: integer}
	case floatingFunctions[name]:
		return class{kind: floating}
	case otherFunctions[name]:
		return class{kind: other}
	case booleanFunctions[name]:
		return class{kind: boolean}
	case len(f.Args) == 0:
		return a.aggregateClass(name, first, f)
	case name == "extract" || name == "date_part" || name == "datepart":
		if part := f.Args[0].GetAConst().GetSval().GetSval(); integerParts[strings.ToLower(part)] {
			return class{kind: integer}
		}
		return class{}
	case strings.HasPrefix(name, extractPrefix) && integerParts[strings.TrimPrefix(name, extractPrefix)]:
		return class{kind: decimal, precision: 18} // as PostgreSQL's dialect has it
	case name == "abs" && first.numeric():
		return first
	case name == "round" || name == "floor" || name == "ceil" || name == "ceiling":
		if first.kind == floating {
			return first
		}
		return class{}
	case name == "csm_divide" && len(f.Args) == 2:
		return arithmetic(name, first, a.class(f.Args[1]))
	case name == "greatest" || name == "least":
		return a.unified(f.Args)
	}
	return a.aggregateClass(name, first, f)
}

func (a *analysis) aggregateClass(name string, first class, f *pg.FuncCall) class {
	switch name {
	case "count", "count_star", "approx_count_distinct", "row_number", "rank", "dense_rank", "rank_dense", "ntile":
		return class{kind: integer}
	case "sum":
		return first.sum()
	case "avg":
		if first.numeric() {
			return class{kind: floating}
		}
	case "min", "max", "any_value", "arbitrary", "bit_and", "bit_or", "bit_xor", "first", "last", "first_value", "last_value", "lag", "lead":
		if len(f.Args) == 1 {
			return first
		}
	case "bool_and", "bool_or":
		return class{kind: boolean}
	case "string_agg", "group_concat", "listagg":
		return class{kind: other}
	case "list", "array_agg":
		if slices.Contains([]classKind{boolean, integer, decimal, floating, other}, first.kind) {
			return class{kind: other}
		}
	}
	if variances[name] || floatingAggregates[name] {
		return class{kind: floating}
	}
	return class{}
}

var (
	variances          = plan.Words("stddev stddev_pop stddev_samp var_pop var_samp variance")
	floatingAggregates = plan.Words("product kahan_sum fsum sumkahan favg corr covar_pop covar_samp regr_slope regr_r2 percent_rank cume_dist")
)
