package plan

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
)

// binder turns expressions of one SELECT over at most one table into typed [Expr]s. It stops at the first thing it
// cannot do.
type binder struct {
	folder
	names       *bind.Statement
	relation    *Relation // nil without FROM
	alias       string
	projected   []int  // columns in use, in order of first use
	parameters  []Type // of $1, $2, …
	unsupported *Unsupported
}

// maxParameters is how many a message can have values for: there are 16 bits for their number.
const maxParameters = 1<<16 - 1

// bound is an expression on its way: with DuckDB's text for it, from which column names are made, and what literals
// still are.
type bound struct {
	*Expr
	text    string // "" if not certain
	literal bool   // an untyped literal, which takes on the other operand's type
}

func (b *binder) fail(location int32, reason string) bound {
	if b.unsupported == nil {
		b.unsupported = &Unsupported{Reason: reason, Position: int(location)}
	}
	return bound{Expr: &Expr{Op: OpConstant, Type: Type{Kind: KindNull}, Value: NullValue()}}
}

func (b *binder) expr(n *pg.Node) bound {
	switch e := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return b.column(e.ColumnRef)
	case *pg.Node_AConst:
		return b.literalOf(n, e.AConst)
	case *pg.Node_TypeCast:
		return b.cast(e.TypeCast)
	case *pg.Node_BoolExpr:
		return b.boolean(e.BoolExpr)
	case *pg.Node_NullTest:
		return b.nullTest(e.NullTest)
	case *pg.Node_AExpr:
		return b.operation(e.AExpr)
	case *pg.Node_ParamRef:
		return b.fail(e.ParamRef.Location, "a parameter whose type nothing says")
	case *pg.Node_FuncCall:
		return b.fail(e.FuncCall.Location, "the function "+functionName(e.FuncCall))
	case *pg.Node_SubLink:
		return b.fail(e.SubLink.Location, "a sub-query")
	case *pg.Node_CaseExpr:
		return b.fail(e.CaseExpr.Location, "CASE")
	}
	return b.fail(-1, "an expression of another kind than columns, literals, comparisons and + - * /")
}

func functionName(c *pg.FuncCall) string {
	if len(c.Funcname) == 0 {
		return ""
	}
	return c.Funcname[len(c.Funcname)-1].GetString_().GetSval()
}

// column binds a column reference. DuckDB names an output that is nothing but a column as the table does; inside an
// expression it repeats the user's text.
func (b *binder) column(ref *pg.ColumnRef) bound {
	text, ok := bind.NameAt(b.sql, int(ref.Location))
	if !ok || len(text.Parts) != len(ref.Fields) || len(text.Parts) > 3 {
		return b.fail(ref.Location, "a name that is no plain column name")
	}
	var r bind.Ref
	if b.relation != nil {
		r = b.names.Ref(ref)
	}
	if !r.Certain || r.Column.Item == nil {
		return b.fail(ref.Location, "the name "+strings.Join(text.Parts, ".")+", which is no column of the table")
	}
	i := r.Column.Index
	c := &b.relation.Columns[i]
	if why := c.unread(); why != "" {
		return b.fail(ref.Location, why)
	}
	return bound{Expr: &Expr{Op: OpColumn, Type: TypeOf(c.Type), Column: b.project(i), Name: c.Name}, text: b.columnText(text)}
}

// unread is why kernels do not read a column; empty: they do.
func (c *Column) unread() string {
	switch {
	case c.Type.ID() == arrow.EXTENSION: // whose codes are no values
		return "a column of a user-defined type"
	case c.Type.ID() == arrow.SPARSE_UNION: // which arrow-go's kernels do not know
		return "a UNION"
	case strings.HasPrefix(c.Mark, OpaqueMark):
		return "a column of a type that results show as another one"
	}
	return ""
}

// project gives the position of a column among those to be read.
func (b *binder) project(column int) int {
	for i, c := range b.projected {
		if c == column {
			return i
		}
	}
	b.projected = append(b.projected, column)
	return len(b.projected) - 1
}

// columnText is the reference as DuckDB writes it back, if that takes no quotes.
func (b *binder) columnText(n bind.Name) string {
	for _, part := range n.Parts {
		plain := strings.IndexFunc(part, func(r rune) bool { return r >= 0x80 || r == '$' || !lex.IsNamePart(byte(r)) }) < 0
		if IsKeyword(part) || !plain || lex.IsDigit(part[0]) {
			return ""
		}
	}
	return strings.Join(n.Parts, ".")
}

func (b *binder) literalOf(n *pg.Node, c *pg.A_Const) bound {
	v, ok := b.constant(n)
	if !ok {
		return b.fail(c.Location, "a literal that the two dialects may read differently")
	}
	t, text, ok := literalType(v, c)
	if !ok {
		return b.fail(c.Location, "a number that needs HUGEINT or a decimal wider than 18 digits")
	}
	return bound{Expr: &Expr{Op: OpConstant, Type: t, Value: v}, text: text, literal: true}
}

// literalType is DuckDB's type for a literal, and its text for it if that is certain.
func literalType(v Value, c *pg.A_Const) (t Type, text string, ok bool) {
	switch v.kind {
	case Null:
		return Type{Kind: KindNull}, "NULL", true
	case Boolean:
		return Type{Kind: KindBoolean}, "CAST('" + v.String()[:1] + "' AS BOOLEAN)", true
	case Text:
		return Type{Kind: KindVarchar}, "'" + strings.ReplaceAll(v.text, "'", "''") + "'", true
	case Double:
		return Type{Kind: KindDouble}, "", true
	}
	i, fits := v.int64()
	written := c.GetFval().GetFval()
	switch {
	case !fits:
		return Type{}, "", false
	case strings.Contains(written, "."):
		digits := strings.Replace(strings.TrimLeft(written, "-"), ".", "", 1)
		if canonicalDecimal(strings.TrimLeft(written, "-")) {
			text = written
		}
		return decimalType(int32(len(digits)), v.scale), text, len(digits) <= narrowDecimal
	case i == int64(int32(i)) && written == "":
		return Type{Kind: KindInteger}, itoa(int(i)), true
	}
	return Type{Kind: KindBigInt}, itoa(int(i)), true
}

// canonicalDecimal: digits on both sides of the point and no leading zero but one.
func canonicalDecimal(s string) bool {
	whole, fraction, _ := strings.Cut(s, ".")
	return fraction != "" && (whole == "0" || whole != "" && whole[0] != '0')
}

// castNames are the types that a literal or a parameter may be cast to, with DuckDB's way of writing them.
var castNames = map[string]struct {
	kind TypeKind
	text string
}{
	"int2": {KindSmallInt, "SMALLINT"}, "int4": {KindInteger, "INTEGER"}, "int8": {KindBigInt, "BIGINT"},
	"text": {KindVarchar, "VARCHAR"}, "varchar": {KindVarchar, "VARCHAR"}, "bool": {KindBoolean, "BOOLEAN"},
	"float8": {KindDouble, `"DOUBLE"`}, "double": {KindDouble, `"DOUBLE"`},
	"date": {KindDate, `"DATE"`}, "timestamp": {KindTimestamp, "TIMESTAMP"},
}

// singleFloat: FLOAT is DuckDB's REAL; PostgreSQL's parser makes of it what it makes of DOUBLE PRECISION.
func (b *binder) singleFloat(t *pg.TypeName) bool {
	at := int(t.GetLocation())
	if typeName(t) != "float8" || at < 0 || at+len("float") > len(b.sql) {
		return false
	}
	return strings.EqualFold(b.sql[at:at+len("float")], "float") && !strings.HasPrefix(b.sql[at+len("float"):], "8")
}

func (b *binder) cast(c *pg.TypeCast) bound {
	if c.Arg.GetParamRef() == nil && c.Arg.GetAConst() == nil {
		return b.castOf(c)
	}
	target, known := castNames[typeName(c.TypeName)]
	if !known || len(c.TypeName.GetTypmods()) > 0 || b.singleFloat(c.TypeName) {
		return b.fail(c.Location, "a cast to this type")
	}
	t := Type{Kind: target.kind}
	if p := c.Arg.GetParamRef(); p != nil {
		e := b.parameter(p, t)
		e.text = "CAST(" + e.text + " AS " + target.text + ")"
		return e
	}
	inner := b.literalOf(c.Arg, c.Arg.GetAConst())
	v, ok := castLiteral(inner.Value, t.Kind, typeName(c.TypeName))
	if !ok {
		return b.fail(c.Location, "a cast whose result is not certain")
	}
	e := bound{Expr: &Expr{Op: OpConstant, Type: t, Value: v}}
	if inner.text != "" {
		e.text = "CAST(" + inner.text + " AS " + target.text + ")"
	}
	return e
}

// castOf is the cast of what is computed. It is of exact numbers whose digits behind the point all stay: no rounding.
func (b *binder) castOf(c *pg.TypeCast) bound {
	t, ok := exactNamed(c.TypeName)
	inner := b.expr(c.Arg)
	if b.unsupported != nil {
		return inner
	}
	if from := inner.Type; !ok || !from.Exact64() || from.Scale > t.Scale {
		return b.fail(c.Location, "a cast of what is computed but from one exact number to another")
	}
	out := bound{Expr: inner.Expr, text: wrap("CAST(", inner.text, " AS "+t.String()+")")}
	if inner.Type != t {
		out.Expr = &Expr{Op: OpCast, Type: t, Args: []*Expr{inner.Expr}}
	}
	return out
}

// exactNamed is the type of a name if it is one of exact numbers of up to 64 bits.
func exactNamed(n *pg.TypeName) (Type, bool) {
	if typeName(n) != "numeric" {
		t := Type{Kind: castNames[typeName(n)].kind}
		return t, t.signed() > 0 && len(n.GetTypmods()) == 0
	}
	digits := [2]int32{}
	if len(n.GetTypmods()) > len(digits) || len(n.GetTypmods()) == 0 {
		return Type{}, false
	}
	for i, m := range n.GetTypmods() {
		digits[i] = m.GetAConst().GetIval().GetIval()
	}
	t := decimalType(digits[0], digits[1])
	return t, 0 < t.Precision && t.Precision <= narrowDecimal && 0 <= t.Scale && t.Scale <= t.Precision
}

func castLiteral(v Value, kind TypeKind, name string) (Value, bool) {
	switch {
	case v.kind == Null:
		return v, true
	case kind == KindBoolean:
		return v, v.kind == Boolean
	case kind == KindDouble:
		f, ok := v.asDouble()
		return DoubleValue(f), ok
	}
	return castValue(v, name)
}

func (b *binder) parameter(p *pg.ParamRef, t Type) bound {
	if p.Number < 1 {
		return b.fail(p.Location, "a parameter without a number")
	}
	b.typed(int(p.Number), t)
	v := ParameterValue(int(p.Number))
	return bound{Expr: &Expr{Op: OpParameter, Type: t, Value: v}, text: v.String()}
}

// typed notes of which type a parameter is in one of the places where it stands.
func (b *binder) typed(number int, t Type) {
	if number > maxParameters {
		b.fail(-1, "a parameter of so high a number")
		return
	}
	known := len(b.parameters)
	for len(b.parameters) < number {
		b.parameters = append(b.parameters, Type{})
	}
	if at := &b.parameters[number-1]; number > known || *at == t {
		*at = t
	} else {
		*at = Type{}
	}
}

func (b *binder) nullTest(t *pg.NullTest) bound {
	arg := b.expr(t.Arg)
	op, suffix := OpIsNull, " IS NULL)"
	if t.Nulltesttype == pg.NullTestType_IS_NOT_NULL {
		op, suffix = OpIsNotNull, " IS NOT NULL)"
	}
	if t.Argisrow || arg.CanFail() {
		return b.fail(t.Location, "IS NULL of a row or of arithmetic that can overflow")
	}
	return bound{Expr: &Expr{Op: op, Type: Type{Kind: KindBoolean}, Args: []*Expr{arg.Expr}}, text: wrap("(", arg.text, suffix)}
}

// wrap is prefix+text+suffix, or "" if the text is not known.
func wrap(prefix, text, suffix string) string {
	if text == "" {
		return ""
	}
	return prefix + text + suffix
}

func (b *binder) boolean(e *pg.BoolExpr) bound {
	args := make([]*Expr, len(e.Args))
	texts := make([]string, len(e.Args))
	for i, n := range e.Args {
		arg := b.expr(n)
		if arg.Type.Kind != KindBoolean && arg.Type.Kind != KindNull {
			return b.fail(e.Location, "AND, OR or NOT of something that is not BOOLEAN")
		}
		args[i], texts[i] = arg.Expr, arg.text
		if inner := n.GetBoolExpr(); inner != nil && inner.Boolop == e.Boolop {
			texts[i] = "" // DuckDB flattens some of these and not others
		}
	}
	boolean := Type{Kind: KindBoolean}
	switch e.Boolop {
	case pg.BoolExprType_NOT_EXPR:
		return bound{Expr: &Expr{Op: OpNot, Type: boolean, Args: args}, text: b.notText(e.Args[0], texts[0])}
	case pg.BoolExprType_AND_EXPR:
		return bound{Expr: &Expr{Op: OpAnd, Type: boolean, Args: args}, text: joinTexts(texts, " AND ")}
	case pg.BoolExprType_OR_EXPR:
		return bound{Expr: &Expr{Op: OpOr, Type: boolean, Args: args}, text: joinTexts(texts, " OR ")}
	}
	return b.fail(e.Location, "this boolean operator")
}

// notText: DuckDB turns NOT (a = b) around as it parses; other negations it writes as they are.
func (b *binder) notText(arg *pg.Node, text string) string {
	if e := arg.GetAExpr(); e != nil && (e.Kind == pg.A_Expr_Kind_AEXPR_OP || e.Kind == pg.A_Expr_Kind_AEXPR_IN) {
		return ""
	}
	return wrap("(NOT ", text, ")")
}

func joinTexts(texts []string, separator string) string {
	for _, t := range texts {
		if t == "" {
			return ""
		}
	}
	return "(" + strings.Join(texts, separator) + ")"
}
