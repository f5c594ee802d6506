package compute_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/csmsql/csmsql/exec/plan"
)

// errTwinOverflow is the twin's way to say 22003.
var errTwinOverflow = errors.New("twin: overflow")

// twin answers a plan row by row with big integers and no cleverness at all.
func twin(q *plan.Query, rows [][]cell) (result [][]cell, err error) {
	defer func() {
		if r := recover(); r != nil {
			if r != errTwinOverflow { //nolint:errorlint // a panic value of our own
				panic(r)
			}
			result, err = nil, errTwinOverflow
		}
	}()
	if q.Table == nil {
		rows = [][]cell{{}}
	}
	var kept [][]cell
	for _, row := range rows {
		projected := row
		if q.Table != nil {
			projected = make([]cell, len(q.Table.Project))
			for i, c := range q.Table.Project {
				projected[i] = row[c]
			}
		}
		if q.Filter == nil || evaluate(q.Filter, projected) == true {
			kept = append(kept, projected)
		}
	}
	if q.Aggregated {
		result = twinAggregate(q, kept)
	} else {
		result = twinProject(q, kept)
	}
	return twinLimit(q, result), nil
}

func twinProject(q *plan.Query, rows [][]cell) [][]cell {
	result := [][]cell{}
	for _, row := range rows {
		out := make([]cell, len(q.Outputs))
		for i, o := range q.Outputs {
			out[i] = evaluate(o.Expr, row)
		}
		result = append(result, out)
	}
	return result
}

func twinLimit(q *plan.Query, rows [][]cell) [][]cell {
	count := func(e *plan.Expr) int {
		n, _ := e.Value.Decimal()
		return int(n.LowBits())
	}
	if q.Offset != nil {
		rows = rows[min(count(q.Offset), len(rows)):]
	}
	if q.Limit != nil {
		rows = rows[:min(count(q.Limit), len(rows))]
	}
	return rows
}

func twinAggregate(q *plan.Query, rows [][]cell) [][]cell {
	out := make([]cell, len(q.Outputs))
	for i, o := range q.Outputs {
		out[i] = twinFold(q.Aggregates[o.Aggregate], rows)
	}
	return [][]cell{out}
}

func twinFold(a plan.Aggregate, rows [][]cell) cell {
	if a.Op == plan.CountStar {
		return big.NewInt(int64(len(rows)))
	}
	var values []cell
	for _, row := range rows {
		if v := evaluate(a.Argument, row); v != nil {
			values = append(values, v)
		}
	}
	switch {
	case a.Op == plan.Count:
		return big.NewInt(int64(len(values)))
	case len(values) == 0:
		return nil
	case a.Op == plan.Min || a.Op == plan.Max:
		best := values[0]
		for _, v := range values[1:] {
			if c := compareCells(v, best); a.Op == plan.Min && c < 0 || a.Op == plan.Max && c > 0 {
				best = v
			}
		}
		return best
	}
	return twinSum(a, values)
}

func twinSum(a plan.Aggregate, values []cell) cell {
	if a.Argument.Type.Kind == plan.KindDouble {
		sum := 0.0
		for _, v := range values {
			sum += v.(float64)
		}
		if a.Op == plan.Avg {
			sum /= float64(len(values))
		}
		return sum
	}
	sum := new(big.Int)
	for _, v := range values {
		sum.Add(sum, v.(*big.Int))
	}
	if a.Op == plan.Sum {
		return sum
	}
	divisor := new(big.Int).Mul(big.NewInt(int64(len(values))), pow10(a.Argument.Type.Scale))
	f, _ := new(big.Rat).SetFrac(sum, divisor).Float64()
	return f
}

func pow10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// evaluate is one expression on one row.
func evaluate(e *plan.Expr, row []cell) cell {
	switch e.Op {
	case plan.OpColumn:
		return row[e.Column]
	case plan.OpConstant:
		return constantCell(e.Value)
	case plan.OpAnd, plan.OpOr:
		return connectCells(e, row)
	}
	args := make([]cell, len(e.Args))
	for i, a := range e.Args {
		args[i] = evaluate(a, row)
	}
	switch e.Op {
	case plan.OpIsNull:
		return args[0] == nil
	case plan.OpIsNotNull:
		return args[0] != nil
	}
	for _, a := range args {
		if a == nil {
			return nil
		}
	}
	switch e.Op {
	case plan.OpNot:
		return !args[0].(bool)
	case plan.OpLike:
		return naiveLike(args[0].(string), e.Value.Text())
	case plan.OpCompare:
		l, r := common(args[0], e.Args[0].Type, args[1], e.Args[1].Type)
		return compareHolds(e.Compare, compareCells(l, r))
	}
	return arithmeticCell(e, args)
}

func constantCell(v plan.Value) cell {
	switch v.Kind() {
	case plan.Null:
		return nil
	case plan.Boolean:
		return v.Int() != 0
	case plan.Double:
		return v.Float()
	case plan.Text:
		return v.Text()
	case plan.Date, plan.Timestamp:
		return big.NewInt(v.Int())
	}
	num, _ := v.Decimal()
	return num.BigInt()
}

func connectCells(e *plan.Expr, row []cell) cell {
	null := false
	for _, a := range e.Args {
		switch evaluate(a, row) {
		case nil:
			null = true
		case e.Op == plan.OpOr:
			return e.Op == plan.OpOr
		}
	}
	if null {
		return nil
	}
	return e.Op == plan.OpAnd
}

// common brings both sides into one domain.
func common(l cell, lt plan.Type, r cell, rt plan.Type) (cell, cell) {
	if lt.Kind == plan.KindDouble || rt.Kind == plan.KindDouble {
		return toFloat(l, lt), toFloat(r, rt)
	}
	if lt.Kind == plan.KindDate && rt.Kind == plan.KindTimestamp {
		return toMicros(l), r
	}
	if lt.Kind == plan.KindTimestamp && rt.Kind == plan.KindDate {
		return l, toMicros(r)
	}
	return toScale(l, lt.Scale, max(lt.Scale, rt.Scale)), toScale(r, rt.Scale, max(lt.Scale, rt.Scale))
}

func toMicros(c cell) cell {
	return new(big.Int).Mul(c.(*big.Int), big.NewInt(24*60*60*1_000_000))
}

func toScale(c cell, from, to int32) cell {
	if i, ok := c.(*big.Int); ok {
		return new(big.Int).Mul(i, pow10(to-from))
	}
	return c
}

func toFloat(c cell, t plan.Type) cell {
	if f, ok := c.(float64); ok {
		return f
	}
	f, _ := new(big.Rat).SetFrac(c.(*big.Int), pow10(t.Scale)).Float64()
	return f
}

func compareHolds(op plan.Op, order int) bool {
	return map[plan.Op]bool{plan.Equal: order == 0, plan.NotEqual: order != 0, plan.Less: order < 0,
		plan.LessEqual: order <= 0, plan.Greater: order > 0, plan.GreaterEqual: order >= 0}[op]
}

func compareCells(a, b cell) int {
	switch x := a.(type) {
	case *big.Int:
		return x.Cmp(b.(*big.Int))
	case string:
		return strings.Compare(x, b.(string))
	case bool:
		return map[[2]bool]int{{false, true}: -1, {true, false}: 1}[[2]bool{x, b.(bool)}]
	}
	x, y := a.(float64), b.(float64)
	rank := func(f float64) float64 {
		if math.IsNaN(f) {
			return 1
		}
		return 0
	}
	switch {
	case rank(x) != rank(y):
		return int(rank(x) - rank(y))
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// naiveLike tries every split at %.
func naiveLike(s, pattern string) bool {
	if pattern == "" {
		return s == ""
	}
	if pattern[0] == '%' {
		for i := 0; i <= len(s); i++ {
			if naiveLike(s[i:], pattern[1:]) {
				return true
			}
		}
		return false
	}
	return s != "" && s[0] == pattern[0] && naiveLike(s[1:], pattern[1:])
}

func arithmeticCell(e *plan.Expr, args []cell) cell {
	if e.Type.Kind == plan.KindDouble {
		f := make([]float64, len(args))
		for i := range args {
			f[i] = toFloat(args[i], e.Args[i].Type).(float64)
		}
		switch e.Op {
		case plan.OpAdd:
			return f[0] + f[1]
		case plan.OpSubtract:
			return f[0] - f[1]
		case plan.OpMultiply:
			return f[0] * f[1]
		case plan.OpDivide:
			return f[0] / f[1]
		}
		return -f[0]
	}
	result := new(big.Int)
	operand := func(i int) *big.Int {
		if e.Op == plan.OpMultiply || e.Op == plan.OpNegate {
			return args[i].(*big.Int)
		}
		return toScale(args[i], e.Args[i].Type.Scale, e.Type.Scale).(*big.Int)
	}
	switch e.Op {
	case plan.OpAdd:
		result.Add(operand(0), operand(1))
	case plan.OpSubtract:
		result.Sub(operand(0), operand(1))
	case plan.OpMultiply:
		result.Mul(operand(0), operand(1))
	case plan.OpCast:
		result = operand(0)
	default:
		result.Neg(operand(0))
	}
	return fit(result, e.Type)
}

func fit(i *big.Int, t plan.Type) cell {
	bits := map[plan.TypeKind]uint{plan.KindTinyInt: 7, plan.KindSmallInt: 15, plan.KindInteger: 31, plan.KindBigInt: 63}[t.Kind]
	limit := pow10(t.Precision)
	low := new(big.Int).Sub(big.NewInt(1), limit)
	if bits > 0 {
		limit = new(big.Int).Lsh(big.NewInt(1), bits)
		low = new(big.Int).Neg(limit)
	}
	if i.Cmp(limit) >= 0 || i.Cmp(low) < 0 {
		panic(errTwinOverflow)
	}
	return i
}

// describe renders rows for comparison.
func describe(rows [][]cell) string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		for _, c := range row {
			lines[i] += describeCell(c) + " | "
		}
	}
	return strings.Join(lines, "\n")
}

func describeCell(c cell) string {
	switch x := c.(type) {
	case nil:
		return "NULL"
	case float64:
		return fmt.Sprintf("%.14g", x)
	case string:
		return fmt.Sprintf("%q", x)
	}
	return fmt.Sprint(c)
}
