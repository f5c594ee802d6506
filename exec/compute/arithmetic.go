package compute

import (
	"math"
	"math/bits"

	"github.com/csmsql/csmsql/exec/plan"
)

// arithmetic is + - * / and negation in the result type's domain. A NULL operand makes NULL and never an error.
func (e *evaluator) arithmetic(x *plan.Expr, args []vector) (vector, error) {
	n, constant := e.width(args...)
	out := vector{t: x.Type, constant: constant, nulls: anyNull(n, args...)}
	if domainOf(x.Type) == floatDomain {
		out.floats = floatArithmetic(x.Op, n, args)
		return out, nil
	}
	if x.Op == plan.OpNegate {
		return e.negate(x, args[0], out, n)
	}
	if x.Op != plan.OpMultiply && x.Type.Kind == plan.KindDecimal {
		for i := range args {
			if err := rescale(&args[i], x.Type.Scale, n); err != nil {
				return out, err
			}
		}
	}
	out.ints = make([]int64, n)
	low, high := bounds(x.Type)
	l, r := &args[0], &args[1]
	for i := range out.ints {
		if out.nulls != nil && out.nulls[i] {
			continue
		}
		a, b := l.ints[l.row(i)], r.ints[r.row(i)]
		result, ok := exact(x.Op, a, b)
		if !ok || result < low || result > high {
			return out, overflow("%s does not fit %s for %d and %d; a cast of an operand to a wider type makes room", x, x.Type, a, b)
		}
		out.ints[i] = result
	}
	return out, nil
}

func exact(op plan.ExprOp, a, b int64) (int64, bool) {
	switch op {
	case plan.OpAdd:
		sum := a + b
		return sum, (sum > a) == (b > 0)
	case plan.OpSubtract:
		difference := a - b
		return difference, (difference < a) == (b > 0)
	}
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	if high != 0 {
		return 0, false
	}
	if a < 0 != (b < 0) {
		return -int64(low), low <= 1<<63
	}
	return int64(low), low <= math.MaxInt64
}

// bounds are the least and greatest value of an integer or narrow decimal type.
func bounds(t plan.Type) (low, high int64) {
	switch t.Kind {
	case plan.KindTinyInt:
		return math.MinInt8, math.MaxInt8
	case plan.KindSmallInt:
		return math.MinInt16, math.MaxInt16
	case plan.KindInteger:
		return math.MinInt32, math.MaxInt32
	case plan.KindDecimal:
		limit := int64(math.Pow10(int(t.Precision))) - 1
		return -limit, limit
	}
	return math.MinInt64, math.MaxInt64
}

// rescale brings a decimal or integer to a scale, which may leave the 18 digits that there are.
func rescale(v *vector, scale int32, n int) error {
	if v.t.Scale == scale {
		return nil
	}
	scaled := make([]int64, len(v.ints))
	for i, x := range v.ints {
		if v.nulls != nil && v.nulls[i] {
			continue
		}
		y, ok := scaleBy(x, scale-v.t.Scale)
		if !ok {
			return overflow("%d does not fit a decimal of 18 digits, %d of them behind the point", x, scale)
		}
		scaled[i] = y
	}
	v.ints, v.t.Scale = scaled, scale
	return nil
}

// maxNarrow is the greatest unscaled decimal of 18 digits.
const maxNarrow = 999_999_999_999_999_999

func scaleBy(x int64, digits int32) (int64, bool) {
	if digits < 0 || digits > 18 {
		return 0, x == 0
	}
	high, low := bits.Mul64(magnitude(x), uint64(math.Pow10(int(digits))))
	if high != 0 || low > maxNarrow {
		return 0, false
	}
	if x < 0 {
		return -int64(low), true
	}
	return int64(low), true
}

func (e *evaluator) negate(x *plan.Expr, arg, out vector, n int) (vector, error) {
	out.ints = make([]int64, n)
	low, _ := bounds(x.Type)
	for i := range out.ints {
		if arg.null(i) {
			continue
		}
		a := arg.ints[arg.row(i)]
		if a == low && x.Type.Kind != plan.KindDecimal {
			return out, overflow("%s does not fit %s for %d", x, x.Type, a)
		}
		out.ints[i] = -a
	}
	return out, nil
}

// floatArithmetic is IEEE 754: no error, infinities and NaN instead. The conversions around products keep compilers
// from fusing them into a differently rounded operation.
func floatArithmetic(op plan.ExprOp, n int, args []vector) []float64 {
	out := make([]float64, n)
	l := asFloats(args[0])
	if op == plan.OpNegate {
		for i := range out {
			out[i] = -l[args[0].row(i)]
		}
		return out
	}
	r := asFloats(args[1])
	for i := range out {
		a, b := l[args[0].row(i)], r[args[1].row(i)]
		switch op {
		case plan.OpAdd:
			out[i] = float64(a + b)
		case plan.OpSubtract:
			out[i] = float64(a - b)
		case plan.OpMultiply:
			out[i] = float64(a * b)
		default:
			out[i] = float64(a / b)
		}
	}
	return out
}
