package plan

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/sql/lex"
)

// Query is a plan for the compute backend, a straight pipe over one table or none:
//
//	scan → filter → project | aggregate → limit
//
// It is immutable and may be shared by any number of runs.
type Query struct {
	Table   *TableScan // nil: no FROM, exactly one row
	Filter  *Expr      // BOOLEAN over the scan's columns, nil keeps every row
	Outputs []Output   // at least one

	Aggregated bool // Aggregates make the output, which is one row
	Aggregates []Aggregate

	Limit, Offset *Expr // BIGINT constants or parameters; nil: no limit, offset 0

	Parameters int // the highest $n
	// Types are those of the parameters, one for each. KindOther: the text does not say, or says several.
	Types []Type
}

// TableScan is the table of a [Query].
type TableScan struct {
	Scan          // the occurrence with its predicates, for leaving chunks out
	Project []int // columns to deliver, as indices into Relation.Columns; an Expr's Column indexes this list
}

// Output is one column of the result: an expression of a query that is not aggregated, or the index of an aggregate.
type Output struct {
	Name      string // as DuckDB would name it
	Type      Type
	Expr      *Expr
	Aggregate int    // -1 if not an aggregate
	Default   *Value // a whole number in the place of an aggregate that is NULL; nil: none
}

// AggregateOp is an aggregate function.
type AggregateOp uint8

// The aggregates. All but the counts ignore NULL and give NULL for no value.
const (
	CountStar AggregateOp = iota
	Count
	Sum
	Min
	Max
	Avg
)

func (op AggregateOp) String() string {
	return [...]string{"count_star", "count", "sum", "min", "max", "avg"}[op]
}

// Aggregate is one aggregate over an expression; Argument is nil for CountStar.
type Aggregate struct {
	Op       AggregateOp
	Argument *Expr
	Type     Type
}

func (a Aggregate) String() string {
	if a.Argument == nil {
		return a.Op.String() + "()"
	}
	return a.Op.String() + "(" + a.Argument.String() + ")"
}

// ExprOp is the operation of an [Expr].
type ExprOp uint8

// The operations, with what Args are.
const (
	OpColumn    ExprOp = iota // none; Column
	OpConstant                // none; Value
	OpParameter               // none; Value is $n
	OpCompare                 // left, right; Compare is one of Equal … GreaterEqual
	OpAnd                     // two or more
	OpOr                      // two or more
	OpNot                     // one
	OpIsNull                  // one
	OpIsNotNull               // one
	OpLike                    // one VARCHAR; Value is the pattern, whose only wildcard is %
	OpAdd                     // two of one domain
	OpSubtract                // two of one domain
	OpMultiply                // two of one domain
	OpDivide                  // two; both become DOUBLE
	OpNegate                  // one
	OpCast                    // one exact number of up to 64 bits, which loses no digits behind the point
)

// Expr is a typed expression. Type is the DuckDB type of the result; operands are converted to what doc.go's tables
// say.
type Expr struct {
	Op      ExprOp
	Type    Type
	Column  int    // OpColumn: index into TableScan.Project
	Name    string // OpColumn: for people
	Value   Value
	Compare Op
	Args    []*Expr
}

// CanFail reports whether evaluating the expression may end in an error that depends on the data: overflow.
func (e *Expr) CanFail() bool {
	switch e.Op {
	case OpAdd, OpSubtract, OpMultiply, OpNegate, OpCast:
		if e.Type.Kind != KindDouble {
			return true
		}
	}
	for _, arg := range e.Args {
		if arg.CanFail() {
			return true
		}
	}
	return false
}

var infix = map[ExprOp]string{OpAnd: " AND ", OpOr: " OR ", OpAdd: " + ", OpSubtract: " - ", OpMultiply: " * ", OpDivide: " / "}

// String is SQL with every parenthesis written.
func (e *Expr) String() string {
	switch e.Op {
	case OpColumn:
		return e.Name
	case OpConstant, OpParameter:
		return e.Value.String()
	case OpCompare:
		return "(" + e.Args[0].String() + " " + e.Compare.String() + " " + e.Args[1].String() + ")"
	case OpNot:
		return "(NOT " + e.Args[0].String() + ")"
	case OpIsNull:
		return "(" + e.Args[0].String() + " IS NULL)"
	case OpIsNotNull:
		return "(" + e.Args[0].String() + " IS NOT NULL)"
	case OpLike:
		return "(" + e.Args[0].String() + " LIKE " + e.Value.String() + ")"
	case OpNegate:
		return "-(" + e.Args[0].String() + ")"
	case OpCast:
		return "CAST(" + e.Args[0].String() + " AS " + e.Type.String() + ")"
	}
	parts := make([]string, len(e.Args))
	for i, arg := range e.Args {
		parts[i] = arg.String()
	}
	return "(" + strings.Join(parts, infix[e.Op]) + ")"
}

// Schema is the result's schema in logical types; every column may be NULL.
func (q *Query) Schema() *arrow.Schema {
	fields := make([]arrow.Field, len(q.Outputs))
	for i, o := range q.Outputs {
		fields[i] = arrow.Field{Name: o.Name, Type: o.Type.Arrow(), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// Trivial reports whether the compute backend is the better choice by default: nothing to compute (constants), a count
// that metadata answers, or columns that stream from the chunks' buffers in place.
func (q *Query) Trivial() bool {
	if q.Table == nil {
		return true
	}
	if q.Aggregated {
		return q.Filter == nil && len(q.Aggregates) == 1 && q.Aggregates[0].Op == CountStar
	}
	for _, o := range q.Outputs {
		if o.Expr.Op != OpColumn {
			return false
		}
	}
	return q.Filter == nil || q.Filter.cheap(false)
}

// Constant reports whether the query reads nothing; nil does not say so.
func (q *Query) Constant() bool { return q != nil && q.Table == nil }

// smallRows is up to how many rows of a table DuckDB's planning alone takes longer than the kernels' whole work.
const smallRows = 1 << 17

// smallExpressions bounds the arrays that a query of a small table may need at once.
const smallExpressions = 32

// Small reports whether the query reads a table so small that the kernels are done before DuckDB would have planned, and
// needs little memory meanwhile, as DuckDB would: it copies no lists of the rows that a filter leaves, and repeats no
// text for each row.
func (q *Query) Small() bool {
	if q.Table == nil || q.Table.TableRows > smallRows {
		return false
	}
	left := smallExpressions
	few := func(x *Expr) bool {
		return x == nil || x.light(&left) && (q.Filter == nil || !x.Type.nested())
	}
	for _, a := range q.Aggregates {
		if !few(a.Argument) {
			return false
		}
	}
	for _, o := range q.Outputs {
		if !few(o.Expr) {
			return false
		}
	}
	return q.Filter.light(&left)
}

// light counts the expressions, and reports whether there are few enough of them and none is a text that is the same
// for all rows.
func (e *Expr) light(left *int) bool {
	if e == nil {
		return true
	}
	if *left--; *left < 0 || e.Type.Kind == KindVarchar && e.Op != OpColumn {
		return false
	}
	for _, arg := range e.Args {
		if !arg.light(left) {
			return false
		}
	}
	return true
}

// Lookup reports whether the query looks for rows by cheap comparisons, whatever it computes of them: few are left of
// many.
func (q *Query) Lookup() bool {
	return q.Table != nil && !q.Aggregated && q.Filter != nil && q.Filter.cheap(true)
}

// listMost is how many whole numbers IN may list in a lookup.
const listMost = 1000

// cheap: comparisons of fixed-width columns with constants, joined by AND; lists: also IN of whole numbers.
func (e *Expr) cheap(lists bool) bool {
	switch e.Op {
	case OpAnd:
		for _, arg := range e.Args {
			if !arg.cheap(lists) {
				return false
			}
		}
		return true
	case OpOr:
		return lists && len(e.Args) <= listMost && e.Members() != nil
	case OpCompare:
		return e.Args[0].Op == OpColumn && e.Args[0].Type.Kind != KindVarchar && e.Args[1].Op != OpColumn && len(e.Args[1].Args) == 0
	case OpIsNull, OpIsNotNull:
		return e.Args[0].Op == OpColumn
	}
	return false
}

// Members are the expressions that IN lists of a column of whole numbers, which is e.Args[0].Args[0]; nil: it is
// another OR.
func (e *Expr) Members() (list []*Expr) {
	for _, arg := range e.Args {
		if arg.Op != OpCompare || arg.Compare != Equal || arg.Args[0].Op != OpColumn || len(arg.Args[1].Args) > 0 ||
			arg.Args[1].Op == OpColumn || arg.Args[0].Column != e.Args[0].Args[0].Column {
			return nil
		}
		switch arg.Args[0].Type.Kind {
		case KindSmallInt, KindInteger, KindBigInt:
			list = append(list, arg.Args[1])
		default:
			return nil
		}
	}
	return list
}

// String draws the plan, the last step first, as EXPLAIN prints it.
func (q *Query) String() string {
	var lines []string
	if q.Limit != nil || q.Offset != nil {
		lines = append(lines, q.describeLimit())
	}
	lines = append(lines, q.describeOutputs())
	if q.Filter != nil {
		lines = append(lines, "filter "+q.Filter.String())
	}
	lines = append(lines, q.describeScan())
	var b strings.Builder
	for depth, line := range lines {
		fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", depth), line)
	}
	return b.String()
}

func (q *Query) describeLimit() string {
	line := "limit"
	if q.Limit != nil {
		line += " " + q.Limit.String()
	} else {
		line += " all"
	}
	if q.Offset != nil {
		line += " offset " + q.Offset.String()
	}
	return line
}

func (q *Query) describeOutputs() string {
	parts := make([]string, len(q.Outputs))
	for i, o := range q.Outputs {
		parts[i] = fmt.Sprintf("%s: %s %s", lex.Quote(o.Name), q.describeSource(o), o.Type)
	}
	if !q.Aggregated {
		return "project " + strings.Join(parts, ", ")
	}
	return "aggregate " + strings.Join(parts, ", ")
}

func (q *Query) describeSource(o Output) string {
	if o.Expr != nil {
		return o.Expr.String()
	}
	text := q.Aggregates[o.Aggregate].String()
	if o.Default != nil {
		text = "coalesce(" + text + ", " + o.Default.String() + ")"
	}
	return text
}

func (q *Query) describeScan() string {
	if q.Table == nil {
		return "one row"
	}
	names := make([]string, len(q.Table.Project))
	for i, c := range q.Table.Project {
		names[i] = q.Table.Relation.Columns[c].Name
	}
	line := fmt.Sprintf("scan %s.%s (%s) rows %d of %d", q.Table.Relation.Schema, q.Table.Relation.Name,
		strings.Join(names, ", "), q.Table.Rows, q.Table.TableRows)
	for i, p := range q.Table.Predicates {
		line += [...]string{" prune ", ", "}[min(i, 1)] + p.String()
	}
	return line
}

// Unsupported says why there is no plan for the compute backend.
type Unsupported struct {
	Reason   string // a clause that completes "the compute backend does not do this: …"
	Position int    // byte offset in the statement, -1 if it concerns the whole
}

// String is the reason with its position, as EXPLAIN prints it.
func (u *Unsupported) String() string {
	if u.Position < 0 {
		return u.Reason
	}
	return fmt.Sprintf("%s (at byte %d)", u.Reason, u.Position)
}
