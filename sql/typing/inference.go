package typing

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

// Object IDs of the types that are read here (pg_type.dat).
const (
	booleanType = 16
	byteaType   = 17
	bigintType  = 20
	smallType   = 21
	integerType = 23
	realType    = 700
	doubleType  = 701
	unknownType = 705 // of NULL, and of a string that a cast says nothing of
	numericType = 1700

	dateType        = 1082
	timestampType   = 1114
	timestampTZType = 1184
	intervalType    = 1186
	textType        = 25
	bpcharType      = 1042
)

// inference finds the type of an expression in PostgreSQL, as far as the text and the catalog say it.
type inference struct {
	bound *bind.Statement
	value uint32 // the type of VALUE in the definition of a domain; 0: it is none
	depth int
	// known is what columns of queries were found to be: the next query may name one twice, thirty deep.
	known      map[column]uint32
	decimalsOf map[column]decimal            // likewise
	lists      map[*bind.Item][]*pg.FuncCall // likewise: namedRows of queries
	recursions map[*bind.Query]*recursion    // by the query that a CTE begins with
}

// column is one that a query puts out.
type column struct {
	query *bind.Query
	at    int
}

// numbersDepth bounds how far an expression is followed, through the queries that it names.
const numbersDepth = 200

// isBigint reports whether an expression is a sum that is a bigint, or the first of such sums and numbers. DuckDB's sum
// of whole numbers is a HUGEINT whatever they are, which clients take for a numeric. Of fewer than 2^32 rows it cannot
// be too great for a bigint.
func (n *inference) isBigint(x *pg.Node) bool {
	if c := x.GetCoalesceExpr(); c != nil {
		return slices.ContainsFunc(c.Args, isSum) && n.unified(c.Args) == bigintType
	}
	return isSum(x) && n.of(x) == bigintType
}

func isSum(x *pg.Node) bool {
	call := x.GetFuncCall()
	if call == nil || len(call.Args) != 1 || call.AggWithinGroup {
		return false
	}
	schema, name := tree.FunctionName(call)
	return name == "sum" && (schema == "" || schema == tree.SystemSchema)
}

// of is the type of an expression, 0 if that is not certain.
func (n *inference) of(x *pg.Node) uint32 {
	if n.depth++; n.depth > numbersDepth {
		return 0
	}
	defer func() { n.depth-- }()
	switch e := x.GetNode().(type) {
	case *pg.Node_AConst:
		return constantType(e.AConst)
	case *pg.Node_ColumnRef:
		return n.reference(e.ColumnRef)
	case *pg.Node_TypeCast:
		_, name := tree.TypeName(e.TypeCast.TypeName)
		if len(e.TypeCast.TypeName.GetArrayBounds()) > 0 {
			return arraysOf[namedTypes[name]]
		}
		if number, ok := enumeration.Named(name); ok {
			return pgcatalog.ObjectID(number)
		}
		return namedTypes[name]
	case *pg.Node_AIndirection: // one subscript: what is behind it may be another dimension
		if list := e.AIndirection.Indirection; len(list) == 1 && list[0].GetAIndices() != nil {
			if array := n.of(e.AIndirection.Arg); list[0].GetAIndices().IsSlice && arrays[array] {
				return array
			} else if !list[0].GetAIndices().IsSlice {
				return elementsOf[array]
			}
		}
		return n.ofPair(e.AIndirection)
	case *pg.Node_AArrayExpr:
		return arraysOf[n.unified(e.AArrayExpr.Elements)]
	case *pg.Node_CoalesceExpr:
		return n.unified(e.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		return n.unified(e.MinMaxExpr.Args)
	case *pg.Node_CaseExpr:
		return n.unified(results(e.CaseExpr))
	case *pg.Node_SubLink:
		if e.SubLink.SubLinkType == pg.SubLinkType_EXPR_SUBLINK {
			return n.output(n.bound.Query(e.SubLink.Subselect.GetSelectStmt()), 0)
		}
		if e.SubLink.SubLinkType != pg.SubLinkType_ARRAY_SUBLINK {
			return booleanType
		}
	case *pg.Node_SqlvalueFunction:
		return valueTypes[e.SqlvalueFunction.Op]
	case *pg.Node_FuncCall:
		return n.call(e.FuncCall)
	case *pg.Node_NullTest, *pg.Node_BooleanTest, *pg.Node_BoolExpr:
		return booleanType
	case *pg.Node_AExpr:
		if isComparison(e.AExpr) || isTest(e.AExpr) {
			return booleanType
		}
		return n.operation(e.AExpr)
	}
	return 0
}

// namedTypes are types by the names that PostgreSQL's parser gives them, or DuckDB has.
var namedTypes = map[string]uint32{
	"int2": smallType, "int4": integerType, "int8": bigintType, "numeric": numericType, "decimal": numericType,
	"float4": realType, "float8": doubleType, "double": doubleType, "hugeint": numericType,
	"bool": booleanType, "bytea": byteaType, "date": dateType, "timestamp": timestampType,
	"timestamptz": timestampTZType, "interval": intervalType, "text": textType,
}

func constantType(c *pg.A_Const) uint32 {
	switch {
	case c.Isnull, c.GetSval() != nil:
		return unknownType
	case c.GetBoolval() != nil:
		return booleanType
	case c.GetIval() != nil:
		return integerType
	case c.GetFval() != nil && strings.ContainsAny(c.GetFval().Fval, ".eE"):
		return numericType
	}
	return 0 // a whole number that may be a bigint or more
}

var valueTypes = map[pg.SQLValueFunctionOp]uint32{
	pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE: dateType, pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP: timestampTZType,
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP_N: timestampTZType,
	pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP:      timestampType,
	pg.SQLValueFunctionOp_SVFOP_LOCALTIMESTAMP_N:    timestampType,
}

// results are what CASE may give; nil: of none.
func results(c *pg.CaseExpr) (list []*pg.Node) {
	for _, when := range c.GetArgs() {
		list = append(list, when.GetCaseWhen().GetResult())
	}
	if c.GetDefresult() != nil {
		list = append(list, c.Defresult)
	}
	return list
}

func (n *inference) operation(e *pg.A_Expr) uint32 {
	switch {
	case e.Kind == pg.A_Expr_Kind_AEXPR_NULLIF:
		return n.of(e.Lexpr)
	case isConcatenation(e):
		return n.concatenation(e)
	case isPick(e):
		return textType
	case !isArithmetic(e):
		return 0
	case e.Lexpr == nil:
		return n.of(e.Rexpr)
	}
	op, a, b := tree.LastText(e.Name), n.of(e.Lexpr), n.of(e.Rexpr)
	if t := shifted(op, a, b); t != 0 {
		return t
	}
	t := wider(a, b)
	if op == "/" && !isFloat(t) {
		return 0 // DuckDB's: a double precision
	}
	return t
}

// concatenation is an array where an operand is one, and text where one is, or may be, and the other one certainly no
// array, document or bytes.
func (n *inference) concatenation(e *pg.A_Expr) uint32 {
	texts, others, bytes := 0, 0, 0
	for _, x := range []*pg.Node{e.Lexpr, e.Rexpr} {
		switch t := n.of(x); {
		case arrays[t]:
			return t
		case t == byteaType:
			bytes++
		case t == textType || t == 1043 || t == bpcharType || t == unknownType || x.GetParamRef() != nil:
			texts++
		case plainText[t] && t != 114, isFloat(t), t == intervalType:
			others++
		}
	}
	switch {
	case texts > 0 && texts+others == 2:
		return textType
	case bytes > 0 && bytes+texts == 2:
		return byteaType
	}
	return 0
}

// shifted is the type of a point in time that is moved, or of what lies between two; 0: it is neither.
func shifted(op string, a, b uint32) uint32 {
	switch {
	case op == "-" && a == unknownType && isTime(b):
		a = b
	case op == "-" && b == unknownType && isTime(a):
		b = a
	}
	switch {
	case op == "-" && a == dateType && b == dateType:
		return integerType
	case op == "-" && isTime(a) && isTime(b):
		return intervalType
	case op == "*" && (a == intervalType && isNumber(b) || b == intervalType && isNumber(a)),
		op == "/" && a == intervalType && isNumber(b):
		return intervalType
	case op == "+" && a == intervalType && isTime(b):
		a, b = b, a
	case op != "+" && op != "-":
		return 0
	}
	switch {
	case a == dateType && b == intervalType:
		return timestampType
	case isTime(a) && b == intervalType, a == dateType && (b == integerType || b == smallType):
		return a
	}
	return 0
}

func isTime(t uint32) bool { return t == dateType || t == timestampType || t == timestampTZType }

func isArithmetic(e *pg.A_Expr) bool {
	if e.Kind != pg.A_Expr_Kind_AEXPR_OP || len(e.Name) != 1 {
		return false
	}
	op := tree.LastText(e.Name)
	return op == "+" || op == "-" || op == "*" || op == "%" || op == "/"
}

// wider is the type of what is computed of two numbers. Of a real and another type it is a double precision.
func wider(a, b uint32) uint32 {
	switch {
	case !isNumber(a) || !isNumber(b):
		return 0
	case a == b, b == unknownType:
		return a
	case a == unknownType:
		return b
	case isFloat(a) || isFloat(b):
		return doubleType
	}
	for _, widest := range []uint32{numericType, bigintType, integerType} {
		if a == widest || b == widest {
			return widest
		}
	}
	return 0
}

func isNumber(t uint32) bool { return slices.Contains(numberTypes, t) }

// numberTypes are those that one may compute with, and what has no type yet.
var numberTypes = []uint32{smallType, integerType, bigintType, numericType, realType, doubleType, unknownType}

func isTextType(t uint32) bool { return t == textType || t == varcharType || t == bpcharType }

func isFloat(t uint32) bool { return t == realType || t == doubleType }

// unified is the type of one of several expressions.
func (n *inference) unified(list []*pg.Node) (t uint32) {
	t = unknownType
	for _, x := range list {
		switch of := n.of(x); {
		case of == t || of == unknownType:
		case t == unknownType:
			t = of
		case isFloat(of) || isFloat(t):
			return 0
		case t == textType && isTextType(of) || isTextType(t) && of == textType:
			t = textType
		default:
			t = wider(t, of)
		}
	}
	return t
}

func (n *inference) call(f *pg.FuncCall) uint32 {
	_, name := tree.FunctionName(f)
	if isAtTimeZone(f) {
		if t := n.of(f.Args[1]); t == timestampType {
			return timestampTZType
		} else if t == timestampTZType || t == unknownType {
			return timestampType
		}
		return 0
	}
	switch name {
	case "count", "row_number", "rank", "dense_rank":
		return bigintType
	case "now", "clock_timestamp", "csm_clock_timestamp", "csm_current_timestamp":
		return timestampTZType
	case "csm_localtimestamp":
		return timestampType
	case "bool_and", "bool_or", "every", "isfinite", "starts_with", "csm_regexp_like":
		return booleanType
	case "length", "char_length", "octet_length", "strpos", "position", "ntile":
		return integerType
	}
	if len(f.Args) == 0 || f.AggWithinGroup {
		return 0
	}
	first := func() uint32 { return n.of(f.Args[0]) }
	switch name {
	case "sum":
		switch t := first(); t {
		case smallType, integerType:
			return bigintType
		case bigintType:
			return numericType
		default:
			return t
		}
	case "avg":
		switch t := first(); {
		case isFloat(t):
			return doubleType
		case isNumber(t):
			return numericType
		default:
			return t
		}
	case "date_trunc":
		if len(f.Args) == 2 {
			return n.of(f.Args[1])
		}
	case "min", "max", "enum_first", "enum_last", "any_value", "first_value", "last_value", "nth_value", "abs",
		"csm_divisor":
		return first()
	case "lag", "lead":
		if len(f.Args) < 3 {
			return first()
		}
	case "csm_numeric__parameter", "csm_array_cat", "csm_array_remove", "csm_array_replace", "csm_trim_array", "array_append":
		return first()
	case "csm_array_positions":
		return arraysOf[integerType]
	case "csm_string_to_array", "csm_regexp_match", "csm_regexp_split_to_array", "csm_string_to_table",
		"csm_regexp_split_to_table", "csm_json_array_elements_text", "csm_jsonb_array_elements_text",
		"csm_json_object_keys", "csm_jsonb_object_keys":
		return arraysOf[textType]
	case "unnest":
		if len(f.Args) == 1 {
			return n.unnested(f.Args[0])
		}
	case "csm_divide", "csm_mod":
		if len(f.Args) == 2 {
			return wider(first(), n.of(f.Args[1]))
		}
	case "csm_numeric", "csm_numeric__exact", "csm_numeric__of_text":
		return numericType
	case "array_agg":
		return arraysOf[first()]
	case "csm_numeric__array", "csm_numeric__array2", "csm_numeric__texts", "csm_numeric__text":
		return arraysOf[numericType]
	case "csm_bpchar":
		return bpcharType
	}
	if strings.HasPrefix(name, "csm_operator__row_") {
		return booleanType
	}
	if strings.HasPrefix(name, "csm_round__") || strings.HasPrefix(name, "csm_trunc__") {
		return numericType
	}
	if n.givesText(f) && !slices.ContainsFunc(f.Args, func(x *pg.Node) bool { return n.of(x) == byteaType }) {
		return textType
	}
	return 0
}

// reference is the type of a column, through the queries that it comes from.
func (n *inference) reference(c *pg.ColumnRef) uint32 {
	ref := n.bound.Ref(c)
	switch {
	case !ref.Certain && n.value != 0 && len(c.Fields) == 1 && strings.EqualFold(tree.LastText(c.Fields), "value"):
		return n.value
	case !ref.Certain:
		return n.ofRows(ref)
	case ref.Column.Item == nil:
		return n.output(ref.Query, ref.Target)
	}
	return n.column(ref.Column)
}

func (n *inference) column(c bind.Column) uint32 {
	it := c.Item
	switch {
	case it == nil:
		return 0
	case it.Table != nil:
		return it.Table.Of.(*pgcatalog.Relation).Columns[c.Index].Type
	case it.Sources != nil:
		return n.column(it.Sources[c.Index])
	case it.CTE != nil && it.CTE.First != nil:
		t, _, _ := n.recursionOf(c)
		return t
	case it.Query == nil || it.Query.Open || c.Index >= len(it.Query.Outputs):
		return 0
	}
	return n.query(it.Query, c.Index)
}

// query is the type of a column that a query puts out.
func (n *inference) query(q *bind.Query, i int) uint32 {
	key := column{q, i}
	if t, ok := n.known[key]; ok {
		return t
	}
	t := n.found(q, i)
	if n.known == nil {
		n.known = map[column]uint32{}
	}
	n.known[key] = t
	return t
}

func (n *inference) found(q *bind.Query, i int) uint32 {
	if n.depth++; n.depth > numbersDepth {
		return 0
	}
	defer func() { n.depth-- }()
	switch {
	case q.Open || i >= len(q.Outputs):
		return 0
	case q.Left != nil:
		a, b := n.query(q.Left, i), n.query(q.Right, i)
		switch {
		case a == b:
			return a
		case a == textType && b == unknownType || a == unknownType && b == textType:
			return textType
		case a == unknownType || b == unknownType || isFloat(a) || isFloat(b):
			return 0
		}
		return wider(a, b)
	case len(q.Stmt.GetValuesLists()) > 0:
		return n.values(q.Stmt.ValuesLists, i)
	case q.Outputs[i].Column.Item != nil:
		return n.column(q.Outputs[i].Column)
	}
	return n.output(q, q.Outputs[i].Target)
}

// values is the type of a column of VALUES.
func (n *inference) values(rows []*pg.Node, i int) uint32 { return n.unified(valuesAt(rows, i)) }

// valuesAt is a column of VALUES.
func valuesAt(rows []*pg.Node, i int) []*pg.Node {
	column := make([]*pg.Node, 0, len(rows))
	for _, row := range rows {
		if items := row.GetList().GetItems(); i < len(items) {
			column = append(column, items[i])
		}
	}
	return column
}

// output is the type of an entry of a select list.
func (n *inference) output(q *bind.Query, target int) uint32 {
	if q == nil || q.Left != nil || target >= len(q.Stmt.GetTargetList()) {
		return 0
	}
	return n.of(q.Stmt.TargetList[target].GetResTarget().GetVal())
}
