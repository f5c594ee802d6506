package typing

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

// decimal bounds what DuckDB has for a number: so many digits before the point, and so many behind it. The numbers of
// a numeric have as many as each needs; those of a DECIMAL have 38 in all, and where one of several is taken DuckDB
// makes room before the point by rounding behind it: of a sum(x), which is a DECIMAL(38, s), and 0.05 to 0.1.
type decimal struct{ whole, fraction int }

// DigitsName is the macro that gives a number so many digits behind the point at least as another has.
const DigitsName = pgcatalog.TranslatedPrefix + "numeric__digits"

// decimalMost is how many digits a DECIMAL has.
const decimalMost = 38

func capped(whole, fraction int) decimal {
	fraction = min(fraction, decimalMost)
	return decimal{min(whole, decimalMost-fraction), fraction}
}

func (d decimal) or(other decimal) decimal {
	return decimal{max(d.whole, other.whole), max(d.fraction, other.fraction)}
}

// fits reports whether DuckDB has room for both sides of the point.
func (d decimal) fits() bool { return d.whole+d.fraction <= decimalMost }

// wholeDigits are how many digits the types of whole numbers have.
var wholeDigits = map[uint32]int{smallType: 5, integerType: 10, bigintType: 19, unknownType: 0}

// decimal is what an expression is; not ok: that is not certain, or it is no such number.
func (n *inference) decimal(x *pg.Node) (d decimal, ok bool) {
	if n.depth++; n.depth > numbersDepth {
		return d, false
	}
	defer func() { n.depth-- }()
	switch e := x.GetNode().(type) {
	case *pg.Node_AConst:
		if f := e.AConst.GetFval(); f != nil {
			whole, fraction, _ := strings.Cut(strings.TrimPrefix(f.Fval, "-"), ".")
			return decimal{len(whole), len(fraction)}, lex.OnlyDigits(whole + fraction)
		}
		if s := e.AConst.GetSval(); s != nil { // it is one of a numeric, if it is of a number at all
			if whole, fraction, ok := literal.Number(strings.TrimSpace(s.Sval)); ok {
				return decimal{len(strings.TrimPrefix(whole, "-")), len(fraction)}, true
			}
		}
	case *pg.Node_ColumnRef:
		return n.decimalReference(e.ColumnRef)
	case *pg.Node_TypeCast:
		if digits, fraction, is := numericDigits(e.TypeCast.TypeName); is {
			return decimal{digits - fraction, fraction}, true
		}
	case *pg.Node_CoalesceExpr:
		return n.decimals(e.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		return n.decimals(e.MinMaxExpr.Args)
	case *pg.Node_CaseExpr:
		return n.decimals(results(e.CaseExpr))
	case *pg.Node_SubLink:
		if e.SubLink.SubLinkType == pg.SubLinkType_EXPR_SUBLINK {
			return n.decimalOf(n.bound.Query(e.SubLink.Subselect.GetSelectStmt()), 0)
		}
	case *pg.Node_FuncCall:
		if d, ok = n.decimalCall(e.FuncCall); ok {
			return d, true
		}
	case *pg.Node_AExpr:
		if e.AExpr.Kind == pg.A_Expr_Kind_AEXPR_NULLIF {
			return n.decimal(e.AExpr.Lexpr)
		} else if isArithmetic(e.AExpr) {
			return n.decimalOperation(e.AExpr)
		}
	}
	digits, is := wholeDigits[n.of(x)]
	return decimal{digits, 0}, is
}

// decimals are several of which one is taken, or all of which are brought to one type.
func (n *inference) decimals(list []*pg.Node) (all decimal, ok bool) {
	for _, x := range list {
		d, ok := n.decimal(x)
		if !ok {
			return all, false
		}
		all = all.or(d)
	}
	return all, true
}

func (n *inference) decimalOperation(e *pg.A_Expr) (d decimal, ok bool) {
	b, ok := n.decimal(e.Rexpr)
	if !ok || e.Lexpr == nil {
		return b, ok
	}
	a, ok := n.decimal(e.Lexpr)
	if !ok {
		return d, false
	}
	switch both := a.or(b); tree.LastText(e.Name) {
	case "+", "-":
		return capped(both.whole+1, both.fraction), true
	case "*":
		return capped(a.whole+b.whole, a.fraction+b.fraction), true
	case "%":
		return both, true
	}
	return d, false // quotients are double precision
}

func (n *inference) decimalCall(f *pg.FuncCall) (d decimal, ok bool) {
	if len(f.Args) == 0 || f.AggWithinGroup {
		return d, false
	}
	_, name := tree.FunctionName(f)
	first := func() (decimal, bool) { return n.decimal(f.Args[0]) }
	switch name {
	case "sum":
		if t := n.of(f.Args[0]); t == smallType || t == integerType {
			return decimal{wholeDigits[bigintType], 0}, true
		}
		d, ok = first()
		return capped(decimalMost, d.fraction), ok
	case "min", "max", "any_value", "first_value", "last_value", "nth_value", "lag", "lead", "abs", "csm_numeric", "csm_numeric__exact",
		"csm_numeric__parameter":
		return first()
	case "ceil", "ceiling", "floor", "round", "trunc":
		if len(f.Args) == 1 {
			d, ok = first()
			return capped(d.whole+1, 0), ok
		}
	}
	if name == DigitsName || name == "mod" || name == "csm_mod" {
		return n.decimals(f.Args)
	}
	if part, is := strings.CutPrefix(name, "csm_extract__"); is {
		d, ok = extracted[part]
		return d, ok
	}
	for _, cut := range []string{"csm_round__", "csm_trunc__"} {
		if digits, is := strings.CutPrefix(name, cut); is {
			fraction, err := strconv.Atoi(digits)
			return capped(decimalMost, fraction), err == nil
		}
	}
	return d, false
}

// extracted are the digits of what extract gives, by the part.
var extracted = map[string]decimal{
	"quarter": {18, 0}, "week": {18, 0}, "day": {18, 0}, "dow": {18, 0}, "isodow": {18, 0}, "doy": {18, 0},
	"hour": {18, 0}, "minute": {18, 0}, "microseconds": {18, 0}, "timezone": {18, 0}, "timezone_hour": {18, 0},
	"timezone_minute": {18, 0}, "second": {19, 6}, "milliseconds": {19, 3}, "epoch": {19, 6},
}

func isColumn(x *pg.Node) bool { return x.GetColumnRef() != nil }

// numericDigits are those that a type's name says, numeric(10, 2).
func numericDigits(t *pg.TypeName) (digits, fraction int, is bool) {
	if _, name := tree.TypeName(t); namedTypes[name] != numericType || len(t.GetArrayBounds()) > 0 {
		return 0, 0, false
	}
	for i, m := range t.GetTypmods() {
		v := m.GetAConst().GetIval()
		if is = v != nil; i == 0 {
			digits = int(v.GetIval())
		} else {
			fraction = int(v.GetIval())
		}
	}
	return digits, fraction, is
}

func (n *inference) decimalReference(c *pg.ColumnRef) (decimal, bool) {
	switch ref := n.bound.Ref(c); {
	case !ref.Certain:
		return decimal{}, false
	case ref.Column.Item == nil:
		return n.decimalTarget(ref.Query, ref.Target)
	default:
		return n.decimalColumn(ref.Column)
	}
}

func (n *inference) decimalColumn(c bind.Column) (decimal, bool) {
	it := c.Item
	switch {
	case it == nil:
		return decimal{}, false
	case it.Table != nil:
		of := it.Table.Of.(*pgcatalog.Relation).Columns[c.Index]
		if mod := of.Typmod - typmodHeader; of.Type == numericType && mod >= 0 {
			digits, fraction := int(mod>>16), int(mod&0x7ff)
			return decimal{digits - fraction, fraction}, true
		}
		digits, is := wholeDigits[of.Type]
		return decimal{digits, 0}, is
	case it.Sources != nil:
		return n.decimalColumn(it.Sources[c.Index])
	case it.CTE != nil && it.CTE.First != nil:
		_, d, ok := n.recursionOf(c)
		return d, ok
	case it.Query == nil || it.Query.Open || c.Index >= len(it.Query.Outputs):
		return decimal{}, false
	}
	return n.decimalOf(it.Query, c.Index)
}

// typmodHeader is what PostgreSQL adds to the modifiers of types (VARHDRSZ).
const typmodHeader = 4

// decimalOf is a column that a query puts out.
func (n *inference) decimalOf(q *bind.Query, i int) (d decimal, ok bool) {
	key := column{q, i}
	if found, is := n.decimalsOf[key]; is {
		return found, found != uncertain
	}
	if n.depth++; n.depth > numbersDepth {
		return d, false
	}
	defer func() { n.depth-- }()
	switch {
	case q == nil || q.Open || i >= len(q.Outputs):
		return d, false
	case q.Left != nil:
		a, known := n.decimalOf(q.Left, i)
		b, alsoKnown := n.decimalOf(q.Right, i)
		d, ok = a.or(b), known && alsoKnown
	case len(q.Stmt.GetValuesLists()) > 0:
		d, ok = n.decimals(valuesAt(q.Stmt.ValuesLists, i))
	case q.Outputs[i].Column.Item != nil:
		d, ok = n.decimalColumn(q.Outputs[i].Column)
	default:
		d, ok = n.decimalTarget(q, q.Outputs[i].Target)
	}
	if n.decimalsOf == nil {
		n.decimalsOf = map[column]decimal{}
	}
	if n.decimalsOf[key] = d; !ok {
		n.decimalsOf[key] = uncertain
	}
	return d, ok
}

var uncertain = decimal{-1, -1}

func (n *inference) decimalTarget(q *bind.Query, target int) (decimal, bool) {
	if q == nil || q.Left != nil || target >= len(q.Stmt.GetTargetList()) {
		return decimal{}, false
	}
	return n.decimal(q.Stmt.TargetList[target].GetResTarget().GetVal())
}

// scaled gives several numbers of which one is taken digits behind the point where DuckDB would round others to what
// fits: coalesce(sum(x), 0.05) becomes coalesce(csm_numeric__digits(sum(x), 0.00), 0.05), which adds the zero. What has
// no room before the point then is 22003.
func (w *translation) scaled(list []*pg.Node) {
	all := decimal{}
	for _, x := range list {
		if d, ok := w.decimal(x); ok {
			all = all.or(d)
		}
	}
	if all.fits() {
		return
	}
	for _, x := range list {
		w.scale(x, all.fraction, "")
	}
}

// scale gives an expression digits behind the point if it is too wide to get them; behind is written after it. False:
// the text does not show how.
func (w *translation) scale(x *pg.Node, fraction int, behind string) bool {
	d, ok := w.decimal(x)
	if !ok || d.fraction >= fraction || d.whole+fraction <= decimalMost {
		return false
	}
	switch e := x.GetNode().(type) {
	case *pg.Node_SubLink:
		w.scaleOutput(w.bound.Query(e.SubLink.Subselect.GetSelectStmt()), 0, fraction)
		return true
	case *pg.Node_AExpr:
		return w.scale(e.AExpr.Lexpr, fraction, "") || w.scale(e.AExpr.Rexpr, fraction, "")
	case *pg.Node_CoalesceExpr, *pg.Node_MinMaxExpr, *pg.Node_CaseExpr:
		list := slices.Concat(x.GetCoalesceExpr().GetArgs(), x.GetMinMaxExpr().GetArgs(), results(x.GetCaseExpr()))
		for _, result := range list {
			w.scale(result, fraction, "")
		}
		return true
	}
	return w.wrap(x, DigitsName+"(", ", 0."+strings.Repeat("0", fraction)+")"+behind)
}

// scaledQueries does so with the columns of the queries of a set operation that is not part of another one.
func (w *translation) scaledQueries(q *bind.Query) {
	for i := range q.Outputs {
		if all, ok := w.decimalOf(q, i); ok && !all.fits() {
			w.scaleOutput(q, i, all.fraction)
		}
	}
}

// scaledMembers does it with what is looked for in the rows of a query, and those.
func (w *translation) scaledMembers(s *pg.SubLink) {
	if s.Testexpr == nil {
		return
	}
	q := w.bound.Query(s.Subselect.GetSelectStmt())
	w.refused = cmp.Or(w.refused, w.comparedRows(s, q))
	if by := w.number(s.Testexpr, w.query(q, 0), false); by != "" {
		w.replaceString(s.Testexpr.GetAConst(), by)
	}
	of, known := w.decimal(s.Testexpr)
	rows, alsoKnown := w.decimalOf(q, 0)
	if all := of.or(rows); known && alsoKnown && !all.fits() {
		w.scale(s.Testexpr, all.fraction, "")
		w.scaleOutput(q, 0, all.fraction)
	}
}

// scaleOutput does it with a column that a query puts out.
func (w *translation) scaleOutput(q *bind.Query, i, fraction int) {
	list := q.Stmt.GetTargetList()
	switch {
	case q.Left != nil:
		w.scaleOutput(q.Left, i, fraction)
		w.scaleOutput(q.Right, i, fraction)
	case len(q.Stmt.GetValuesLists()) > 0:
		for _, x := range valuesAt(q.Stmt.ValuesLists, i) {
			w.scale(x, fraction, "")
		}
	case len(list) == len(q.Outputs):
		target, name := list[i].GetResTarget(), ""
		if target.GetName() == "" {
			name = " AS " + lex.Quote(pgcatalog.TargetName(target))
		}
		if w.scale(target.GetVal(), fraction, name) {
			w.named[target.GetVal()] = true
		}
	}
}
